#include "choice/formulate.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "choice/budgets.h"
#include "choice/order.h"
#include "choice/separate.h"

namespace whet {
namespace {

constexpr double kPlanCost = 1 << 27;
constexpr double kUnusualCost = 0.01;

std::vector<char> marks(std::size_t count, const std::vector<int>& numbers) {
  std::vector<char> marked(count, 0);
  for (int number : numbers) marked[number] = 1;
  return marked;
}

double sum_of_seconds(const ChoiceProblem& problem, const std::vector<int>& items) {
  double seconds = 0;
  for (int item : items) seconds += problem.items[item].seconds;
  return seconds;
}

bool uses_no_more(const ChoiceItem& one, const ChoiceItem& other) {
  for (std::size_t b = 0; b < one.uses.size(); ++b)
    if (one.uses[b] > (other.uses.empty() ? 0 : other.uses[b])) return false;
  return true;
}

}  // namespace

Formulation::Formulation(const ChoiceProblem& problem, const ChoiceOptions& options, const std::vector<int>& known)
    : problem_(problem),
      options_(options),
      given_(marks(problem.values, problem.given)),
      wanted_(marks(problem.values, problem.wanted)),
      required_(marks(problem.items.size(), options.required)),
      usual_(marks(problem.items.size(), options.usual)),
      distinct_(marks(problem.items.size(), options.distinct)),
      writers_(problem.values) {
  allow_useful_items();
  if (options.plans == 1) forbid_dominated_items();
  for (std::vector<int>& writers : writers_) {
    writers.erase(std::remove_if(writers.begin(), writers.end(), [&](int item) { return !allowed_[item]; }),
                  writers.end());
  }
  find_start(known);
  add_columns();
  add_item_rows();
  add_budget_rows();
  tensors_.emplace(problem_, allowed_, writers_);
  add_tensor_rows();
  add_needs();
}

void Formulation::allow_useful_items() {
  const std::vector<char> forbidden = marks(problem_.items.size(), options_.forbidden);
  std::vector<int> items;
  for (int item = 0; item < static_cast<int>(problem_.items.size()); ++item) {
    if (!forbidden[item]) items.push_back(item);
  }
  items = run_order(problem_, items).items;
  for (int item : items) {
    for (int value : problem_.items[item].writes) writers_[value].push_back(item);
  }
  allowed_ = required_;
  std::vector<char> needed(problem_.values, 0);
  std::vector<int> open;
  const auto need = [&](const std::vector<int>& values) {
    for (int value : values) {
      if (!given_[value] && !std::exchange(needed[value], 1)) open.push_back(value);
    }
  };
  need(problem_.wanted);
  for (int item : options_.required) need(problem_.items[item].reads);
  while (!open.empty()) {
    const int value = open.back();
    open.pop_back();
    for (int item : writers_[value]) {
      allowed_[item] = 1;
      need(problem_.items[item].reads);
    }
  }
}

/// Of items that read and write the same, the best one replaces the others in every plan, except those that use less of a budget.
void Formulation::forbid_dominated_items() {
  std::map<std::pair<std::vector<int>, std::vector<int>>, std::vector<int>> alike;
  const auto rank = [&](int item) {
    return std::tuple(!required_[item], problem_.items[item].seconds, !usual_[item], item);
  };
  for (int item = 0; item < static_cast<int>(problem_.items.size()); ++item)
    if (allowed_[item]) alike[{problem_.items[item].reads, problem_.items[item].writes}].push_back(item);
  for (auto& [same, items] : alike) {
    std::sort(items.begin(), items.end(), [&](int a, int b) { return rank(a) < rank(b); });
    for (std::size_t worse = 1; worse < items.size(); ++worse) {
      const bool is_dominated =
          std::any_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(worse),
                      [&](int better) { return uses_no_more(problem_.items[better], problem_.items[items[worse]]); });
      if (is_dominated) allowed_[items[worse]] = required_[items[worse]];
    }
  }
}

