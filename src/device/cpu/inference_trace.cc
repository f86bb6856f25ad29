#include "device/cpu/inference_trace.h"

#include <algorithm>

namespace whet {

namespace {

/// Before which of its barriers the worker whose clock the steps have begins each of them, and how many barriers are behind the
/// last. A step begins as soon as that worker has left a barrier.
///   times  of that worker
///   ends   of the steps, since it left its first barrier
std::vector<std::size_t> first_stretches(const std::vector<std::uint64_t>& times,
                                         const std::vector<std::uint64_t>& ends) {
  std::vector<std::size_t> first = {0};
  for (const std::uint64_t end : ends) {
    std::size_t at = first.back() + 1;
    while (2 * at + 2 < times.size() && times[2 * at + 2] <= times[1] + end) ++at;
    first.push_back(at);
  }
  return first;
}

}  // namespace

InferenceTrace trace_of(const std::vector<std::uint64_t>& step_ns,
                        const std::vector<std::vector<std::uint64_t>>& times) {
  InferenceTrace trace;
  std::vector<std::uint64_t> ends;  // since the first step began
  for (const std::uint64_t ns : step_ns) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + ns);
    trace.ends.push_back(static_cast<double>(ends.back()) * 1e-9);
  }
  if (times.empty() || times[0].size() < 2) return trace;
  const std::uint64_t start = times[0][1];  // worker 0, whose clock the steps have, goes on
  // All workers come to the same barriers, but one may be late in leaving them: the number of a barrier, and not the time, has the
  // step.
  const std::vector<std::size_t> first = first_stretches(times[0], ends);
  for (std::size_t worker = 0; worker < times.size(); ++worker)
    for (std::size_t k = 0; k < first.back() && 2 * k + 2 < times[worker].size(); ++k) {
      const std::uint64_t begin = std::max(times[worker][2 * k + 1], start);
      const std::uint64_t end = std::min(times[worker][2 * k + 2], start + ends.back());
      if (end < begin + kLeastStretchNs) continue;
      const auto step = std::upper_bound(first.begin(), first.end(), k) - first.begin() - 1;
      trace.stretches.push_back({static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(worker),
                                 static_cast<double>(begin - start) * 1e-9, static_cast<double>(end - start) * 1e-9});
    }
  return trace;
}

}  // namespace whet
