#pragma once

#include <optional>

#include "alternatives/convert.h"

namespace whet {

/// A group on activations that are stored in fewer bits, and what its answers lose by that.
struct LoweredGroup {
  Fragment fragment;
  bool rounds_product =
      false;                  ///< its product multiplies numbers of 16 bits: the activation and the weights are rounded
  bool rounds_reads = false;  ///< what it computes beside a product reads rounded activations
};

/// The group with what it reads and its result channels last, as `in` and `out` say, of which one at least is bf16:
///   of a group with a product (a convolution or a product by constants): `in` is how the product's activation is stored, `out` its
///   result and what is read behind the product in the shape of its result;
///   of a group without: `in` is what it reads in the shape in which it computes, `out` its result.
/// The reader pays for what is rounded: who writes bf16 and reads f32 loses nothing itself.
/// A product of bf16 adds up in f32; its bias and all that is computed behind it are f32. A depthwise convolution multiplies f32.
/// Nothing where the group would be more than one kernel; where it has several products (an attention); where the processors' instruction of
/// pairs of products does not fit (an odd number of terms, fewer than 16 results); where a value is not of f32; where nothing would be
/// lowered. Groups that only copy numbers are lowered on both sides or where they write.
Result<std::optional<LoweredGroup>> lowered(const FusedGraph&, const Group&, StoredAs in, StoredAs out);

/// The alias of a value that is stored as bf16; nothing where it is no reshape of f32.
Result<std::optional<Fragment>> lowered_alias(const FusedGraph&, const Node&);

/// A kernel that rounds an f32 activation, channels last, to bf16.
Result<Fragment> rounded_copy(const FusedGraph&, ValueId);

}  // namespace whet
