#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Makes guards (tails, padding, first and last iterations) cheap: drops those that always hold, narrows a loop's
/// bounds where a guard covers its whole body (to the one iteration of a guard `e == index`, which then is computed
/// instead of searched: writes where data says), cuts loops into ranges (at most a few) so that the middle proves its
/// guards (but not for a guard that will stand around several stores of a tile, tested once a tile), moves what is left
/// outwards. Needs:  guards as Ifs; loops with constant extents but where an earlier run narrowed them. Leaves: the same
/// values computed; copies of loop bodies within kMaxEdgeStores; each variable bound once.
Result<Program> resolve_guards(Program);

/// How many stores (unrolled ones counted singly, a vector loop as its vectors) the copies of a kernel's bodies may
/// add.
constexpr std::int64_t kMaxEdgeStores = 1200;
/// How often loops are cut in one kernel: every cut copies a body, and copies multiply.
constexpr std::size_t kMaxCuts = 40;
/// Into how many ranges a loop is cut for statements that are chosen between, which copies only what stands beside them.
constexpr std::size_t kMaxChoices = 100;

}  // namespace whet
