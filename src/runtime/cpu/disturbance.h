#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/clock.h"

namespace whet {

/// Whether other programs have taken processors from the workers of a pool lately.
class Disturbance {
 public:
  using Clock = std::uint64_t (*)();

  /// A worker has just waited `ns` for others, or had no processor for `ns`.
  void lost(std::int64_t ns, Clock clock = now_ns) {
    if (ns > kLostNs) until_.store(clock() + kLastsNs, std::memory_order_relaxed);
  }
  /// Asked once a run, by one worker. A pool that has seen nothing lately reads no clock.
  bool lasts(Clock clock = now_ns) {
    std::uint64_t until = until_.load(std::memory_order_relaxed);
    if (until == 0) return false;
    if (clock() < until) return true;
    until_.compare_exchange_strong(until, 0, std::memory_order_relaxed);  // unless a worker sees another sign just now
    return false;
  }
  void reset() { until_.store(0, std::memory_order_relaxed); }

 private:
  /// A scheduler takes a processor away for 1 to 4 ms. Workers that keep their processors wait less for each other, except
  /// where a step of a long run is divided unevenly. There the other mode costs little in comparison with the wait.
  static constexpr std::int64_t kLostNs = 500000;
  /// A program that computes takes a processor every few milliseconds. After this time without a loss, the machine counts as
  /// quiet. If the program still computes, the next run loses time once and notes it.
  static constexpr std::uint64_t kLastsNs = 100000000;

  std::atomic<std::uint64_t> until_{0};
};

}  // namespace whet
