#include "target/gpu.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/arithmetic.h"
#include "base/nearest.h"
#include "target/kinds.h"

namespace whet {
namespace {

constexpr std::int64_t KiB = 1024;

constexpr GpuLimits kLimits[] = {
    {75, 32, 16, 64, 64 * KiB, 64 * KiB, 256, 0, false, false, false},
    {80, 64, 32, 64, 164 * KiB, 163 * KiB, 128, KiB, true, true, false},
    {86, 48, 16, 128, 100 * KiB, 99 * KiB, 128, KiB, true, true, false},
    {87, 48, 16, 128, 164 * KiB, 163 * KiB, 128, KiB, true, true, false},
    {89, 48, 24, 128, 100 * KiB, 99 * KiB, 128, KiB, true, true, false},
    {90, 64, 32, 128, 228 * KiB, 227 * KiB, 128, KiB, true, true, true},
    {100, 64, 32, 128, 228 * KiB, 227 * KiB, 128, KiB, true, true, true},
    {120, 48, 24, 128, 100 * KiB, 99 * KiB, 128, KiB, true, true, true},
};

constexpr std::int64_t MiB = 1024 * KiB, GiB = 1024 * MiB;

constexpr GpuModel kModels[] = {
    {"t4", 75, 40, 1.59, 320, 4 * MiB, 16 * GiB},           {"a100", 80, 108, 1.41, 1555, 40 * MiB, 40 * GiB},
    {"a10", 86, 72, 1.695, 600, 6 * MiB, 24 * GiB},         {"rtx3090", 86, 82, 1.695, 936, 6 * MiB, 24 * GiB},
    {"l4", 89, 58, 2.04, 300, 48 * MiB, 24 * GiB},          {"rtx4090", 89, 128, 2.52, 1008, 72 * MiB, 24 * GiB},
    {"h100", 90, 132, 1.755, 3350, 50 * MiB, 80 * GiB},     {"h100-pcie", 90, 114, 1.755, 2039, 50 * MiB, 80 * GiB},
    {"h200", 90, 132, 1.755, 4800, 50 * MiB, 141 * GiB},    {"b200", 100, 148, 1.965, 8000, 126 * MiB, 180 * GiB},
    {"rtx5090", 120, 170, 2.407, 1792, 96 * MiB, 32 * GiB},
};

constexpr int kMaxSms = 1024;

const std::vector<std::string>& gpu_switches() {
  static const std::vector<std::string> switches = {"-arch", "-sms", "-model"};
  return switches;
}

/// The whole of `text` as a number, or -1.
int number_of(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

bool is_arch(int arch) {
  return std::ranges::any_of(kLimits, [&](const GpuLimits& row) { return row.arch == arch; });
}

Status set_arch(GpuTarget& target, std::string_view value) {
  const int arch = value.starts_with("sm_") ? number_of(value.substr(3)) : -1;
  if (arch > 0 && arch < kLimits[0].arch)
    return Error{"target: -arch is " + in_quotes(value) + "; whet makes code for sm_75 and newer",
                 ErrorKind::unsupported};
  if (is_arch(arch)) {
    target.arch = arch;
    return ok_status();
  }
  std::string known;
  for (const GpuLimits& row : kLimits) known += (known.empty() ? "" : ", ") + ("sm_" + std::to_string(row.arch));
  return Error{"target: -arch is " + in_quotes(value) + "; expected one of " + known};
}

Status set_sms(GpuTarget& target, std::string_view value) {
  target.sms = number_of(value);
  if (target.sms >= 1 && target.sms <= kMaxSms) return ok_status();
  return Error{"target: -sms is " + in_quotes(value) + "; expected a number from 1 to " + std::to_string(kMaxSms)};
}

Status set_model(GpuTarget& target, std::string_view value) {
  std::vector<std::string> names;
  for (const GpuModel& model : kModels) {
    if (model.name == value) {
      target = {model.arch, model.sms};
      return ok_status();
    }
    names.emplace_back(model.name);
  }
  return Error{"target: -model is " + in_quotes(value) + "; expected a GPU of `whet target --list`" +
               did_you_mean(value, names)};
}

}  // namespace

std::span<const GpuLimits> gpu_limits() { return kLimits; }
std::span<const GpuModel> gpu_models() { return kModels; }

const GpuLimits& limits_of(const GpuTarget& target) {
  const GpuLimits* found = kLimits;
  for (const GpuLimits& row : kLimits)
    if (row.arch <= target.arch) found = &row;
  return *found;
}

const GpuModel& nearest_model(const GpuTarget& target) {
  const GpuModel* nearest = kModels;
  for (const GpuModel& model : kModels) {
    if (model.arch > target.arch) break;
    const bool exact = model.arch == target.arch && model.sms == target.sms;
    if (exact) return model;
    if (model.arch != nearest->arch) nearest = &model;
  }
  return *nearest;
}

Residency residency(const GpuLimits& limits, int threads, int registers, std::int64_t block_memory) {
  const int warps = (threads + kWarp - 1) / kWarp;
  if (threads < 1 || threads > limits.threads_per_block) return {0, 0, "threads"};
  if (registers > limits.registers_per_thread) return {0, 0, "registers"};
  if (block_memory > limits.block_memory_per_block) return {0, 0, "block memory"};

  Residency found{limits.warps_per_sm / warps, 0, "threads"};
  const auto limit = [&](std::int64_t blocks, const char* by) {
    if (blocks >= found.blocks) return;
    found.blocks = static_cast<int>(blocks);
    found.limited_by = by;
  };
  if (registers > 0) {
    const std::int64_t of_warp = round_up(std::int64_t{registers} * kWarp, limits.register_unit);
    const std::int64_t of_partition = limits.registers_per_sm / limits.partitions / of_warp;
    // A block's warps spread over the partitions evenly, so its last warps count in each of them.
    const bool starts = of_warp * round_up(warps, limits.partitions) <= limits.registers_per_sm;
    limit(starts ? of_partition * limits.partitions / warps : 0, "registers");
  }
  const std::int64_t memory = round_up(block_memory + limits.block_memory_reserved, limits.block_memory_unit);
  if (memory > 0) limit(limits.block_memory_per_sm / memory, "block memory");
  limit(limits.blocks_per_sm, "blocks");
  found.warps = found.blocks * warps;
  return found;
}

std::string gpu_text(const Target& target) {
  return "cuda -arch=sm_" + std::to_string(target.gpu().arch) + " -sms=" + std::to_string(target.gpu().sms);
}

Result<Target> parse_gpu(std::span<const std::string_view> switches) {
  GpuTarget gpu;
  bool named = false, counted = false;
  for (const std::string_view word : switches) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (name == "-arch" || name == "-model") {
      if (named)
        return Error{"target: " + in_quotes(word) + " names the GPU a second time; expected one -arch= or -model="};
      named = true;
      const int sms = gpu.sms;
      WHET_RETURN_IF_ERROR(name == "-arch" ? set_arch(gpu, value) : set_model(gpu, value));
      if (name == "-arch") gpu.sms = nearest_model({gpu.arch, 0}).sms;
      if (counted) gpu.sms = sms;
    } else if (name == "-sms") {
      counted = true;
      WHET_RETURN_IF_ERROR(set_sms(gpu, value));
    } else {
      return Error{"target: unknown switch " + in_quotes(name) +
                   "; expected -arch=, -sms= or -model=" + did_you_mean(name, gpu_switches())};
    }
  }
  if (!named) return Error{"target: \"cuda\" does not say which GPU; expected something like \"cuda -model=h100\""};
  return Target{gpu, 1};
}

std::optional<TargetDistance> gpu_distance(const Target& has, const Target& want) {
  const GpuTarget &a = has.gpu(), &b = want.gpu();
  return TargetDistance{{a.arch == b.arch ? 0.0 : 1.0, std::fabs(std::log(static_cast<double>(a.sms) / b.sms)), 0.0}};
}

std::vector<std::string> gpu_differences(const Target& has, const Target& want) {
  const auto text = [](const GpuTarget& gpu) {
    return "sm_" + std::to_string(gpu.arch) + " with " + std::to_string(gpu.sms) + " SMs";
  };
  if (has == want) return {};
  return {"measured on " + text(has.gpu()) + ", not " + text(want.gpu())};
}

std::int64_t gpu_cache_bytes(const Target& target) { return nearest_model(target.gpu()).l2_bytes; }

}  // namespace whet
