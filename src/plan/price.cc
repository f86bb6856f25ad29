#include "plan/price.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "artifact/code_format.h"
#include "cost/features.h"
#include "cost/limit.h"

namespace whet {
namespace {

/// The estimate of the task's default schedule; 0 where there is none.
double estimate_of(const Task& task, const Target& target, const SpaceOptions& schedules) {
  const Result<Steps> steps = default_steps(task.dag, target, schedules);
  if (!steps.ok()) return 0;
  const Result<LoopTree> tree = replay(task.dag, *steps);
  return tree.ok() ? analytic_seconds(*tree, target) : 0;
}

/// The best record that `whet tune` would not measure again; with `older`, of any code generator.
double measured_seconds(const Task& task, const Records& records, const Target& target, const PriceOptions& options,
                        bool older) {
  const int codegen = codegen_version(code_format(target));
  const auto best = records.best(task.key, task.within, target, [&](const Record& record) {
    return (older || record.codegen == codegen) && (options.cache.empty() || record.outcome.cache == options.cache) &&
           record.within == task.within && permits(options.schedules, record.numerics);
  });
  return best && best->exact ? best->record->outcome.clock_seconds() : 0;
}

/// The window of a convolution is one pixel.
bool is_product(const Graph& graph, const Node& node, const ConvOperator& conv) {
  const auto first = graph.value(node.inputs[1]).type.shape.begin() + (conv.layout == Layout::channels_first ? 2 : 0);
  return std::all_of(first, first + std::ssize(conv.strides), [](std::int64_t extent) { return extent == 1; });
}

/// Of a fragment's nodes, the one that decides how its kernel is written.
std::string_view kind_of(const Graph& graph, const Node& node) {
  if (const auto* conv = std::get_if<ConvOperator>(&node.op)) {
    if (conv->groups > 1) return "depthwise";
    return is_product(graph, node, *conv) ? "product" : "convolution";
  }
  if (std::holds_alternative<PoolOperator>(node.op)) return "pool";
  if (std::holds_alternative<ReduceOperator>(node.op)) return "mean";
  if (std::holds_alternative<ConcatOperator>(node.op)) return "concatenation";
  return "";
}

double bound_of(const Task& task, const Target& target, const PriceOptions& options) {
  const std::vector<Limit> limits = limits_of(task.dag, target, options.rates, options.network_bytes);
  return limits.empty() ? 0 : limits.front().seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 1;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What was measured of a task, and what is guessed where nothing was.
struct TaskPrice {
  double measured = 0, older = 0, guessed = 0, roofline = 0;
};

std::vector<TaskPrice> task_prices(const std::vector<Task>& tasks, const Records& records, const Target& target,
                                   const PriceOptions& options) {
  std::vector<TaskPrice> prices;
  for (const Task& task : tasks)
    prices.push_back({.measured = measured_seconds(task, records, target, options, false)});
  const auto is_measured = [](const TaskPrice& price) { return price.measured > 0; };
  if (!options.guess || std::all_of(prices.begin(), prices.end(), is_measured)) return prices;
  std::vector<double> factors;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    TaskPrice& price = prices[t];
    if (!is_measured(price)) price.older = measured_seconds(tasks[t], records, target, options, true);
    price.guessed = estimate_of(tasks[t], target, options.schedules);
    price.roofline = bound_of(tasks[t], target, options);
    if (is_measured(price) && price.guessed > 0) factors.push_back(price.measured / price.guessed);
  }
  const double factor = median(std::move(factors));
  for (TaskPrice& price : prices) price.guessed *= factor;
  return prices;
}

/// The time of the usual kernels whose work it does; 0 where that is not known of all, or there are none.
double sum_of_usual(const Alternative& alternative, const std::map<int, double>& usual) {
  double sum = 0;
  for (int group : alternative.instead) {
    const auto seconds = usual.find(group);
    if (seconds == usual.end() || seconds->second <= 0) return 0;
    sum += seconds->second;
  }
  return sum;
}

/// It multiplies f32. Its result, or what it adds, is stored in fewer bits.
bool multiplies_f32(const Alternative& alternative) {
  const Graph& graph = alternative.fragment.graph;
  return !alternative.rounds_product && std::ranges::any_of(alternative.fragment.kernel, [&](NodeId n) {
    return std::holds_alternative<ConvOperator>(graph.node(n).op) ||
           std::holds_alternative<MatMulOperator>(graph.node(n).op);
  });
}

/// Where no kernel of its kind on the same forms was measured.
double usual_hope(const Alternative& alternative, const Target& target, const PriceOptions& options) {
  if (alternative.kind != AlternativeKind::lowered || multiplies_f32(alternative)) return options.hope;
  const bool is_depthwise = hope_name(alternative).starts_with("depthwise");
  const bool byte_tiles = target.is_cpu() && target.cpu().byte_tiles && !is_depthwise;
  const bool bf16_tiles = target.is_cpu() && target.cpu().bf16_tiles && !is_depthwise;
  if (alternative.rounds_product == StoredAs::u8)
    return byte_tiles ? options.hope_of_bytes_by_tiles : options.hope_of_bytes;
  if (alternative.rounds_product == StoredAs::bf16 && bf16_tiles) return options.hope_of_bf16_by_tiles;
  return is_depthwise ? options.hope_of_lowered_depthwise : options.hope_of_lowered;
}

/// Kernels of a group that multiply the same type of fewer bits are alike, whatever they write: where one was measured, the others are hoped
/// to take hardly more. Were they hoped to take less, plans would hop from one to the next until all are measured, which most runs have no
/// time for; and of equal plans the one that is measured is to be the best.
void bound_by_siblings(const Alternatives& alternatives, std::vector<Price>& prices) {
  constexpr double kHardlyMore = 1.01;
  using Kind = std::pair<int, std::optional<StoredAs>>;  // the group, and what its product multiplies
  std::map<Kind, double> fastest;
  const auto kind = [](const Alternative& a) { return Kind{a.group, a.rounds_product}; };
  const auto is_one = [](const Alternative& a) { return a.rounds_product.has_value() && a.task >= 0; };
  for (std::size_t a = 0; a < prices.size(); ++a) {
    if (!is_one(alternatives.all[a]) || prices[a].kind != PriceKind::measured) continue;
    const auto [known, is_new] = fastest.try_emplace(kind(alternatives.all[a]), prices[a].alone());
    if (!is_new) known->second = std::min(known->second, prices[a].alone());
  }
  for (std::size_t a = 0; a < prices.size(); ++a) {
    Price& price = prices[a];
    const auto known = fastest.find(kind(alternatives.all[a]));
    if (!is_one(alternatives.all[a]) || price.kind != PriceKind::estimated || known == fastest.end()) continue;
    price.bound = std::max(price.bound, kHardlyMore * known->second + price.excess);
    price.seconds = std::max(price.seconds, price.bound);
  }
}

}  // namespace

std::string hope_name(const Alternative& alternative) {
  const Fragment& fragment = alternative.fragment;
  std::string_view kind = "elementwise";
  for (NodeId n : fragment.kernel)
    if (const std::string_view own = kind_of(fragment.graph, fragment.graph.node(n)); !own.empty()) kind = own;
  if (alternative.rounds_product)  // what it writes matters little
    return std::string(kind) + " " + to_text(ActivationLayout{0, 0, *alternative.rounds_product});
  return std::string(kind) + " " + alternative.name;
}

std::int64_t activation_bytes(const Task& task) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < task.dag.ops.size(); ++i) {
    const Op& op = task.dag.ops[i];
    const auto* placeholder = std::get_if<Placeholder>(&op.def);
    const bool output = std::ranges::count(task.dag.outputs, OpId(static_cast<std::int64_t>(i))) > 0;
    if (output || (placeholder != nullptr && !placeholder->constant))
      bytes += num_elements(op.shape) * size_of(op.dtype);
  }
  return bytes;
}

