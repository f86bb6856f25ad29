#include "schedule/precision.h"

namespace whet {

Precision precision_of(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::mma_tf32:
      return Precision::tf32;
    case Intrinsic::mma_f16:
      return Precision::f16;
    case Intrinsic::mma_bf16:
      return Precision::bf16;
    default:
      return Precision::f32;
  }
}

std::optional<MathFn> rounding_of(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return std::nullopt;
    case Precision::tf32:
      return MathFn::round_tf32;
    case Precision::f16:
      return MathFn::round_f16;
    case Precision::bf16:
      return MathFn::round_bf16;
  }
  return std::nullopt;
}

}  // namespace whet
