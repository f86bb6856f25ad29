#include "tuner/network.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "artifact/kernel.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "records/record_line.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace {

/// A second candidate is worth a try when it is this close; another algorithm, whose weights lie elsewhere, may be
/// further away.
constexpr double kClose = 1.02, kOtherAlgorithm = 1.15;
/// A task that is less of the network's time than this decides nothing.
constexpr double kHeavy = 0.02;
/// A task that gained less than this may as well run on its default schedule, where the network is faster so.
constexpr double kClearGain = 0.9;
/// The places of the models that are timed in turn.
constexpr std::size_t kUntuned = 0, kTuned = 1, kCautious = 2, kFirstRival = 3;
/// Another model is adopted when the network is faster by this much.
constexpr double kFaster = 0.997;
/// Nothing is adopted where figures that should agree differ by more than this.
constexpr double kDisturbed = 1.5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A task's best record and the one that may replace it.
struct Rivals {
  const Task* task;
  const Record *best, *second;
  double share;  ///< of the network's time
};

class Settling {
 public:
  Settling(const FusedGraph& fused, const Target& target, RecordFile& file, const NetworkOptions& options)
      : fused_(fused), target_(target), file_(file), options_(options) {}

  Result<NetworkTruth> run() {
    WHET_TRY(tasks_, extract_tasks(fused_, target_));
    WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
    scratch_.emplace(std::move(scratch));
    const ScheduleSource best = best_of(&file_.records(), target_, options_.exact);
    const std::vector<Rivals> rivals = close_rivals();
    WHET_RETURN_IF_ERROR(add(best_of(nullptr, target_)));
    WHET_RETURN_IF_ERROR(add(best));
    WHET_RETURN_IF_ERROR(add(where_it_gains(best, kClearGain)));
    for (const Rivals& each : rivals) {
      if (interrupted()) return NetworkTruth();
      WHET_RETURN_IF_ERROR(add(with_second(best, each)));
      timed_.back().most_gain = each.share;  // a swap cannot save more than the task takes
    }
    WHET_TRY(const bool done, time_in_turn());
    return done ? conclude(rivals) : NetworkTruth();
  }

 private:
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  /// What the times say; the one model that is faster than the tuned one becomes what the records rank first.
  Result<NetworkTruth> conclude(const std::vector<Rivals>& rivals) {
    NetworkTruth truth;
    truth.untuned_seconds = timed_[kUntuned].seconds;
    truth.disturbed = is_disturbed(timed_[kTuned]);
    for (std::size_t i = 0; i < rivals.size(); ++i)
      truth.swaps.push_back({rivals[i].task->name, timed_[kFirstRival + i].seconds, false});
    const std::optional<std::size_t> faster = faster_than(kTuned, timed_);
    truth.tuned = timed_[faster.value_or(kTuned)];
    if (!faster) return truth;
    if (*faster < kFirstRival) {
      WHET_TRY(truth.back_to_default, back_to_default(*faster == kCautious ? kClearGain : 0));
      return truth;
    }
    truth.swaps[*faster - kFirstRival].adopted = true;
    const Rivals& rival = rivals[*faster - kFirstRival];
    WHET_RETURN_IF_ERROR(rank_first(*rival.second, *rival.best));
    return truth;
  }

  /// Compiles and opens one more model.
  Status add(const ScheduleSource& source) {
    const std::string path = scratch_->path() + "/" + std::to_string(models_.size()) + ".so";
    WHET_TRY(const CompileReport report, compile_model(fused_, source, target_, path));
    WHET_TRY(OpenedModel model, OpenedModel::open(path, options_.open));
    WHET_RETURN_IF_ERROR(model.set_inputs(options_.inputs));
    models_.push_back(std::move(model));
    timed_.push_back({kInfinity, kInfinity, report.predicted_seconds, kInfinity});
    return ok_status();
  }

  /// The heaviest tasks that have a second candidate close to the best.
  std::vector<Rivals> close_rivals() const {
    double total = 0;
    std::vector<Rivals> list;
    for (const Task& task : tasks_) {
      Rivals rivals{&task, nullptr, nullptr, 0};
      const auto usable = [&](const Record& r) { return !options_.exact || is_exact(r.steps); };
      const auto best = file_.records().best(task.key, target_, usable);
      if (!best || !best->exact) continue;
      rivals.best = best->record;
      rivals.share = task.weight * best->record->outcome.best_seconds();
      total += rivals.share;
      const bool exact = is_exact(rivals.best->steps);
      const auto other = file_.records().best(task.key, target_, [&](const Record& r) {
        return usable(r) && r.steps != rivals.best->steps && !r.outcome.truncated && r.target == rivals.best->target &&
               r.cache == rivals.best->cache && r.codegen == kCodegenVersion &&
               r.outcome.best_seconds() <
                   rivals.best->outcome.best_seconds() * (is_exact(r.steps) == exact ? kClose : kOtherAlgorithm);
      });
      if (!other) continue;
      rivals.second = other->record;
      list.push_back(rivals);
    }
    std::erase_if(list, [&](const Rivals& each) { return each.share < kHeavy * total; });
    std::stable_sort(list.begin(), list.end(), [](const Rivals& a, const Rivals& b) { return a.share > b.share; });
    if (list.size() > static_cast<std::size_t>(options_.alternatives))
      list.resize(static_cast<std::size_t>(options_.alternatives));
    return list;
  }

