#include "cost/limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/count.h"
#include "compute/round.h"
#include "cost/features.h"

namespace whet {
namespace {

struct Level {
  const char* name;
  double gbs;
};

/// The level that holds `bytes` bytes.
Level level_of(std::int64_t bytes, const MachineRates& rates) {
  if (bytes <= rates.l1_bytes && rates.l1_gbs > 0) return {"L1", rates.l1_gbs};
  if (bytes <= rates.l2_bytes && rates.l2_gbs > 0) return {"L2", rates.l2_gbs};
  if (bytes <= rates.l3_bytes && rates.l3_gbs > 0) return {"L3", rates.l3_gbs};
  return {"memory", rates.memory_gbs};
}

/// "63.3 MFLOP", "12.0 kFLOP", "510 FLOP".
std::string operations_text(double count) {
  if (count < 1e3) return fmt::format("{:.0f} FLOP", count);
  if (count < 1e5) return fmt::format("{:.1f} kFLOP", count / 1e3);
  return fmt::format("{:.1f} MFLOP", count / 1e6);
}
std::string bytes_text(double count) {
  if (count < 1e3) return fmt::format("{:.0f} bytes", count);
  if (count < 1e5) return fmt::format("{:.1f} KB", count / 1e3);
  return fmt::format("{:.2f} MB", count / 1e6);
}

std::int64_t bytes_of(const Op& op) { return num_elements(op.shape) * size_of(op.dtype); }

/// Of a constant: what is read of it.
std::int64_t constant_bytes(const ComputeDag& dag, std::size_t i) {
  return elements_read(dag, OpId(static_cast<std::int64_t>(i))) * size_of(dag.ops[i].dtype);
}

}  // namespace

std::vector<Limit> limits_of(const ComputeDag& dag, const MachineRates& rates, std::int64_t network_bytes) {
  std::int64_t activations = 0, constants = 0;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const Op& op = dag.ops[i];
    if (!op.is_placeholder()) continue;
    if (std::get<Placeholder>(op.def).constant)
      constants += constant_bytes(dag, i);
    else
      activations += bytes_of(op);
  }
  for (OpId id : dag.outputs) activations += bytes_of(dag.op(id));
  std::vector<Limit> limits;
  const double operations = flops(dag);
  // A multiply-add of bf16 is counted as one operation, and measured as two.
  const bool in_pairs = rates.bf16_gflops > 0 && multiplies_halves(dag, DType::bf16);
  const double gflops = in_pairs ? rates.bf16_gflops / 2 : rates.gflops;
  if (gflops > 0 && operations > 0)
    limits.push_back({"compute", operations / gflops / 1e9,
                      fmt::format("{} at {:.0f} GFLOPS", operations_text(operations), gflops)});
  const auto add = [&](const char* which, std::int64_t bytes, const Level& level) {
    if (bytes <= 0 || level.gbs <= 0) return;
    limits.push_back(
        {level.name, static_cast<double>(bytes) / level.gbs / 1e9,
         fmt::format("{} of {} at {:.0f} GB/s", bytes_text(static_cast<double>(bytes)), which, level.gbs)});
  };
  add("activations", activations, level_of(activations, rates));
  add("constants", constants, level_of(std::max(constants, network_bytes), rates));
  std::stable_sort(limits.begin(), limits.end(), [](const Limit& a, const Limit& b) { return a.seconds > b.seconds; });
  return limits;
}

std::vector<Limit> limits_of(const ComputeDag& dag, const Target& target, const MachineRates& known,
                             std::int64_t network_bytes) {
  const FeatureSet* set = row_of(feature_sets(), target);
  MachineRates rates = set != nullptr && set->rates != nullptr ? set->rates(known, target) : known;
  if (set != nullptr && set->product_gain != nullptr) rates.gflops *= set->product_gain(dag, target);
  std::vector<Limit> limits = limits_of(dag, rates, network_bytes);
  if (set == nullptr || set->start_seconds == 0) return limits;
  for (Limit& limit : limits) {
    limit.seconds += set->start_seconds;
    limit.why += fmt::format(", and {:.1f} us to start", set->start_seconds * 1e6);
  }
  return limits;
}

}  // namespace whet
