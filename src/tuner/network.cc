#include "tuner/network.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "artifact/code_format.h"
#include "base/arithmetic.h"
#include "base/spread.h"
#include "compiler/choose.h"
#include "compiler/packing.h"
#include "compiler/scratch.h"
#include "records/record_line.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "task/task.h"
#include "tuner/compare_models.h"

namespace whet {
namespace {

/// A second candidate is worth a try when it is this close; another algorithm, whose weights lie elsewhere, may be
/// further away.
constexpr double kClose = 1.02, kOtherAlgorithm = 1.15;
/// A task that is less of the network's time than this decides nothing.
constexpr double kHeavy = 0.02;
/// A task that gained less than this may as well run on its default schedule, where the network is faster so.
constexpr double kClearGain = 0.9;
/// The places of the models that the tuned one is timed against.
constexpr std::size_t kUntuned = 0, kCautious = 1, kFirstSwap = 2;
/// Another model is adopted when the network is faster by this much.
constexpr double kFaster = 0.997;
/// How many rounds time all tasks alternately with the network, and how many bursts of its own the network has at most in one.
constexpr int kRoundsOfTasks = 4;
constexpr std::size_t kBurstsARound = 4;

/// A task's best record and the one that may replace it.
struct Rivals {
  const Task* task;
  const Record *best, *second;
  double share;  ///< of the network's time
};

class Settling {
 public:
  Settling(const FusedGraph& fused, const Target& target, RecordFile& file, Device& device,
           const NetworkOptions& options)
      : fused_(fused), target_(target), file_(file), device_(device), options_(options) {}
  ~Settling() { (void)device_.time_models({}, {}); }  // frees the models' memory

  Result<NetworkTruth> run() {
    WHET_TRY(tasks_, extract_tasks(fused_, target_));
    WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
    scratch_.emplace(std::move(scratch));
    const ScheduleSource best = best_of(&file_.records(), target_, schedules());
    const std::vector<Rivals> rivals = close_rivals();
    WHET_TRY(Compiled tuned, compile(best, next_path()));
    tuned_ = tuned.timed;
    WHET_RETURN_IF_ERROR(time_against(tuned, best_of(nullptr, target_)));
    WHET_RETURN_IF_ERROR(time_against(tuned, where_it_gains(best, kClearGain)));
    for (const Rivals& each : rivals) {
      WHET_RETURN_IF_ERROR(time_against(tuned, with_second(best, each)));
      if (!interrupted()) timed_.back().most_gain = each.share;  // a swap cannot save more than the task takes
    }
    if (interrupted()) return NetworkTruth();
    const Result<std::optional<std::size_t>> faster = confirmed(tuned);
    if (interrupted()) return NetworkTruth();
    if (!faster.ok()) return faster.error();
    WHET_TRY(NetworkTruth truth, conclude(rivals, *faster));
    truth.same_schedules = has_default_schedules(tasks_, file_.records(), target_, schedules());
    // The results hold without it.
    if (!time_tasks(truth, *faster ? std::nullopt : std::optional(tuned.file)).ok()) truth.tasks_seconds = 0;
    return truth;
  }

 private:
  SpaceOptions schedules() const { return {options_.exact, options_.precision}; }
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  struct Compiled {
    ModelLibrary file;
    TimedModel timed;
  };

  ModelRun run_of(int bursts) const { return {options_.open, options_.inputs, options_.burst_seconds, bursts}; }

  /// The fastest rival that is faster in new processes too: in the one process of all, the places of its memory may have made it so.
  Result<std::optional<std::size_t>> confirmed(const Compiled& tuned) {
    for (std::vector<TimedRival> left = timed_;;) {
      const std::optional<std::size_t> faster = faster_than(tuned_, left);
      if (!faster || interrupted()) return faster;
      WHET_TRY(const Compiled rival, compile(sources_[*faster], paths_[*faster]));
      const Result<ModelVerdict> seen =
          compare_in_new_processes(device_, tuned.file, rival.file, run_of(options_.bursts), kFaster);
      std::remove(rival.file.path.c_str());
      if (!seen.ok()) return seen.error();
      verdicts_[*faster] = seen->middle.ratio();
      if (seen->faster) return faster;
      left[*faster].own.seconds = kInfinity;
    }
  }

