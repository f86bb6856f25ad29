#include "choice/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "choice/check_problem.h"

namespace whet {
namespace {

constexpr double kBudgetTolerance = 1e-6;
/// Choices for a start. Two lines that cross at the price of a third choice find the best price in about five.
constexpr int kPrices = 8;
/// The first two have this part of the time each, the others share the rest. One that it does not suffice for gives the usual plan, which uses
/// nothing and ends the search for a price: an eighth is too little in large networks.
constexpr int kFirstPrices = 2;
constexpr double kPartOfFirst = 0.25, kPartOfOthers = (1 - kFirstPrices * kPartOfFirst) / (kPrices - kFirstPrices);

double use_of(const ChoiceItem& item, std::size_t budget) { return item.uses.empty() ? 0 : item.uses[budget]; }

/// What the item uses, as a part of each budget, summed. An item that uses of an empty budget is in no plan.
double part_of_budgets(const ChoiceProblem& problem, const ChoiceItem& item) {
  double part = 0;
  for (std::size_t b = 0; b < problem.budgets.size(); ++b)
    if (problem.budgets[b] > 0) part += use_of(item, b) / problem.budgets[b];
  return part;
}

/// A plan that is the best one at some price.
struct Point {
  std::vector<int> items;
  double seconds = 0, part = 0;
  bool keeps = false, proven = false;
};

class Multipliers {
 public:
  Multipliers(const ChoiceProblem& problem, const ChoiceOptions& options)
      : problem_(problem), options_(options), seconds_(options.seconds_limit) {
    for (const ChoiceItem& item : problem.items) parts_.push_back(part_of_budgets(problem, item));
    options_.plans = 1, options_.distinct.clear(), options_.gap = 0;
  }

  Result<PricedPlan> find() {
    WHET_TRY(const Point free, at(0, options_));
    if (free.keeps) return priced();
    WHET_TRY(std::optional<Point> frugal, least_use());
    if (!frugal) return priced();
    Point dear = free;
    // A plan that is not proven to be the best of its price says nothing about the next price.
    bool proven = free.proven && frugal->proven;
    for (int choice = kFirstPrices; proven && choice < kPrices && dear.part > frugal->part; ++choice) {
      const double price = (frugal->seconds - dear.seconds) / (dear.part - frugal->part);
      if (!(price > 0)) break;
      Result<Point> found = at(price, options_);
      if (!found.ok() && found.error().kind == ErrorKind::limit) break;
      WHET_TRY(Point between, std::move(found));
      proven = between.proven;
      const double cost = between.seconds + price * between.part, known = dear.seconds + price * dear.part;
      const bool is_new = cost < known * (1 - 1e-9);
      (between.keeps ? *frugal : dear) = std::move(between);
      if (!is_new) break;
    }
    return priced();
  }

 private:
  /// The best plan where each part of a budget costs `price` seconds. It is remembered where it keeps the budgets.
  Result<Point> at(double price, const ChoiceOptions& options) {
    ChoiceProblem free = problem_;
    free.budgets.clear();
    for (std::size_t i = 0; i < free.items.size(); ++i) {
      free.items[i].uses.clear();
      free.items[i].seconds += price * parts_[i];
    }
    ChoiceOptions timed = options;
    timed.seconds_limit = seconds_ * (prices_++ < kFirstPrices ? kPartOfFirst : kPartOfOthers);
    WHET_TRY(const ChosenPlans chosen, choose_plans(free, timed));
    if (&options == &options_)  // of all items
      bound_ = std::max(bound_, chosen.bound - price * static_cast<double>(problem_.budgets.size()));
    Point point{chosen.plans.front().items};
    for (int item : point.items) {
      point.seconds += problem_.items[item].seconds;
      point.part += parts_[item];
    }
    point.keeps = keeps_budgets(problem_, point.items), point.proven = chosen.optimal;
    if (point.keeps && (!best_ || point.seconds < best_->seconds)) best_ = point;
    return point;
  }

  /// A plan of items that use nothing, or the plan that uses least.
  Result<std::optional<Point>> least_use() {
    double all = 0;
    for (const ChoiceItem& item : problem_.items) all += item.seconds;
    ChoiceOptions nothing = options_;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i] > 0) nothing.forbidden.push_back(static_cast<int>(i));
    if (check_choice_problem(problem_, nothing).ok()) {
      WHET_TRY(Point point, at(0, nothing));
      return std::optional(std::move(point));
    }
    constexpr double kAnyUseIsWorse = 1e4;
    WHET_TRY(Point point, at(kAnyUseIsWorse * all, options_));
    return point.keeps ? std::optional(std::move(point)) : std::nullopt;
  }

  PricedPlan priced() const {
    if (!best_) return {{}, false, bound_};
    return {best_->items, true, std::min(bound_, best_->seconds)};
  }

  const ChoiceProblem& problem_;
  ChoiceOptions options_;
  const double seconds_;       // of the limit for all prices
  int prices_ = 0;             // so far
  std::vector<double> parts_;  // by item
  std::optional<Point> best_;
  double bound_ = 0;
};

}  // namespace

bool keeps_budgets(const ChoiceProblem& problem, const std::vector<int>& items) {
  for (std::size_t b = 0; b < problem.budgets.size(); ++b) {
    double used = 0;
    for (int item : items) used += use_of(problem.items[item], b);
    if (used > problem.budgets[b] * (1 + kBudgetTolerance)) return false;
  }
  return true;
}

Result<ChoiceOptions> within_budgets(const ChoiceProblem& problem, const ChoiceOptions& options) {
  ChoiceOptions within = options;
  for (int item = 0; item < static_cast<int>(problem.items.size()); ++item) {
    if (keeps_budgets(problem, {item})) continue;
    if (std::find(options.required.begin(), options.required.end(), item) != options.required.end())
      return Error{fmt::format("item {} is required and uses more than a budget alone", item)};
    within.forbidden.push_back(item);
  }
  if (const Status reach = check_choice_problem(problem, within); !reach.ok())
    return Error{"no plan keeps the budgets: " + reach.error().message};
  return within;
}

Result<PricedPlan> plan_by_multipliers(const ChoiceProblem& problem, const ChoiceOptions& options) {
  return Multipliers(problem, options).find();
}

}  // namespace whet
