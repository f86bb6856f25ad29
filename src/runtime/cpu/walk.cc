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

/// Calls the kernel as worker `part` of `parts`.
void call_kernel(PlanWalk& walk, std::uint32_t index, const PlanStep& step, std::uint32_t part, std::uint32_t parts,
                 std::uint32_t worker) {
  whet_kernel_args args{};
  args.buffers = walk.buffers + step.first_argument;
  args.workspace = walk.arena + step.workspace_offset;
  args.worker_workspace = walk.worker_workspaces + worker * walk.workspace_stride;
  args.runtime = parts > 1 ? &kPoolKernelRuntime : &kAloneRuntime;
  args.team = walk.pool;
  args.worker = part;
  args.workers = parts;
  const std::int32_t answer = walk.entries[step.entry](&args);
  if (answer != 0) note_failure(walk, index, answer);
}

/// Whole cache lines.
void copy_part(const PlanWalk& walk, const PlanStep& step, std::uint32_t part, std::uint32_t parts) {
  const std::uint64_t bytes = walk.view->arguments[step.first_argument].bytes;
  const std::uint64_t lines = (bytes + 63) / 64;
  const std::uint64_t begin = lines * part / parts * 64;
  std::uint64_t end = lines * (part + 1) / parts * 64;
  if (end > bytes) end = bytes;
  if (begin >= end) return;
  const char* from = static_cast<const char*>(walk.buffers[step.first_argument]);
  memcpy(static_cast<char*>(walk.buffers[step.first_argument + 1]) + begin, from + begin, end - begin);
}

void run_part(void* context, std::uint32_t index, std::uint32_t part, std::uint32_t parts, std::uint32_t worker) {
  PlanWalk& walk = *static_cast<PlanWalk*>(context);
  const PlanStep& step = walk.view->steps[index];
  if (step.kind == PlanStepKind::copy) {
    copy_part(walk, step, part, parts);
  } else {
    call_kernel(walk, index, step, part, parts, worker);
  }
}

void run_steps(void* context, std::uint32_t worker) {
  const PlanWalk& walk = *static_cast<PlanWalk*>(context);
  run_shares(walk.pool, walk.work, worker);
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
    if (i < steps) run_share(walk.pool, walk.work, i, worker);
  }
}

whet_work_kind kind_of(const PlanStep& step) {
  if (!(step.flags & kStepParallel)) return WHET_WORK_ALONE;
  return step.kind == PlanStepKind::copy || step.flags & kStepDivisible ? WHET_WORK_DIVIDED : WHET_WORK_TOGETHER;
}

}  // namespace

void describe_work(PlanWalk& walk) {
  // Shorter groups are always right; their parts are counted in 32 bits.
  constexpr std::uint32_t kMostSteps = 1 << 18;
  const std::uint32_t steps = walk.view->header->steps.count;
  walk.work = {&walk, 0, walk.first_step, walk.kinds, run_part};
  for (std::uint32_t i = 0, first = 0; i < steps; ++i) {
    const PlanStep& step = walk.view->steps[i];
    if (i == 0 || step.flags & kStepBarrier || i - first == kMostSteps) walk.first_step[walk.work.groups++] = first = i;
    walk.kinds[i] = kind_of(step);
  }
  walk.first_step[walk.work.groups] = steps;
}

int walk_plan(PlanWalk& walk, bool measure) {
  walk.failure.store(0, std::memory_order_relaxed);
  if (!measure && pool_shares_work(walk.pool)) return walk.pool->run_work(walk.pool, &walk.work);
  return pool_run(walk.pool, measure ? measure_steps : run_steps, &walk);
}

}  // namespace whet
