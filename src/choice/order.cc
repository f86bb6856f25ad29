#include "choice/order.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>
#include <utility>

#include "choice/components.h"

namespace whet {
namespace {

std::vector<char> given_values(const ChoiceProblem& problem) {
  std::vector<char> given(problem.values, 0);
  for (int value : problem.given) given[value] = 1;
  return given;
}

/// For each value the items among `items` that read it.
std::vector<std::vector<int>> readers_of(const ChoiceProblem& problem, const std::vector<int>& items) {
  std::vector<std::vector<int>> readers(problem.values);
  for (int item : items) {
    for (int value : problem.items[item].reads) readers[value].push_back(item);
  }
  return readers;
}

/// Values and the cheapest ways to them, found in the order of their cost, as Dijkstra's algorithm does on a graph whose edges have
/// several starts: an item is known when all that it reads is known.
class CheapestWriters {
 public:
  CheapestWriters(const ChoiceProblem& problem, const std::vector<char>& allowed)
      : problem_(problem), writer_(problem.values, kNone), cost_(problem.values, 0) {
    std::vector<int> items;
    for (int item = 0; item < static_cast<int>(problem.items.size()); ++item) {
      if (allowed[item]) items.push_back(item);
    }
    readers_ = readers_of(problem, items);
    missing_.resize(problem.items.size());
    for (int item : items) {
      missing_[item] = static_cast<int>(problem.items[item].reads.size());
      if (missing_[item] == 0) propose(item);
    }
    for (int value : problem.given) {
      if (writer_[value] == kNone) settle(value, kGiven);
    }
    for (; !ready_.empty(); ready_.pop()) take(ready_.top().second);
  }

  /// The items that write `value`, into `chosen`; false where nothing can.
  bool collect(int value, std::vector<char>& chosen) const {
    std::vector<int> open = {value};
    while (!open.empty()) {
      const int writer = writer_[open.back()];
      open.pop_back();
      if (writer == kNone) return false;
      if (writer == kGiven || chosen[writer]) continue;
      chosen[writer] = 1;
      open.insert(open.end(), problem_.items[writer].reads.begin(), problem_.items[writer].reads.end());
    }
    return true;
  }

 private:
  static constexpr int kNone = -2, kGiven = -1;

  double cost_of(int item) const {
    double cost = problem_.items[item].seconds;
    for (int value : problem_.items[item].reads) cost += cost_[value];
    return cost;
  }

  void propose(int item) { ready_.emplace(cost_of(item), item); }

  void take(int item) {
    const double cost = ready_.top().first;
    for (int value : problem_.items[item].writes) {
      if (writer_[value] != kNone) continue;
      cost_[value] = cost;
      settle(value, item);
    }
  }

  void settle(int value, int writer) {
    writer_[value] = writer;
    for (int reader : readers_[value]) {
      if (--missing_[reader] == 0) propose(reader);
    }
  }

