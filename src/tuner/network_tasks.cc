#include "tuner/network_tasks.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// How many bursts of its own the network has at most in a round of all tasks.
constexpr std::size_t kBurstsARound = 4;

/// The recorded schedules of all tasks; empty where one has none.
std::vector<std::string> recorded_steps(const std::vector<Task>& tasks, const ScheduleSource& best) {
  std::vector<std::string> steps;
  for (const Task& task : tasks) {
    const std::optional<RecordedSchedule> recorded = best.recorded(task);
    if (!recorded) return {};
    steps.push_back(recorded->steps);
  }
  return steps;
}

}  // namespace

Status time_tasks(const std::vector<Task>& tasks, const Target& target, const ScheduleSource& best, Measurer& measurer,
                  NetworkModels& models, const ModelLibrary* compiled, NetworkTruth& truth) {
  const std::vector<std::string> steps = recorded_steps(tasks, best);
  if (steps.size() != tasks.size()) return ok_status();
  double needed =
      static_cast<double>(tasks.size()) * kTaskSeconds + comparison_seconds(models.size(), models.usual_bursts());
  if (!models.fits(needed + (compiled != nullptr ? 0 : compile_seconds(models.size())))) return ok_status();
  NetworkModels::Model network{compiled != nullptr ? *compiled : ModelLibrary(), {kInfinity, kInfinity, 0}};
  if (compiled == nullptr) {
    WHET_TRY(network, models.compile(best));
  }
  std::vector<double> seconds(tasks.size(), kInfinity);
  const std::size_t stride = (tasks.size() + kBurstsARound - 1) / kBurstsARound;
  for (int round = 0; round < kRoundsOfTasks && (round == 0 || models.fits(needed)); ++round) {
    const double begin = models.now();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (models.interrupted()) return ok_status();
      if (i % stride == 0)
        if (const auto burst = models.time({&network}, {1, models.usual_bursts().seconds}); !burst.ok())
          return burst.error();
      const Task& task = tasks[i];
      const MeasureTask measured{task.key, task.name, task.dag, target, task.within, task.inputs};
      const Outcome seen = measurer.compare(measured, {steps[i]}, 1).front();
      if (!seen.ok()) return ok_status();
      seconds[i] = std::min(seconds[i], seen.best_seconds());
    }
    needed = models.now() - begin;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) truth.tasks_seconds += tasks[i].weight * seconds[i];
  truth.beside_tasks_seconds = network.timed.fastest_seconds;
  truth.disturbed_beside_tasks =
      is_disturbed({network.timed.seconds, network.timed.fastest_seconds, truth.tasks_seconds});
  return ok_status();
}

}  // namespace whet