  static ScheduleSource with_second(const ScheduleSource& best, const Rivals& rivals) {
    ScheduleSource source = best;
    source.recorded = [recorded = best.recorded, rivals](const Task& task) -> std::optional<RecordedSchedule> {
      if (task.key != rivals.task->key) return recorded(task);
      return RecordedSchedule{rivals.second->steps, rivals.second->outcome.best_seconds(), ""};
    };
    return source;
  }

  /// Times each model: the median of its best burst, because what disturbs a machine lasts longer than a burst and does
  /// not hit all alike. Bursts take turns. False when interrupted.
  Result<bool> time_in_turn() {
    for (OpenedModel& model : models_) WHET_RETURN_IF_ERROR(model.run());
    for (int burst = 0; burst < options_.bursts; ++burst) {
      for (std::size_t i = 0; i < models_.size(); ++i) {
        if (interrupted()) return false;
        // The first run finds the caches as another model left them.
        WHET_RETURN_IF_ERROR(models_[i].run());
        const double begin = steady_seconds();
        std::vector<double> times;
        do {
          const double before = steady_seconds();
          WHET_RETURN_IF_ERROR(models_[i].run());
          times.push_back(steady_seconds() - before);
        } while (steady_seconds() - begin < options_.burst_seconds);
        TimedModel& timed = timed_[i];
        timed.fastest_seconds = std::min(timed.fastest_seconds, *std::min_element(times.begin(), times.end()));
        timed.seconds = std::min(timed.seconds, median(std::move(times)));
      }
    }
    return true;
  }

  /// The figures of a task's default schedule and its best; nothing where one of them was not measured here.
  std::optional<std::pair<const Record*, const Record*>> default_and_best(const Task& task) const {
    const auto best =
        file_.records().best(task.key, target_, [&](const Record& r) { return !options_.exact || is_exact(r.steps); });
    const Result<Steps> start = default_steps(task.dag, target_);
    if (!best || !best->exact || !start.ok() || best->record->steps == to_text(*start)) return std::nullopt;
    const std::string steps = to_text(*start);
    const auto own = file_.records().best(task.key, target_, [&](const Record& r) { return r.steps == steps; });
    if (!own || !own->exact) return std::nullopt;
    return std::pair(own->record, best->record);
  }
  static bool gains_clearly(const Record& start, const Record& best, double ratio) {
    return best.outcome.best_seconds() < ratio * start.outcome.best_seconds();
  }

  /// The best schedules where they are that much faster than the default ones, which stand elsewhere.
  ScheduleSource where_it_gains(const ScheduleSource& best, double ratio) const {
    ScheduleSource source = best;
    source.recorded = [this, recorded = best.recorded, ratio](const Task& task) -> std::optional<RecordedSchedule> {
      const auto both = default_and_best(task);
      if (both && !gains_clearly(*both->first, *both->second, ratio))
        return RecordedSchedule{both->first->steps, both->first->outcome.best_seconds(), ""};
      return recorded(task);
    };
    return source;
  }

  /// Ranks default schedules first wherever the best is not that much faster; gives the tasks' names.
  Result<std::vector<std::string>> back_to_default(double ratio) {
    std::vector<std::string> names;
    for (const Task& task : tasks_) {
      const auto both = default_and_best(task);
      if (!both || gains_clearly(*both->first, *both->second, ratio)) continue;
      WHET_RETURN_IF_ERROR(rank_first(*both->first, *both->second));
      names.push_back(task.name);
    }
    return names;
  }

  Status rank_first(Record record, const Record& before) {
    record.ranks_as = std::min(before.ranked_seconds(), record.outcome.best_seconds());
    record.host = host_name();
    record.at = utc_now();
    return file_.append(record);
  }

  const FusedGraph& fused_;
  const Target& target_;
  RecordFile& file_;
  const NetworkOptions& options_;
  std::vector<Task> tasks_;
  std::optional<ScratchDirectory> scratch_;
  std::vector<OpenedModel> models_;
  std::vector<TimedModel> timed_;  ///< one a model
};

}  // namespace

bool is_disturbed(const TimedModel& model) {
  return model.seconds > kDisturbed * model.fastest_seconds ||
         (model.predicted_seconds > 0 && model.fastest_seconds > kDisturbed * model.predicted_seconds);
}

std::optional<std::size_t> faster_than(std::size_t tuned, const std::vector<TimedModel>& models) {
  if (is_disturbed(models[tuned])) return std::nullopt;
  const double limit = models[tuned].seconds;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const bool clearly = models[i].seconds < kFaster * limit,
               believably = limit - models[i].seconds <= models[i].most_gain;
    if (clearly && believably && (!best || models[i].seconds < models[*best].seconds)) best = i;
  }
  return best;
}

Result<NetworkTruth> settle_in_network(const FusedGraph& fused, const Target& target, RecordFile& file,
                                       const NetworkOptions& options) {
  return Settling(fused, target, file, options).run();
}

}  // namespace whet