  using Proposal = std::pair<double, int>;
  const ChoiceProblem& problem_;
  std::vector<int> writer_;
  std::vector<double> cost_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> missing_;  // for each item, how many values that it reads have no writer yet
  std::priority_queue<Proposal, std::vector<Proposal>, std::greater<>> ready_;
};

bool among(const std::vector<int>& set, int item) { return std::find(set.begin(), set.end(), item) != set.end(); }

/// Items each of whose values something else writes, or nothing uses: the only ones that others may do without.
std::vector<int> may_be_spare(const ChoiceProblem& problem, const std::vector<int>& items) {
  std::vector<int> writers(problem.values, 0);
  std::vector<char> used(problem.values, 0);
  for (int value : problem.given) ++writers[value];
  for (int value : problem.wanted) used[value] = 1;
  for (int item : items) {
    for (int value : problem.items[item].writes) ++writers[value];
    for (int value : problem.items[item].reads) used[value] = 1;
  }
  std::vector<int> spare;
  for (int item : items) {
    const std::vector<int>& writes = problem.items[item].writes;
    if (std::all_of(writes.begin(), writes.end(), [&](int value) { return !used[value] || writers[value] > 1; }))
      spare.push_back(item);
  }
  return spare;
}

}  // namespace

bool RunOrder::runs(const std::vector<int>& values) const {
  return std::all_of(values.begin(), values.end(), [&](int value) { return written[value] != 0; });
}

RunOrder run_order(const ChoiceProblem& problem, const std::vector<int>& items) {
  RunOrder order{{}, given_values(problem)};
  const std::vector<std::vector<int>> readers = readers_of(problem, items);
  std::vector<int> missing(problem.items.size(), 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int item : items) {
    for (int value : problem.items[item].reads) missing[item] += order.written[value] == 0;
    if (missing[item] == 0) ready.push(item);
  }
  while (!ready.empty()) {
    const int item = ready.top();
    ready.pop();
    order.items.push_back(item);
    for (int value : problem.items[item].writes) {
      if (std::exchange(order.written[value], 1)) continue;
      for (int reader : readers[value]) {
        if (--missing[reader] == 0) ready.push(reader);
      }
    }
  }
  return order;
}

std::vector<int> greedy_plan(const ChoiceProblem& problem, const std::vector<char>& allowed,
                             const std::vector<int>& required) {
  const CheapestWriters cheapest(problem, allowed);
  std::vector<char> chosen(problem.items.size(), 0);
  for (int value : problem.wanted) {
    if (!cheapest.collect(value, chosen)) return {};
  }
  for (int item : required) {
    chosen[item] = 1;
    for (int value : problem.items[item].reads) {
      if (!cheapest.collect(value, chosen)) return {};
    }
  }
  std::vector<int> items;
  for (int item = 0; item < static_cast<int>(chosen.size()); ++item) {
    if (chosen[item]) items.push_back(item);
  }
  return items;
}

bool is_whole_plan(const ChoiceProblem& problem, const std::vector<int>& items, const ChoiceOptions& options) {
  const RunOrder order = run_order(problem, items);
  return order.items.size() == items.size() && order.runs(problem.wanted) &&
         std::all_of(options.required.begin(), options.required.end(), [&](int item) { return among(items, item); });
}

std::vector<int> without_spare_items(const ChoiceProblem& problem, std::vector<int> items,
                                     const ChoiceOptions& options) {
  const auto rank = [&](int item) {
    return std::tuple(!among(options.usual, item), problem.items[item].seconds, item);
  };
  for (;;) {
    std::vector<int> tries = may_be_spare(problem, items);
    std::sort(tries.begin(), tries.end(), [&](int a, int b) { return rank(a) > rank(b); });
    const std::size_t before = items.size();
    for (int item : tries) {
      std::vector<int> fewer;
      std::remove_copy(items.begin(), items.end(), std::back_inserter(fewer), item);
      if (is_whole_plan(problem, fewer, options)) items = std::move(fewer);
    }
    if (items.size() == before) return items;
  }
}

std::vector<std::vector<int>> loops_without_start(const ChoiceProblem& problem, const std::vector<int>& items) {
  const RunOrder order = run_order(problem, items);
  std::vector<std::vector<int>> needs(problem.values);  // from a value to what keeps its writers from running
  std::vector<char> missing(problem.values, 0);
  for (int value : problem.wanted) missing[value] = !order.written[value];
  for (int item : items) {
    const ChoiceItem& it = problem.items[item];
    std::vector<int> lacks;
    std::copy_if(it.reads.begin(), it.reads.end(), std::back_inserter(lacks),
                 [&](int value) { return !order.written[value]; });
    for (int value : lacks) missing[value] = 1;
    for (int value : it.writes) needs[value].insert(needs[value].end(), lacks.begin(), lacks.end());
  }
  const std::vector<int> component = strong_components(needs);
  std::vector<char> leaves(problem.values, 0);  // for each component: it needs a value of another one
  for (int value = 0; value < problem.values; ++value) {
    for (int needed : needs[value]) leaves[component[value]] |= component[needed] != component[value];
  }
  std::vector<std::vector<int>> sets(problem.values);
  for (int value = 0; value < problem.values; ++value) {
    if (missing[value] && !leaves[component[value]]) sets[component[value]].push_back(value);
  }
  sets.erase(std::remove_if(sets.begin(), sets.end(), [](const auto& set) { return set.empty(); }), sets.end());
  return sets;
}

}  // namespace whet
