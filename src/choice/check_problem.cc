#include "choice/check_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "choice/order.h"

namespace whet {
namespace {

std::string range_of(int count) { return count == 0 ? "there are none" : fmt::format("they are 0 .. {}", count - 1); }

Status check_values(const std::string& what, const std::vector<int>& values, const ChoiceProblem& problem) {
  for (int value : values) {
    if (value < 0 || value >= problem.values) {
      return Error{
          fmt::format("{} value {}, which is no value of the problem: {}", what, value, range_of(problem.values))};
    }
  }
  return ok_status();
}

Status check_items(const std::string& what, const std::vector<int>& items, const ChoiceProblem& problem) {
  const int count = static_cast<int>(problem.items.size());
  for (int item : items) {
    if (item < 0 || item >= count) {
      return Error{fmt::format("{} item {}, which is no item of the problem: {}", what, item, range_of(count))};
    }
  }
  return ok_status();
}

bool is_amount(double number) { return std::isfinite(number) && number >= 0; }

Status check_uses(std::size_t item, const std::vector<double>& uses, const ChoiceProblem& problem) {
  if (!uses.empty() && uses.size() != problem.budgets.size()) {
    return Error{fmt::format("item {} uses {} budgets; it has to be all {} of the problem or none", item, uses.size(),
                             problem.budgets.size())};
  }
  for (double use : uses) {
    if (!is_amount(use))
      return Error{fmt::format("item {} uses {} of a budget; it has to be finite and 0 or more", item, use)};
  }
  return ok_status();
}

Status check_numbers(const ChoiceProblem& problem, const ChoiceOptions& options) {
  if (problem.values < 0)
    return Error{fmt::format("the number of values is {}; it has to be 0 or more", problem.values)};
  WHET_RETURN_IF_ERROR(check_values("given is", problem.given, problem));
  WHET_RETURN_IF_ERROR(check_values("wanted is", problem.wanted, problem));
  if (!problem.tensors.empty() && std::ssize(problem.tensors) != problem.values) {
    return Error{fmt::format("there are the tensors of {} values; it has to be those of all {} or none",
                             problem.tensors.size(), problem.values)};
  }
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    const ChoiceItem& it = problem.items[item];
    WHET_RETURN_IF_ERROR(check_values(fmt::format("item {} reads", item), it.reads, problem));
    WHET_RETURN_IF_ERROR(check_values(fmt::format("item {} writes", item), it.writes, problem));
    if (!std::isfinite(it.seconds) || it.seconds < 0) {
      return Error{fmt::format("item {} takes {} seconds; they have to be finite and 0 or more", item, it.seconds)};
    }
    WHET_RETURN_IF_ERROR(check_uses(item, it.uses, problem));
  }
  for (double budget : problem.budgets) {
    if (!is_amount(budget)) return Error{fmt::format("a budget is {}; it has to be finite and 0 or more", budget)};
  }
  WHET_RETURN_IF_ERROR(check_items("required is", options.required, problem));
  WHET_RETURN_IF_ERROR(check_items("forbidden is", options.forbidden, problem));
  WHET_RETURN_IF_ERROR(check_items("usual is", options.usual, problem));
  WHET_RETURN_IF_ERROR(check_items("distinct is", options.distinct, problem));
  if (options.plans < 1) return Error{fmt::format("{} plans are asked for; it has to be 1 or more", options.plans)};
  if (!(options.seconds_limit > 0)) {
    return Error{fmt::format("the solver's limit is {} seconds; it has to be more than 0", options.seconds_limit)};
  }
  if (!(options.gap >= 0 && options.gap < 1))
    return Error{fmt::format("the gap is {}; it has to be 0 or more, and less than 1", options.gap)};
  return ok_status();
}

/// Why no item writes `value`.
std::string missing_writer(const ChoiceProblem& problem, int value, const std::vector<char>& forbidden) {
  int writers = 0, forbidden_writers = 0;
  for (std::size_t item = 0; item < problem.items.size(); ++item) {
    const std::vector<int>& writes = problem.items[item].writes;
    if (std::find(writes.begin(), writes.end(), value) == writes.end()) continue;
    ++writers;
    forbidden_writers += forbidden[item];
  }
  if (writers == 0) return "no item writes it";
  if (forbidden_writers == writers) return "all items that write it are forbidden";
  return "no item that writes it can run, as what they read cannot be computed from the given values";
}

/// More items never keep others from running: what cannot be computed by all items that are allowed has no plan.
Status check_reach(const ChoiceProblem& problem, const ChoiceOptions& options) {
  std::vector<char> forbidden(problem.items.size(), 0);
  for (int item : options.forbidden) forbidden[item] = 1;
  for (int item : options.required) {
    if (forbidden[item]) return Error{fmt::format("item {} is required and forbidden; it can be one of both", item)};
  }
  std::vector<int> allowed;
  for (int item = 0; item < static_cast<int>(problem.items.size()); ++item) {
    if (!forbidden[item]) allowed.push_back(item);
  }
  const RunOrder order = run_order(problem, allowed);
  for (int value : problem.wanted) {
    if (!order.written[value])
      return Error{fmt::format("value {} is wanted, and {}", value, missing_writer(problem, value, forbidden))};
  }
  for (int item : options.required) {
    for (int value : problem.items[item].reads) {
      if (order.written[value]) continue;
      return Error{fmt::format("item {} is required and reads value {}, and {}", item, value,
                               missing_writer(problem, value, forbidden))};
    }
  }
  return ok_status();
}

}  // namespace

Status check_choice_problem(const ChoiceProblem& problem, const ChoiceOptions& options) {
  WHET_RETURN_IF_ERROR(check_numbers(problem, options));
  return check_reach(problem, options);
}

}  // namespace whet
