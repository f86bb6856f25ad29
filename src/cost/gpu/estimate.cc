#include "cost/gpu/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "compute/round.h"
#include "target/gpu_rates.h"

namespace whet {
namespace {

using Memory = LaunchAccess::Memory;
/// Asynchronous copies: from sm_80 on. What they bring goes past the cache; its lines are looked up by another stage than the one that has
/// the data of block memory and of the cache, so both take their cycles at the same time.
constexpr int kAsynchronous = 80;
/// Of a block that an SM cannot hold: slower than any that it can.
constexpr double kImpossible = 1.0;

/// What one op of a block asks of its SM.
struct PhaseWork {
  double slots = 0, passes = 0, lookups = 0, waits = 0;  ///< as of the block
  double independent = 1;                                ///< instructions of a thread that wait for none of each other
  bool copies = false;                                   ///< beside the work, where there is a pipeline
};

/// What one block asks of its SM.
struct BlockWork {
  std::vector<PhaseWork> phases;
  double slots = 0;          ///< instructions of all its warps
  double multiply_adds = 0;  ///< those on f32 lanes
  double tensor = 0;         ///< cycles of the SM's units for warp-wide intrinsics
  double passes = 0;         ///< cycles of access to block memory and the SM's cache
  double lookups = 0;        ///< cycles in which the lines of asynchronous copies are looked up, beside these
  double waits = 0;          ///< cycles from one thing to the next, without the slabs
  double code = 0;           ///< instructions that are in the code
};

/// A rounding to tf32 by what four instructions took, of which the calibration has the slots: two before sm_90, and one from there on
/// (codegen/gpu/nvptx_hooks.cc; SASS of ptxas 13).
constexpr double tf32_rounding(int arch) { return arch >= 90 ? 0.25 : 0.5; }

/// An exchange and three selects for two words.
constexpr double kTurnSlots = 2;

double slots_of(const OpWork& nest, int arch, const GpuCalibration& c) {
  const double conversions = nest.conversions - nest.to_tf32 * (1 - tf32_rounding(arch));
  double slots = nest.multiply_adds + nest.tiles + conversions * c.conversion_slots +
                 nest.functions * c.function_slots + nest.trips * c.trip_slots + nest.exchanges * c.exchange_slots +
                 nest.turned * kTurnSlots;
  for (const LaunchAccess& access : nest.accesses) {
    if (access.memory == Memory::registers) continue;
    if (nest.copies && access.store) continue;  // one instruction with the load
    const bool moves = nest.copies || (nest.rounds && !access.constant);
    slots += access.requests * (moves && !access.store ? c.copy_slots : 1);
    if (!nest.copies && !nest.rounds && access.memory == Memory::global)
      slots += std::min(access.requests, nest.trips) * c.address_slots;
  }
  return slots;
}

/// Of what an access touches, the part that the SM's cache does not have yet.
double missed(const OpWork& nest, const LaunchAccess& access) {
  if (access.memory != Memory::global) return 0;
  const double asked = nest.warps * access.requests * access.sectors * kSectorBytes;
  return std::min(1.0, access.bytes / std::max(asked, kSectorBytes));
}

/// Loops that nothing unrolls: a trip ends when its loads have answered and its sums are added up.
///   far      cycles until what lies beyond the SM answers
///   in_turn  slabs are copied and worked on alternately, which `wave` counts
double waits_of(const OpWork& nest, double far, bool in_turn, const GpuCalibration& c) {
  if (nest.copies || nest.held > 0 || (nest.rounds && in_turn)) return 0;
  double trip = 4;
  for (const LaunchAccess& access : nest.accesses)
    if (!access.store && access.memory != Memory::registers)
      trip = std::max(trip, c.near_cycles + missed(nest, access) * (far - c.near_cycles));
  return nest.trips * trip + nest.exchanges * c.exchange_cycles;
}

/// Products and sums of a tile, and how many of them an SM computes in a cycle.
double tensor_cycles(const OpWork& nest, int arch) {
  if (nest.tiles == 0) return 0;
  const Element& tile = op_of(nest.intrinsic).element();
  const auto products = static_cast<double>(tile.axes[0].extent * tile.axes[1].extent * tile.reduce_axes[0].extent);
  return nest.tiles * products / products_per_cycle(arch, nest.intrinsic);
}

BlockWork work_of(const LaunchWork& launch, int arch, double far, const GpuCalibration& c) {
  BlockWork work;
  for (const OpWork& nest : launch.nests) {
    PhaseWork phase{.slots = nest.warps * slots_of(nest, arch, c),
                    .waits = waits_of(nest, far, launch.stages == 1, c),
                    .independent = std::clamp(nest.sums / 4, 1.0, 4.0),
                    .copies = nest.copies || nest.held > 0};
    for (const LaunchAccess& access : nest.accesses) {
      const bool goes_past = nest.copies && access.memory == Memory::global && arch >= kAsynchronous;
      (goes_past ? phase.lookups : phase.passes) += nest.warps * access.requests * access.passes;
    }
    work.slots += phase.slots;
    work.passes += phase.passes, work.lookups += phase.lookups;
    work.multiply_adds += nest.warps * nest.multiply_adds;
    work.tensor += nest.warps * tensor_cycles(nest, arch);
    work.waits += phase.waits;
    work.code += slots_of(nest, arch, c) / std::max(1.0, nest.trips);
    work.phases.push_back(phase);
  }
  work.slots += launch.slabs * c.slab_slots * launch.threads / kWarp;
  return work;
}

class LaunchCoster {
 public:
  LaunchCoster(const LoopTree& tree, const Target& target, const MachineRates& rates, const GpuCalibration& calibration)
      : c_(calibration),
        tree_(tree),
        gpu_(target.gpu()),
        limits_(limits_of(gpu_)),
        rates_(with_data_sheet(rates, gpu_)) {
    hertz_ = rates_.gflops * 1e9 / (2.0 * limits_.lanes_per_sm * gpu_.sms);
  }

