#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/builder_pool.h"
#include "measure/device_measurer.h"
#include "task/task.h"
#include "tuner/ladder.h"
#include "workflow/tuning.h"

namespace whet {

double seconds_since(std::chrono::steady_clock::time_point start);
/// "runtime_timeout: ..."
std::string failure_text(const Outcome&);

/// What schedules of a task take, and what its default one takes, all timed alternately.
struct Repeated {
  std::vector<Outcome> outcomes;  ///< one a schedule; `seconds` are the best of each burst
  Outcome usual;
};

/// A schedule of a task.
struct TaskSchedule {
  const Task* task = nullptr;
  std::string steps;
};

/// Measures schedules of a network's tasks again.
class Repeats {
 public:
  /// All outlive it. An error: no device is the one that --finals names.
  static Result<std::unique_ptr<Repeats>> make(const TuneSettings&, Workplace&, Zygote&);

  /// Nothing where the user interrupted.
  ///   doubted  asked once: where it returns true, all are timed once more, since a difference may be luck
  std::optional<Repeated> time(const Task&, const std::vector<std::string>& schedules,
                               const std::function<bool(const Repeated&)>& doubted);
  /// What schedules of several tasks take, one each, all timed alternately [s]; infinity: it cannot be timed. Nothing where the user
  /// interrupted.
  std::optional<std::vector<double>> side_by_side(const std::vector<TaskSchedule>&);
  /// What kernels for ranges of a task take at each of its points: [schedule][point]. Incomplete where the user interrupted.
  std::vector<std::vector<Outcome>> across(const LadderTask&, const std::vector<SizedSchedule>&);
  /// Compares the schedule's answers with the task's right ones. The outcome is `timed`, or what is wrong.
  Outcome checked(const Task&, const std::string& steps, Precision, Outcome timed);
  /// The default schedule of a task; "" where it has none.
  std::string usual(const Task&) const;
  bool is_interrupted() const { return settings_.where.interrupted && settings_.where.interrupted(); }

 private:
  Repeats(const TuneSettings&, Workplace&, Zygote&, const std::vector<Device*>&);
  MeasureTask measured(const Task& task) const {
    return {task.key, task.name, task.dag, target_, task.within, task.inputs};
  }

  const TuneSettings& settings_;
  const Target& target_;
  BuilderPool builders_;
  DeviceMeasurer measurer_;
};

}  // namespace whet
