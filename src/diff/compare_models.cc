#include "diff/compare_models.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "target/precision.h"

namespace whet {
namespace {

using Step = MeasuredModel::Step;
/// A step of one model, and the one that computes the same in the other.
struct StepPair {
  const Step *before = nullptr, *after = nullptr;
};

/// The nodes that a step computes: "a", "a_relu" of "a+a_relu".
std::set<std::string_view> nodes_of(const Step& step) {
  std::set<std::string_view> nodes;
  for (std::string_view rest = step.node; !rest.empty();) {
    const std::size_t end = std::min(rest.find('+'), rest.size());
    nodes.insert(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return nodes;
}

/// A step by its node; nodes of a name are counted.
std::map<std::pair<std::string, int>, const Step*> by_node(const MeasuredModel& model) {
  std::map<std::string, int> seen;
  std::map<std::pair<std::string, int>, const Step*> steps;
  for (const Step& step : model.steps) steps[{step.node, seen[step.node]++}] = &step;
  return steps;
}

/// The places of steps by the nodes that they compute.
std::map<std::string_view, std::set<std::size_t>> places_of(const std::vector<const Step*>& steps) {
  std::map<std::string_view, std::set<std::size_t>> places;
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::string_view node : nodes_of(*steps[i])) places[node].insert(i);
  return places;
}

/// The one step of others that computes some of its nodes; nothing where there are several, or none.
std::optional<std::size_t> only_match(const Step& step,
                                      const std::map<std::string_view, std::set<std::size_t>>& others) {
  std::set<std::size_t> found;
  for (std::string_view node : nodes_of(step))
    if (const auto places = others.find(node); places != others.end())
      found.insert(places->second.begin(), places->second.end());
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

/// Steps of the same nodes; then those of the rest whose nodes overlap with each other's alone, as where a kernel also widens what it reads,
/// or rounds what it writes.
std::vector<StepPair> pairs_of(const MeasuredModel& before, const MeasuredModel& after) {
  std::vector<StepPair> pairs;
  std::vector<const Step*> olds, news;
  auto now = by_node(after);
  for (const auto& [key, old] : by_node(before)) {
    const auto same = now.find(key);
    if (same == now.end()) {
      olds.push_back(old);
      continue;
    }
    pairs.push_back({old, same->second});
    now.erase(same);
  }
  for (const auto& [key, step] : now) news.push_back(step);
  const auto old_places = places_of(olds), new_places = places_of(news);
  std::set<std::size_t> taken;
  for (std::size_t i = 0; i < olds.size(); ++i) {
    const auto match = only_match(*olds[i], new_places);
    const bool both = match && only_match(*news[*match], old_places) == i;
    if (both) taken.insert(*match);
    pairs.push_back({olds[i], both ? news[*match] : nullptr});
  }
  for (std::size_t i = 0; i < news.size(); ++i)
    if (!taken.contains(i)) pairs.push_back({nullptr, news[i]});
  return pairs;
}

/// What a step's product is rounded to: the last word of what it computes.
Precision precision_of(const Step& step) {
  const std::size_t space = step.op.rfind(' ');
  return parse_precision(std::string_view(step.op).substr(space == step.op.npos ? 0 : space + 1))
      .value_or(Precision::f32);
}

/// "precision: 3 kernels f32 -> bf16, 1 kernel bf16 -> f32"; nothing where all stay.
void add_precision_change(const std::vector<StepPair>& pairs, Comparison& comparison) {
  std::map<std::pair<Precision, Precision>, std::int64_t> changes;
  for (const StepPair& pair : pairs)
    if (pair.before != nullptr && pair.after != nullptr)
      if (const std::pair change{precision_of(*pair.before), precision_of(*pair.after)}; change.first != change.second)
        ++changes[change];
  std::string text;
  for (const auto& [change, kernels] : changes)
    text += (text.empty() ? "" : ", ") + counted(kernels, "kernel") + " " + std::string(name_of(change.first)) +
            " -> " + std::string(name_of(change.second));
  if (!text.empty()) comparison.circumstances.push_back("precision: " + text);
}

std::string part_name(const Step& step) { return step.node + " (" + step.op + ")"; }

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
  const std::vector<StepPair> pairs = pairs_of(before, after);
  add_precision_change(pairs, comparison);
  for (const auto& [old, now] : pairs) {
    if (now == nullptr)
      comparison.parts.push_back({part_name(*old), 1, old->seconds, 0, "only in the old model"});
    else if (old == nullptr)
      comparison.parts.push_back({part_name(*now), 1, 0, now->seconds, "only in the new model"});
    else
      comparison.parts.push_back(
          {part_name(*old), 1, old->seconds, now->seconds, now->op != old->op ? "now " + now->op : ""});
  }
  arrange_parts(comparison);
  return comparison;
}

}  // namespace whet
