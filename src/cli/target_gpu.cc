#include "cli/target_gpu.h"

#include <fmt/format.h>

namespace whet {
namespace {

/// Two operations of each lane in each cycle, in GFLOPS.
double peak_gflops(const GpuTarget& gpu, const GpuModel& model) {
  return 2.0 * limits_of(gpu).lanes_per_sm * gpu.sms * model.ghz;
}

std::string features_of(const GpuLimits& limits) {
  std::string words;
  const auto add = [&](bool has, const char* word) {
    if (has) words += (words.empty() ? "" : ", ") + std::string(word);
  };
  add(limits.async_copy, "asynchronous copies");
  add(limits.mma, "tensor products");
  add(limits.dependent_launch, "dependent launches");
  return words.empty() ? "-" : words;
}

}  // namespace

void print_gpu(const Target& target) {
  const GpuTarget& gpu = target.gpu();
  const GpuLimits& limits = limits_of(gpu);
  const GpuModel& model = nearest_model(gpu);
  fmt::print("{}\n", to_string(target));
  fmt::print("  multiprocessor  {} f32 lanes; at most {} warps and {} blocks; {} registers, {} KiB of block memory\n",
             limits.lanes_per_sm, limits.warps_per_sm, limits.blocks_per_sm, limits.registers_per_sm,
             limits.block_memory_per_sm >> 10);
  fmt::print("  block           at most {} threads of {} registers, {} KiB of block memory\n", limits.threads_per_block,
             limits.registers_per_thread, limits.block_memory_per_block >> 10);
  fmt::print("  features        {}\n", features_of(limits));
  fmt::print("  rates           {:.0f} GFLOPS, memory {:.0f} GB/s, L2 {} MiB (data sheet of {}; not measured)\n",
             peak_gflops(gpu, model), model.memory_gbs, model.l2_bytes >> 20, model.name);
}

Json gpu_json(const Target& target) {
  const GpuTarget& gpu = target.gpu();
  const GpuLimits& limits = limits_of(gpu);
  const GpuModel& model = nearest_model(gpu);
  Json out = Json::object();
  out.set("target", to_string(target)).set("arch", gpu.arch).set("multiprocessors", gpu.sms);
  out.set("lanes_per_multiprocessor", limits.lanes_per_sm).set("warps_per_multiprocessor", limits.warps_per_sm);
  out.set("blocks_per_multiprocessor", limits.blocks_per_sm);
  out.set("registers_per_multiprocessor", limits.registers_per_sm);
  out.set("block_memory_per_multiprocessor", limits.block_memory_per_sm);
  out.set("threads_per_block", limits.threads_per_block).set("registers_per_thread", limits.registers_per_thread);
  out.set("block_memory_per_block", limits.block_memory_per_block);
  out.set("async_copy", limits.async_copy).set("mma", limits.mma).set("dependent_launch", limits.dependent_launch);
  Json rates = Json::object();
  rates.set("model", std::string(model.name)).set("gflops", peak_gflops(gpu, model));
  rates.set("memory_gb_per_s", model.memory_gbs).set("l2_bytes", model.l2_bytes);
  out.set("data_sheet", rates);
  return out;
}

}  // namespace whet
