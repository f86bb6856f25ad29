#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "measure/builder_pool.h"
#include "measure/measurer.h"

namespace whet {

struct MeasureOptions {
  TimingPolicy policy;                ///< `incumbent_seconds` is set for each candidate
  CpuPlacement cpu;                   ///< of every kernel, as KernelJob has it
  std::uint64_t seed = 0;             ///< of inputs
  double burst_seconds = 0.1;         ///< length of a burst in `compare`
  std::function<bool()> interrupted;  ///< asked between candidates, by several threads; may be empty
};

/// How often things went wrong, for the report.
struct MeasureCounters {
  std::int64_t builders_started = 0, measured_once = 0;
  double build_seconds = 0, run_seconds = 0;
};

/// Measures on devices: all builders first, then the devices, so that nothing compiles while something is timed.
/// Candidates are divided among the devices; checks and comparisons are of one device, the first that answers. It
/// survives whatever devices do: an answer that makes no sense has the code unknown, a candidate of a lost device is
/// measured on another, and only where all are lost is it device_lost. For one thread; call it from the thread that
/// started the zygote.
class DeviceMeasurer : public Measurer {
 public:
  /// At least one device, all of one target. Builders and devices outlive the measurer.
  DeviceMeasurer(BuilderPool&, const std::vector<Device*>&, MeasureOptions);
  ~DeviceMeasurer() override;

  MeasureSetting setting() const override;
  std::vector<std::string> devices() const override;
  int width() const override;
  void prepare(const MeasureTask&, const std::vector<std::string>& steps) override;
  std::vector<Measured> measure(const MeasureTask&, const std::vector<std::string>& steps, const Incumbent&) override;
  void forget(const MeasureTask&) override;
  Outcome check(const MeasureTask&, const std::string& steps) override;
  std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int bursts = 2) override;
  std::vector<Outcome> compare_on(const std::string& device, const MeasureTask&, const std::vector<std::string>& steps,
                                  int bursts = 2) override;

  MeasureCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whet
