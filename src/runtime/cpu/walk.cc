#include "runtime/cpu/walk.h"

#include <string.h>

#include "runtime/clock.h"

namespace whet {
namespace {

void no_barrier(void*, std::uint32_t) {}
constexpr whet_kernel_runtime kAloneRuntime = {no_barrier};

void note_failure(PlanWalk& walk, std::uint32_t step, std::int32_t answer) {
  std::uint64_t none = 0;
  walk.failure.compare_exchange_strong(none, (std::uint64_t{step + 1} << 32) | static_cast<std::uint32_t>(answer));
}

void call_kernel(PlanWalk& walk, std::uint32_t index, const PlanStep& step, std::uint32_t worker,
                 std::uint32_t workers) {
  whet_kernel_args args{};
  args.buffers = walk.buffers + step.first_argument;
  args.workspace = walk.arena + step.workspace_offset;
  args.worker_workspace = walk.worker_workspaces + worker * walk.workspace_stride;
  args.runtime = workers > 1 ? &kPoolKernelRuntime : &kAloneRuntime;
  args.team = walk.pool;
  args.worker = worker;
  args.workers = workers;
  const std::int32_t answer = walk.entries[step.entry](&args);
  if (answer != 0) note_failure(walk, index, answer);
}

/// Each worker copies its share, in whole cache lines.
void copy_share(const PlanWalk& walk, const PlanStep& step, std::uint32_t worker, std::uint32_t workers) {
  const std::uint64_t bytes = walk.view->arguments[step.first_argument].bytes;
  const std::uint64_t lines = (bytes + 63) / 64;
  const std::uint64_t begin = lines * worker / workers * 64;
  std::uint64_t end = lines * (worker + 1) / workers * 64;
  if (end > bytes) end = bytes;
  if (begin >= end) return;
  const char* from = static_cast<const char*>(walk.buffers[step.first_argument]);
  memcpy(static_cast<char*>(walk.buffers[step.first_argument + 1]) + begin, from + begin, end - begin);
}

void run_step(PlanWalk& walk, std::uint32_t index, const PlanStep& step, std::uint32_t worker, std::uint32_t workers) {
  const bool parallel = step.flags & kStepParallel;
  if (!parallel && worker != 0) return;
  const std::uint32_t team = parallel ? workers : 1;
  if (step.kind == PlanStepKind::copy) {
    copy_share(walk, step, worker, team);
  } else {
    call_kernel(walk, index, step, worker, team);
  }
}

void run_steps(void* context, std::uint32_t worker) {
  PlanWalk& walk = *static_cast<PlanWalk*>(context);
  const std::uint32_t steps = walk.view->header->steps.count, workers = walk.pool->workers;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const PlanStep& step = walk.view->steps[i];
    if (step.flags & kStepBarrier) walk.pool->barrier(walk.pool, worker);
    run_step(walk, i, step, worker, workers);
  }
}

/// The same with a barrier before every step, so that each step's time is its own.
void measure_steps(void* context, std::uint32_t worker) {
  PlanWalk& walk = *static_cast<PlanWalk*>(context);
  const std::uint32_t steps = walk.view->header->steps.count;
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i <= steps; ++i) {
    walk.pool->barrier(walk.pool, worker);
    if (worker == 0) {
      const std::uint64_t now = now_ns();
      if (i > 0) walk.step_ns[i - 1] = now - before;
      before = now;
    }
    if (i < steps) run_step(walk, i, walk.view->steps[i], worker, walk.pool->workers);
  }
}

}  // namespace

int walk_plan(PlanWalk& walk, bool measure) {
  walk.failure.store(0, std::memory_order_relaxed);
  return pool_run(walk.pool, measure ? measure_steps : run_steps, &walk);
}

}  // namespace whet
