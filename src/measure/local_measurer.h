#pragma once

#include <functional>
#include <memory>

#include "measure/host.h"
#include "measure/measurer.h"

namespace whet {

struct MeasureOptions {
  int builders = 0;                                      ///< 0: one a core that this process may use
  double build_timeout = 15, run_timeout = 10;           ///< seconds of the step's own work
  std::int64_t builder_memory = std::int64_t{2} << 30;   ///< bytes resident; more ends the builder (out_of_memory)
  std::int64_t builder_recycle = std::int64_t{1} << 30;  ///< bytes resident after a job at which a builder is replaced
  std::int64_t runner_recycle = std::int64_t{4} << 30;   ///< the same for the runner, beyond what the task needs
  TimingPolicy policy;                                   ///< `incumbent_seconds` is set for each candidate
  std::vector<std::uint32_t> cores;                      ///< where the kernel's threads stand; empty: chosen
  bool no_pin = false;
  std::uint64_t seed = 0;             ///< of inputs
  double burst_seconds = 0.1;         ///< length of a burst in `compare`
  std::function<bool()> interrupted;  ///< asked between candidates; may be empty
};

/// How often things went wrong, for the report.
struct MeasureCounters {
  std::int64_t builders_started = 0, runners_started = 0, measured_once = 0;
  double build_seconds = 0, run_seconds = 0;
};

/// Measures on this machine: builders on all cores, then one runner, so that nothing compiles while something is timed.
/// For one thread; call it from the thread that started the host.
class LocalMeasurer : public Measurer {
 public:
  LocalMeasurer(MeasureHost& host, MeasureOptions options);
  ~LocalMeasurer() override;

  void prepare(const MeasureTask&, const std::vector<std::string>& steps) override;
  std::vector<Measured> measure(const MeasureTask&, const std::vector<std::string>& steps, double incumbent_seconds,
                                double pace = 1) override;
  Outcome check(const MeasureTask&, const std::string& steps) override;
  std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int bursts = 2) override;

  MeasureCounters counters() const;
  /// Changes the timing policy from now on (the network's footprint is known late).
  void set_policy(const TimingPolicy&);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whet
