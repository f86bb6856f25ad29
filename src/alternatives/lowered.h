#pragma once

#include <optional>

#include "alternatives/convert.h"
#include "alternatives/stored_numbers.h"

namespace whet {

/// A group on activations that are stored in fewer bits, and what its answers lose by that.
struct LoweredGroup {
  Fragment fragment;
  /// Its product multiplies such numbers: the activation and the weights are rounded.
  std::optional<StoredAs> rounds_product;
  std::optional<StoredAs> rounds_reads;  ///< what it computes beside a product reads activations that are rounded so
};

/// The group with what it reads and its result channels last, as `in` and `out` say, of which one at least is not the usual form:
///   of a group with a product (a convolution or a product by constants): `in` is how the product's activation is stored, `out` its
///   result and what is read behind the product in the shape of its result;
///   of a group without: `in` is what it reads in the shape in which it computes, `out` its result.
/// The reader pays for what is rounded: who writes fewer bits and reads f32 loses nothing itself.
/// A product of bf16 adds up in f32, one of whole numbers in i32, exactly; then its scales make f32 of the sums, and all that is computed
/// behind it is f32. A depthwise convolution multiplies f32, or bytes.
/// Nothing where the group would be more than one kernel; where it has several products (an attention); where `forms` has no such product or
/// numbers; where a value is not of f32; where nothing would be lowered. Groups that only copy numbers are lowered on both sides or where
/// they write.
Result<std::optional<LoweredGroup>> lowered(const FusedGraph&, const Group&, StoredAs in, StoredAs out,
                                            const StoredForms& forms);

/// The alias of a value that is stored so; nothing where it is no reshape, or cannot be stored so.
Result<std::optional<Fragment>> lowered_alias(const FusedGraph&, const Node&, StoredAs, const StoredForms&);

/// A kernel that rounds an f32 activation, channels last; nothing where it cannot be stored so.
Result<std::optional<Fragment>> rounded_copy(const FusedGraph&, ValueId, StoredAs, const StoredForms&);

}  // namespace whet
