#include "tuner/network.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "base/spread.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "plan/tried.h"
#include "space/space.h"
#include "task/task.h"
#include "tuner/compare_models.h"
#include "tuner/network_models.h"
#include "tuner/network_schedules.h"
#include "tuner/network_tasks.h"

namespace whet {
namespace {

/// Another model is adopted when the network is faster by this much.
constexpr double kFaster = 0.997;

/// A model that is timed against the tuned one.
struct Rival {
  ScheduleSource source;
  const FusedGraph* fused = nullptr;
  const CloseSecond* swap = nullptr;  ///< the task in which it differs, where that is known
  std::string path = {};              ///< where it was compiled
  TimedRival timed = {};
  std::optional<double> verdict = {};  ///< of comparisons in new processes: its time / that of the tuned model
};

class Settling {
 public:
  Settling(const FusedGraph& fused, const Target& target, RecordFile& file, Device& device,
           const NetworkOptions& options, std::vector<Task> tasks, const std::string& folder)
      : fused_(fused),
        target_(target),
        device_(device),
        options_(options),
        tasks_(std::move(tasks)),
        schedules_(tasks_, target, file, {options.exact, options.precision}),
        best_(asked_once(compiled_schedules(options, &file.records(), target), tasks_)),
        untuned_(asked_once(compiled_schedules(options, nullptr, target), tasks_)),
        swaps_(schedules_.close_seconds(static_cast<std::size_t>(options.alternatives))),
        models_(fused, target, device, options, folder) {}

  Result<NetworkTruth> run() {
    if (const double needed = network_need(models_.size()).least; !models_.fits(needed)) return out_of_time(needed);
    WHET_TRY(tuned_, models_.compile(best_));
    WHET_RETURN_IF_ERROR(time_against({untuned_, options_.untuned ? options_.untuned : &fused_}));
    if (no_time_) return out_of_time(network_need(models_.size()).least);
    if (has_base()) WHET_RETURN_IF_ERROR(time_against({best_of(nullptr, target_), &fused_}));
    WHET_RETURN_IF_ERROR(time_against({schedules_.where_it_gains(best_), &fused_}));
    for (const CloseSecond& each : swaps_)
      WHET_RETURN_IF_ERROR(time_against({NetworkSchedules::with_second(best_, each), &fused_, &each}));
    if (models_.interrupted()) return NetworkTruth();
    const Result<Rival*> faster = confirmed();
    if (models_.interrupted()) return NetworkTruth();
    if (!faster.ok()) return faster.error();
    WHET_TRY(NetworkTruth truth, conclude(*faster));
    truth.same_schedules = options_.untuned == nullptr && choose_the_same(tasks_, best_, untuned_);
    if (options_.measurer == nullptr) return truth;
    // The results hold without it.
    const ModelLibrary* const compiled = *faster == nullptr ? &tuned_.file : nullptr;
    if (!time_tasks(tasks_, target_, best_, *options_.measurer, models_, compiled, truth).ok()) truth.tasks_seconds = 0;
    return truth;
  }

 private:
  bool has_base() const { return !untuned_.base.empty(); }
  NetworkTruth out_of_time(double needed) const {
    NetworkTruth truth;
    truth.needed_seconds = needed, truth.compile_seconds = models_.size().compile;
    return truth;
  }

  /// Compiles another model and times it and the tuned one alternately; nothing once interrupted, or where no time is left.
  Status time_against(Rival rival) {
    if (models_.interrupted() || no_time_) return ok_status();
    const Bursts bursts = models_.bursts_in_time(kFewBursts);
    no_time_ = bursts.count == 0;
    if (no_time_) return ok_status();
    WHET_TRY(NetworkModels::Model model, models_.compile(*rival.fused, rival.source));
    const Result<std::vector<double>> seconds = models_.time({&tuned_, &model}, bursts);
    std::remove(model.file.path.c_str());
    if (!seconds.ok()) return models_.interrupted() ? ok_status() : Status(seconds.error());
    models_.expect(std::max(tuned_.timed.seconds, model.timed.seconds));
    rival.path = model.file.path;
    rival.timed = {model.timed, seconds->front()};
    if (rival.swap != nullptr) rival.timed.most_gain = rival.swap->share;  // a swap saves no more than the task takes
    // Other kernels, or schedules that were not measured: no record ranks them first.
    if (rival.fused != &fused_ || !schedules_.can_rank_first(rival.source)) rival.timed.most_gain = 0;
    rivals_.push_back(std::move(rival));
    return ok_status();
  }

  /// The fastest rival that is faster in new processes too: in the one process of all, the places of its memory may have made it so.
  /// Null where there is none.
  Result<Rival*> confirmed() {
    std::vector<TimedRival> left;
    for (const Rival& each : rivals_) left.push_back(each.timed);
    for (;;) {
      const std::optional<std::size_t> faster = faster_than(tuned_.timed, left);
      if (!faster || models_.interrupted()) return Result<Rival*>(nullptr);
      const Bursts bursts = models_.bursts_in_time(1, kPlanComparisons);
      unconfirmed_ = bursts.count == 0;
      if (unconfirmed_) return Result<Rival*>(nullptr);
      Rival& rival = rivals_[*faster];
      WHET_TRY(const NetworkModels::Model model, models_.compile(*rival.fused, rival.source, rival.path));
      const Result<ModelVerdict> seen =
          compare_in_new_processes(device_, tuned_.file, model.file, models_.run_of(bursts),
                                   needed_ratio(model.timed.weights_bytes, tuned_.timed.weights_bytes, kFaster));
      std::remove(model.file.path.c_str());
      if (!seen.ok()) return seen.error();
      rival.verdict = seen->middle.ratio();
      if (seen->faster) return &rival;
      left[*faster].own.seconds = std::numeric_limits<double>::infinity();
    }
  }

