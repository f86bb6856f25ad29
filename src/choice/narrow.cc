#include "choice/narrow.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace whet {
namespace {

/// A program on some of the columns of another one; the others are 0.
struct PartOfProgram {
  std::vector<int> columns;  // their numbers in the whole
  IntegerProgram program;
};

/// A row that columns at 0 or more always keep.
bool is_idle(const IntegerProgram::Row& row) {
  return row.least <= 0 &&
         std::all_of(row.factors.begin(), row.factors.end(), [](double factor) { return factor >= 0; });
}

PartOfProgram part_of(const IntegerProgram& whole, const std::vector<char>& keep) {
  PartOfProgram part;
  std::vector<int> place(whole.columns.size(), -1);
  for (std::size_t column = 0; column < whole.columns.size(); ++column) {
    if (!keep[column]) continue;
    place[column] = static_cast<int>(part.columns.size());
    part.columns.push_back(static_cast<int>(column));
    part.program.columns.push_back(whole.columns[column]);
  }
  for (const IntegerProgram::Row& row : whole.rows) {
    IntegerProgram::Row kept;
    kept.least = row.least;
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      if (keep[row.columns[i]]) kept.add(place[row.columns[i]], row.factors[i]);
    }
    if (!is_idle(kept)) part.program.rows.push_back(std::move(kept));
  }
  return part;
}

/// The start on the part's columns; none where it has a column that the part lacks.
std::vector<double> start_of(const PartOfProgram& part, const std::vector<char>& keep,
                             const std::vector<double>& start) {
  std::vector<double> columns;
  for (std::size_t column = 0; column < start.size(); ++column) {
    if (start[column] != 0 && !keep[column]) return {};
    if (keep[column]) columns.push_back(start[column]);
  }
  columns.resize(start.empty() ? 0 : part.columns.size());
  return columns;
}

IntegerSolution solve_part(const IntegerProgram& whole, const std::vector<char>& keep, const std::vector<double>& start,
                           double seconds, double gap) {
  const PartOfProgram part = part_of(whole, keep);
  IntegerSolution solution = solve_integer_program(part.program, start_of(part, keep, start), seconds, gap);
  std::vector<double> columns(solution.columns.empty() ? 0 : whole.columns.size(), 0);
  for (std::size_t i = 0; i < solution.columns.size(); ++i) columns[part.columns[i]] = solution.columns[i];
  solution.columns = std::move(columns);
  return solution;
}

double cost_of(const IntegerProgram& program, const std::vector<double>& columns) {
  double cost = 0;
  for (std::size_t column = 0; column < columns.size(); ++column)
    cost += program.columns[column].cost * columns[column];
  return cost;
}

constexpr double kFirstMargin = 0.0005;  // of the linear program's cost
constexpr double kNextMargin = 8;        // where the first one leaves no solution
/// More than enough for rounding.
double margin_of(double cost, double linear_cost) { return std::max(0.0, cost - linear_cost) * (1 + 1e-9) + 1; }
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Reduced costs along chains of items and values, found as Dijkstra's algorithm does. A chain has no column twice.
class CostOfChains {
 public:
  CostOfChains(const ChoiceProblem& problem, const std::vector<char>& allowed, const std::vector<double>& reduced)
      : problem_(problem),
        allowed_(allowed),
        reduced_(reduced),
        given_(problem.values, 0),
        readers_(problem.values),
        writers_(problem.values) {
    for (int value : problem.given) given_[value] = 1;
    for (int item = 0; item < item_count(); ++item) {
      if (!allowed[item]) continue;
      for (int value : problem.items[item].reads) readers_[value].push_back(item);
      for (int value : problem.items[item].writes) writers_[value].push_back(item);
    }
  }

