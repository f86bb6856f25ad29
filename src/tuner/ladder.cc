#include "tuner/ladder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "artifact/code_format.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/version.h"
#include "records/record_line.h"
#include "schedule/steps_for_sizes.h"

namespace whet {
namespace {

/// A task below this share of the requests' time is not worth its builds.
constexpr double kWorthALadder = 0.002;
/// Between both ends.
constexpr int kSeededSizes = 3;

/// "n=2..512, b=1..8"
std::string sizes_text(const std::vector<SizeRange>& sizes) {
  std::string text;
  for (const SizeRange& size : sizes) text += (text.empty() ? "" : ", ") + size.name + "=" + to_text(size);
  return text;
}

/// Both ends of all ranges, and seeded values.
std::vector<SizeValues> sizes_to_check(const std::vector<SizeRange>& sizes, std::uint64_t seed) {
  Rng rng(seed);
  std::set<SizeValues> all;
  SizeValues low, high;
  for (const SizeRange& size : sizes) low.push_back(size.min), high.push_back(size.max);
  all.insert(low), all.insert(high);
  for (int i = 0; i < kSeededSizes; ++i) {
    SizeValues values;
    for (const SizeRange& size : sizes) values.push_back(size.min + rng.below(count_of(size)) * size.step);
    all.insert(std::move(values));
  }
  return {all.begin(), all.end()};
}

/// The schedule, of one size, of all; who weighed it knows that there is one.
std::string for_all_sizes(const ComputeDag& dag, const SizedSchedule& schedule) {
  const Result<Steps> own = parse_steps(schedule.steps);
  if (!own.ok()) return schedule.steps;
  const Result<Steps> all = steps_for_sizes(moved_to(dag, schedule.from), *own);
  return all.ok() ? to_text(*all) : schedule.steps;
}

RangedTask ranged_task(const LadderTask& task, const Target& target, std::uint64_t seed) {
  RangedTask ranged{{workload_key(task.dag), task.name, task.dag, target}, {}, {}};
  for (const SizedPoint& point : task.points) ranged.timed.push_back(point.at);
  ranged.checked = sizes_to_check(task.dag.sizes, seed);
  return ranged;
}

/// All requests on a machine of 100 GFLOPS and 20 GB/s.
double guessed_by_work(const LadderTask& task) {
  double seconds = 0;
  for (const SizedPoint& point : task.points) {
    const ComputeDag dag = dag_at(task.dag, point.at);
    seconds += point.uses * (flops(dag) / 1e11 + bytes(dag) / 2e10);
  }
  return seconds;
}

class Ladder {
 public:
  Ladder(const Target& target, Measurer& measurer, RecordFile& file, const LadderOptions& options)
      : target_(target), measurer_(measurer), file_(file), options_(options), begun_(now()) {}

  Result<LadderProgress> run(const std::vector<LadderTask>& tasks) {
    std::vector<Rungs> all;
    for (const LadderTask& task : tasks) all.push_back(rungs_of(task));
    guess_the_unknown(all);
    double expected = 0;
    for (const Rungs& each : all) expected += each.expected;
    std::erase_if(all, [&](const Rungs& each) { return each.expected < kWorthALadder * expected; });
    std::ranges::stable_sort(all, std::ranges::greater(), &Rungs::expected);
    progress_.tasks = std::ssize(all);
    double longest = 0;
    for (const Rungs& each : all) {
      const double begin = now();
      if (interrupted()) break;
      progress_.out_of_time = begin + longest > options_.deadline;
      if (progress_.out_of_time) break;
      WHET_RETURN_IF_ERROR(climb(each));
      if (interrupted()) break;
      ++progress_.done;
      longest = std::max(longest, now() - begin);
      progress_.task = each.task->name;
      progress_.seconds = now() - begun_;
      if (options_.on_task) options_.on_task(progress_);
    }
    progress_.interrupted = interrupted();
    progress_.seconds = now() - begun_;
    WHET_RETURN_IF_ERROR(file_.sync());
    return progress_;
  }

 private:
  /// A task and the schedules that are worth a kernel.
  struct Rungs {
    const LadderTask* task;
    std::vector<SizedSchedule> schedules;             ///< those of records first, and of these the best
    double expected = 0;                              ///< seconds of all requests by the best; 0: there is no record
    std::map<std::string, std::size_t> kernels = {};  ///< the schedules by their steps for all sizes
  };

  /// Tasks of which there is no record, and whose untuned kernels are known: by work, as long as those with records take for theirs.
  static void guess_the_unknown(std::vector<Rungs>& all) {
    double known = 0, guessed = 0;
    for (const Rungs& each : all)
      if (each.expected > 0) known += each.expected, guessed += guessed_by_work(*each.task);
    const double pace = known > 0 && guessed > 0 ? known / guessed : 1;
    for (Rungs& each : all)
      if (each.expected == 0 && (known == 0 || !each.task->always.empty()))
        each.expected = pace * guessed_by_work(*each.task);
  }

