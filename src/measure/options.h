#pragma once

#include <cstdint>
#include <functional>

#include "compute/dag.h"
#include "device/device.h"

namespace whet {

struct MeasureOptions {
  TimingPolicy policy;  ///< `incumbent_seconds` is set for each candidate
  /// The bytes that an inference of the network touches where all its tasks choose as a candidate of this DAG that packs its constants into
  /// `packed` bytes; empty: the policy's.
  std::function<std::int64_t(const ComputeDag&, std::int64_t packed)> network_bytes;
  CpuPlacement cpu;                   ///< of every kernel, as KernelJob has it
  std::uint64_t seed = 0;             ///< of inputs
  double burst_seconds = 0.1;         ///< length of a burst in `compare`
  double patience = 15;               ///< to wait for a device where several are, and all are lost [s]
  std::function<bool()> interrupted;  ///< asked between candidates, by several threads; may be empty
  /// A round trip between the processors that run kernels, now [ns] (measure/placement_watch.h). For one device of this machine; empty:
  /// outcomes have no placement.
  std::function<double()> round_trip;

  bool is_interrupted() const { return interrupted && interrupted(); }
};

}  // namespace whet
