#include "runner/cpu/team.h"

#include <utility>

#include "base/check.h"

namespace whet {

Status Team::ensure(std::uint32_t threads, const CpuPlacement& placement) {
  if (pool_ && threads == pool_->workers && placement == placement_) return ok_status();
  pool_destroy(std::exchange(pool_, nullptr));
  if (!have_mask_) have_mask_ = sched_getaffinity(0, sizeof mask_, &mask_) == 0;
  if (have_mask_) sched_setaffinity(0, sizeof mask_, &mask_);  // or new workers would inherit what pinned the caller
  whet_pool_options options{};
  options.threads = threads;
  options.cores = placement.cores.empty() ? nullptr : placement.cores.data();
  options.core_count = static_cast<std::uint32_t>(placement.cores.size());
  options.no_pin = placement.no_pin;
  whet_error error{};
  if (pool_create(&options, threads, &pool_, &error) != 0) return Error{error.message};
  placement_ = placement;
  pin_caller();
  return ok_status();
}

/// The pool never moves its caller; here the caller is this process's own main thread.
void Team::pin_caller() {
  const whet_pool_info* info = pool_info(pool_);
  if (!info->pinned || !info->cores || info->cores[0] >= CPU_SETSIZE) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(info->cores[0], &one);
  sched_setaffinity(0, sizeof one, &one);
}

void Team::run(void (*job)(void*, std::uint32_t), void* context) const {
  // It can fail only in a child of the process that made the pool.
  WHET_CHECK(pool_run(pool_, job, context) == 0);
}

}  // namespace whet
