#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// rfactor — a reduction is split into independent partial reductions.
///   T = 0; for r { for l in 0..f { T += x(r, l) } }   =>
///   P[*] = 0; for r { for l in 0..f { P[l] += x(r, l) } }  T = 0; for l { T += P[l] }
/// So a reduce loop can be vectorized, or bound to threads: each lane or thread has a sum of its own.
///   loop    of an op with an associative, commutative reducer; reduce, over one digit, at most kMaxPartials iterations
///   yields  nothing: loops keep their ids; `loop` is frozen but may be vectorized, unrolled or bound to threads
///   errors  no such loop; spatial or fused; too long; the op is factored or cached already
struct Rfactor {
  LoopId loop;
};
constexpr std::int64_t kMaxPartials = 1024;
Status apply(LoopTree&, const Rfactor&);

}  // namespace whet