  LaunchCost cost(const LaunchWork& launch) {
    LaunchCost cost;
    cost.launch = &launch;
    const Residency held =
        residency(limits_, std::min(launch.threads, limits_.threads_per_block), launch.registers, launch.block_memory);
    const bool fits_l2 = add_bytes(launch, held, cost);
    work_ = work_of(launch, limits_.arch, fits_l2 ? c_.far_cycles : c_.memory_cycles, c_);
    cost.multiply_adds = work_.multiply_adds / std::max(1.0, work_.slots);
    if (held.blocks == 0 || launch.threads > limits_.threads_per_block) {
      cost.seconds = kImpossible;
      return cost;
    }
    add_waves(launch, held, cost);
    cost.l2 = cost.bytes / (rates_.l2_gbs * 1e9);
    cost.memory = cost.memory_bytes / (rates_.memory_gbs * 1e9);
    cost.seconds = std::max({busiest_, cost.l2, cost.memory}) + c_.node + c_.ramp + work_.code * c_.code / hertz_;
    return cost;
  }

 private:
  /// Cycles in which an SM runs `blocks` at once.
  struct Wave {
    double issue, near, latency;
  };
  double cycles(const Wave& w) const { return std::max({w.issue, w.near, w.latency}) + c_.wave; }
  Wave wave(const LaunchWork& launch, double blocks) const {
    const double warps = blocks * launch.threads / kWarp / c_.schedulers;
    const double independent = std::clamp(launch.sums / 4, 1.0, 4.0);
    const double filled = share_filled(warps * independent);
    Wave wave{};
    const double on_lanes = work_.multiply_adds * kWarp / limits_.lanes_per_sm;
    const double tensor = work_.tensor * (launch.reads_ahead ? c_.busy / c_.busy_ahead : 1);
    wave.issue = blocks * std::max({on_lanes, tensor, work_.slots / c_.schedulers}) / filled;
    wave.near = blocks * std::max(work_.passes, work_.lookups);
    // Copies are under way while the slabs before them are worked on.
    const double slabs = std::max(1.0, launch.slabs), work = std::max(wave.issue, wave.near) / slabs;
    const double ahead = static_cast<double>(launch.stages - 1) * work;
    wave.latency = chain(launch) + launch.slabs * (c_.slab + std::max(0.0, c_.far_cycles - ahead));
    return wave;
  }

  /// The share of a scheduler's slots that is filled. `ready`: instructions of its warps that are independent of each other.
  double share_filled(double ready) const { return c_.busy * (1 - std::exp(-ready / c_.warps_to_fill)); }

  /// Cycles of a block that is alone on its SM. Its ops run one after the other. Copies of a pipeline run beside them.
  double chain(const LaunchWork& launch) const {
    double cycles = 0;
    for (const PhaseWork& phase : work_.phases) {
      if (phase.copies && launch.stages > 1 && launch.slabs > 1) continue;
      const double warps = static_cast<double>(launch.threads) / kWarp / c_.schedulers;
      cycles += std::max({phase.slots / c_.schedulers / share_filled(warps * phase.independent), phase.passes,
                          phase.lookups, phase.waits});
    }
    return cycles;
  }

  /// The waves of blocks on the SM that gets most of them.
  void add_waves(const LaunchWork& launch, const Residency& held, LaunchCost& cost) {
    const double blocks = std::ceil(launch.blocks / gpu_.sms);
    const double together = std::min<double>(held.blocks, blocks);
    const double waves = std::floor(blocks / together), rest = blocks - waves * together;
    const Wave full = wave(launch, together), last = rest > 0 ? wave(launch, rest) : Wave{};
    cost.issue = (waves * full.issue + last.issue) / hertz_;
    cost.near = (waves * full.near + last.near) / hertz_;
    cost.latency = (waves * full.latency + last.latency) / hertz_;
    busiest_ = (waves * cycles(full) + (rest > 0 ? cycles(last) : 0)) / hertz_;
    cost.resident_warps = static_cast<int>(together) * (held.warps / held.blocks);
    const double room = std::ceil(blocks / together) * together * gpu_.sms;
    cost.tail = room / launch.blocks;
  }

