#pragma once

#include <cstdint>
#include <vector>

namespace whet {

/// What the workers did in one inference. Times are seconds since the first step began.
struct InferenceTrace {
  /// A worker at work on a step without a break. Between two of them it waits for others.
  struct Stretch {
    std::uint32_t step, worker;
    double begin, end;
  };
  std::vector<Stretch> stretches;  ///< of each worker in order, worker 0's first
  std::vector<double> ends;        ///< of each step
};

/// Makes a trace of what a WatchedPool wrote down of one run.
///   step_ns  of the same run
///   times    of each worker: see WatchedPool
/// Stretches shorter than `kLeastStretchNs` are left out: a worker that has no part of a step.
InferenceTrace trace_of(const std::vector<std::uint64_t>& step_ns,
                        const std::vector<std::vector<std::uint64_t>>& times);
constexpr std::uint64_t kLeastStretchNs = 200;

}  // namespace whet
