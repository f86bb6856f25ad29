#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cpu/pool.h"

namespace whet {

/// A pool in front of another one. It writes down when each worker comes to a barrier and when it goes on: a session that is
/// profiled has a barrier before every step and behind the last one. Sessions without it lose nothing.
class WatchedPool {
 public:
  /// `inner` outlives it.
  explicit WatchedPool(whet_pool* inner);
  WatchedPool(const WatchedPool&) = delete;

  whet_pool* pool() { return &head_; }

  /// Forgets what is written down. Not while a job runs.
  void forget();
  std::uint32_t workers() const { return head_.workers; }
  /// When a worker came to its first barrier, when it went on, when it came to the next, ... [ns of now_ns].
  const std::vector<std::uint64_t>& times(std::uint32_t worker) const { return notes_[worker].times; }

 private:
  /// On cache lines of its own.
  struct alignas(64) Notes {
    std::vector<std::uint64_t> times;
  };
  /// What the pool's functions get: its head, behind which they find the rest.
  struct Head : whet_pool {
    WatchedPool* self;
  };
  static WatchedPool& of(whet_pool* pool) { return *static_cast<Head*>(pool)->self; }

  whet_pool* inner_;
  Head head_{};
  std::vector<Notes> notes_;
};

}  // namespace whet
