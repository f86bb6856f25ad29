#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Makes guards (tails, padding, first and last iterations) cheap. In this order, it
///   - drops guards that always hold;
///   - narrows a loop's bounds where a guard covers its whole body. A guard `e == index` narrows the loop to one
///     iteration, which is computed instead of searched (data-dependent writes);
///   - cuts loops into a few ranges, so that guards hold in the whole middle range. No loop is cut for a guard that is tested
///     once for several stores of a tile;
///   - moves the remaining guards outwards.
/// Needs:  guards as Ifs; loops with constant extents, except those that an earlier run narrowed.
/// Leaves: the same values computed; copies of loop bodies within kMaxEdgeStores; each variable bound once.
Result<Program> resolve_guards(Program);

/// The most stores that copies of bodies may add to a kernel. An unrolled loop counts all its iterations, a vectorized
/// one its vectors.
constexpr std::int64_t kMaxEdgeStores = 1200;
/// How often loops are cut in one kernel. Every cut copies a body, and the copies multiply.
constexpr std::size_t kMaxCuts = 40;
/// The most ranges into which a loop is cut for a choice between statements. Such cuts copy only the statements beside the
/// choice.
constexpr std::size_t kMaxChoices = 100;

}  // namespace whet