  /// Bytes that a block takes of a tensor.
  struct Touched {
    double once = 0;   ///< if what it has read stays until it reads it again
    double every = 0;  ///< in all its accesses
    bool copied = false;
  };

  std::map<OpId, Touched> touched_by(const LaunchWork& launch) const {
    std::map<OpId, Touched> touched;
    for (const OpWork& nest : launch.nests)
      for (const LaunchAccess& access : nest.accesses) {
        if (access.memory != Memory::global) continue;
        Touched& bytes = touched[access.tensor];
        bytes.once = std::max(bytes.once, access.bytes);
        bytes.every += access.bytes;
        bytes.copied = bytes.copied || nest.copies;
      }
    return touched;
  }

  /// What the blocks that run at once touch stays in the SM's cache, or in L2, where it fits: else each pass over it fetches it again.
  /// Constants come from memory, the rest of what a launch touches only where L2 cannot hold it all. True where it can.
  bool add_bytes(const LaunchWork& launch, const Residency& held, LaunchCost& cost) const {
    const std::map<OpId, Touched> touched = touched_by(launch);
    const auto l2_bytes = static_cast<double>(rates_.l2_bytes);
    const double together = std::min<double>(std::max(1, held.blocks), std::ceil(launch.blocks / gpu_.sms));
    double near = 0, all = 0;
    for (const auto& [tensor, bytes] : touched) {
      near += std::min(together * bytes.once, bytes_of(tensor));
      all += std::min(launch.blocks * bytes.once, bytes_of(tensor));
    }
    const double cache =
        static_cast<double>(limits_.block_memory_per_sm) - together * static_cast<double>(launch.block_memory);
    const bool fits_near = near <= cache, fits_l2 = all <= l2_bytes, stays = near * gpu_.sms <= l2_bytes;
    for (const auto& [tensor, bytes] : touched) {
      const double whole = bytes_of(tensor), once = launch.blocks * bytes.once;
      cost.bytes += fits_near && !bytes.copied ? std::min(once, whole * gpu_.sms) : launch.blocks * bytes.every;
      if (fits_l2 && !is_constant(tensor)) continue;
      const double passes = fits_l2 || stays ? 1 : bytes.every / std::max(1.0, bytes.once);
      cost.memory_bytes += std::min(once, whole) * passes;
    }
    return fits_l2;
  }

  double bytes_of(OpId tensor) const {
    const Op& op = tree_.dag.op(tensor);
    return static_cast<double>(num_elements(op.shape) * size_of(op.dtype));
  }
  bool is_constant(OpId tensor) const {
    const Op& op = tree_.dag.op(tensor);
    const bool computed = tree_.place(tensor).kind == PlaceKind::ahead;
    return computed || (op.is_placeholder() && std::get<Placeholder>(op.def).constant);
  }

  const GpuCalibration& c_;
  const LoopTree& tree_;
  const GpuTarget gpu_;
  const GpuLimits& limits_;
  const MachineRates rates_;
  double hertz_ = 1;
  BlockWork work_;
  double busiest_ = 0;
};

}  // namespace

double products_per_cycle(int arch, Intrinsic intrinsic) {
  struct Rate {
    int arch;
    double tf32;
  };
  // The newest row that is not above the arch. On 9.0 and 10.0 this instruction reaches about six tenths of what the units do.
  constexpr Rate kRates[] = {{75, 256}, {80, 512}, {86, 128}, {90, 640}, {120, 128}};
  double rate = kRates[0].tf32;
  for (const Rate& known : kRates)
    if (known.arch <= arch) rate = known.tf32;
  return intrinsic == Intrinsic::mma_tf32 ? rate : multiplies_bytes(intrinsic) ? 4 * rate : 2 * rate;
}

double gpu_product_gain(const ComputeDag& dag, const Target& target) {
  const GpuLimits& limits = limits_of(target.gpu());
  if (!limits.mma || !(multiplies_halves(dag) || multiplies_halves(dag, DType::bf16))) return 1;
  return products_per_cycle(limits.arch, Intrinsic::mma_half) / static_cast<double>(limits.lanes_per_sm);
}

std::vector<LaunchCost> launch_costs(const LoopTree& tree, const std::vector<LaunchWork>& launches,
                                     const Target& target, const MachineRates& rates,
                                     const GpuCalibration& calibration) {
  LaunchCoster coster(tree, target, rates, calibration);
  std::vector<LaunchCost> costs;
  for (const LaunchWork& launch : launches) costs.push_back(coster.cost(launch));
  return costs;
}

std::vector<double> estimate_launches(const LoopTree& tree, const Target& target, const MachineRates& rates) {
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  std::vector<double> seconds;
  for (const LaunchCost& cost : launch_costs(tree, launches, target, rates)) seconds.push_back(cost.seconds);
  return seconds;
}

double gpu_seconds(const LoopTree& tree, const Target& target) {
  double sum = 0;
  for (const double seconds : estimate_launches(tree, target)) sum += seconds;
  return sum;
}

}  // namespace whet
