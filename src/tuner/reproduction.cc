#include "tuner/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "records/digest.h"

namespace whet {
namespace {

/// A ratio and how much it counts.
struct Weighted {
  double value = 0, weight = 0;
};

double median_of(std::vector<Weighted> values) {
  std::ranges::sort(values, {}, &Weighted::value);
  double all = 0, sum = 0;
  for (const Weighted& each : values) all += each.weight;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i].weight;
    if (2 * sum > all) return values[i].value;
    if (2 * sum == all && i + 1 < values.size()) return std::sqrt(values[i].value * values[i + 1].value);
  }
  return values.empty() ? 0 : values.back().value;
}

bool is_farther(double ratio, double than) { return than == 0 || std::abs(std::log(ratio)) > std::abs(std::log(than)); }

std::vector<double> drifts_of(const RemeasuredTask& task) {
  std::vector<double> drifts;
  for (const Remeasured& each : task.schedules)
    if (each.now > 0 && each.then > 0) drifts.push_back(each.now / each.then);
  return drifts;
}

std::optional<double> correlation_of(const RemeasuredTask& task) {
  std::vector<double> then, now;
  for (const Remeasured& each : task.schedules)
    if (each.now > 0) then.push_back(each.then), now.push_back(each.now);
  if (then.size() < 2) return std::nullopt;
  return rank_correlation(then, now);
}

bool is_within(double ratio, double limit) { return ratio <= 1 + limit && ratio >= 1 / (1 + limit); }

void add(const RemeasuredTask& task, const TaskReproduction& found, ReproSums& sums) {
  if (found.chosen <= 0) {
    ++sums.idle;
    return;
  }
  sums.then += task.weight * task.schedules.front().then;
  sums.chosen += task.weight * found.chosen;
  sums.fastest += task.weight * found.fastest;
  sums.usual += task.weight * (task.usual > 0 ? task.usual : found.chosen);
}

/// "its best schedules take 1.000 times as long as the fastest of now, and 0.833 times as long as the default ones"
std::string best_text(const Reproduction& all) {
  std::string text;
  if (all.sums.fastest > 0)
    text = fmt::format(
        "its best schedules take {:.3f} times as long as the fastest of now, and {:.3f} times as long as the default "
        "ones",
        all.sums.chosen / all.sums.fastest, all.sums.chosen / all.sums.usual);
  if (all.ranges.fastest > 0)
    text += fmt::format("{}its kernels for ranges take {:.3f} times as long as the fastest of now",
                        text.empty() ? "" : ", and ", all.ranges.chosen / all.ranges.fastest);
  return text;
}

double percent(double ratio) { return 100 * (ratio - 1); }

}  // namespace

bool TaskReproduction::has_other_best(double within) const {
  return first_failed || (fastest > 0 && chosen > (1 + within) * fastest);
}

TaskReproduction reproduction_of(const RemeasuredTask& task) {
  TaskReproduction out;
  std::vector<Weighted> drifts;
  for (const double drift : drifts_of(task)) {
    drifts.push_back({drift, 1});
    if (is_farther(drift, out.worst_drift)) out.worst_drift = drift;
  }
  out.drift = median_of(std::move(drifts));
  out.correlation = correlation_of(task);
  out.fastest = task.usual;
  for (std::size_t i = 0; i < task.schedules.size(); ++i) {
    const double now = task.schedules[i].now;
    if (now <= 0) ++out.failed;
    if (now > 0 && (out.fastest == 0 || now < out.fastest)) out.fastest = now, out.fastest_place = static_cast<int>(i);
  }
  out.first_failed = task.schedules.front().now <= 0;
  out.chosen = out.first_failed ? task.usual : task.schedules.front().now;
  if (out.first_failed && task.for_ranges) {
    const auto runs = std::ranges::find_if(task.schedules, [](const Remeasured& each) { return each.now > 0; });
    if (runs != task.schedules.end()) out.chosen = runs->now;
  }
  return out;
}

