#pragma once

#include <atomic>
#include <cstdint>

#include "artifact/kernel_args.h"
#include "artifact/model_format.h"
#include "runtime/cpu/pool.h"

namespace whet {

/// The data that the workers of a pool need to go through a plan together. Everything that it points at belongs to the
/// session.
struct PlanWalk {
  const ModelView* view;
  const whet_kernel* entries;
  whet_pool* pool;
  char* arena;
  char* worker_workspaces;         ///< one piece a worker,
  std::uint64_t workspace_stride;  ///< this many bytes apart
  void** buffers;                  ///< the address of every argument of the plan
  std::uint64_t* step_ns;          ///< time of every step in the last walk that measured
  /// The plan as work that the pool shares out; its context is this.
  whet_work work;
  std::uint32_t* first_step;  ///< [steps + 1]
  std::uint8_t* kinds;        ///< [steps]
  /// 0, or step + 1 in the upper half and the kernel's answer in the lower: the first failure of the last walk.
  std::atomic<std::uint64_t> failure;
};

/// Fills `work`, `first_step` and `kinds` from the plan.
void describe_work(PlanWalk& walk);

/// Runs every step once, in order, on all workers. With `measure` a barrier separates all steps, and `step_ns` gets
/// their times. Returns 0, or an errno where the pool's workers could not be started again after a fork.
int walk_plan(PlanWalk& walk, bool measure);

}  // namespace whet