void Formulation::find_start(const std::vector<int>& known) {
  start_ = without_spare_items(problem_, greedy_plan(problem_, allowed_, options_.required), options_);
  const std::vector<char> forbidden = marks(problem_.items.size(), options_.forbidden);
  std::vector<int> usual;
  for (int item = 0; item < static_cast<int>(usual_.size()); ++item) {
    if (usual_[item] && !forbidden[item]) usual.push_back(item);
  }
  const bool is_plan = is_whole_plan(problem_, usual, options_);
  if (is_plan) {
    usual = without_spare_items(problem_, usual, options_);
    if (sum_of_seconds(problem_, usual) <= sum_of_seconds(problem_, start_)) start_ = usual;
  }
  double cost = sum_of_seconds(problem_, start_);
  if (!problem_.budgets.empty()) find_start_within_budgets(known, is_plan ? usual : std::vector<int>());
  if (!problem_.budgets.empty() && has_start_) cost = sum_of_seconds(problem_, start_);
  if (cost == 0) {
    for (const ChoiceItem& item : problem_.items) cost = std::max(cost, item.seconds);
  }
  scale_ = cost > 0 ? kPlanCost / cost : 1;
}

/// The fastest of the plans that are known, which are: `known`, the usual one, the greedy one and that of items that use nothing.
void Formulation::find_start_within_budgets(const std::vector<int>& known, const std::vector<int>& usual) {
  std::vector<char> free = allowed_;
  for (std::size_t item = 0; item < problem_.items.size(); ++item) {
    const std::vector<double>& uses = problem_.items[item].uses;
    if (std::any_of(uses.begin(), uses.end(), [](double use) { return use > 0; })) free[item] = required_[item];
  }
  const std::vector<int> greedy = start_;
  const std::vector<int> frugal =
      without_spare_items(problem_, greedy_plan(problem_, free, options_.required), options_);
  start_.clear(), has_start_ = false;
  for (const std::vector<int>& plan : {usual, known, greedy, frugal}) {
    if (!is_whole_plan(problem_, plan, options_) || !keeps_budgets(problem_, plan)) continue;
    if (has_start_ && sum_of_seconds(problem_, plan) >= sum_of_seconds(problem_, start_)) continue;
    start_ = plan, has_start_ = true;
  }
}

void Formulation::add_columns() {
  const double count = static_cast<double>(problem_.items.size());
  for (std::size_t item = 0; item < problem_.items.size(); ++item) {
    const double unusual = usual_[item] ? 0 : kUnusualCost * (1 + static_cast<double>(item) / count);
    perturbation_ += unusual;
    program_.columns.push_back({problem_.items[item].seconds * scale_ + unusual, required_[item] ? 1.0 : 0.0,
                                allowed_[item] ? 1.0 : 0.0, true});
  }
  for (int value = 0; value < problem_.values; ++value)
    program_.columns.push_back({0, wanted_[value] ? 1.0 : 0.0, 1, false});
}

void Formulation::add_item_rows() {
  for (int item = 0; item < static_cast<int>(problem_.items.size()); ++item) {
    if (!allowed_[item]) continue;
    for (int value : problem_.items[item].reads) {
      if (!given_[value] && !wanted_[value]) program_.rows.push_back({{column_of(value), item}, {1, -1}, 0});
    }
  }
  for (int value = 0; value < problem_.values; ++value) {
    if (!given_[value]) add_set({value}, {column_of(value)});
  }
}

void Formulation::add_budget_rows() {
  for (std::size_t b = 0; b < problem_.budgets.size(); ++b) {
    IntegerProgram::Row row;
    row.least = -1;
    for (int item = 0; item < static_cast<int>(problem_.items.size()); ++item) {
      const std::vector<double>& uses = problem_.items[item].uses;
      if (allowed_[item] && !uses.empty() && uses[b] > 0 && problem_.budgets[b] > 0)
        row.add(item, -uses[b] / problem_.budgets[b]);
    }
    if (!row.columns.empty()) program_.rows.push_back(std::move(row));
  }
}

