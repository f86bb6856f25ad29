#pragma once

#include <mutex>

#include "measure/measurer.h"

namespace whet {

/// A measurer that several threads share, each of which tunes another task. One of them runs at a time and holds `turn`. The
/// measurer releases `turn` for the others while the caller waits for a measurement.
class SharedMeasurer : public Measurer {
 public:
  SharedMeasurer(Measurer& measurer, std::mutex& turn) : measurer_(measurer), turn_(turn) {}

  MeasureSetting setting() const override { return measurer_.setting(); }
  bool in_jobs() const override { return measurer_.in_jobs(); }
  int concurrent_tasks() const override { return measurer_.concurrent_tasks(); }
  void prepare(const MeasureTask& task, const std::vector<std::string>& steps) override {
    const Away away(turn_);
    measurer_.prepare(task, steps);
  }
  std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                const Incumbent& incumbent) override {
    const Away away(turn_);
    return measurer_.measure(task, steps, incumbent);
  }
  void forget(const MeasureTask& task) override { measurer_.forget(task); }
  Outcome check(const MeasureTask& task, const std::string& steps, Precision precision) override {
    const Away away(turn_);
    return measurer_.check(task, steps, precision);
  }
  std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
    const Away away(turn_);
    return measurer_.compare(task, steps, bursts);
  }
  std::vector<Measured> glance(const MeasureTask& task, const std::vector<std::string>& steps) override {
    const Away away(turn_);
    return measurer_.glance(task, steps);
  }

 private:
  /// Without the turn as long as it lives.
  class Away {
   public:
    explicit Away(std::mutex& turn) : turn_(turn) { turn_.unlock(); }
    ~Away() { turn_.lock(); }
    Away(const Away&) = delete;

   private:
    std::mutex& turn_;
  };

  Measurer& measurer_;
  std::mutex& turn_;
};

}  // namespace whet
