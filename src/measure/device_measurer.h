#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "measure/builder_pool.h"
#include "measure/measurer.h"
#include "measure/units.h"

namespace whet {

struct MeasureOptions {
  TimingPolicy policy;                ///< `incumbent_seconds` is set for each candidate
  CpuPlacement cpu;                   ///< of every kernel, as KernelJob has it
  std::uint64_t seed = 0;             ///< of inputs
  double burst_seconds = 0.1;         ///< length of a burst in `compare`
  double patience = 15;               ///< to wait for a device where several are, and all are lost [s]
  std::function<bool()> interrupted;  ///< asked between candidates, by several threads; may be empty
};

/// How often things went wrong, for the report.
struct MeasureCounters {
  std::int64_t builders_started = 0, measured_once = 0;
  double build_seconds = 0, run_seconds = 0;
};

/// Measures on devices: all builders first, then the devices. Where kernels run on the builders' processors one task is
/// tuned at a time, and nothing compiles while something is timed. One device of this machine gets a candidate at a time; others
/// get jobs, whichever is free first. Comparisons are of one device, the one that decides; where it is lost, of another.
/// It survives whatever devices do: an answer that makes no sense has the code unknown, a candidate of a lost device is
/// measured on another, one over which two devices were lost is a crash, and only where all are lost is it device_lost.
/// Several threads may call it where `concurrent_tasks` is above 1.
class DeviceMeasurer : public Measurer {
 public:
  /// At least one device, all of one target. Builders and devices outlive the measurer.
  DeviceMeasurer(BuilderPool&, const std::vector<Device*>&, MeasureOptions);
  ~DeviceMeasurer() override;

  MeasureSetting setting() const override;
  bool in_jobs() const override;
  int concurrent_tasks() const override;
  void prepare(const MeasureTask&, const std::vector<std::string>& steps) override;
  std::vector<Measured> measure(const MeasureTask&, const std::vector<std::string>& steps, const Incumbent&) override;
  void forget(const MeasureTask&) override;
  Outcome check(const MeasureTask&, const std::string& steps, Precision = Precision::f32) override;
  std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int bursts = 2) override;

  /// Before anything is measured: times a schedule on every device, and lets the one in the middle decide, or the one of
  /// this name. An error: no device has it.
  Status calibrate(const MeasureTask&, const std::string& steps, const std::string& deciding = "");
  /// The number of the device that decides.
  std::size_t deciding() const;
  std::vector<UnitReport> units() const;
  MeasureCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whet
