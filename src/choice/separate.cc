#include "choice/separate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "choice/flow.h"

namespace whet {
namespace {

constexpr int kDepth = 6;        // tensors between a sink and where the flow starts
constexpr double kLeast = 0.02;  // of a flow that is missing: less is not worth a row
constexpr double kChosen = 1e-6;

}  // namespace

Separation::Separation(const ChoiceProblem& problem, const Tensors& tensors,
                       const std::vector<std::vector<int>>& writers, const std::vector<double>& columns)
    : problem_(problem), tensors_(tensors), columns_(columns), writers_(writers.size()) {
  for (std::size_t value = 0; value < writers.size(); ++value) {
    for (int item : writers[value]) {
      if (columns[item] > kChosen) writers_[value].push_back(item);
    }
  }
}

/// A read that is not given; -1 where all are.
int Separation::main_read(int item, MainRead which) const {
  int main = -1;
  for (int value : problem_.items[item].reads) {
    if (tensors_.of(value) < 0) continue;
    const bool better =
        which == MainRead::last || (which == MainRead::least_read && main >= 0 && read(value) < read(main));
    if (main < 0 || better) main = value;
  }
  return main;
}

Separation::Surroundings Separation::before(const Sink& sink, MainRead which) const {
  Surroundings around;
  std::map<int, int> depth;
  around.tensors = {tensors_.of(sink.values[0])};
  depth[around.tensors[0]] = 0;
  for (std::size_t at = 0; at < around.tensors.size(); ++at) {
    const int tensor = around.tensors[at];
    for (int value : tensors_.values(tensor)) {
      for (int item : writers_[value]) {
        const int from = main_read(item, which);
        if (!around.items.emplace(item, from).second) continue;
        around.in_part |= columns_[item] < 1 - kChosen;
        if (from < 0 || depth[tensor] == kDepth) continue;
        if (depth.emplace(tensors_.of(from), depth[tensor] + 1).second) around.tensors.push_back(tensors_.of(from));
      }
    }
  }
  return around;
}

std::vector<int> Separation::broken_set(const Sink& sink, const Surroundings& around) const {
  constexpr double kAll = std::numeric_limits<double>::max();
  Flow flow;
  std::map<int, int> node;
  for (int tensor : around.tensors) {
    for (int value : tensors_.values(tensor)) node[value] = flow.add_node();
  }
  for (int value : sink.values) flow.add_edge(node[value], Flow::kSink, kAll);
  for (const auto& [item, from] : around.items) {
    const int through = flow.add_node();
    const auto start = node.find(from);
    flow.add_edge(start == node.end() ? Flow::kSource : start->second, through, columns_[item]);
    for (int value : problem_.items[item].writes) {
      const auto written = node.find(value);
      if (written != node.end()) flow.add_edge(through, written->second, kAll);
    }
  }
  const double enough = columns_[sink.column] - kLeast;
  if (flow.send(enough) >= enough) return {};
  const std::vector<char> reached = flow.reached();
  std::vector<int> set;
  for (const auto& [value, at] : node) {
    if (!reached[at]) set.push_back(value);
  }
  return set;
}

std::vector<std::vector<int>> Separation::broken_sets(const Sink& sink) const {
  std::vector<std::vector<int>> sets;
  if (columns_[sink.column] < kLeast) return sets;
  for (MainRead which : {MainRead::least_read, MainRead::first, MainRead::last}) {
    const Surroundings around = before(sink, which);
    if (!around.in_part) continue;
    std::vector<int> set = broken_set(sink, around);
    if (!set.empty() && std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace whet
