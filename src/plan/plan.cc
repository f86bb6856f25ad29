#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "choice/choice.h"
#include "plan/layer_precisions.h"

namespace whet {
namespace {

/// Stored values by number, as the solver knows them: anywhere, and where they belong in a concatenation.
class ValueNumbers {
 public:
  int of(const StoredValue& value, bool as_part = false) {
    return numbers_.try_emplace({value, as_part}, static_cast<int>(numbers_.size())).first->second;
  }
  bool is_read_as_part(const StoredValue& value) const { return numbers_.contains({value, true}); }
  std::map<StoredValue, int> parts() const {
    std::map<StoredValue, int> parts;
    for (const auto& [value, number] : numbers_)
      if (value.second) parts.emplace(value.first, number);
    return parts;
  }
  int count() const { return static_cast<int>(numbers_.size()); }
  /// Of each number the value of the fused graph, in whatever form.
  std::vector<int> tensors() const {
    std::vector<int> tensors(numbers_.size());
    for (const auto& [value, number] : numbers_)
      tensors[static_cast<std::size_t>(number)] = static_cast<int>(value.first.value.index());
    return tensors;
  }

 private:
  std::map<std::pair<StoredValue, bool>, int> numbers_;
};

std::vector<int> usual_numbers(const Alternatives& alternatives) {
  std::vector<int> usual(alternatives.usual);
  for (std::size_t a = 0; a < usual.size(); ++a) usual[a] = static_cast<int>(a);
  return usual;
}

ChoiceProblem problem_of(const FusedGraph& fused, const Alternatives& alternatives, const std::vector<Price>& prices,
                         const PlanOptions& options) {
  ChoiceProblem problem;
  ValueNumbers numbers;
  for (ValueId id : fused.graph.inputs) problem.given.push_back(numbers.of({id, kChannelsLast}));
  for (ValueId id : fused.graph.outputs)
    if (!fused.graph.value(id).constant) problem.wanted.push_back(numbers.of({id, kChannelsLast}));
  for (const Alternative& a : alternatives.all)
    if (a.in_place)
      for (const StoredValue& value : a.fragment.reads) numbers.of(value, true);
  for (std::size_t a = 0; a < alternatives.all.size(); ++a) {
    const Alternative& alternative = alternatives.all[a];
    ChoiceItem item{{}, {}, options.bounds ? prices[a].bound : prices[a].seconds};
    if (!options.uses.empty() && options.uses[a] > 0) item.uses = {options.uses[a]};
    for (const StoredValue& value : alternative.fragment.reads)
      item.reads.push_back(numbers.of(value, alternative.in_place));
    for (const StoredValue& value : alternative.fragment.writes)
      item.writes.push_back(numbers.of(value, alternative.writes_parts && numbers.is_read_as_part(value)));
    problem.items.push_back(std::move(item));
  }
  // What is written where it belongs can also be read by others.
  for (const auto& [value, part] : numbers.parts()) problem.items.push_back({{part}, {numbers.of(value)}, 0});
  if (!options.uses.empty()) problem.budgets = {options.budget};
  problem.values = numbers.count();
  problem.tensors = numbers.tensors();
  return problem;
}

/// Without the items that compute nothing.
std::vector<int> kernels_in(const ChosenPlan& plan, const Alternatives& alternatives) {
  std::vector<int> numbers = plan.items;
  std::erase_if(numbers, [&](int item) { return item >= std::ssize(alternatives.all); });
  return numbers;
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
  choosing.seconds_limit = options.seconds_limit;
  choosing.gap = options.gap;
  // Plans that differ in a pool or a copy alone are one to the network.
  for (std::size_t a = 0; a < alternatives.all.size(); ++a)
    if (convolves(alternatives.all[a].fragment)) choosing.distinct.push_back(static_cast<int>(a));
  WHET_TRY(const ChosenPlans chosen, choose_plans(problem_of(fused, alternatives, prices, options), choosing));
  NetworkPlans plans;
  for (const ChosenPlan& plan : chosen.plans) plans.best.push_back({kernels_in(plan, alternatives), plan.seconds});
  plans.usual = {usual_numbers(alternatives), sum_of(usual_numbers(alternatives), prices)};
  plans.bound = chosen.bound, plans.gap = chosen.gap, plans.cuts = chosen.cuts, plans.optimal = chosen.optimal;
  return plans;
}

std::string hash_of(const FusedGraph& fused) { return fmt::format("{:016x}", hash_bytes(to_text(fused))); }

std::string hash_of_constants(const FusedGraph& fused) {
  std::uint64_t hash = kHashSeed;
  for (const Value& value : fused.graph.values) {
    if (!value.constant) continue;
    const Tensor& tensor = *value.constant;
    hash = hash_bytes(to_string(tensor.type()), hash);
    hash = hash_bytes({static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())}, hash);
  }
  return fmt::format("{:016x}", hash);
}

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

namespace {

/// All forms in a plan's kernels.
Result<std::set<ActivationLayout>> all_forms_of(const std::vector<PlannedKernel>& kernels) {
  std::set<ActivationLayout> forms;
  for (const PlannedKernel& kernel : kernels) {
    std::string_view rest = kernel.forms;
    if (names_cover(rest)) continue;
    while (!rest.empty()) {
      const std::size_t arrow = rest.find(" -> ");
      const std::optional<ActivationLayout> form = parse_activation_layout(rest.substr(0, arrow));
      if (!form) return Error{"the plan stores " + kernel.node + " as \"" + kernel.forms + "\", which is no form"};
      forms.insert(*form);
      rest = arrow == rest.npos ? "" : rest.substr(arrow + 4);
    }
  }
  return forms;
}

}  // namespace

Result<std::vector<ActivationLayout>> forms_of(const std::vector<PlannedKernel>& kernels) {
  WHET_TRY(std::set<ActivationLayout> forms, all_forms_of(kernels));
  forms.erase(kChannelsLast);
  std::erase_if(forms, [](ActivationLayout form) { return form.stored != StoredAs::usual; });
  return std::vector<ActivationLayout>(forms.begin(), forms.end());
}

std::vector<StoredAs> lowered_of(const std::vector<PlannedKernel>& kernels) {
  const auto forms = all_forms_of(kernels);
  std::set<StoredAs> stored;
  if (forms.ok())
    for (ActivationLayout form : *forms) stored.insert(form.stored);
  stored.erase(StoredAs::usual);
  return {stored.begin(), stored.end()};
}

void add_forms_of(const std::vector<PlannedKernel>& kernels, AlternativeOptions& options) {
  const auto forms = forms_of(kernels);
  if (!forms.ok()) return;
  for (ActivationLayout form : *forms) {
    options.padded.push_back(form);
    if (std::find(options.forms.begin(), options.forms.end(), form) == options.forms.end())
      options.forms.push_back(form);
  }
  for (StoredAs stored : lowered_of(kernels))
    if (std::find(options.lowered.begin(), options.lowered.end(), stored) == options.lowered.end())
      options.lowered.push_back(stored);
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
  AlternativeOptions options{.forms = forms_for(target)};
  if (const Plan* plan = records.plan_for(hash_of(fused), to_string(target))) add_forms_of(plan->kernels, options);
  WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, options));
  std::vector<std::string> keys;
  for (const Task& task : alternatives.tasks) keys.push_back(task.key);
  if (records.errors().empty()) return keys;  // nobody looked for lowered kernels
  WHET_TRY(const LoweredKernels lowered, lowered_kernels(fused, records, target));
  for (const Task& task : lowered.alternatives.tasks) keys.push_back(task.key);
  return keys;
}

}  // namespace whet
