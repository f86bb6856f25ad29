#pragma once

#include "program/program.h"

namespace whet {

/// Functions that a processor computes by one instruction.
struct MathSupport {
  bool round = false;         ///< floor, ceil and round
  bool multiply_add = false;  ///< x*y + z, rounded once
  bool warp_tiles = false;    ///< products of a warp's threads together, which round their operands
  bool round_tf32 = false;    ///< rounding of an operand alone
  bool exp = false;           ///< that of f32
};

/// Rewrites calls of functions that no processor has an instruction for as polynomials of plain expressions, for any
/// number of lanes; intermediate values become lets around the statement.
///   Expands  exp, log, tanh, erf, sigmoid, rsqrt, sin, cos, pow, round_f16, round_bf16;
///            exp of f32, floor, ceil, round and round_tf32 where the target lacks them; nothing in tiles of warps where the target has those.
///   Keeps    sqrt, abs, bits_of, float_of_bits; everything that is no call. f16 arguments are computed in f32,
///            those of f64 by expand_double.
///   Errors   at most 2 units in the last place, 4 for sigmoid, over all f32, infinities and NaN included; zeros have
///            the right sign. Results below 2^-126 are within 2^-149, those of sigmoid may be zero. sin and cos: for |x| <= 2^20; beyond, the absolute
///            error grows as |x| * 2^-50, and |x| >= 2^30 gives NaN.
/// May run before or after vectorization and unrolling; behind both it is cheapest.
Program expand_math(const Program&, MathSupport);

}  // namespace whet
