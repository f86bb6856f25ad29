#include "choice/tensors.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "choice/components.h"

namespace whet {
namespace {

// Of one tensor. Three layers of kernels that compute two tensors at once lead to this many.
constexpr std::size_t kMaxSets = 24;

}  // namespace

std::vector<int> first_writers(const ChoiceProblem& problem, const std::vector<std::vector<int>>& writers,
                               const std::vector<int>& values) {
  const std::set<int> inside(values.begin(), values.end());
  std::set<int> first;
  for (int value : values) {
    for (int item : writers[value]) {
      const std::vector<int>& reads = problem.items[item].reads;
      if (std::none_of(reads.begin(), reads.end(), [&](int read) { return inside.count(read) != 0; }))
        first.insert(item);
    }
  }
  return {first.begin(), first.end()};
}

Tensors::Tensors(const ChoiceProblem& problem, const std::vector<char>& allowed,
                 const std::vector<std::vector<int>>& writers)
    : problem_(problem), writers_(writers), of_value_(problem.values, 0) {
  number(problem, allowed);
  for (const std::vector<int>& values : values_) first_writers_.push_back(first_writers(problem, writers, values));
  find_needs();
}

/// By value; the same number for values of one tensor.
std::vector<int> Tensors::components(const ChoiceProblem& problem, const std::vector<char>& allowed) const {
  if (!problem.tensors.empty()) return problem.tensors;
  std::vector<std::vector<int>> edges(problem.values);
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    const ChoiceItem& it = problem.items[item];
    if (!allowed[item] || it.reads.size() != 1 || it.writes.size() != 1) continue;
    if (of_value_[it.reads[0]] == 0 && of_value_[it.writes[0]] == 0) edges[it.reads[0]].push_back(it.writes[0]);
  }
  return strong_components(edges);
}

void Tensors::number(const ChoiceProblem& problem, const std::vector<char>& allowed) {
  for (int value : problem.given) of_value_[value] = -1;
  const std::vector<int> component = components(problem, allowed);
  std::map<int, int> numbers;
  for (int value = 0; value < problem.values; ++value) {
    if (of_value_[value] < 0) continue;
    const auto [tensor, is_new] = numbers.try_emplace(component[value], count());
    if (is_new) values_.emplace_back();
    values_[tensor->second].push_back(value);
    of_value_[value] = tensor->second;
  }
}

/// The largest solution of: a tensor needs itself, and what all its first writers need; a writer needs what one of its values needs.
/// Values are mostly numbered in an order in which they can be computed, so that few rounds are enough.
void Tensors::find_needs() {
  needs_.assign(count(), Bits((count() + 63) / 64, ~std::uint64_t{0}));
  for (bool more = true; more;) {
    more = false;
    for (int tensor = 0; tensor < count(); ++tensor) {
      Bits needs = needs_by_items(tensor);
      needs[tensor / 64] |= std::uint64_t{1} << (tensor % 64);
      if (needs == needs_[tensor]) continue;
      needs_[tensor] = std::move(needs);
      more = true;
    }
  }
}

Tensors::Bits Tensors::needs_by_items(int tensor) const {
  Bits all(needs_[tensor].size(), ~std::uint64_t{0});
  for (int item : first_writers_[tensor]) {
    Bits any(all.size(), 0);
    for (int value : problem_.items[item].reads) {
      if (of(value) < 0) continue;
      for (std::size_t word = 0; word < any.size(); ++word) any[word] |= needs_[of(value)][word];
    }
    for (std::size_t word = 0; word < all.size(); ++word) all[word] &= any[word];
  }
  return all;
}

std::vector<int> Tensors::needs(int tensor) const {
  if (first_writers_[tensor].empty()) return {tensor};
  std::vector<int> needed;
  for (int other = 0; other < count(); ++other) {
    if (is_needed(tensor, other)) needed.push_back(other);
  }
  return needed;
}

std::vector<int> Tensors::values_of(const std::vector<int>& tensors) const {
  std::vector<int> values;
  for (int tensor : tensors) values.insert(values.end(), values_[tensor].begin(), values_[tensor].end());
  return values;
}

std::vector<int> Tensors::read_by_first_writers(const std::vector<int>& values) const {
  std::set<int> read;
  for (int item : first_writers(problem_, writers_, values)) {
    for (int value : problem_.items[item].reads) {
      if (of(value) >= 0) read.insert(of(value));
    }
  }
  return {read.begin(), read.end()};
}

std::vector<std::vector<int>> Tensors::sets_of(int tensor) const {
  std::set<std::vector<int>> known;
  std::vector<std::vector<int>> open = {{tensor}}, sets;
  for (std::size_t at = 0; at < open.size() && at < kMaxSets; ++at) {
    sets.push_back(values_of(open[at]));
    for (int other : read_by_first_writers(sets.back())) {
      if (is_needed(tensor, other)) continue;
      std::vector<int> wider = open[at];
      wider.insert(std::lower_bound(wider.begin(), wider.end(), other), other);
      if (known.insert(wider).second) open.push_back(std::move(wider));
    }
  }
  return sets;
}

}  // namespace whet
