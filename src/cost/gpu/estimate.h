#pragma once

#include <vector>

#include "cost/gpu/nest.h"
#include "target/machine_rates.h"
#include "target/target.h"

namespace whet {

/// The constants of the estimate. Those of time, slots and shares are fitted to candidates that an H200 timed (whet_estimates --fit, in
/// bench/README.md; docs/gpu/results.md has the figures), `node`, `slab_slots` and `near_cycles` up to the bounds of the fit;
/// `exchange_slots` and `schedulers` come from the architecture.
struct GpuCalibration {
  double node = 0.5e-6;           ///< between two launches of a graph [s]
  double ramp = 0.33e-6;          ///< from a launch's start to its first full wave, and from the last to its end [s]
  double wave = 440;              ///< cycles at a block's begin and end during which no other work runs
  double slab = 220;              ///< cycles of a barrier and a wait, each time a block fills its memory
  double slab_slots = 1;          ///< instructions of that iteration beside work and copies
  double code = 1.4;              ///< cycles to fetch an instruction that did not run before
  double copy_slots = 18;         ///< of one copy into block memory with its index
  double address_slots = 9;       ///< of the index of one access of global memory, each trip
  double trip_slots = 11;         ///< of counting and branching
  double function_slots = 8;      ///< of exp and the like
  double conversion_slots = 4.8;  ///< of a word of a tile that is rounded
  double exchange_slots = 2;      ///< of an exchange between threads of a warp
  double exchange_cycles = 17;    ///< until its value arrives
  double near_cycles = 15;        ///< until block memory or the SM's cache answers
  double far_cycles = 370;        ///< until L2 answers
  double memory_cycles = 1150;    ///< until memory answers
  double busy = 0.75;             ///< the share of issue slots that is filled at most
  double busy_ahead = 0.9;        ///< the same of tensor cores whose operands are read ahead. By SASS: it was not timed
  double warps_to_fill = 1.75;    ///< warps a scheduler that fill its slots, each with one independent instruction
  double schedulers = 4;          ///< of an SM, one instruction a cycle each
};
constexpr GpuCalibration kCalibration;

/// Multiply-adds that an SM computes in a cycle by a warp-wide intrinsic. Source: dense rates of the data sheets of A100, RTX
/// 3090 and 4090, H100 and RTX 5090, by clock and SMs.
double products_per_cycle(int arch, Intrinsic);

/// FeatureSet::product_gain: above 1 for products of f16 or bf16 on GPUs with tensor cores.
double gpu_product_gain(const ComputeDag&, const Target&);

/// The cost of one launch by its parts [s]. Times are of the SM that works longest, or of units that all SMs share.
struct LaunchCost {
  const LaunchWork* launch = nullptr;
  double issue = 0;    ///< instructions
  double near = 0;     ///< block memory and the SM's cache
  double latency = 0;  ///< waits of a block that follow each other
  double l2 = 0, memory = 0;
  double seconds = 0;  ///< the largest, with the start of a launch
  double bytes = 0;    ///< from L2
  double memory_bytes = 0;
  int resident_warps = 0;    ///< of an SM
  double tail = 1;           ///< blocks that fit into the waves / blocks of the launch
  double multiply_adds = 0;  ///< share of the instructions
};
/// One for each launch. `launches` must outlive the result.
std::vector<LaunchCost> launch_costs(const LoopTree&, const std::vector<LaunchWork>& launches, const Target&,
                                     const MachineRates& rates = {}, const GpuCalibration& = kCalibration);

/// The seconds of each launch of the kernel that the tree lowers to, in order: the largest of instruction issue, L2, memory and
/// the waits of a block that follow each other, plus the start of a launch. Computed from the tree alone.
///   target  a GPU
///   rates   of the device; zeros: those of the nearest model's data sheet
std::vector<double> estimate_launches(const LoopTree&, const Target& target, const MachineRates& rates = {});

/// Their sum.
double gpu_seconds(const LoopTree&, const Target&);

}  // namespace whet
