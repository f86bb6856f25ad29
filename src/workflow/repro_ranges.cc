#include "workflow/repro_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/arithmetic.h"
#include "workflow/repeats.h"
#include "workflow/sizes.h"

namespace whet {
namespace {

bool is_timed(const SizedSchedule& schedule) {
  return std::ranges::find(schedule.ranged, true) != schedule.ranged.end();
}

/// The numbers of the schedules, a library's kernels first.
std::vector<std::size_t> kernels_to_measure(const TaskAcrossSizes& known, int best) {
  std::vector<std::size_t> order = known.kernels.kernels;
  for (std::size_t k = 0; k < known.schedules.size(); ++k)
    if (std::ranges::find(order, k) == order.end()) order.push_back(k);
  std::erase_if(order, [&](std::size_t k) { return !is_timed(known.schedules[k]); });
  if (std::ssize(order) > best) order.resize(static_cast<std::size_t>(best));
  return order;
}

/// The schedule with what is known of it at one more point.
void add_point(const SizedSchedule& from, std::size_t p, SizedSchedule& to) {
  to.seconds.push_back(from.seconds[p]);
  to.measured.push_back(from.measured[p]);
  to.ranged.push_back(from.ranged[p]);
}

}  // namespace

double RangeReplay::then() const {
  double sum = 0;
  for (std::size_t p = 0; p < task.points.size(); ++p) {
    double least = kInfinity;
    for (const SizedSchedule& each : schedules) least = std::min(least, each.seconds[p]);
    sum += task.points[p].uses * least;
  }
  return sum;
}

std::optional<RangeReplay> replay_of(const SizedTask& task, const TaskAcrossSizes& known, int best) {
  const std::vector<std::size_t> kernels = kernels_to_measure(known, best);
  RangeReplay replay{{task.task.name, task.task.dag, {}}, {}};
  for (const std::size_t k : kernels) {
    const SizedSchedule& each = known.schedules[k];
    replay.schedules.push_back({each.steps, each.candidate, each.packing, each.from, {}, {}, {}});
  }
  for (std::size_t p = 0; p < known.points.size(); ++p) {
    if (std::ranges::none_of(kernels, [&](std::size_t k) { return known.schedules[k].ranged[p]; })) continue;
    replay.task.points.push_back(known.points[p]);
    for (std::size_t i = 0; i < kernels.size(); ++i) add_point(known.schedules[kernels[i]], p, replay.schedules[i]);
  }
  return replay.task.points.empty() ? std::nullopt : std::optional(std::move(replay));
}

Result<std::vector<RangeReplay>> range_replays(
    const TuneSettings& settings, const Prepared& prepared, const Records& records, int best,
    const std::function<void(std::int64_t read, std::int64_t all)>& reading) {
  const Target& target = prepared.place.target;
  std::vector<RangeReplay> replays;
  if (records.ranged().empty() || !has_ranges(prepared.sizes) || !target.is_cpu() || prepared.emulated) return replays;
  WHET_TRY(const SizedModel model, sized_model(settings.model, prepared.files));
  const auto on_point = [&](std::int64_t done, std::int64_t all) -> Status {
    if (settings.where.interrupted && settings.where.interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    if (reading && (done % kSizesUntilTold == 0 || done == all)) reading(done, all);
    return ok_status();
  };
  WHET_TRY(const Family family, family_of_library(model, prepared.files, settings.rounding.passes(target), on_point));
  if (reading) reading(family.checked, family.checked);
  WHET_TRY(const RangeChoice choice, choose_for_ranges(family, model.sizes, settings.tuning_sizes, records, target,
                                                       settings.rounding.schedules()));
  for (std::size_t v = 0; v < family.variants.size(); ++v)
    for (std::size_t t = 0; t < family.variants[v].tasks.size(); ++t)
      if (std::optional<RangeReplay> replay = replay_of(family.variants[v].tasks[t], choice.tasks[v][t], best))
        replays.push_back(std::move(*replay));
  std::ranges::stable_sort(replays, std::ranges::greater(), &RangeReplay::then);
  return replays;
}

bool another_kernel_seems_faster(const RangeReplay& replay, const std::vector<std::vector<Outcome>>& now) {
  for (const RemeasuredTask& row : remeasured_rows(replay, now, 0))
    if (reproduction_of(row).has_other_best(kDoubt)) return true;
  return false;
}

void keep_the_best(const std::vector<std::vector<Outcome>>& more, std::vector<std::vector<Outcome>>& now) {
  for (std::size_t k = 0; k < now.size(); ++k)
    for (std::size_t p = 0; p < now[k].size(); ++p)
      if (now[k][p].ok() && (!more[k][p].ok() || more[k][p].clock_seconds() < now[k][p].clock_seconds()))
        now[k][p] = more[k][p];
}

std::vector<RemeasuredTask> remeasured_rows(const RangeReplay& replay, const std::vector<std::vector<Outcome>>& now,
                                            int first_id) {
  std::vector<RemeasuredTask> rows;
  for (std::size_t p = 0; p < replay.task.points.size(); ++p) {
    const SizedPoint& point = replay.task.points[p];
    RemeasuredTask row;
    row.id = first_id + static_cast<int>(rows.size());
    row.name = fmt::format("{} at {}", replay.task.name, to_text(replay.task.dag.sizes, point.at));
    row.weight = point.uses;
    row.for_ranges = true;
    for (std::size_t k = 0; k < replay.schedules.size(); ++k) {
      if (!replay.schedules[k].ranged[p]) continue;
      const Outcome& outcome = now[k][p];
      row.schedules.push_back({replay.schedules[k].seconds[p], outcome.ok() ? outcome.clock_seconds() : 0,
                               outcome.ok() ? "" : failure_text(outcome)});
    }
    std::ranges::stable_sort(row.schedules, {}, &Remeasured::then);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace whet
