#include "schedule/precision.h"

#include <array>

namespace whet {
namespace {

struct Rounding {
  Precision precision;
  std::string_view name;
  std::optional<MathFn> function;
  Intrinsic tile;  ///< of which it is the precision
  double unit;
};

// By Precision.
constexpr std::array kRoundings = {
    Rounding{Precision::f32, "f32", std::nullopt, Intrinsic::none, 0},
    Rounding{Precision::tf32, "tf32", MathFn::round_tf32, Intrinsic::mma_tf32, 0x1p-11},
    Rounding{Precision::f16, "f16", MathFn::round_f16, Intrinsic::mma_f16, 0x1p-11},
    Rounding{Precision::bf16, "bf16", MathFn::round_bf16, Intrinsic::mma_bf16, 0x1p-8},
};

constexpr double kUnits = 8;

const Rounding& of(Precision precision) { return kRoundings[static_cast<std::size_t>(precision)]; }

}  // namespace

std::string_view name_of(Precision precision) { return of(precision).name; }

std::optional<Precision> parse_precision(std::string_view name) {
  for (const Rounding& known : kRoundings)
    if (known.name == name) return known.precision;
  return std::nullopt;
}

Precision precision_of(Intrinsic intrinsic) {
  for (const Rounding& known : kRoundings)
    if (known.tile == intrinsic) return known.precision;
  return Precision::f32;
}

std::optional<MathFn> rounding_of(Precision precision) { return of(precision).function; }

double tolerance_of(Precision precision) { return kUnits * of(precision).unit; }

}  // namespace whet
