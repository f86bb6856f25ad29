#include "cli/explain_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "cli/output.h"
#include "cli/table.h"
#include "codegen/gpu/ptxas.h"
#include "cost/gpu/estimate.h"
#include "target/gpu.h"

namespace whet {
namespace {

/// The largest part of a launch's time.
const char* bound_of(const LaunchCost& cost) {
  const std::pair<double, const char*> parts[] = {{cost.issue, "instructions"},
                                                  {cost.near, "block memory"},
                                                  {cost.latency, "latency"},
                                                  {cost.l2, "L2"},
                                                  {cost.memory, "memory"}};
  return std::ranges::max_element(parts)->second;
}

std::string kilobytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e3); }

}  // namespace

void print_launches(const LoopTree& tree, const Target& target) {
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  const std::vector<LaunchCost> costs = launch_costs(tree, launches, target);
  Table table({{"Launch"},
               {"Blocks"},
               {"Threads"},
               {"Registers"},
               {"Block KB"},
               {"Blocks/SM"},
               {"Held by", false},
               {"Waves full"},
               {"Multiply-adds"},
               {"L2 KB"},
               {"Time (us)"},
               {"Bound by", false}});
  double seconds = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const LaunchWork& launch = launches[i];
    const Residency held = residency(limits_of(target.gpu()), launch.threads, launch.registers, launch.block_memory);
    table.add({std::to_string(i), fmt::format("{:.0f}", launch.blocks), std::to_string(launch.threads),
               std::to_string(launch.registers), kilobytes(static_cast<double>(launch.block_memory)),
               std::to_string(held.blocks), held.limited_by, fmt::format("{:.0f}%", 100 / costs[i].tail),
               fmt::format("{:.0f}%", 100 * costs[i].multiply_adds), kilobytes(costs[i].bytes),
               fmt::format("{:.2f}", costs[i].seconds * 1e6), bound_of(costs[i])});
    seconds += costs[i].seconds;
  }
  fmt::print("\n{} by the estimate: {:.2f} us\n", counted(std::ssize(costs), "launch", "launches"), seconds * 1e6);
  print(table);
}

void print_assembled(const Result<Built>& built, const Target& target) {
  const Ptxas& ptxas = installed_ptxas();
  if (ptxas.path.empty()) {
    fmt::print("Registers are estimates: ptxas, which would tell, is not installed\n");
    return;
  }
  const Result<AssembledPtx> assembled =
      built.ok() ? assemble_ptx(ptxas, built->kernel.code, target.gpu().arch) : Result<AssembledPtx>(built.error());
  if (!assembled.ok()) {
    fmt::print("It does not assemble: {}\n", assembled.error().message);
    return;
  }
  fmt::print("By the assembler of CUDA {}: {} registers a thread{}, {} bytes of code\n", ptxas.release,
             assembled->report.registers,
             assembled->report.spill_bytes > 0
                 ? fmt::format(", {} bytes of them spilled", assembled->report.spill_bytes)
                 : ", none spilled",
             assembled->cubin.size());
}

}  // namespace whet
