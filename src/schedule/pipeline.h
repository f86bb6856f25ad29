#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// pipeline — what is computed at a loop is computed some iterations ahead, into a buffer for each stage.
///   for i in 0..N { B[*] = f(i)  S(i, B[*]) }   pipeline(i, 2)  =>
///   B[0][*] = f(0)  for i in 0..N { if i + 1 < N { B[(i + 1) % 2][*] = f(i + 1) }  S(i, B[i % 2][*]) }
/// So the copies of the next tile overlap with the work on this one. The first stages - 1 tiles are made before the
/// loop (prologue), and its last stages - 1 iterations make none (drain).
///   loop    serial or unrolled, over one digit; something is computed at it by compute_at
///   stages  2 .. kMaxStages buffers
///   yields  nothing: loops keep their ids; nothing more is placed under `loop`
///   errors  no such loop; parallel, bound or fused; nothing is computed at it, or in registers, or from what other
///           ops compute in the same iteration; pipelined already
struct Pipeline {
  LoopId loop;
  std::int64_t stages;
};
constexpr std::int64_t kMaxStages = 8;
/// Registers in which a GPU's thread holds elements during the work where copies are not asynchronous: more are taken from the sums.
/// Two elements of 16 bits share one.
constexpr std::int64_t kMostHeld = 48;
Status apply(LoopTree&, const Pipeline&);

/// The ops that are computed at the loop for its readers there; a pipeline moves them.
std::vector<OpId> computed_at(const LoopTree&, LoopId);
/// 1 where the loop is no pipeline.
std::int64_t stages_of(const LoopTree&, LoopId);

}  // namespace whet
