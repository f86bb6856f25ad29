#include "workflow/repro.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "tuner/footprint.h"
#include "workflow/opened.h"
#include "workflow/own_inputs.h"
#include "workflow/repeats.h"
#include "workflow/repro_ranges.h"

namespace whet {
namespace {

/// Than the best of then, by more than is looked at once.
bool another_seems_faster(const Repeated& repeated) {
  const double fastest = std::min(std::ranges::min(repeated.outcomes, {}, &Outcome::best_seconds).best_seconds(),
                                  repeated.usual.best_seconds());
  return repeated.outcomes.front().best_seconds() > (1 + kDoubt) * fastest;
}

/// A task and the records that are measured again.
struct Replay {
  const Task* task = nullptr;
  int id = 0;
  std::vector<const Record*> records;  ///< the best first
  std::string estimated;
  double then() const { return task->weight * records.front()->ranked_seconds(); }
};

/// The best schedules of a task: of this target and device, or where there are none, of the nearest that has one.
std::optional<Replay> replay_of(const Records& records, const Task& task, const Target& target,
                                const SpaceOptions& schedules, int best) {
  const auto permitted = [&](const Record& record) { return permits(schedules, record.numerics); };
  const std::optional<RecordChoice> choice = records.best(task.key, task.within, target, permitted);
  if (!choice) return std::nullopt;
  Replay replay{.task = &task, .records = {choice->record}, .estimated = choice->reason};
  const Result<Target> of = parse_target(choice->record->target);
  for (const Record* record : records.ranking(task.key, task.within, of.ok() ? *of : target)) {
    if (std::ssize(replay.records) == best) break;
    const bool known = std::ranges::any_of(replay.records, [&](const Record* r) { return r->steps == record->steps; });
    if (!known && permitted(*record) && record->within == choice->record->within &&
        record->outcome.cache == choice->record->outcome.cache)
      replay.records.push_back(record);
  }
  return replay;
}

/// The network as a compile with the records would have it.
Status apply_plan(const TuneSettings& settings, const Records& records, Prepared& prepared) {
  const Target& target = prepared.place.target;
  WHET_TRY(PlannedNetwork network, planned(prepared.fused, records, target, settings.rounding.schedules()));
  if (!network.note.empty()) tell(settings.where.tell, settings.records + ": " + network.note);
  prepared.fused = std::move(network.fused);
  WHET_TRY(prepared.tasks, extract_tasks(prepared.fused, target));
  prepared.footprint = network_footprint(prepared.fused, prepared.tasks, settings.rounding.exact);
  prepared.chosen = prepared.tasks;
  return ok_status();
}

/// Nothing where the user interrupted.
std::optional<RemeasuredTask> again(const Replay& replay, Repeats& repeats) {
  const Task& task = *replay.task;
  const Record& best = *replay.records.front();
  std::vector<std::string> schedules;
  for (const Record* record : replay.records) schedules.push_back(record->steps);
  std::optional<Repeated> repeated = repeats.time(task, schedules, another_seems_faster);
  if (!repeated) return std::nullopt;
  Outcome& first = repeated->outcomes.front();
  first = repeats.checked(task, best.steps, best.numerics.precision, std::move(first));
  if (repeats.is_interrupted()) return std::nullopt;
  RemeasuredTask out{replay.id, task.name, static_cast<double>(task.weight), {}, 0, replay.estimated, false};
  for (std::size_t i = 0; i < replay.records.size(); ++i) {
    const Outcome& now = repeated->outcomes[i];
    out.schedules.push_back(
        {replay.records[i]->ranked_seconds(), now.ok() ? now.best_seconds() : 0, now.ok() ? "" : failure_text(now)});
  }
  if (repeated->usual.ok()) out.usual = repeated->usual.best_seconds();
  return out;
}

/// The replays, the heaviest first.
std::vector<Replay> replays_of(const ReproSettings& settings, const Prepared& prepared, const Records& records) {
  std::vector<Replay> replays;
  for (std::size_t i = 0; i < prepared.tasks.size(); ++i)
    if (std::optional<Replay> replay = replay_of(records, prepared.tasks[i], prepared.place.target,
                                                 settings.measuring.rounding.schedules(), settings.best)) {
      replay->id = static_cast<int>(i);
      replays.push_back(std::move(*replay));
    }
  std::ranges::stable_sort(replays, std::ranges::greater(), &Replay::then);
  return replays;
}

/// The mode in which the heaviest task was measured; times in another one are told.
std::string use_one_cache(std::vector<Replay>& replays) {
  const auto cache_of = [](const Replay& replay) -> const std::string& {
    return replay.records.front()->outcome.cache;
  };
  const std::string cache = parse_cache_mode(cache_of(replays.front())) ? cache_of(replays.front()) : "network";
  for (Replay& each : replays)
    if (cache_of(each) != cache)
      each.estimated +=
          (each.estimated.empty() ? "" : ", ") + ("measured with the cache " + cache_of(each) + ", not " + cache);
  return cache;
}

void leave_out(const std::vector<Replay>& replays, std::size_t done, const std::vector<RangeReplay>& ranges,
               std::size_t done_ranges, Repro& out) {
  const auto share = [](const auto& all, std::size_t first) {
    double sum = 0, left_out = 0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += all[i].then(), left_out += i < first ? 0 : all[i].then();
    return sum > 0 ? left_out / sum : 0;
  };
  for (std::size_t i = done; i < replays.size(); ++i) out.left_out.push_back(replays[i].task->name);
  for (std::size_t i = done_ranges; i < ranges.size(); ++i) out.left_out_ranges.push_back(ranges[i].task.name);
  out.left_out_share = share(replays, done);
  out.left_out_ranges_share = share(ranges, done_ranges);
}

/// What is measured again.
struct ReplaysAndRanges {
  std::vector<Replay> tasks;
  std::vector<RangeReplay> ranges;