void Formulation::add_tensor_rows() {
  for (int tensor = 0; tensor < tensors_->count(); ++tensor) {
    const std::vector<int>& values = tensors_->values(tensor);
    tensor_columns_.push_back(column_of(values[0]));
    if (values.size() == 1) continue;
    tensor_columns_.back() = static_cast<int>(program_.columns.size());
    program_.columns.push_back({0, 0, 1, false});
    for (int value : values) program_.rows.push_back({{tensor_columns_.back(), column_of(value)}, {1, -1}, 0});
  }
  for (int tensor = 0; tensor < tensors_->count(); ++tensor) {
    for (const std::vector<int>& set : tensors_->sets_of(tensor)) add_set(set, {tensor_columns_[tensor]});
  }
}

void Formulation::add_needs() {
  std::vector<char> always(tensors_->count(), 0);
  const auto need = [&](int value) {
    if (given_[value]) return;
    for (int other : tensors_->needs(tensors_->of(value))) always[other] = 1;
  };
  for (int value : problem_.wanted) need(value);
  for (int item : options_.required) {
    for (int value : problem_.items[item].reads) need(value);
  }
  for (int tensor = 0; tensor < tensors_->count(); ++tensor) {
    if (always[tensor]) program_.columns[tensor_columns_[tensor]].least = 1;
    for (int other : tensors_->needs(tensor)) {
      if (!always[other] && other != tensor)
        program_.rows.push_back({{tensor_columns_[other], tensor_columns_[tensor]}, {1, -1}, 0});
    }
  }
}

bool Formulation::add_broken_rows(const std::vector<double>& columns) {
  const Separation separation(problem_, *tensors_, writers_, columns);
  std::vector<IntegerProgram::Row> rows;
  std::set<std::pair<std::vector<int>, int>> known;
  const auto look = [&](const std::vector<int>& values, int column) {
    for (const std::vector<int>& set : separation.broken_sets({values, column})) {
      if (!known.emplace(set, column).second) continue;
      rows.push_back(row_of_set(set));
      rows.back().add(column, -1);
    }
  };
  for (int tensor = 0; tensor < tensors_->count(); ++tensor) {
    const std::vector<int>& values = tensors_->values(tensor);
    look(values, tensor_columns_[tensor]);
    for (int value : values) {
      if (values.size() > 1) look({value}, column_of(value));
    }
  }
  program_.rows.insert(program_.rows.end(), rows.begin(), rows.end());
  return !rows.empty();
}

IntegerProgram::Row Formulation::row_of_set(const std::vector<int>& values) const {
  IntegerProgram::Row row;
  for (int item : first_writers(problem_, writers_, values)) row.add(item, 1);
  return row;
}

void Formulation::add_set(const std::vector<int>& values, const std::vector<int>& reads) {
  const IntegerProgram::Row row = row_of_set(values);
  for (int read : reads) {
    IntegerProgram::Row of_read = row;
    of_read.add(read, -1);
    program_.rows.push_back(std::move(of_read));
  }
}

bool Formulation::exclude(const std::vector<std::vector<int>>& sets) {
  const int before = circles_;
  for (const std::vector<int>& set : sets) {
    if (!sets_.insert(set).second) continue;
    std::vector<int> reads;
    for (int value : set) reads.push_back(column_of(value));
    add_set(set, reads);
    ++circles_;
  }
  return circles_ > before;
}

bool Formulation::differ_from(const std::vector<int>& items) {
  IntegerProgram::Row row;
  for (int item : items) {
    if (!required_[item] && (options_.distinct.empty() || distinct_[item])) row.add(item, -1);
  }
  row.least = 1 - static_cast<double>(row.columns.size());
  program_.rows.push_back(row);
  return !row.columns.empty();
}

}  // namespace whet