  /// Comparisons in new processes say more than those in one.
  static double against_tuned(const Rival& rival) {
    return rival.verdict ? rival.timed.tuned_seconds * *rival.verdict : rival.timed.own.seconds;
  }

  /// The verdict by the times. The model that is faster than the tuned one, if there is one, is ranked first by the records.
  Result<NetworkTruth> conclude(const Rival* faster) {
    NetworkTruth truth;
    truth.disturbed = is_disturbed(tuned_.timed);
    truth.unconfirmed = unconfirmed_;
    truth.compile_seconds = models_.size().compile;
    truth.base = untuned_.base;
    truth.untuned_weights_bytes = rivals_.front().timed.own.weights_bytes;
    for (const Rival& each : rivals_)
      if (each.swap != nullptr) truth.swaps.push_back({each.swap->task->name, each.timed.own.seconds, &each == faster});
    // What is printed side by side was measured side by side, or is scaled by what was.
    const Rival& beside = faster != nullptr ? *faster : rivals_.front();
    const auto scaled = [&](const Rival& rival) {
      return against_tuned(rival) * (beside.timed.tuned_seconds / rival.timed.tuned_seconds);
    };
    truth.untuned_seconds = scaled(rivals_.front());
    truth.default_seconds = !has_base() ? truth.untuned_seconds : rivals_.size() > 1 ? scaled(rivals_[1]) : 0;
    truth.tuned = faster != nullptr ? faster->timed.own : tuned_.timed;
    truth.tuned.seconds = faster != nullptr ? against_tuned(*faster) : beside.timed.tuned_seconds;
    if (faster == nullptr) return truth;
    WHET_TRY(std::vector<std::string> changed, schedules_.rank_first(faster->source));
    if (faster->swap != nullptr) return truth;
    truth.back_to_default = std::move(changed);
    truth.tuned.predicted_seconds = schedules_.predicted(best_);
    return truth;
  }

  const FusedGraph& fused_;
  const Target& target_;
  Device& device_;
  const NetworkOptions& options_;
  const std::vector<Task> tasks_;
  NetworkSchedules schedules_;
  const ScheduleSource best_, untuned_;  ///< of the records as they are now; of none
  const std::vector<CloseSecond> swaps_;
  NetworkModels models_;
  NetworkModels::Model tuned_;
  std::vector<Rival> rivals_;  ///< that were timed; the untuned one first, with a base that by default schedules next
  bool no_time_ = false;       ///< for a further model
  bool unconfirmed_ = false;   ///< a rival seemed faster, which no time was left to confirm
};

}  // namespace

ScheduleSource compiled_schedules(const NetworkOptions& options, const Records* records, const Target& target) {
  if (options.choose) return options.choose(records);
  return records != nullptr ? best_of(records, target, {options.exact, options.precision}) : best_of(nullptr, target);
}

bool make_sense(const std::vector<ModelTimes>& times, std::size_t models, int bursts) {
  const auto possible = [](const ModelBurst& burst) {
    return std::isfinite(burst.median) && burst.fastest > 0 && burst.median >= burst.fastest;
  };
  return times.size() == models && std::ranges::all_of(times, [&](const ModelTimes& model) {
           return model.bursts.size() == static_cast<std::size_t>(bursts) &&
                  std::ranges::all_of(model.bursts, possible);
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
  // One that cannot take the tuned one's place takes it for no size either.
  const auto needed = [&](std::size_t i) {
    return rivals[i].most_gain > 0 ? needed_ratio(rivals[i].own.weights_bytes, tuned.weights_bytes, kFaster) : kFaster;
  };
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const bool clearly = ratio(i) < needed(i),
               believably = rivals[i].tuned_seconds - rivals[i].own.seconds <= rivals[i].most_gain;
    if (clearly && believably && (!best || ratio(i) / needed(i) < ratio(*best) / needed(*best))) best = i;
  }
  return best;
}

Result<NetworkTruth> settle_in_placement(const ProcessorPlacement& compared_in,
                                         const std::function<ProcessorPlacement()>& now,
                                         const std::function<Status()>& compare_again,
                                         const std::function<Result<NetworkTruth>()>& settle) {
  ProcessorPlacement at_hand = now();
  if (differ(compared_in, at_hand)) WHET_RETURN_IF_ERROR(compare_again());
  WHET_TRY(NetworkTruth truth, settle());
  truth.placement = at_hand;
  at_hand = now();
  if (truth.needed_seconds > 0 || !differ(truth.placement, at_hand)) return truth;
  if (!compare_again().ok()) return truth;
  Result<NetworkTruth> again = settle();
  if (!again.ok() || again->needed_seconds > 0 || again->tuned.seconds <= 0) return truth;  // 0: interrupted
  again->placement = at_hand;
  return again;
}

Result<NetworkTruth> settle_in_network(const FusedGraph& fused, const Target& target, RecordFile& file, Device& device,
                                       const NetworkOptions& options) {
  WHET_TRY(std::vector<Task> tasks, extract_tasks(fused, target));
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  return Settling(fused, target, file, device, options, std::move(tasks), scratch.path()).run();
}

}  // namespace whet
