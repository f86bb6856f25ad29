#pragma once

#include "base/result.h"
#include "import/site.h"

/// Bits of numbers that are taken as other numbers: parts, see arithmetic.h.
namespace whet {

/// What the bits of a number mean. A float has its sign first, then its exponent, then `digits`.
struct BitForm {
  std::int64_t bytes = 4;
  bool is_signed = true;
  std::int64_t digits = 0;  ///< of a float; 0: an integer
};

/// The memory of x [..., n], whose numbers are of the form `from` there, as numbers of the form `to`: `dtype` [..., n * from.bytes /
/// to.bytes], the lowest bytes first. Every NaN has the bits of torch's. Errors: floats of 8 bytes; a last dimension that does not
/// divide; a scalar that would become several numbers.
Result<ValueId> view_bits(NodeSite&, ValueId x, const BitForm& from, const BitForm& to, DType dtype);

}  // namespace whet
