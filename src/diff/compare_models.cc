#include "diff/compare_models.h"

#include <map>
#include <utility>

#include "base/counted.h"

namespace whet {
namespace {

/// A step by its node; nodes of a name are counted.
std::map<std::pair<std::string, int>, const MeasuredModel::Step*> by_node(const MeasuredModel& model) {
  std::map<std::string, int> seen;
  std::map<std::pair<std::string, int>, const MeasuredModel::Step*> steps;
  for (const MeasuredModel::Step& step : model.steps) steps[{step.node, seen[step.node]++}] = &step;
  return steps;
}

}  // namespace

Comparison compare_models(const MeasuredModel& before, const MeasuredModel& after) {
  Comparison comparison;
  comparison.whole = "median inference, " + counted(std::ssize(before.seconds), "pair") + " measured alternately";
  set_pairs(comparison, before.seconds, after.seconds);
  add_change(comparison, "model", before.name, after.name);
  add_change(comparison, "target", before.target, after.target);
  add_change(comparison, "runs on", before.place, after.place);
  add_change(comparison, "made from", before.records, after.records);
  add_change(comparison, "made by", before.compiler, after.compiler);
  const auto olds = by_node(before), news = by_node(after);
  for (const auto& [key, old] : olds) {
    const auto now = news.find(key);
    if (now == news.end()) {
      comparison.parts.push_back({old->node + " (" + old->op + ")", 1, old->seconds, 0, "only in the old model"});
      continue;
    }
    const bool other = now->second->op != old->op;
    comparison.parts.push_back({old->node + " (" + old->op + ")", 1, old->seconds, now->second->seconds,
                                other ? "now " + now->second->op : ""});
  }
  for (const auto& [key, now] : news)
    if (!olds.contains(key))
      comparison.parts.push_back({now->node + " (" + now->op + ")", 1, 0, now->seconds, "only in the new model"});
  arrange_parts(comparison);
  return comparison;
}

}  // namespace whet