Reproduction reproduction_of(const std::vector<RemeasuredTask>& tasks, double within) {
  Reproduction out;
  std::vector<Weighted> drifts;
  double correlation = 0, correlated = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const RemeasuredTask& task = tasks[i];
    const TaskReproduction& each = out.tasks.emplace_back(reproduction_of(task));
    const double share = task.weight * each.fastest;
    const std::vector<double> own = drifts_of(task);
    for (const double drift : own) drifts.push_back({drift, share / static_cast<double>(own.size())});
    if (each.worst_drift > 0 && is_farther(each.worst_drift, out.worst_drift))
      out.worst_drift = each.worst_drift, out.worst_task = i;
    if (each.correlation) correlation += share * *each.correlation, correlated += share;
    out.schedules += std::ssize(task.schedules);
    out.failed += each.failed;
    if (each.has_other_best(within)) ++out.other_best;
    add(task, each, task.for_ranges ? out.ranges : out.sums);
  }
  out.drift = median_of(std::move(drifts));
  if (correlated > 0) out.correlation = correlation / correlated;
  return out;
}

const char* name_of(ReproVerdict verdict) {
  switch (verdict) {
    case ReproVerdict::reproduced:
      return "reproduced";
    case ReproVerdict::choices_hold:
      return "choices hold";
    case ReproVerdict::not_reproduced:
      return "not reproduced";
    case ReproVerdict::unknown:
      return "unknown";
  }
  return "";
}

ReproVerdict verdict_of(const Reproduction& all, double within) {
  if (all.tasks.empty()) return ReproVerdict::unknown;
  if (all.drift <= 0) return ReproVerdict::not_reproduced;
  for (const ReproSums* each : {&all.sums, &all.ranges})
    if (each->idle > 0 || each->chosen > (1 + within) * each->fastest) return ReproVerdict::not_reproduced;
  return is_within(all.drift, within) ? ReproVerdict::reproduced : ReproVerdict::choices_hold;
}

std::string verdict_text(const Reproduction& all, double within) {
  if (all.tasks.empty()) return "Nothing was measured";
  if (all.drift <= 0) return "Not good for this machine: none of its schedules runs here";
  if (all.sums.idle > 0)
    return fmt::format(
        "Not good for this machine: in {}, neither its best schedule nor the default one runs; tune again",
        counted(all.sums.idle, "task"));
  if (all.ranges.idle > 0)
    return fmt::format("Not good for this machine: at {} of its tasks, no kernel for ranges runs; tune again",
                       counted(all.ranges.idle, "size"));
  const std::string best = best_text(all);
  switch (verdict_of(all, within)) {
    case ReproVerdict::reproduced:
      return fmt::format("Good for this machine: its times are right within {:g}%, and {}", 100 * within, best);
    case ReproVerdict::choices_hold:
      return fmt::format("Good for this machine, except for its times, which are {:.0f}% {} now: {}",
                         std::abs(percent(all.drift)), all.drift > 1 ? "longer" : "shorter", best);
    case ReproVerdict::not_reproduced:
      return fmt::format("Not good for this machine: {}; tune again", best);
    case ReproVerdict::unknown:
      break;
  }
  return "";
}

std::string why_not_admitted(double claimed, double now, double within) {
  if (now <= 0) return "it has no time now";
  if (!is_within(now / claimed, within)) return fmt::format("it claims a gain of {:.3f} and has {:.3f}", claimed, now);
  if (claimed >= kLeastClaim && now < kLeastClaim)
    return fmt::format("it claims a gain of {:.3f} and has {:.3f}, which is none", claimed, now);
  return "";
}

std::string why_chain_not_admitted(double claimed, double now, double within) {
  if (now <= 0) return "it or one of its parts has no time now";
  if (claimed < kLeastClaim || now >= 1 / (1 + within)) return "";
  return fmt::format("its parts claim to take {:.3f} times as long as it does, and take {:.3f}", claimed, now);
}

}  // namespace whet
