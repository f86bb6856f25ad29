#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/messages.h"

namespace whet {

// A check whose answer is short: a kernel's outputs stay where it runs, and some of their elements come back.

/// The most elements of an output that are asked for.
constexpr std::size_t kMostSpots = 4096;

/// What is asked about an output of a kernel.
struct AskedOutput {
  DType dtype = DType::f32;
  /// The output is the first `used_bytes` of each `row_bytes` of the kernel's argument; the kernel must leave the rest as it was.
  std::uint64_t row_bytes = 0, used_bytes = 0;
  std::uint32_t passed = 0;          ///< the number of this output among those of the kernel that passed
  double tolerance = 0;              ///< of the comparison with that one's, relative to the largest magnitude
  std::vector<std::uint32_t> spots;  ///< numbers of elements of the output, row-major
};
struct SpotsRequest {
  CheckRequest check;
  std::optional<CheckRequest>
      passed;  ///< a kernel that was right before: it runs too, and its whole outputs are compared
  std::vector<AskedOutput> outputs;  ///< one an output of the kernel, in order
};

/// A device's report about an output.
struct SeenOutput {
  std::string spots;            ///< the bytes of the elements that were asked for
  std::int64_t stray_row = -1;  ///< the first row in which the kernel wrote beside its output; -1: none
  // of the comparison of all elements with the kernel that passed (tensor/difference.h)
  double max_abs = 0, largest = 0;
  std::int64_t where = -1, mismatches = 0;
};
struct SpotsReply {
  OutcomeCode code = OutcomeCode::ok;
  std::string message;
  bool compared = false;            ///< with the kernel that passed; not where that failed now
  std::vector<SeenOutput> outputs;  ///< as many as were asked for, where the code is ok
};

/// Whether the kernel has these outputs, and these elements.
bool is_sane(const SpotsRequest&);
/// Answers a request that is sane. `check` runs a kernel once.
SpotsReply look_at_spots(const SpotsRequest&, const std::function<CheckReply(const CheckRequest&)>& check);

}  // namespace whet