  bool empty() const { return tasks.empty() && ranges.empty(); }
  /// Rows that they make.
  std::size_t count() const {
    std::size_t rows = tasks.size();
    for (const RangeReplay& each : ranges) rows += each.task.points.size();
    return rows;
  }
};

/// Measures as many as there is time for, the heaviest first; tasks, then kernels for ranges.
class MeasuringAgain {
 public:
  MeasuringAgain(const ReproSettings& settings, const ReplaysAndRanges& replays, Repeats& repeats,
                 ReproListener& listener, Repro& out)
      : settings_(settings), replays_(replays), repeats_(repeats), listener_(listener), out_(out) {}

  bool goes_on() const {
    const bool is_over =
        !out_.tasks.empty() && settings_.seconds > 0 && seconds_since(settings_.start) >= settings_.seconds;
    return !is_over && !out_.interrupted;
  }

  void measure_tasks() {
    for (; tasks_ < replays_.tasks.size() && goes_on(); ++tasks_) {
      std::optional<RemeasuredTask> task = again(replays_.tasks[tasks_], repeats_);
      out_.interrupted = !task;
      if (!task) return;
      add(std::move(*task));
    }
  }

  void measure_ranges(int first_id) {
    for (; ranges_ < replays_.ranges.size() && goes_on(); ++ranges_) {
      const RangeReplay& replay = replays_.ranges[ranges_];
      const std::vector<std::vector<Outcome>> now = times_of(replay);
      out_.interrupted = repeats_.is_interrupted();
      if (out_.interrupted) return;
      for (RemeasuredTask& row : remeasured_rows(replay, now, first_id)) add(std::move(row)), ++first_id;
    }
  }

  void leave_out_others() { leave_out(replays_.tasks, tasks_, replays_.ranges, ranges_, out_); }

 private:
  std::vector<std::vector<Outcome>> times_of(const RangeReplay& replay) {
    std::vector<std::vector<Outcome>> now = repeats_.across(replay.task, replay.schedules);
    if (repeats_.is_interrupted() || !another_kernel_seems_faster(replay, now)) return now;
    const std::vector<std::vector<Outcome>> more = repeats_.across(replay.task, replay.schedules);
    if (!repeats_.is_interrupted()) keep_the_best(more, now);
    return now;
  }

