#include "device/cpu/inference_trace.h"

#include <algorithm>

namespace whet {

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
  for (std::size_t worker = 0; worker < times.size(); ++worker)
    for (std::size_t i = 1; i + 1 < times[worker].size(); i += 2) {
      // Workers leave a barrier nearly, not quite, at the same time.
      const std::uint64_t begin = std::max(times[worker][i], start), end = times[worker][i + 1];
      if (end < begin + kLeastStretchNs) continue;
      const auto step = std::upper_bound(ends.begin(), ends.end(), begin + (end - begin) / 2 - start) - ends.begin();
      if (step == std::ssize(ends)) break;  // behind the last step
      const std::uint64_t until = std::min(end - start, ends.back());
      trace.stretches.push_back({static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(worker),
                                 static_cast<double>(begin - start) * 1e-9, static_cast<double>(until) * 1e-9});
    }
  return trace;
}

}  // namespace whet
