#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/counted.h"
#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/layouts.h"
#include "cli/output.h"
#include "cli/table.h"
#include "plan/plan.h"
#include "plan/tried.h"
#include "records/record_file.h"
#include "tuner/footprint.h"
#include "workflow/kernels_text.h"
#include "workflow/opened.h"
#include "workflow/record_rates.h"

namespace whet {
namespace {

/// A network, what its kernels cost on other forms, and its best plan.
struct Priced {
  FusedGraph fused;
  Alternatives alternatives;
  std::vector<Price> prices;
  NetworkPlans plans;
  PlannedNetwork compiled;  ///< what `whet compile` uses
  RecordsRead read;
  std::string target;
  NetworkExcess excess;  ///< part of the prices
};

Result<Priced> price(const Question& question) {
  Priced priced;
  WHET_TRY(const MeasuringPlace asked, choose_asked_place(question.place, question.device, question.fleet, tell_user));
  const TargetOnCores& place = asked.target;
  WHET_RETURN_IF_ERROR(question.rounding.check(place.target));
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(priced.fused, load_fused(question.model, files, question.rounding.passes(place.target)));
  WHET_TRY(priced.read, read_records(question.records));
  for (const std::string& note : priced.read.notes) tell_user(note);
  for (const std::string& note :
       strangers_of(question.records, priced.read.records, priced.fused, place.target, TargetUse::near))
    tell_user(note);
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(priced.fused, place.target));
  AlternativeOptions alternatives{.forms = forms_for(place.target)};
  if (const Plan* plan = priced.read.records.plan_for(hash_of(priced.fused), to_string(place.target))) {
    add_forms_of(plan->kernels, alternatives);
    priced.excess = plan->excess;
  }
  // A form that is asked for pads any channels.
  if (parse_activation_layout(question.contains)) add_forms_of({{question.what, question.contains}}, alternatives);
  WHET_TRY(priced.alternatives, find_alternatives(priced.fused, place.target, alternatives));
  PriceOptions options;
  const RecordRates known = rates_for(asked, measured_elsewhere(priced.read.records, tasks, place.target));
  if (!known.known()) fmt::print(stderr, "The rates that bound what was not measured are {}\n", known.text);
  options.rates = known.rates;
  options.schedules = question.rounding.schedules();
  options.network_bytes = network_footprint(priced.fused, tasks, question.rounding.exact).least();
  options.excess = priced.excess;
  priced.target = to_string(place.target);
  priced.prices = prices_of(priced.alternatives, priced.read.records, place.target, options);
  WHET_TRY(priced.plans, best_plans(priced.fused, priced.alternatives, priced.prices));
  WHET_TRY(priced.compiled, planned(priced.fused, priced.read.records, place.target, options.schedules));
  return priced;
}

const Alternative& at(const Priced& priced, int number) {
  return priced.alternatives.all[static_cast<std::size_t>(number)];
}

std::string_view word(PriceKind kind) {
  switch (kind) {
    case PriceKind::free:
      return "no kernel";
    case PriceKind::measured:
      return "measured";
    case PriceKind::estimated:
      break;
  }
  return "estimated";
}

std::string node_of(const Priced& priced, int number) {
  return priced.fused.graph.value(at(priced, number).fragment.writes.front().value).name;
}

bool has_excess(const Priced& priced) { return priced.excess != NetworkExcess(); }

/// The columns of a kernel's price: its time alone, what that is, and the excess where the plan of the records has one.
void add_price_columns(const Priced& priced, const char* title, std::vector<Table::Column>& columns) {
  columns.insert(columns.end(), {{title}, {"", false}});
  if (has_excess(priced)) columns.push_back({"Excess (ms)"});
}
void add_price(const Priced& priced, const Price& price, std::vector<std::string>& row) {
  row.insert(row.end(), {exact_milliseconds(price.alone()), std::string(word(price.kind))});
  if (has_excess(priced)) row.push_back(exact_milliseconds(price.excess));
}

/// An alternative and its price, in seconds.
Json kernel_json(const Priced& priced, int number) {
  const Alternative& a = at(priced, number);
  const Price& p = priced.prices[static_cast<std::size_t>(number)];
  const std::vector<int>& best = priced.plans.best.front().alternatives;
  Json out = Json::object();
  out.set("node", priced.fused.graph.value(a.fragment.writes.front().value).name);
  if (a.task >= 0) out.set("kernel", priced.alternatives.tasks[static_cast<std::size_t>(a.task)].name);
  return out.set("stored", a.name.empty() ? to_text(kChannelsLast) : a.name)
      .set("seconds", p.alone())
      .set("excess_seconds", p.excess)
      .set("price", word(p.kind))
      .set("chosen", std::ranges::count(best, number) > 0);
}

/// What closing() prints.
Json answer_json(const Priced& priced, Json kernels) {
  Json tried = Json::array();
  if (priced.compiled.line != nullptr)
    for (const TriedPlan& plan : priced.compiled.line->tried) tried.add(tried_text(plan));
  return Json::object()
      .set("kernels", std::move(kernels))
      .set("seconds", priced.plans.best.front().seconds)
      .set("usual_seconds", priced.plans.usual.seconds)
      .set("bound_seconds", priced.plans.bound)
      .set("optimal", priced.plans.optimal)
      .set("compiled", kernels_text(priced.compiled.kernels))
      .set("of_records", priced.compiled.line != nullptr)
      .set("note", priced.compiled.note)
      .set("tried", tried);
}

double excess_of(const Priced& priced, const NetworkPlan& plan) {
  double seconds = 0;
  for (int number : plan.alternatives) seconds += priced.prices[static_cast<std::size_t>(number)].excess;
  return seconds;
}

/// How it is laid on kernels.
std::string laid_text(const NetworkExcess& excess) {
  std::vector<std::string> parts;
  if (excess.seconds_a_byte > 0)
    parts.push_back(fmt::format("{:.2g} ns for a KiB of activations that the kernel reads and writes",
                                excess.seconds_a_byte * 1024 * 1e9));
  if (excess.seconds_a_kernel > 0)
    parts.push_back(fmt::format("{:.2g} us for the kernel", excess.seconds_a_kernel * 1e6));
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::string excess_text(const Priced& priced) {
  if (!has_excess(priced)) return "";
  return fmt::format(
      "Of the sums {} ms and {} ms are the excess: what the network took longer than its kernels alone, laid on them: "
      "{}\n",
      exact_milliseconds(excess_of(priced, priced.plans.best.front())),
      exact_milliseconds(excess_of(priced, priced.plans.usual)), laid_text(priced.excess));
}

/// What became of plans in the network, when the plan of the records was made.
std::string tried_plans_text(const PlannedNetwork& compiled) {
  if (compiled.line == nullptr) return "";
  std::string text;
  for (const TriedPlan& tried : compiled.line->tried) text += "  in the network " + tried_text(tried) + "\n";
  return text;
}

std::string closing(const Priced& priced) {
  std::string text = fmt::format(
      "Sum: {} ms of {} ms by the usual kernels{}; bound {} ms\n",
      exact_milliseconds(priced.plans.best.front().seconds), exact_milliseconds(priced.plans.usual.seconds),
      priced.plans.optimal ? " (proven best of what is known)" : "", exact_milliseconds(priced.plans.bound));
  text += excess_text(priced);
  const PlannedNetwork& compiled = priced.compiled;
  if (!compiled.note.empty()) text += compiled.note + "\n";
  const std::string kernels = kernels_text(compiled.kernels);
  if (compiled.line != nullptr)
    text += fmt::format("whet compile takes the plan of the records, made at {}: {}\n", compiled.line->at, kernels);
  else
    text += fmt::format("The records have no plan{}: whet compile takes {}{}\n",
                        compiled.note.empty() ? "" : " that counts", kernels,
                        compiled.kernels.empty() ? "" : ", the best by their times");
  return text + tried_plans_text(compiled) +
         other_plans_text(priced.read.records.plans(), hash_of(priced.fused), priced.target, compiled.kernels);
}

int print_map(const Priced& priced, bool json) {
  if (json) {
    Json kernels = Json::array();
    for (int number : priced.plans.best.front().alternatives)
      if (at(priced, number).task >= 0) kernels.add(kernel_json(priced, number));
    return print(answer_json(priced, kernels));
  }
  std::vector<Table::Column> columns = {{"Node", false}, {"Kernel", false}, {"Stored", false}};
  add_price_columns(priced, "Time (ms)", columns);
  Table table(columns);
  for (int number : priced.plans.best.front().alternatives) {
    const Alternative& a = at(priced, number);
    if (a.task < 0) continue;
    const Price& p = priced.prices[static_cast<std::size_t>(number)];
    std::vector<std::string> row = {node_of(priced, number),
                                    priced.alternatives.tasks[static_cast<std::size_t>(a.task)].name, stored_text(a)};
    add_price(priced, p, row);
    table.add(std::move(row));
  }
  print(table);
  fmt::print("{}", closing(priced));
  return kDone;
}

/// The sum of the usual kernels whose work a cover does: estimated where one of them is.
Price usual_of(const Priced& priced, const Alternative& cover) {
  Price sum{.kind = PriceKind::measured};
  for (std::size_t u = 0; u < priced.alternatives.usual; ++u) {
    const Price& own = priced.prices[u];
    if (std::count(cover.instead.begin(), cover.instead.end(), priced.alternatives.all[u].group) == 0) continue;
    sum.seconds += own.seconds, sum.excess += own.excess;
    if (own.kind == PriceKind::estimated) sum.kind = own.kind;
  }
  return sum;
}

/// All covers, beside the usual kernels whose work they do.
int print_covers(const Priced& priced, bool json) {
  Json kernels = Json::array();
  std::vector<Table::Column> columns = {{"Kernel of", false}, {"Instead of"}};
  add_price_columns(priced, "Time (ms)", columns);
  add_price_columns(priced, "Usual (ms)", columns);
  columns.push_back({"", false});
  Table table(columns);
  const std::vector<int>& best = priced.plans.best.front().alternatives;
  int covers = 0;
  for (std::size_t a = 0; a < priced.alternatives.all.size(); ++a) {
    const Alternative& cover = priced.alternatives.all[a];
    if (cover.kind != AlternativeKind::cover) continue;
    if (json)
      kernels.add(kernel_json(priced, static_cast<int>(a))
                      .set("instead", std::ssize(cover.instead))
                      .set("usual_kernel_seconds", usual_of(priced, cover).alone()));
    const bool chosen = std::count(best.begin(), best.end(), static_cast<int>(a)) > 0;
    std::vector<std::string> row = {stored_text(cover), counted(std::ssize(cover.instead), "kernel")};
    add_price(priced, priced.prices[a], row);
    add_price(priced, usual_of(priced, cover), row);
    row.push_back(chosen ? "chosen" : "");
    table.add(std::move(row));
    ++covers;
  }
  if (json) return print(answer_json(priced, kernels));
  print(table);
  fmt::print("{}. Next: whet explain cover NODE\n{}", counted(covers, "cover"), closing(priced));
  return kDone;
}

struct Computed {
  std::string name;  ///< of a node, or of its result
  int group;         ///< whose kernel computes it
};
/// What kernels compute, by the names of nodes and of their results.
std::vector<Computed> computed_by(const FusedGraph& fused) {
  std::vector<Computed> all;
  for (std::size_t g = 0; g < fused.groups.size(); ++g)
    for (NodeId n : fused.groups[g].nodes) {
      const Node& node = fused.graph.node(n);
      const std::string& result = fused.graph.value(node.output).name;
      all.push_back({node.name, static_cast<int>(g)});
      if (result != node.name) all.push_back({result, static_cast<int>(g)});
    }
  return all;
}

/// The lists' difference: what only the first has.
std::vector<int> only(const std::vector<int>& first, const std::vector<int>& second) {
  std::vector<int> rest;
  for (int number : first)
    if (std::find(second.begin(), second.end(), number) == second.end()) rest.push_back(number);
  return rest;
}

Status print_forced(const Priced& priced, int forced) {
  WHET_TRY(const NetworkPlans plans,
           best_plans(priced.fused, priced.alternatives, priced.prices, {.required = {forced}}));
  const std::vector<int>&best = priced.plans.best.front().alternatives, &other = plans.best.front().alternatives;
  std::vector<Table::Column> columns = {{"", false}, {"Node", false}, {"Stored", false}};
  add_price_columns(priced, "Time (ms)", columns);
  Table table(columns);
  double difference = 0;
  for (const auto& [sign, numbers] : {std::pair(1, only(other, best)), std::pair(-1, only(best, other))})
    for (int number : numbers) {
      const Price& p = priced.prices[static_cast<std::size_t>(number)];
      if (p.kind == PriceKind::free) continue;
      difference += sign * p.seconds;
      std::vector<std::string> row = {sign > 0 ? "+" : "-", node_of(priced, number), stored_text(at(priced, number))};
      add_price(priced, p, row);
      table.add(std::move(row));
    }
  fmt::print("{} at {}: {} ms, {:+.4f} ms\n", stored_text(at(priced, forced)), node_of(priced, forced),
             exact_milliseconds(plans.best.front().seconds), difference * 1e3);
  print(table);
  return ok_status();
}

/// What the question is about: the group's forms, or its covers and what reads and copies from these.
bool is_asked_for(const Alternative& alternative, int group, const Question& question) {
  const auto& instead = alternative.instead;
  if (alternative.group != group && std::find(instead.begin(), instead.end(), group) == instead.end()) return false;
  if (alternative.kind != AlternativeKind::usual && names_cover(alternative.name) != question.of_covers()) return false;
  return question.contains.empty() || alternative.name.find(question.contains) != std::string::npos;
}

/// Every way to compute the group that is asked for, with the best plan that has it.
Status print_group(const Priced& priced, int group, const Question& question) {
  std::vector<Table::Column> columns = {{question.of_covers() ? "Kernel of" : "Stored", false}};
  add_price_columns(priced, "Kernel (ms)", columns);
  columns.insert(columns.end(), {{"Network (ms)"}, {"Difference (ms)"}, {"", false}});
  Table table(columns);
  const NetworkPlan& best = priced.plans.best.front();
  std::vector<int> shown;
  Json kernels = Json::array();
  for (std::size_t a = 0; a < priced.alternatives.all.size(); ++a) {
    const int number = static_cast<int>(a);
    const Alternative& alternative = at(priced, number);
    if (!is_asked_for(alternative, group, question)) continue;
    WHET_TRY(const NetworkPlans plans,
             best_plans(priced.fused, priced.alternatives, priced.prices, {.required = {number}}));
    const bool chosen =
        std::find(best.alternatives.begin(), best.alternatives.end(), number) != best.alternatives.end();
    kernels.add(kernel_json(priced, number).set("network_seconds", plans.best.front().seconds));
    std::vector<std::string> row = {stored_text(alternative)};
    add_price(priced, priced.prices[a], row);
    row.insert(row.end(),
               {exact_milliseconds(plans.best.front().seconds),
                fmt::format("{:+.4f}", (plans.best.front().seconds - best.seconds) * 1e3), chosen ? "chosen" : ""});
    table.add(std::move(row));
    shown.push_back(number);
  }
  if (shown.empty())
    return Error{
        (question.of_covers() ? "the node is in no cover with a name like " : "no kernel of the node works on ") +
        question.contains};
  if (question.json) {
    print(answer_json(priced, kernels));
    return ok_status();
  }
  print(table);
  if (!question.contains.empty())
    for (int number : shown) WHET_RETURN_IF_ERROR(print_forced(priced, number));
  fmt::print("{}", closing(priced));
  return ok_status();
}

Result<int> print_node(const Priced& priced, const Question& question) {
  const std::vector<Computed> computed = computed_by(priced.fused);
  std::vector<std::string> names;
  for (const Computed& each : computed) names.push_back(each.name);
  const Result<std::size_t> found = find_name(question.what, names, "is no node that a kernel computes");
  if (!found.ok())
    return wrong_use(
        {fmt::format("explain {}: {}; without a name, all are listed", question.topic, found.error().message)});
  const auto& [name, group] = computed[*found];
  if (!question.contains.empty() && !question.of_covers() && !parse_activation_layout(question.contains))
    return wrong_use(
        {fmt::format("--contains is \"{}\"; expected nhwc, nchw or blocks like nchw16c", question.contains)});
  if (!question.json)
    fmt::print("{}: {}\n", name, name_of(priced.fused, priced.fused.groups[static_cast<std::size_t>(group)]));
  WHET_RETURN_IF_ERROR(print_group(priced, group, question));
  return kDone;
}

}  // namespace

Result<int> explain_plan(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_RETURN_IF_ERROR(needs_records(question));
  WHET_TRY(const Priced priced, price(question));
  if (question.what.empty())
    return question.of_covers() ? print_covers(priced, question.json) : print_map(priced, question.json);
  return print_node(priced, question);
}

}  // namespace whet
