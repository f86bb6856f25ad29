#pragma once

#include <mutex>

#include "measure/measurer.h"

namespace whet {

/// A measurer for lanes: threads that tune different tasks, of which one runs at a time. Whoever calls holds `turn`, and
/// gives it to the others while it waits for the measurer.
class LaneMeasurer : public Measurer {
 public:
  LaneMeasurer(Measurer& measurer, std::mutex& turn) : measurer_(measurer), turn_(turn) {}

  MeasureSetting setting() const override { return measurer_.setting(); }
  bool in_jobs() const override { return measurer_.in_jobs(); }
  int lanes() const override { return measurer_.lanes(); }
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
  Outcome check(const MeasureTask& task, const std::string& steps) override {
    const Away away(turn_);
    return measurer_.check(task, steps);
  }
  std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
    const Away away(turn_);
    return measurer_.compare(task, steps, bursts);
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
