#pragma once

#include <optional>

#include "base/result.h"
#include "compute/affine.h"
#include "program/program.h"

namespace whet {

/// Makes guards (tails, padding, first and last iterations) cheap. In this order, it
///   - drops guards that always hold;
///   - narrows a loop's bounds where a guard covers its whole body. A guard `e == index` narrows the loop to one
///     iteration, which is computed instead of searched (data-dependent writes);
///   - cuts loops into a few ranges, so that guards hold in the whole middle range. No loop is cut for a guard that is tested
///     once for several stores of a tile;
///   - moves the remaining guards outwards.
/// Needs:  guards as Ifs; loops with constant extents, except those that an earlier run narrowed and those over sizes. Neither such loops nor
///         conditions on sizes are cut: `exact_remainders` and `cut_interiors` come before.
/// Leaves: the same values computed; copies of loop bodies within kMaxEdgeStores; each variable bound once.
Result<Program> resolve_guards(Program);

/// The sum that a comparison of i64 scalars says to be 0 or more; nothing for another condition.
std::optional<Affine> nonnegative_sum(const Expr& condition);
/// Stores that unrolling makes of `s`; a vector loop counts a store for every 16 lanes. Without those that a condition on
/// `chosen_by`, if that is a variable, chooses between.
std::int64_t unrolled_stores(const Stmt& s, VarId chosen_by = VarId());

/// The most stores that copies of bodies may add to a kernel. An unrolled loop counts all its iterations, a vectorized
/// one its vectors.
constexpr std::int64_t kMaxEdgeStores = 1200;
/// How often loops are cut in one kernel. Every cut copies a body, and the copies multiply.
constexpr std::size_t kMaxCuts = 40;
/// The most ranges into which a loop is cut for a choice between statements. Such cuts copy only the statements beside the
/// choice.
constexpr std::size_t kMaxChoices = 100;

}  // namespace whet