  /// The verdict by the times. The model that is faster than the tuned one, if there is one, is ranked first by the records.
  Result<NetworkTruth> conclude(const std::vector<Rivals>& rivals, const std::optional<std::size_t>& faster) {
    NetworkTruth truth;
    const TimedRival& untuned = timed_[kUntuned];
    truth.disturbed = is_disturbed(tuned_);
    for (std::size_t i = 0; i < rivals.size(); ++i)
      truth.swaps.push_back({rivals[i].task->name, timed_[kFirstSwap + i].own.seconds, false});
    truth.tuned = faster ? timed_[*faster].own : tuned_;
    // What is printed side by side was measured side by side, or is scaled by what was; comparisons in new processes say more.
    const auto against_tuned = [&](std::size_t i) {
      const auto verdict = verdicts_.find(i);
      return verdict == verdicts_.end() ? timed_[i].own.seconds : timed_[i].tuned_seconds * verdict->second;
    };
    truth.untuned_seconds = against_tuned(kUntuned);
    if (!faster) {
      truth.tuned.seconds = untuned.tuned_seconds;
      return truth;
    }
    truth.tuned.seconds = against_tuned(*faster);
    truth.untuned_seconds *= timed_[*faster].tuned_seconds / untuned.tuned_seconds;
    if (*faster < kFirstSwap) {
      const double ratio = *faster == kCautious ? kClearGain : 0;
      WHET_TRY(truth.back_to_default, back_to_default(ratio));
      const ScheduleSource best = best_of(&file_.records(), target_, schedules());
      truth.tuned.predicted_seconds = predicted(where_it_gains(best, ratio));
      return truth;
    }
    truth.swaps[*faster - kFirstSwap].adopted = true;
    const Rivals& rival = rivals[*faster - kFirstSwap];
    WHET_RETURN_IF_ERROR(rank_first(*rival.second, *rival.best));
    return truth;
  }

  /// A name of its own each: to the device a path names one content.
  std::string next_path() { return scratch_->path() + "/" + std::to_string(compiled_++) + ".so"; }
  Result<Compiled> compile(const ScheduleSource& source, const std::string& path) {
    CompileOptions options;
    options.on_kernel = options_.on_kernel;
    options.packed = &packed_;
    options.emulated = device_.info().code == CodeFormat::emulated;
    options.made_weights = device_.info().job_candidates > 1;  // a device elsewhere
    WHET_TRY(const CompileReport report, compile_model(fused_, source, target_, path, options));
    return Compiled{{path}, {kInfinity, kInfinity, report.predicted_seconds}};
  }