  /// For each item of itself and the cheapest chain that makes use of it: it ends with a wanted value or a required item.
  std::vector<double> after(const std::vector<int>& required) const {
    std::vector<double> cost(item_count(), kNever);
    std::vector<char> done(problem_.values, 0);
    Queue queue;
    const auto use = [&](int value, double from) {
      if (given_[value] || std::exchange(done[value], 1)) return;
      for (int item : writers_[value]) queue.emplace(from + of_item(item), item);
    };
    for (int item : required) queue.emplace(of_item(item), item);
    for (int value : problem_.wanted) use(value, 0);
    while (!queue.empty()) {
      const auto [from, item] = queue.top();
      queue.pop();
      if (cost[item] <= from) continue;
      cost[item] = from;
      for (int value : problem_.items[item].reads) use(value, from + of_value(value));
    }
    return cost;
  }

  /// For each item of itself and the dearest of the cheapest chains that write what it reads.
  std::vector<double> before() const {
    std::vector<double> cost(item_count(), kNever);
    std::vector<int> missing(item_count(), 0);
    std::vector<char> done(problem_.values, 0);
    Queue queue;
    std::vector<double> of_read(problem_.values, 0);
    const auto make_ready = [&](int item) {
      double dearest = 0;
      for (int value : problem_.items[item].reads) dearest = std::max(dearest, of_read[value]);
      queue.emplace(dearest + of_item(item), item);
    };
    const auto write = [&](int value, double from) {
      if (std::exchange(done[value], 1)) return;
      of_read[value] = from;
      for (int item : readers_[value]) {
        if (--missing[item] == 0) make_ready(item);
      }
    };
    for (int item = 0; item < item_count(); ++item) {
      missing[item] = static_cast<int>(problem_.items[item].reads.size());
      if (allowed_[item] && missing[item] == 0) make_ready(item);
    }
    for (int value : problem_.given) write(value, 0);
    while (!queue.empty()) {
      const auto [from, item] = queue.top();
      queue.pop();
      cost[item] = from;
      for (int value : problem_.items[item].writes) write(value, from + of_value(value));
    }
    return cost;
  }

 private:
  using Queue = std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>;

  int item_count() const { return static_cast<int>(problem_.items.size()); }
  double of_item(int item) const { return std::max(0.0, reduced_[item]); }
  double of_value(int value) const { return std::max(0.0, reduced_[item_count() + value]); }

  const ChoiceProblem& problem_;
  const std::vector<char>& allowed_;
  const std::vector<double>& reduced_;
  std::vector<char> given_;
  std::vector<std::vector<int>> readers_, writers_;
};

}  // namespace

std::vector<double> least_extra_costs(const ChoiceProblem& problem, const std::vector<int>& required,
                                      const std::vector<char>& allowed, const std::vector<double>& reduced) {
  const CostOfChains chains(problem, allowed, reduced);
  const std::vector<double> after = chains.after(required), before = chains.before();
  std::vector<double> extra(problem.items.size());
  for (std::size_t item = 0; item < extra.size(); ++item) extra[item] = std::max(after[item], before[item]);
  return extra;
}

IntegerSolution solve_narrowly(const IntegerProgram& program, double linear_cost,
                               const std::vector<double>& extra_costs, const std::vector<double>& start, double seconds,
                               double gap) {
  std::vector<double> known = start;
  // A budget's plans are far from the linear program's cost: what may be better than the start is looked at once.
  const bool from_start = gap > 0 && !start.empty();
  for (double margin = from_start ? margin_of(cost_of(program, start), linear_cost) : kFirstMargin * linear_cost + 1;
       ;) {
    std::vector<char> keep(program.columns.size(), 1);
    bool all = true;
    for (std::size_t item = 0; item < extra_costs.size(); ++item) {
      const IntegerProgram::Column& column = program.columns[item];
      keep[item] = column.most > 0 && (column.least > 0 || extra_costs[item] <= margin);
      all &= keep[item] || column.most == 0;
    }
    IntegerSolution solution = solve_part(program, keep, known, seconds, gap);
    const double within = linear_cost + margin, cost = cost_of(program, solution.columns);
    if (!all) solution.bound = std::min(solution.bound, within);
    solution.bound = std::max(solution.bound, linear_cost);
    if (all || !solution.finished || (!solution.columns.empty() && cost <= within)) return solution;
    if (!solution.columns.empty()) known = solution.columns;
    margin = solution.columns.empty() ? kNextMargin * margin : margin_of(cost, linear_cost);
  }
}

}  // namespace whet