  void add(RemeasuredTask row) {
    out_.tasks.push_back(std::move(row));
    listener_.task(out_.tasks.back(), out_.tasks.size(), replays_.count());
  }

  const ReproSettings& settings_;
  const ReplaysAndRanges& replays_;
  Repeats& repeats_;
  ReproListener& listener_;
  Repro& out_;
  std::size_t tasks_ = 0, ranges_ = 0;  ///< that are measured
};

/// Where tasks are measured, what keeps the model from being read at all its sizes is a note.
Status read_ranges(const ReproSettings& settings, const Prepared& prepared, const Records& records,
                   ReproListener& listener, ReplaysAndRanges& replays, bool& interrupted) {
  Result<std::vector<RangeReplay>> ranges =
      range_replays(settings.measuring, prepared, records, settings.best,
                    [&](std::int64_t read, std::int64_t all) { listener.reading(read, all); });
  if (ranges.ok()) {
    replays.ranges = std::move(*ranges);
    return ok_status();
  }
  interrupted = ranges.error().kind == ErrorKind::interrupted;
  if (replays.tasks.empty() && !interrupted) return ranges.error();
  if (!interrupted)
    tell(settings.measuring.where.tell, "Kernels for ranges are not measured again: " + ranges.error().message);
  return ok_status();
}

void tell_of_ranges(const TuneSettings& measuring, const Records& records, const ReplaysAndRanges& replays) {
  const std::int64_t ranged = std::ssize(records.ranged());
  if (ranged == 0 || !replays.ranges.empty()) return;
  tell(measuring.where.tell, fmt::format("{}: {} of kernels for ranges of sizes {} not measured again{}",
                                         measuring.records, counted(ranged, "time"), for_count(ranged, "is", "are"),
                                         measuring.model.sizes.empty() ? "; --sizes says of which ranges" : ""));
}

}  // namespace

Result<Repro> repro_records(const ReproSettings& settings, Workplace& place, Zygote& zygote, ReproListener& listener) {
  TuneSettings measuring = settings.measuring;
  Prepared& prepared = place.prepared;
  WHET_TRY(RecordsRead read, read_records(measuring.records));
  for (const std::string& note : read.notes) tell(measuring.where.tell, note);
  read.records.count(prepared.emulated ? EmulatedRecords::alone : EmulatedRecords::left_out);
  read.records.prefer_device(place.devices.front()->info().name);
  read.records.count_inputs(input_hashes(prepared.tasks));
  if (prepared.at.empty()) WHET_RETURN_IF_ERROR(apply_plan(measuring, read.records, prepared));  // sizes have no plans
  ReplaysAndRanges replays{replays_of(settings, prepared, read.records), {}};
  Repro out;
  const auto take_ranges = [&] {
    return read_ranges(settings, prepared, read.records, listener, replays, out.interrupted);
  };
  const bool has_tasks = !replays.tasks.empty();
  if (!has_tasks) WHET_RETURN_IF_ERROR(take_ranges());
  if (replays.empty() && !out.interrupted) {
    const std::vector<std::string> why =
        strangers_of(measuring.records, read.records, prepared.fused, prepared.place.target, TargetUse::near);
    return Error{why.empty() ? measuring.records + " has no records of the tasks of " + measuring.model.name()
                             : why.front()};
  }
  if (has_tasks) measuring.cache = use_one_cache(replays.tasks);
  out.without_records = std::ssize(prepared.tasks) - std::ssize(replays.tasks);
  listener.started(prepared, replays.count());
  WHET_TRY(const std::unique_ptr<Repeats> repeats, Repeats::make(measuring, place, zygote));
  MeasuringAgain measuring_again(settings, replays, *repeats, listener, out);
  measuring_again.measure_tasks();
  if (has_tasks && measuring_again.goes_on()) WHET_RETURN_IF_ERROR(take_ranges());
  if (!out.interrupted) tell_of_ranges(measuring, read.records, replays);
  measuring_again.measure_ranges(static_cast<int>(prepared.tasks.size()));
  measuring_again.leave_out_others();
  std::ranges::sort(out.tasks, {}, &RemeasuredTask::id);
  out.seconds = seconds_since(settings.start);
  return out;
}

}  // namespace whet