  double now() const { return options_.clock ? options_.clock() : seconds_now(); }
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  Rungs rungs_of(const LadderTask& task) const {
    std::vector<SizedSchedule> known =
        across_sizes(task.dag, task.points, file_.records(), target_, options_.schedules);
    // What was timed for ranges before has no right of way here: a later run finds better ones.
    std::ranges::stable_sort(known, {}, &SizedSchedule::expected);
    Rungs rungs{&task, {}, known.empty() ? 0 : known.front().expected};
    for (const SizedSchedule& each : known) add(each, options_.most, rungs);
    const std::set<std::string_view> failed = failed_of(task.dag);
    for (const SizedSchedule& each : task.always) {
      const auto same = std::ranges::find(known, each.steps, &SizedSchedule::steps);
      if (same == known.end() && failed.contains(each.steps)) continue;
      add(same != known.end() ? *same : untimed(each, task.points.size()), rungs.schedules.size() + 1, rungs);
    }
    return rungs;
  }

  /// Adds a kernel where there are fewer than `most`. Of equal ones that one stays which has times.
  static void add(const SizedSchedule& schedule, std::size_t most, Rungs& rungs) {
    const std::size_t count = rungs.schedules.size();
    const auto [known, is_new] = rungs.kernels.emplace(for_all_sizes(rungs.task->dag, schedule), count);
    if (!is_new && is_timed(schedule))
      rungs.schedules[known->second] = schedule;
    else if (is_new && count < most)
      rungs.schedules.push_back(schedule);
    else if (is_new)
      rungs.kernels.erase(known);
  }

  static bool is_timed(const SizedSchedule& schedule) {
    return std::ranges::all_of(schedule.ranged, [](bool ranged) { return ranged; });
  }

  /// Schedules that are no kernels for all sizes of the task, as the file says.
  std::set<std::string_view> failed_of(const ComputeDag& dag) const {
    std::set<std::string_view> failed;
    for (const RangedRecord* each : file_.records().ranged_of(range_id(dag), target_))
      if (!each->record.outcome.ok()) failed.insert(each->record.steps);
    return failed;
  }

  static SizedSchedule untimed(SizedSchedule schedule, std::size_t points) {
    schedule.ranged.assign(points, false);
    return schedule;
  }

  Status climb(const Rungs& rungs) {
    const LadderTask& task = *rungs.task;
    if (std::ranges::all_of(rungs.schedules, &Ladder::is_timed)) return ok_status();
    RangedTask ranged = ranged_task(task, target_, options_.seed);
    ranged.ended = [this] { return now() >= options_.deadline; };
    std::vector<const SizedSchedule*>
        asked;  // those without times, and the best of the others, beside which they are timed
    bool has_timed = false;
    for (const SizedSchedule& each : rungs.schedules) {
      if (is_timed(each) && has_timed) continue;
      has_timed |= is_timed(each);
      asked.push_back(&each);
    }
    std::vector<std::string> steps;
    for (const SizedSchedule* each : asked) steps.push_back(for_all_sizes(task.dag, *each));
    const std::vector<std::vector<Outcome>> outcomes = measurer_.ladder(ranged, steps);
    progress_.kernels += std::ssize(steps);
    for (std::size_t k = 0; k < outcomes.size(); ++k)
      for (std::size_t p = 0; p < outcomes[k].size(); ++p)
        WHET_RETURN_IF_ERROR(remember(task, *asked[k], task.points[p].at, outcomes[k][p]));
    return ok_status();
  }

  Status remember(const LadderTask& task, const SizedSchedule& schedule, const SizeValues& at, const Outcome& outcome) {
    if (outcome.code == OutcomeCode::device_lost) return ok_status();
    ++(outcome.ok() ? progress_.times : progress_.failed);
    RangedRecord line;
    Record& record = line.record;
    record.version = 4;
    record.key = workload_key(dag_at(task.dag, at));
    record.task = task.name;
    record.target = to_string(target_);
    record.candidate = schedule.candidate;
    record.steps = schedule.steps;
    record.numerics = numerics_of(schedule.steps);
    record.codegen = codegen_version(code_format(target_));
    record.outcome = outcome;
    record.outcome.device = without_number(outcome.device);
    record.seed = options_.seed;
    record.whet = version();
    record.at = utc_now();
    line.range = range_id(task.dag);
    line.sizes = sizes_text(task.dag.sizes);
    line.at = at;
    line.from = schedule.from;
    return file_.append(line);
  }

  const Target& target_;
  Measurer& measurer_;
  RecordFile& file_;
  const LadderOptions& options_;
  const double begun_;
  LadderProgress progress_;
};

}  // namespace

std::vector<std::vector<Outcome>> time_again(const LadderTask& task, const std::vector<SizedSchedule>& schedules,
                                             const Target& target, Measurer& measurer, std::uint64_t seed) {
  std::vector<std::string> steps;
  for (const SizedSchedule& each : schedules) steps.push_back(for_all_sizes(task.dag, each));
  return measurer.ladder(ranged_task(task, target, seed), steps);
}

Result<LadderProgress> climb_ladder(const std::vector<LadderTask>& tasks, const Target& target, Measurer& measurer,
                                    RecordFile& file, const LadderOptions& options) {
  return Ladder(target, measurer, file, options).run(tasks);
}

}  // namespace whet