std::vector<Price> prices_of(const Alternatives& alternatives, const Records& records, const Target& target,
                             const PriceOptions& options) {
  const std::vector<TaskPrice> tasks = task_prices(alternatives.tasks, records, target, options);
  std::map<int, double> usual;  // seconds of the groups' usual kernels
  std::vector<Price> prices;
  for (const Alternative& a : alternatives.all) {
    if (a.task < 0) {
      prices.emplace_back();
      continue;
    }
    const TaskPrice& task = tasks[static_cast<std::size_t>(a.task)];
    Price price{PriceKind::measured, task.measured, task.measured};
    if (task.measured == 0) {
      const double twin = sum_of_usual(a, usual);
      price = {PriceKind::estimated, twin > 0 ? twin : task.guessed, task.roofline};
      if (task.older > 0) price.seconds = task.older, price.bound = std::min(price.bound, task.older);
      const auto known = options.hope_of.find(hope_name(a));
      double hope = known == options.hope_of.end() ? usual_hope(a, target, options) : known->second;
      if (a.hope > 0) hope = a.hope;
      price.bound = std::max(price.bound, hope * twin);
      price.seconds = std::max(price.seconds, price.bound);
    }
    const std::int64_t bytes = activation_bytes(alternatives.tasks[static_cast<std::size_t>(a.task)]);
    const double longer = options.excess.seconds_a_byte * static_cast<double>(bytes) + options.excess.seconds_a_kernel;
    if (a.kind == AlternativeKind::usual) usual[a.group] = price.seconds;
    price.seconds += longer, price.bound += longer, price.excess = longer;
    prices.push_back(price);
  }
  bound_by_siblings(alternatives, prices);
  return prices;
}

}  // namespace whet
