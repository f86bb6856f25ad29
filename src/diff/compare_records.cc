#include "diff/compare_records.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>
#include <vector>

#include "base/counted.h"
#include "records/digest.h"

namespace whet {
namespace {

/// A task within its tensor on a target.
using PartKey = std::tuple<std::string, Shape, std::string>;
using Bests = std::map<PartKey, Record>;

Bests bests_of(const Records& records) {
  Bests bests;
  for (Record& record : distill(records)) {
    const PartKey key{record.key, record.within, record.target};
    bests.emplace(key, std::move(record));
  }
  return bests;
}

std::string joined_words(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::set<std::string> devices_of(const Bests& bests) {
  std::set<std::string> names;
  for (const auto& [key, record] : bests) names.insert(record.outcome.device);
  return names;
}

std::set<std::string> targets_of(const Bests& bests) {
  std::set<std::string> names;
  for (const auto& [key, record] : bests) names.insert(std::get<2>(key));
  return names;
}

std::string change_of(const Record& before, const Record& after) {
  std::string change;
  const auto say = [&](const std::string& text) { change += (change.empty() ? "" : ", ") + text; };
  if (before.steps != after.steps) say("other schedule");
  if (before.codegen != after.codegen) say("other code generator");
  if (before.outcome.cache != after.outcome.cache) say("cache " + before.outcome.cache + " -> " + after.outcome.cache);
  return change;
}

/// 0 for a task that does not count.
double weight_of(const TaskWeights& weights, const PartKey& key) {
  if (weights.empty()) return 1;
  const auto found = weights.find({std::get<0>(key), std::get<1>(key)});
  return found == weights.end() ? 0 : found->second;
}

/// "plan", "lowered plan", "lowered plan in u8"
std::string kind_of(const Plan& plan) {
  if (!plan.precision) return "plan";
  return "lowered plan" + (plan.precision->uniform.empty() ? "" : " in " + plan.precision->uniform);
}

void compare_plans(const Records& before, const Records& after, Comparison& comparison) {
  for (const Plan& plan : distill_plans(after)) {
    const Plan* old = plan.precision ? before.lowered_plan_for(plan.graph, plan.target, plan.precision->uniform)
                                     : before.plan_for(plan.graph, plan.target);
    const std::string of = kind_of(plan) + " of " + plan.name + " for " + plan.target;
    if (old == nullptr)
      comparison.circumstances.push_back(of + ": only in the new records");
    else if (!std::ranges::is_permutation(old->kernels, plan.kernels))  // their order is no choice
      comparison.circumstances.push_back(of + ": " + std::to_string(old->kernels.size()) + " other kernels -> " +
                                         std::to_string(plan.kernels.size()));
  }
}

/// "0.9960 ms"
std::string milliseconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f ms", seconds * 1e3);
  return text;
}

/// "16", "2x128"
std::string joined_values(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : "x") + std::to_string(value);
  return text;
}

/// What networks take at sizes of their ranges, at those that both files have. Times of their kernels are none of a task.
void compare_networks(const Records& before, const Records& after, Comparison& comparison) {
  for (const NetworkAtSizes& now : after.networks()) {
    const NetworkAtSizes* old = before.network_at_sizes(now.graph, now.ranges, now.target);
    if (old == nullptr || after.network_at_sizes(now.graph, now.ranges, now.target) != &now) continue;
    std::string times;
    for (const TimedAtSizes& point : now.points) {
      const auto same = std::ranges::find(old->points, point.at, &TimedAtSizes::at);
      if (same == old->points.end() || same->ranged <= 0 || point.ranged <= 0) continue;
      times += (times.empty() ? "" : ", ") + joined_values(point.at) + ": " + milliseconds_text(same->ranged) + " -> " +
               milliseconds_text(point.ranged);
    }
    if (!times.empty()) comparison.circumstances.push_back(now.name + " at " + now.ranges + ": " + times);
  }
}

}  // namespace

Comparison compare_records(const Records& before, const Records& after, const TaskWeights& weights) {
  Comparison comparison;
  const Bests olds = bests_of(before), news = bests_of(after);
  add_change(comparison, "targets", joined_words(targets_of(olds)), joined_words(targets_of(news)));
  add_change(comparison, "devices", joined_words(devices_of(olds)), joined_words(devices_of(news)));
  compare_plans(before, after, comparison);
  compare_networks(before, after, comparison);
  int common = 0;
  for (const auto& [key, old] : olds) {
    const double weight = weight_of(weights, key);
    if (weight == 0) continue;
    const auto now = news.find(key);
    Comparison::Part part{old.task, weight, old.outcome.best_seconds(), 0, "only in the old records"};
    if (now != news.end()) {
      part.new_seconds = now->second.outcome.best_seconds();
      part.change = change_of(old, now->second);
      comparison.old_seconds += weight * part.old_seconds;
      comparison.new_seconds += weight * part.new_seconds;
      ++common;
    }
    comparison.parts.push_back(std::move(part));
  }
  for (const auto& [key, now] : news)
    if (const double weight = weight_of(weights, key); weight > 0 && !olds.contains(key))
      comparison.parts.push_back({now.task, weight, 0, now.outcome.best_seconds(), "only in the new records"});
  comparison.whole = weights.empty() ? "sum of the best times of " + counted(common, "task") + " of both"
                                     : "sum of weight x best time of " + std::to_string(common) + " of the model's " +
                                           counted(std::ssize(weights), "task") + ", as both have a time";
  comparison.low_ratio = comparison.high_ratio = comparison.ratio();
  arrange_parts(comparison);
  return comparison;
}

}  // namespace whet
