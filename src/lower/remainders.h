#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Makes tails of sizes exact: what a tile of f iterations leaves of n is computed by a copy of the tile with n mod f iterations, one for
/// each remainder that the sizes can leave.
///   for o in 0 .. (n + f - 1) div f          let q = n div f
///     unroll i in 0 .. f                     for o in 0 .. q
///       if o*f + i < n                         unroll i in 0 .. f
///         S(o*f + i)                    =>       S(o*f + i)
///                                            if n - q*f < 4: ..., if n - q*f >= 4: ...   (halves until a remainder r is known)
///                                              unroll i in 0 .. f
///                                                if i < r
///                                                  S(q*f + i)
/// n is an expression of sizes and of outer loops, o a loop or a digit of one. Where o is a digit, or its loop is parallel, the choice
/// stands inside. Guards over other loops than unrolled and vectorized ones stay: `resolve_guards` narrows those loops.
/// Where o is 0 at all sizes, there is one tile: it is whole where n >= f, else a copy for each n < f is chosen; vectors stay masked.
/// Where other conditions end with n, as those of paddings, q is (n - 1) div f, and the copies are for 1 to f iterations: what n is there,
/// q*f and a number, decides these conditions.
/// One copy, guarded by i < n - q*f, stands for all remainders where f is above kMostRemainders, or where copies would be more than
/// kMostRemainderStores. Where i is of vectors and masks are free, there is a copy for each number of vectors, and a mask for the last one.
/// Needs:  guards as Ifs; a program without sizes is left as it is.
/// Leaves: the same values computed; each variable bound once.
Result<Program> exact_remainders(Program, bool free_masks);

/// The largest tile whose remainders have copies of their own.
constexpr std::int64_t kMostRemainders = 16;
/// The most stores that copies of tiles may add to a kernel, counted as for kMaxEdgeStores (lower/guards.h). An attention has tails along
/// queries and along keys.
constexpr std::int64_t kMostRemainderStores = 2400;

}  // namespace whet