  /// The heaviest tasks that have a second candidate close to the best.
  std::vector<Rivals> close_rivals() const {
    double total = 0;
    std::vector<Rivals> list;
    for (const Task& task : tasks_) {
      Rivals rivals{&task, nullptr, nullptr, 0};
      const auto usable = [&](const Record& r) { return permits(schedules(), r.numerics); };
      const auto best = file_.records().best(task.key, task.within, target_, usable);
      if (!best || !best->exact) continue;
      rivals.best = best->record;
      rivals.share = task.weight * best->record->outcome.best_seconds();
      total += rivals.share;
      const auto other = file_.records().best(task.key, task.within, target_, [&](const Record& r) {
        return usable(r) && r.steps != rivals.best->steps && !r.outcome.truncated && r.target == rivals.best->target &&
               r.within == rivals.best->within && r.outcome.cache == rivals.best->outcome.cache &&
               r.codegen == codegen_version(code_format(target_)) &&
               r.outcome.best_seconds() <
                   rivals.best->outcome.best_seconds() *
                       (r.numerics.exact == rivals.best->numerics.exact ? kClose : kOtherAlgorithm);
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
      if (task.key != rivals.task->key || task.within != rivals.task->within) return recorded(task);
      return RecordedSchedule{rivals.second->steps, rivals.second->outcome.clock_seconds(), ""};
    };
    return source;
  }

  /// Compiles another model and times it and the tuned one alternately; nothing once interrupted.
  Status time_against(Compiled& tuned, const ScheduleSource& source) {
    if (interrupted()) return ok_status();
    const std::string path = next_path();
    WHET_TRY(Compiled rival, compile(source, path));
    const Result<std::vector<double>> seconds = time({&tuned, &rival}, options_.bursts);
    std::remove(rival.file.path.c_str());
    if (!seconds.ok()) return interrupted() ? ok_status() : Status(seconds.error());
    tuned_ = tuned.timed;
    timed_.push_back({rival.timed, seconds->front()});
    sources_.push_back(source), paths_.push_back(path);
    return ok_status();
  }

  /// Times models alternately and adds to what is known of each. Gives each one's best burst now: a model's time is the
  /// median of its best burst, because what disturbs a machine lasts longer than a burst.
  Result<std::vector<double>> time(const std::vector<Compiled*>& models, int bursts) {
    std::vector<ModelLibrary> files;
    for (const Compiled* model : models) files.push_back(model->file);
    WHET_TRY(const std::vector<ModelTimes> times, device_.time_models(files, run_of(bursts)));
    if (!make_sense(times, models.size(), bursts)) return Error{"the device's times of the models make no sense"};
    std::vector<double> seconds(models.size(), kInfinity);
    for (std::size_t i = 0; i < models.size(); ++i) {
      TimedModel& timed = models[i]->timed;
      for (const ModelBurst& burst : times[i].bursts) {
        seconds[i] = std::min(seconds[i], burst.median);
        timed.fastest_seconds = std::min(timed.fastest_seconds, burst.fastest);
      }
      timed.seconds = std::min(timed.seconds, seconds[i]);
    }
    return seconds;
  }

  /// The figures of a task's default schedule and its best; nothing where one of them was not measured here.
  std::optional<std::pair<const Record*, const Record*>> default_and_best(const Task& task) const {
    const auto best = file_.records().best(task.key, task.within, target_,
                                           [&](const Record& r) { return permits(schedules(), r.numerics); });
    const Result<Steps> start = default_steps(task.dag, target_, schedules());
    if (!best || !best->exact || !start.ok() || best->record->steps == to_text(*start)) return std::nullopt;
    const std::string steps = to_text(*start);
    const auto own =
        file_.records().best(task.key, task.within, target_, [&](const Record& r) { return r.steps == steps; });
    if (!own || !own->exact || own->record->within != best->record->within) return std::nullopt;
    return std::pair(own->record, best->record);
  }
  static bool gains_clearly(const Record& start, const Record& best, double ratio) {
    return best.outcome.best_seconds() < ratio * start.outcome.best_seconds();
  }

  /// The best schedules where they are that much faster than the default ones; elsewhere the default ones.
  ScheduleSource where_it_gains(const ScheduleSource& best, double ratio) const {
    ScheduleSource source = best;
    source.recorded = [this, recorded = best.recorded, ratio](const Task& task) -> std::optional<RecordedSchedule> {
      const auto both = default_and_best(task);
      if (both && !gains_clearly(*both->first, *both->second, ratio))
        return RecordedSchedule{both->first->steps, both->first->outcome.clock_seconds(), ""};
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

  /// The sum of weight x measured time; 0 where a task was not measured.
  double predicted(const ScheduleSource& source) const {
    double sum = 0;
    for (const Task& task : tasks_) {
      const std::optional<RecordedSchedule> recorded = source.recorded(task);
      if (!recorded) return 0;
      sum += task.weight * recorded->seconds;
    }
    return sum;
  }

  /// The tasks alone, alternately with the network, so that the sum and the whole see the same machine: the times of the
  /// records were measured minutes ago, at another pace.
  ///   compiled  the network by the best records, if it is there
  Status time_tasks(NetworkTruth& truth, const std::optional<ModelLibrary>& compiled) {
    if (!options_.measurer) return ok_status();
    const ScheduleSource best = best_of(&file_.records(), target_, schedules());
    std::vector<std::string> steps;
    for (const Task& task : tasks_) {
      const std::optional<RecordedSchedule> recorded = best.recorded(task);
      if (!recorded) return ok_status();
      steps.push_back(recorded->steps);
    }
    Compiled network{compiled.value_or(ModelLibrary()), {kInfinity, kInfinity, 0}};
    if (!compiled) {
      WHET_TRY(network, compile(best, next_path()));
    }
    std::vector<double> seconds(tasks_.size(), kInfinity);
    const std::size_t stride = (tasks_.size() + kBurstsARound - 1) / kBurstsARound;
    for (int round = 0; round < kRoundsOfTasks; ++round) {
      for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (interrupted()) return ok_status();
        if (i % stride == 0)
          if (const auto burst = time({&network}, 1); !burst.ok()) return burst.error();
        const Task& task = tasks_[i];
        const MeasureTask measured{task.key, task.name, task.dag, target_, task.within};
        const Outcome seen = options_.measurer->compare(measured, {steps[i]}, 1).front();
        if (!seen.ok()) return ok_status();
        seconds[i] = std::min(seconds[i], seen.best_seconds());
      }
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i) truth.tasks_seconds += tasks_[i].weight * seconds[i];
    truth.beside_tasks_seconds = network.timed.fastest_seconds;
    truth.disturbed_beside_tasks =
        is_disturbed({network.timed.seconds, network.timed.fastest_seconds, truth.tasks_seconds});
    return ok_status();
  }

  Status rank_first(Record record, const Record& before) {
    record.ranks_as = std::min(before.ranked_seconds(), record.outcome.best_seconds());
    record.at = utc_now();
    return file_.append(record);
  }

  const FusedGraph& fused_;
  const Target& target_;
  RecordFile& file_;
  Device& device_;
  const NetworkOptions& options_;
  std::vector<Task> tasks_;
  std::optional<ScratchDirectory> scratch_;
  int compiled_ = 0;
  PackedConstants packed_;
  TimedModel tuned_;
  std::vector<TimedRival> timed_;
  std::map<std::size_t, double>
      verdicts_;                         ///< of those compared in new processes: their time / that of the tuned model
  std::vector<ScheduleSource> sources_;  ///< of these
  std::vector<std::string> paths_;       ///< where they were compiled
};

}  // namespace

bool make_sense(const std::vector<ModelTimes>& times, std::size_t models, int bursts) {
  const auto possible = [](const ModelBurst& burst) {
    return std::isfinite(burst.median) && burst.fastest > 0 && burst.median >= burst.fastest;
  };
  return times.size() == models && std::ranges::all_of(times, [&](const ModelTimes& model) {
           return model.bursts.size() == static_cast<std::size_t>(bursts) &&
                  std::ranges::all_of(model.bursts, possible);
         });
}

bool has_default_schedules(const std::vector<Task>& tasks, const Records& records, const Target& target,
                           const SpaceOptions& schedules) {
  const ScheduleSource best = best_of(&records, target, schedules);
  return std::ranges::all_of(tasks, [&](const Task& task) {
    const std::optional<RecordedSchedule> recorded = best.recorded(task);
    const Result<Steps> start = default_steps(task.dag, target, schedules);
    return !recorded || (start.ok() && recorded->steps == to_text(*start));
  });
}

bool is_disturbed(const TimedModel& model) {
  return is_far_above(model.seconds, model.fastest_seconds) ||
         is_far_above(model.fastest_seconds, model.predicted_seconds);
}

std::optional<std::size_t> faster_than(const TimedModel& tuned, const std::vector<TimedRival>& rivals) {
  if (is_disturbed(tuned)) return std::nullopt;
  std::optional<std::size_t> best;
  const auto ratio = [&](std::size_t i) { return rivals[i].own.seconds / rivals[i].tuned_seconds; };
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const bool clearly = ratio(i) < kFaster,
               believably = rivals[i].tuned_seconds - rivals[i].own.seconds <= rivals[i].most_gain;
    if (clearly && believably && (!best || ratio(i) < ratio(*best))) best = i;
  }
  return best;
}

Result<NetworkTruth> settle_in_network(const FusedGraph& fused, const Target& target, RecordFile& file, Device& device,
                                       const NetworkOptions& options) {
  return Settling(fused, target, file, device, options).run();
}

}  // namespace whet
