#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "choice/choice.h"

namespace whet {
namespace {

/// Stored values by number, as the solver knows them.
class ValueNumbers {
 public:
  int of(const StoredValue& value) {
    return numbers_.try_emplace(value, static_cast<int>(numbers_.size())).first->second;
  }
  int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<StoredValue, int> numbers_;
};

std::vector<int> usual_numbers(const Alternatives& alternatives) {
  std::vector<int> usual(alternatives.usual);
  for (std::size_t a = 0; a < usual.size(); ++a) usual[a] = static_cast<int>(a);
  return usual;
}

ChoiceProblem problem_of(const FusedGraph& fused, const Alternatives& alternatives, const std::vector<Price>& prices,
                         bool bounds) {
  ChoiceProblem problem;
  ValueNumbers numbers;
  for (ValueId id : fused.graph.inputs) problem.given.push_back(numbers.of({id, kChannelsLast}));
  for (ValueId id : fused.graph.outputs)
    if (!fused.graph.value(id).constant) problem.wanted.push_back(numbers.of({id, kChannelsLast}));
  for (std::size_t a = 0; a < alternatives.all.size(); ++a) {
    const Fragment& fragment = alternatives.all[a].fragment;
    ChoiceItem item{{}, {}, bounds ? prices[a].bound : prices[a].seconds};
    for (const StoredValue& value : fragment.reads) item.reads.push_back(numbers.of(value));
    for (const StoredValue& value : fragment.writes) item.writes.push_back(numbers.of(value));
    problem.items.push_back(std::move(item));
  }
  problem.values = numbers.count();
  return problem;
}

double sum_of(const std::vector<int>& plan, const std::vector<Price>& prices) {
  double sum = 0;
  for (int a : plan) sum += prices[static_cast<std::size_t>(a)].seconds;
  return sum;
}

bool convolves(const Fragment& fragment) {
  return std::any_of(fragment.kernel.begin(), fragment.kernel.end(),
                     [&](NodeId n) { return std::holds_alternative<ConvOperator>(fragment.graph.node(n).op); });
}

/// The name by which a record file knows what an alternative computes.
const std::string& name_in(const FusedGraph& fused, const Alternative& alternative) {
  return fused.graph.value(alternative.fragment.writes.front().value).name;
}

PlannedKernel kernel_of(const FusedGraph& fused, const Alternative& alternative) {
  return {name_in(fused, alternative), alternative.name, alternative.kind == AlternativeKind::transform};
}

/// The usual kernels of all that the chosen ones read, or the user, and that none of them writes.
void add_usual(const FusedGraph& fused, const Alternatives& alternatives, std::vector<int>& chosen) {
  std::map<StoredValue, int> usual;
  for (std::size_t a = 0; a < alternatives.usual; ++a)
    for (const StoredValue& value : alternatives.all[a].fragment.writes) usual[value] = static_cast<int>(a);
  std::set<StoredValue> written;
  std::vector<StoredValue> open;
  const auto take = [&](int number) {
    const Fragment& fragment = alternatives.all[static_cast<std::size_t>(number)].fragment;
    written.insert(fragment.writes.begin(), fragment.writes.end());
    open.insert(open.end(), fragment.reads.begin(), fragment.reads.end());
  };
  for (int number : chosen) take(number);
  for (ValueId id : fused.graph.outputs) open.push_back({id, kChannelsLast});
  while (!open.empty()) {
    const StoredValue value = open.back();
    open.pop_back();
    if (written.contains(value) || !usual.contains(value)) continue;
    chosen.push_back(usual.at(value));
    take(chosen.back());
  }
}

/// The chosen ones in an order in which each finds what it reads.
Result<std::vector<int>> in_order(const FusedGraph& fused, const Alternatives& alternatives, std::vector<int> chosen) {
  std::set<StoredValue> there;
  for (ValueId id : fused.graph.inputs) there.insert({id, kChannelsLast});
  std::vector<int> ordered;
  while (!chosen.empty()) {
    const auto next = std::find_if(chosen.begin(), chosen.end(), [&](int a) {
      const auto& reads = alternatives.all[static_cast<std::size_t>(a)].fragment.reads;
      return std::all_of(reads.begin(), reads.end(), [&](const StoredValue& v) { return there.contains(v); });
    });
    if (next == chosen.end())
      return Error{"the plan has no kernel that can run before " +
                   name_in(fused, alternatives.all[static_cast<std::size_t>(chosen.front())])};
    const auto& writes = alternatives.all[static_cast<std::size_t>(*next)].fragment.writes;
    there.insert(writes.begin(), writes.end());
    ordered.push_back(*next);
    chosen.erase(next);
  }
  return ordered;
}

}  // namespace

Result<NetworkPlans> best_plans(const FusedGraph& fused, const Alternatives& alternatives,
                                const std::vector<Price>& prices, const PlanOptions& options) {
  ChoiceOptions choosing{.required = options.required, .forbidden = options.forbidden};
  choosing.usual = usual_numbers(alternatives);
  choosing.plans = options.plans;
  // Plans that differ in a pool or a copy alone are one to the network.
  for (std::size_t a = 0; a < alternatives.all.size(); ++a)
    if (convolves(alternatives.all[a].fragment)) choosing.distinct.push_back(static_cast<int>(a));
  WHET_TRY(const ChosenPlans chosen, choose_plans(problem_of(fused, alternatives, prices, options.bounds), choosing));
  NetworkPlans plans;
  for (const ChosenPlan& plan : chosen.plans) plans.best.push_back({plan.items, plan.seconds});
  plans.usual = {usual_numbers(alternatives), sum_of(usual_numbers(alternatives), prices)};
  plans.bound = chosen.bound, plans.gap = chosen.gap, plans.cuts = chosen.cuts, plans.optimal = chosen.optimal;
  return plans;
}

std::string hash_of(const FusedGraph& fused) { return fmt::format("{:016x}", hash_bytes(to_text(fused))); }

std::vector<PlannedKernel> kernels_of(const FusedGraph& fused, const Alternatives& alternatives,
                                      const NetworkPlan& plan) {
  std::vector<PlannedKernel> kernels;
  for (int a : plan.alternatives) {
    const Alternative& alternative = alternatives.all[static_cast<std::size_t>(a)];
    if (alternative.kind != AlternativeKind::usual && alternative.kind != AlternativeKind::alias)
      kernels.push_back(kernel_of(fused, alternative));
  }
  return kernels;
}

Result<std::vector<Form>> forms_of(const std::vector<PlannedKernel>& kernels) {
  std::set<Form> forms;
  for (const PlannedKernel& kernel : kernels) {
    std::string_view rest = names_cover(kernel.forms) ? "" : kernel.forms;
    while (!rest.empty()) {
      const std::size_t arrow = rest.find(" -> ");
      const std::optional<Form> form = parse_form(rest.substr(0, arrow));
      if (!form) return Error{"the plan stores " + kernel.node + " as \"" + kernel.forms + "\", which is no form"};
      forms.insert(*form);
      rest = arrow == rest.npos ? "" : rest.substr(arrow + 4);
    }
  }
  forms.erase(kChannelsLast);
  return std::vector<Form>(forms.begin(), forms.end());
}

Result<NetworkPlan> find_plan(const FusedGraph& fused, const Alternatives& alternatives,
                              const std::vector<PlannedKernel>& kernels) {
  std::vector<int> chosen;
  for (const PlannedKernel& kernel : kernels) {
    const auto found = std::find_if(alternatives.all.begin(), alternatives.all.end(), [&](const Alternative& a) {
      return !a.name.empty() && kernel_of(fused, a) == kernel;
    });
    if (found == alternatives.all.end())
      return Error{"the plan computes " + kernel.node + " as " + kernel.forms + ", which this network does not have"};
    chosen.push_back(static_cast<int>(found - alternatives.all.begin()));
  }
  add_usual(fused, alternatives, chosen);
  std::sort(chosen.begin(), chosen.end());  // the order in which the plan was timed
  WHET_TRY(chosen, in_order(fused, alternatives, std::move(chosen)));
  return NetworkPlan{std::move(chosen), 0};
}

Result<std::vector<std::string>> task_keys(const FusedGraph& fused, const Target& target, const Records& records) {
  std::vector<Form> forms = forms_for(target);
  if (const Plan* plan = records.plan_for(hash_of(fused), to_string(target)))
    if (const auto own = forms_of(plan->kernels); own.ok())
      for (Form form : *own)
        if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, {forms}));
  std::vector<std::string> keys;
  for (const Task& task : alternatives.tasks) keys.push_back(task.key);
  return keys;
}

Result<PlannedNetwork> planned(const FusedGraph& fused, const Records& records, const Target& target) {
  PlannedNetwork network{fused};
  const Plan* plan = records.plan_for(hash_of(fused), to_string(target));
  if (plan == nullptr) return network;
  const auto apply = [&]() -> Result<FusedGraph> {
    if (plan->kernels.empty()) return fused;
    WHET_TRY(const std::vector<Form> forms, forms_of(plan->kernels));
    WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, {forms}));
    WHET_TRY(const NetworkPlan found, find_plan(fused, alternatives, plan->kernels));
    return assemble(fused, alternatives, found.alternatives);
  };
  Result<FusedGraph> result = apply();
  if (!result.ok()) {
    network.note = "the records' plan does not count: " + result.error().message;
    return network;
  }
  network.fused = std::move(*result);
  network.plan = plan;
  return network;
}

}  // namespace whet
