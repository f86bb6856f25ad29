#pragma once

#include <cstdint>

/// How the workers of a pool share a step. The numbers are read by runtimes of other versions.
enum whet_work_kind : std::uint8_t {
  WHET_WORK_TOGETHER = 0,  ///< every worker runs its own part, all at the same time: they may wait for each other
  WHET_WORK_DIVIDED = 1,   ///< made of parts that any worker may run, in any order, one after another
  WHET_WORK_ALONE = 2,     ///< one worker runs it; steps of this kind of one group run in their order, on one worker
};

/// Steps that the workers of a pool run together. The steps of a group may run in any order and at the same time; a
/// group begins when all steps of the one before have ended.
struct whet_work {
  void* context;
  std::uint32_t groups;
  const std::uint32_t* first_step;  ///< [groups + 1]: group g has the steps first_step[g] .. first_step[g + 1] - 1
  const std::uint8_t* kind;         ///< whet_work_kind of each step
  /// Runs part `part` of `parts` of a step on a worker. A step TOGETHER has a part a worker, a step ALONE one. A step
  /// DIVIDED is divided into some number of parts of which this is one: part p of P is parts 2p and 2p + 1 of 2P.
  void (*run)(void* context, std::uint32_t step, std::uint32_t part, std::uint32_t parts, std::uint32_t worker);
};
