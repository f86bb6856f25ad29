#pragma once

#include <cstdint>

#include "artifact/kernel_args.h"
#include "runtime/cpu/work.h"
#include "whet/model.h"

/// The head of every pool: the part that a runtime of another library (and of another version) needs to run on it.
/// Members are never moved or removed. `head_version` tells which were added.
struct whet_pool {
  std::uint32_t head_version;  ///< 3
  std::uint32_t workers;
  /// Runs job(context, worker) on every worker at once and returns when all have returned. The calling thread is worker
  /// 0. Only one caller runs at a time. Every worker computes in a FloatMode. Returns 0, or an errno where the workers could
  /// not be started again after a fork (then no job has run).
  int (*run)(whet_pool*, void (*job)(void* context, std::uint32_t worker), void* context);
  /// Inside a job: returns when all workers have called it.
  void (*barrier)(whet_pool*, std::uint32_t worker);
  void (*destroy)(whet_pool*);
  const whet_pool_info* info;
  /// Since version 2. Runs the work on all workers and returns when it is done. Beside other programs, other workers run the
  /// parts of a worker that is late. As in `run`, the calling thread is worker 0, workers compute in a FloatMode, one caller runs
  /// at a time, and an errno is returned. For pools of two workers or more.
  int (*run_work)(whet_pool*, const whet_work*);
  /// Since version 3. Memory of at least `bytes`, as `allocate_pages` gives it, which a run may use while it has the pool. All
  /// sessions of the pool use the same memory, which therefore stays in the caches. It belongs to the pool. From any thread. Null
  /// where there is no memory.
  void* (*scratch)(whet_pool*, std::uint64_t bytes);
};

namespace whet {

/// See whet_api. `most_threads` bounds the number of threads that is chosen where the options give none: the number for
/// which a model was tuned, or 0. Returns 0, or -1 and a sentence.
int pool_create(const whet_pool_options* options, std::uint32_t most_threads, whet_pool** pool, whet_error* error);
inline void pool_destroy(whet_pool* pool) {
  if (pool != nullptr) pool->destroy(pool);
}
inline const whet_pool_info* pool_info(const whet_pool* pool) { return pool->info; }

[[nodiscard]] inline int pool_run(whet_pool* pool, void (*job)(void* context, std::uint32_t worker), void* context) {
  return pool->run(pool, job, context);
}

/// Whether the pool, which may be of another version, has run_work.
inline bool pool_shares_work(const whet_pool* pool) { return pool->head_version >= 2 && pool->workers > 1; }

/// Whether the pool, which may be of another version, lends scratch memory.
inline bool pool_has_scratch(const whet_pool* pool) { return pool->head_version >= 3; }

/// Inside a job: runs the worker's share of a step.
inline void run_share(const whet_pool* pool, const whet_work& work, std::uint32_t step, std::uint32_t worker) {
  const bool alone = work.kind[step] == WHET_WORK_ALONE;
  if (!alone || worker == 0) work.run(work.context, step, worker, alone ? 1 : pool->workers, worker);
}
/// The same of all steps. The workers meet before each group but the first.
inline void run_shares(whet_pool* pool, const whet_work& work, std::uint32_t worker) {
  for (std::uint32_t group = 0; group < work.groups; ++group) {
    if (group != 0) pool->barrier(pool, worker);
    for (std::uint32_t step = work.first_step[group]; step < work.first_step[group + 1]; ++step)
      run_share(pool, work, step, worker);
  }
}

/// The runtime of kernels: its `barrier` takes a whet_pool as the team.
extern const whet_kernel_runtime kPoolKernelRuntime;

}  // namespace whet
