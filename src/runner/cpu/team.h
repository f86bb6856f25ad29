#pragma once

#include <sched.h>

#include <cstdint>

#include "base/result.h"
#include "runner/cpu/placement.h"
#include "runtime/cpu/pool.h"

namespace whet {

/// Workers that run kernels, pinned to cores; the calling thread is the first of them.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  ~Team() { pool_destroy(pool_); }

  /// Makes the workers, or keeps those that are there where they are what is asked for.
  Status ensure(std::uint32_t threads, const CpuPlacement& placement);

  whet_pool* pool() const { return pool_; }
  std::uint32_t workers() const { return pool_->workers; }
  /// Runs job(context, worker) on every worker and returns when all have.
  void run(void (*job)(void*, std::uint32_t), void* context) const;

 private:
  void pin_caller();

  whet_pool* pool_ = nullptr;
  CpuPlacement placement_;
  bool have_mask_ = false;
  cpu_set_t mask_;
};

}  // namespace whet
