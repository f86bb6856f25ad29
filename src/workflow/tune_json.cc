#include "workflow/tune_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/arithmetic.h"
#include "base/counted.h"
#include "plan/tried.h"
#include "workflow/kernels_text.h"
#include "workflow/lowering.h"
#include "workflow/rates.h"

namespace whet {
namespace {

double ms(double seconds) { return seconds * 1e3; }  // infinity becomes null

Json to_json(const TunePhases& phases) {
  Json time = Json::object();
  time.set("propose", phases.propose).set("measure", phases.measure).set("check", phases.check);
  time.set("confirm", phases.confirm).set("record", phases.record).set("learn", phases.learn);
  time.set("finals", phases.finals);
  time.set("building", phases.building).set("running", phases.running);
  return time;
}

}  // namespace

std::string uncompared_text(std::int64_t tasks) {
  return fmt::format(
      "Of {} default and best were not measured alternately at the end, since no time was left: {} of different "
      "minutes of the machine",
      counted(tasks, "task"), for_count(tasks, "its gain is", "their gains are"));
}

std::string moved_text(const PlacementTimes& times) {
  return fmt::format(
      "The processors moved, as a host moves those of a virtual machine: {}. A time belongs to a placement: the "
      "fastest "
      "schedules are measured again",
      to_text(times));
}

Json to_json(const PlacementTimes& times) {
  Json list = Json::array();
  for (const PlacementTimes::Part& part : times.parts())
    list.add(Json::object().set("round_trip_ns", part.placement.round_trip_ns).set("seconds", part.seconds));
  return list;
}

double seconds_left(const TuneProgress& progress) {
  double left = kInfinity;
  if (progress.allowed_seconds > 0) left = progress.allowed_seconds - progress.seconds;
  if (progress.allowed_trials > 0 && progress.trials > 0) {
    const double trials = static_cast<double>(progress.allowed_trials - progress.trials);
    left = std::min(left, progress.seconds / static_cast<double>(progress.trials) * trials + progress.to_come);
  }
  return std::max(0.0, left);
}

std::string first_round_text(const TuneProgress& progress) {
  if (!progress.quick) return "";
  const std::int64_t transfers = progress.winners(Winner::transfer), searched = progress.winners(Winner::searched);
  const std::int64_t untimed = progress.winners(Winner::none);
  return fmt::format("In the first round {} of {}; {} {}{}, {} default{}", progress.quick->tasks,
                     counted(std::ssize(progress.tasks), "task"), transfers,
                     for_count(transfers, "winner is a transfer", "winners are transfers"),
                     searched > 0 ? fmt::format(", {} {} searched", searched, for_count(searched, "is", "are")) : "",
                     progress.winners(Winner::usual), untimed > 0 ? fmt::format(", {} untimed", untimed) : "");
}

Json compared_json(const TuneProgress& progress) {
  const ComparedSums sums = progress.compared();
  const auto sum = [&](double seconds) { return sums.tasks > 0 ? Json(ms(seconds)) : Json(); };
  return Json::object()
      .set("tasks", sums.tasks)
      .set("of_tasks", static_cast<std::int64_t>(progress.tasks.size()))
      .set("default_ms", sum(sums.default_seconds))
      .set("best_ms", sum(sums.best_seconds));
}

Json first_round_json(const TuneProgress& progress) {
  if (!progress.quick) return {};
  Json winners = Json::object();
  for (const Winner kind : {Winner::transfer, Winner::searched, Winner::usual})
    winners.set(name_of(kind), progress.winners(kind));
  return Json::object()
      .set("tasks", progress.quick->tasks)
      .set("of_tasks", static_cast<std::int64_t>(progress.tasks.size()))
      .set("trials", progress.quick->trials)
      .set("seconds", progress.quick->seconds)
      .set("winners", winners);
}

Json to_json(const TaskProgress& task) {
  return Json::object()
      .set("id", task.id)
      .set("name", task.name)
      .set("weight", task.weight)
      .set("flops", task.flops)
      .set("default_ms", ms(task.default_seconds))
      .set("best_ms", ms(task.best_seconds))
      .set("winner", name_of(task.winner))
      .set("trials", task.trials)
      .set("failed", task.failed)
      .set("reused", task.reused)
      .set("rests", task.rests)
      .set("used_up", task.used_up)
      .set("given_up", task.given_up);
}

Json to_json(const std::vector<UnitReport>& units) {
  Json list = Json::array();
  for (const UnitReport& unit : units)
    list.add(Json::object()
                 .set("name", unit.name)
                 .set("jobs", unit.jobs)
                 .set("candidates", unit.candidates)
                 .set("failed", unit.failed)
                 .set("lost", unit.losses)
                 .set("busy_seconds", unit.busy_seconds)
                 .set("factor", unit.factor)
                 .set("drained", unit.drained));
  return list;
}

Json to_json(const NetworkTruth& truth) {
  Json swaps = Json::array();
  for (const NetworkTruth::Swap& swap : truth.swaps)
    swaps.add(Json::object().set("task", swap.task).set("ms", swap.seconds * 1e3).set("adopted", swap.adopted));
  Json out = Json::object();
  if (!truth.model.empty()) out.set("model", truth.model);
  out.set("untuned_ms", truth.untuned_seconds * 1e3).set("tuned_ms", truth.tuned.seconds * 1e3);
  out.set("base", truth.base);
  out.set("default_ms", truth.default_seconds > 0 ? Json(truth.default_seconds * 1e3) : Json());
  if (truth.tuned.weights_bytes > 0)
    out.set("weights_bytes", truth.tuned.weights_bytes).set("untuned_weights_bytes", truth.untuned_weights_bytes);
  if (truth.placement.is_known()) out.set("round_trip_ns", truth.placement.round_trip_ns);
  out.set("fastest_ms", truth.tuned.fastest_seconds * 1e3).set("predicted_ms", truth.tuned.predicted_seconds * 1e3);
  if (truth.tasks_seconds > 0)
    out.set("tasks_ms", truth.tasks_seconds * 1e3).set("beside_tasks_ms", truth.beside_tasks_seconds * 1e3);
  return out.set("disturbed", truth.disturbed)
      .set("disturbed_beside_tasks", truth.disturbed_beside_tasks)
      .set("same_schedules", truth.same_schedules)
      .set("unconfirmed", truth.unconfirmed)
      .set("swaps", swaps)
      .set("back_to_default", Json::array_of(truth.back_to_default));
}

Json to_json(const PlanSearch& search) {
  Json tried = Json::array();
  for (const PlanSearch::Tried& each : search.tried)
    tried.add(Json::object()
                  .set("sum_ms", each.sum_seconds * 1e3)
                  .set("usual_sum_ms", each.usual_sum_seconds * 1e3)
                  .set("network_ms", each.network_seconds * 1e3)
                  .set("usual_network_ms", each.usual_network_seconds * 1e3)
                  .set("kernels", each.kernels)
                  .set("comparisons", each.comparisons)
                  .set("slower", each.slower)
                  .set("weights_bytes", each.weights_bytes)
                  .set("usual_weights_bytes", each.usual_weights_bytes)
                  .set("adopted", each.adopted)
                  .set("why_not", why_not_taken(each)));
  return Json::object()
      .set("alternatives", static_cast<std::int64_t>(search.alternatives))
      .set("tasks", static_cast<std::int64_t>(search.tasks))
      .set("measured", static_cast<std::int64_t>(search.measured))
      .set("trials", search.trials)
      .set("seconds", search.seconds)
      .set("complete", search.complete)
      .set("noisy", search.noisy)
      .set("out_of_time", search.out_of_time)
      .set("excess_known", search.has_excess)
      .set("plan_ms", search.chosen.seconds * 1e3)
      .set("usual_ms", search.chosen.usual_seconds * 1e3)
      .set("bound_ms", search.chosen.bound_seconds * 1e3)
      .set("kernels", kernels_text(search.chosen.kernels))
      .set("tried", tried);
}

std::string ladder_text(const LadderProgress& progress) {
  return fmt::format("Kernels for ranges: {} of {}, {} at the tuning sizes, {} failed, in {:.1f} s",
                     counted(progress.kernels, "kernel"), counted(progress.done, "task"),
                     counted(progress.times, "time"), progress.failed, progress.seconds);
}

Json to_json(const LadderProgress& progress) {
  return Json::object()
      .set("tasks", progress.tasks)
      .set("done", progress.done)
      .set("kernels", progress.kernels)
      .set("times", progress.times)
      .set("failed", progress.failed)
      .set("seconds", progress.seconds)
      .set("out_of_time", progress.out_of_time);
}

Json to_json(const NetworkAtSizes& network, const std::vector<std::string>& names) {
  const auto known = [](double seconds) { return seconds > 0 ? Json(seconds * 1e3) : Json(); };
  Json points = Json::array();
  for (const TimedAtSizes& each : network.points)
    points.add(Json::object()
                   .set("sizes", values_json(names, each.at))
                   .set("share", each.share)
                   .set("untuned_ms", known(each.untuned))
                   .set("ranged_ms", known(each.ranged))
                   .set("exact_ms", known(each.exact))
                   .set("hot", each.hot)
                   .set("keeps_untuned", each.keeps_untuned));
  return points;
}

Json values_json(const std::vector<std::string>& names, const SizeValues& values) {
  Json out = Json::object();
  for (std::size_t k = 0; k < names.size(); ++k) out.set(names[k], values[k]);
  return out;
}

Json to_json(const Tuned& tuned, const std::string& records) {
  const TuneProgress& progress = tuned.progress;
  Json tasks = Json::array();
  for (std::size_t i = 0; i < progress.tasks.size(); ++i) {
    const TaskProgress& task = progress.tasks[i];
    const std::string held = i < tuned.limits.size() ? held_by(tuned.limits[i], task.best_seconds) : "";
    tasks.add(to_json(task).set("held_by", held));
  }
  Json failures = Json::array();
  for (const FailureGroup& group : progress.failures)
    failures.add(
        Json::object().set("error", name_of(group.code)).set("count", group.count).set("message", group.message));
  Json sizes = Json::array();
  for (const TunedSize& each : tuned.sizes)
    sizes.add(Json::object()
                  .set("sizes", values_json(tuned.size_names, each.size.at))
                  .set("requests", each.size.requests)
                  .set("tasks", each.sums.tasks)
                  .set("default_ms", ms(each.sums.default_seconds))
                  .set("tuned_ms", ms(each.sums.best_seconds)));
  Json out = Json::object();
  if (!tuned.sizes.empty()) out.set("sizes", std::move(sizes));
  if (tuned.ladder) out.set("ladder", to_json(*tuned.ladder));
  if (tuned.at_sizes) out.set("at_sizes", to_json(*tuned.at_sizes, tuned.size_names));
  if (tuned.requests)
    out.set("request_ms",
            Json::object().set("untuned", ms(tuned.requests->untuned)).set("tuned", ms(tuned.requests->tuned)));
  Json networks = Json::array();
  for (const NetworkTruth& truth : tuned.truths) networks.add(to_json(truth));
  if (!tuned.truths.empty()) out.set("networks", std::move(networks));
  if (tuned.precision) out.set("precision", to_json(*tuned.precision));
  if (tuned.unwritten) out.set("unwritten", tuned.unwritten->message);
  out.set("records", records).set("trials", progress.trials).set("seconds", progress.seconds);
  if (progress.reached) out.set("reached", true);
  out.set("interrupted", progress.interrupted).set("default_ms", ms(progress.default_network_seconds()));
  return out.set("tuned_ms", ms(progress.network_seconds()))
      .set("compared", compared_json(progress))
      .set("uncompared", progress.uncompared)
      .set("first_round", first_round_json(progress))
      .set("phases", to_json(progress.phases))
      .set("stolen", tuned.stolen)
      .set("slowdown", progress.slowdown)
      .set("placements", to_json(progress.placements))
      .set("remaining_gain_ms", ms(progress.remaining_gain))
      .set("failures", failures)
      .set("devices", to_json(tuned.units))
      .set("tasks", tasks)
      .set("network", to_json(tuned.truth))
      .set("layouts", tuned.plans ? to_json(*tuned.plans) : Json())
      .set("left_out", Json::array_of(tuned.left_out));
}

}  // namespace whet
