#pragma once

#include <vector>

#include "measure/builds.h"
#include "measure/bursts.h"
#include "measure/checks.h"
#include "measure/measured_code.h"
#include "measure/measurer.h"
#include "measure/options.h"
#include "measure/placement_watch.h"
#include "measure/units.h"

namespace whet {

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

  MeasureSetting setting() const override { return {units_.name(deciding_), name_of(options_.policy.cache)}; }
  bool in_jobs() const override { return units_.size() > 1 || units_.are_far_away(); }
  int concurrent_tasks() const override;
  void prepare(const MeasureTask& task, const std::vector<std::string>& steps) override { builds_.of(task, steps); }
  std::vector<Measured> measure(const MeasureTask&, const std::vector<std::string>& steps, const Incumbent&) override;
  void forget(const MeasureTask& task) override { measured_.forget(task); }
  Outcome check(const MeasureTask&, const std::string& steps, Precision = Precision::f32) override;
  std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int bursts = 2) override;
  std::vector<Measured> glance(const MeasureTask&, const std::vector<std::string>& steps) override;
  std::vector<std::vector<Outcome>> ladder(const RangedTask&, const std::vector<std::string>& steps) override;

  /// Before anything is measured: times a schedule on every device, and lets the one in the middle decide, or the one of
  /// this name. An error: no device has it.
  Status calibrate(const MeasureTask&, const std::string& steps, const std::string& deciding = "");
  /// The number of the device that decides.
  std::size_t deciding() const { return deciding_; }
  /// Of the processors that run kernels; not known where the options have no probe.
  ProcessorPlacement placement() { return watch_.now(); }
  std::vector<UnitReport> units() const { return units_.reports(deciding_); }
  MeasureCounters counters() const;

 private:
  Outcome run(const MeasureTask&, const BuildResult&, const Incumbent&);
  std::vector<Outcome> compare(const MeasureTask&, const BuildResults&, const BurstPlan&);
  void run_in_jobs(const MeasureTask&, const BuildResults&, const Incumbent&, std::vector<Measured>& out);
  Outcome check_at(const RangedTask&, const BuildResult&, const std::string& steps);
  void stamp(Outcome&) const;

  const MeasureOptions options_;
  Units units_;
  Builds builds_;
  Checks checks_;
  MeasuredCode measured_;
  PlacementWatch watch_;
  std::size_t deciding_ = 0;  ///< the unit
};

}  // namespace whet
