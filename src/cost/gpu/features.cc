#include "cost/gpu/features.h"

#include <algorithm>

#include "cost/feature_row.h"
#include "cost/gpu/estimate.h"

namespace whet {
namespace {

constexpr std::size_t kLaunches = 3;

/// How threads meet memory in a launch: means over all requests.
struct Meetings {
  double sectors = 0;    ///< a request of global memory, by what its bytes need at least
  double conflicts = 0;  ///< cycles of a request of block memory, by what they are without conflicts
  double width = 0;      ///< elements a request
  double body = 0;       ///< statements of the largest unrolled body
};
Meetings meetings_of(const LaunchWork& launch) {
  double of_global = 0, of_block = 0, all = 0;
  Meetings sum;
  for (const OpWork& nest : launch.nests) {
    sum.body = std::max(sum.body, nest.body);
    for (const LaunchAccess& access : nest.accesses) {
      if (access.memory == LaunchAccess::Memory::registers) continue;
      const double requests = nest.warps * access.requests;
      all += requests, sum.width += requests * access.width;
      if (access.memory == LaunchAccess::Memory::global)
        of_global += requests, sum.sectors += requests * access.sectors / (4 * access.width);
      if (access.memory == LaunchAccess::Memory::block)
        of_block += requests, sum.conflicts += requests * access.passes / access.least_passes;
    }
  }
  sum.sectors /= std::max(1.0, of_global), sum.conflicts /= std::max(1.0, of_block), sum.width /= std::max(1.0, all);
  return sum;
}

float nanoseconds(double seconds) { return log2p(seconds * 1e9); }

void add_launch(FeatureRow& row, const LaunchCost* cost) {
  static const LaunchWork kNoLaunch{.blocks = 0, .threads = 0};
  static const LaunchCost kNone{.launch = &kNoLaunch, .tail = 0};
  const LaunchCost& known = cost ? *cost : kNone;
  const LaunchWork& launch = *known.launch;
  const Meetings meetings = meetings_of(launch);
  row.add("seconds", nanoseconds(known.seconds));
  row.add("issue", nanoseconds(known.issue));
  row.add("near memory", nanoseconds(known.near));
  row.add("L2", nanoseconds(known.l2));
  row.add("latency", nanoseconds(known.latency));
  row.add("blocks", log2p(launch.blocks));
  row.add("threads", log2p(launch.threads));
  row.add("resident warps", static_cast<float>(known.resident_warps));
  row.add("registers", static_cast<float>(launch.registers));
  row.add("tail", static_cast<float>(known.tail));
  row.add("multiply-adds", static_cast<float>(known.multiply_adds));
  row.add("sectors", log2p(meetings.sectors));
  row.add("conflicts", log2p(meetings.conflicts));
  row.add("body", log2p(meetings.body));
}

void add_gpu_features(FeatureRow& row, const LoopTree& tree, const Target& target) {
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  std::vector<LaunchCost> costs = launch_costs(tree, launches, target);
  double seconds = 0, memory = 0, stages = 0, block_memory = 0, width = 0;
  for (const LaunchCost& cost : costs) {
    seconds += cost.seconds, memory += cost.memory_bytes;
    stages = std::max(stages, static_cast<double>(cost.launch->stages));
    block_memory = std::max(block_memory, static_cast<double>(cost.launch->block_memory));
    width = std::max(width, meetings_of(*cost.launch).width);
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const LaunchCost& a, const LaunchCost& b) { return a.seconds > b.seconds; });
  row.add("seconds", nanoseconds(seconds));
  row.add("launches", static_cast<float>(launches.size()));
  row.add("bytes of memory", log2p(memory));
  row.add("stages", static_cast<float>(stages));
  row.add("block memory", log2p(block_memory));
  row.add("width", static_cast<float>(width));
  for (std::size_t k = 0; k < kLaunches; ++k) {
    if (row.names) row.prefix = "launch" + std::to_string(k + 1) + " ";
    add_launch(row, k < costs.size() ? &costs[k] : nullptr);
  }
}

}  // namespace

std::vector<float> gpu_features(const LoopTree& tree, const Target& target) {
  FeatureRow row;
  row.values.reserve(gpu_feature_names().size());
  add_gpu_features(row, tree, target);
  return std::move(row.values);
}

const std::vector<std::string>& gpu_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    FeatureRow row;
    row.names = &list;
    add_gpu_features(row, LoopTree(), Target{GpuTarget(), 1});
    return list;
  }();
  return names;
}

}  // namespace whet
