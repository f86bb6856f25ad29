#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/table.h"
#include "compiler/choose.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "device/cpu/opened_model.h"
#include "machine/detect.h"
#include "passes/layout.h"
#include "passes/optimize.h"

namespace whet {
namespace {

/// The graph as the layout pass meets it, and what that decides.
struct Decided {
  Graph graph;
  std::vector<StoredOrder> orders;  ///< one a node
};

Result<Decided> decide(Graph graph) {
  const std::span<const Pass> all = graph_passes();
  const auto layout =
      std::find_if(all.begin(), all.end(), [](const Pass& p) { return p.run == convert_to_channels_last; });
  WHET_TRY(graph, run_graph_passes(std::move(graph), {all.begin(), layout}));
  Decided decided{std::move(graph), {}};
  WHET_TRY(decided.orders, stored_orders(decided.graph));
  return decided;
}

/// A convolution or pool of a file that is channels first: for others the two orders are one.
bool has_two_orders(const Node& node) {
  if (const auto* conv = std::get_if<ConvOperator>(&node.op)) return conv->layout == Layout::channels_first;
  if (const auto* pool = std::get_if<PoolOperator>(&node.op)) return pool->layout == Layout::channels_first;
  return false;
}

std::string order_text(const Permutation& order) {
  if (order == identity_permutation(order.size())) return "as in the file";
  if (order == channels_last_permutation(order.size())) return "channels last";
  return "dimensions " + to_string(Shape(order));
}

std::string why(OrderReason reason) {
  switch (reason) {
    case OrderReason::prescribed:
      return "convolutions and pools work channels last: vectors go along channels";
    case OrderReason::file:
      return "the operator works on the file's order of dimensions";
    case OrderReason::operands:
      return "the order in which most elements of its operands are stored";
    case OrderReason::renamed:
      return "a transpose only renames dimensions: nothing moves";
  }
  return "";
}

std::string turned_text(const Graph& graph, const std::vector<ValueId>& turned) {
  std::string text;
  for (ValueId id : turned)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", graph.value(id).name, to_string(graph.value(id).type));
  return text.empty() ? "–" : text;
}

Json to_json(const Decided& decided, std::size_t n) {
  const Node& node = decided.graph.nodes[n];
  const StoredOrder& stored = decided.orders[n];
  Json turned = Json::array();
  for (ValueId id : stored.turned) turned.add(decided.graph.value(id).name);
  return Json::object()
      .set("node", node.name)
      .set("operator", name_of(node.op))
      .set("result", to_string(decided.graph.value(node.output).type))
      .set("stored", order_text(stored.order))
      .set("why", why(stored.reason))
      .set("turned", turned);
}

int print_all(const Decided& decided, bool json) {
  Table table({{"Node", false}, {"Op", false}, {"Result"}, {"Stored", false}, {"Turned for it", false}});
  std::map<std::string, int> counts;
  Json list = Json::array();
  for (std::size_t n = 0; n < decided.orders.size(); ++n) {
    const Node& node = decided.graph.nodes[n];
    const StoredOrder& stored = decided.orders[n];
    ++counts[order_text(stored.order)];
    if (json) list.add(to_json(decided, n));
    table.add({node.name, name_of(node.op), to_string(decided.graph.value(node.output).type), order_text(stored.order),
               turned_text(decided.graph, stored.turned)});
  }
  if (json) return print(list);
  print(table);
  std::string summary;
  for (const auto& [order, count] : counts)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, order);
  fmt::print("Results of {}: {}. Next: whet explain layout NODE --model MODEL\n",
             counted(std::ssize(decided.orders), "node"), summary);
  return kDone;
}

// ---- One node, measured

enum class Order { channels_last, file };

Permutation order_of(Order order, std::size_t rank) {
  return order == Order::file ? identity_permutation(rank) : channels_last_permutation(rank);
}

/// The node alone, its operand and its result in `order`; what it reads besides and is no constant is an input.
Result<Graph> alone(const Graph& from, const Node& node, Order order) {
  Graph graph;
  graph.name = node.name;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    const Value& value = from.value(id);
    if (value.constant) {
      inputs.push_back(graph.add_constant(value.name, *value.constant));
      continue;
    }
    const bool turned = inputs.empty() && order == Order::channels_last;
    const Permutation perm = order_of(turned ? order : Order::file, value.type.shape.size());
    graph.inputs.push_back(graph.add_value(value.name, {value.type.dtype, permuted(value.type.shape, perm)}));
    inputs.push_back(graph.inputs.back());
    if (turned) {
      WHET_TRY(inputs.back(), graph.add_node("operand", TransposeOperator{inverse(perm)}, {graph.inputs.back()}));
    }
  }
  WHET_TRY(ValueId result, graph.add_node(node.name, node.op, inputs));
  if (order == Order::channels_last) {
    const Permutation perm = order_of(order, graph.value(result).type.shape.size());
    WHET_TRY(result, graph.add_node("result", TransposeOperator{perm}, {result}));
  }
  graph.outputs = {result};
  return graph;
}

/// Seconds of all kernels of the graph.
Result<double> measure(Graph graph, Order order, const TargetOnCores& place) {
  constexpr int kRuns = 60;
  WHET_RETURN_IF_ERROR(can_run(place.target));
  WHET_TRY(const FusedGraph fused, optimize(graph, {.channels_last = order == Order::channels_last}));
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  const std::string library = scratch.path() + "/node.so";
  WHET_TRY(const CompileReport report, compile_model(fused, best_of(nullptr, place.target), place.target, library));
  OpenModelOptions options;
  options.threads = static_cast<std::uint32_t>(place.target.threads);
  options.cores.assign(place.cores.cpus.begin(), place.cores.cpus.end());
  WHET_TRY(OpenedModel model, OpenedModel::open(library, options));
  WHET_TRY(std::vector<Tensor> inputs, match_inputs(input_slots(fused.graph), {}, "random", 0));
  WHET_RETURN_IF_ERROR(model.set_inputs(std::move(inputs)));
  WHET_RETURN_IF_ERROR(model.profile_runs(0, kRuns));
  const whet_profile profile = model.profile();
  double seconds = 0;
  for (std::uint32_t s = 0; s < profile.steps; ++s) seconds += static_cast<double>(profile.step[s].min_ns) / 1e9;
  return seconds;
}

/// What turning a value from the file's order to channels last takes; the way back is taken to cost the same.
Result<double> measure_turn(const Value& value, const TargetOnCores& place) {
  const Permutation perm = channels_last_permutation(value.type.shape.size());
  if (moves_only_ones(value.type.shape, perm)) return 0.0;
  Graph graph;
  graph.name = value.name;
  graph.inputs = {graph.add_value(value.name, value.type)};
  WHET_TRY(const ValueId turned, graph.add_node("turned", TransposeOperator{perm}, graph.inputs));
  graph.outputs = {turned};
  return measure(std::move(graph), Order::file, place);
}

/// A convolution of a few channels takes its picture in either order: no transpose is left before it.
Result<bool> reads_in_place(const Graph& from, const Node& node) {
  if (!std::holds_alternative<ConvOperator>(node.op)) return false;
  WHET_TRY(Graph graph, alone(from, node, Order::file));
  WHET_TRY(const FusedGraph fused, optimize(graph, {}));
  return std::none_of(fused.groups.begin(), fused.groups.end(), [&](const Group& group) {
    const Node& first = fused.graph.node(group.nodes.front());
    return group.nodes.size() == 1 && std::holds_alternative<TransposeOperator>(first.op) &&
           first.inputs[0] == fused.graph.inputs[0];
  });
}

/// Who reads the node's result in another order than it is stored in: a node's name, "the user", or "".
std::string other_reader(const Decided& decided, std::size_t n) {
  const ValueId output = decided.graph.nodes[n].output;
  for (std::size_t k = 0; k < decided.orders.size(); ++k) {
    const std::vector<ValueId>& turned = decided.orders[k].turned;
    if (std::find(turned.begin(), turned.end(), output) != turned.end()) return decided.graph.nodes[k].name;
  }
  const auto& outputs = decided.graph.outputs;
  const bool for_user = std::find(outputs.begin(), outputs.end(), output) != outputs.end();
  const Permutation& order = decided.orders[n].order;
  return for_user && order != identity_permutation(order.size()) ? "the user" : "";
}

/// How the node's operand is stored: as its producer writes it; inputs of the model as in the file.
Permutation operand_order(const Decided& decided, const Node& node) {
  for (std::size_t k = 0; k < decided.orders.size(); ++k)
    if (decided.graph.nodes[k].output == node.inputs[0]) return decided.orders[k].order;
  return identity_permutation(decided.graph.value(node.inputs[0]).type.shape.size());
}

const char* order_name(Order order) { return order == Order::file ? "as in the file" : "channels last"; }
std::string microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

/// What a node takes in an order.
struct OrderTime {
  Order order;
  double kernel = 0, sum = 0;   ///< seconds
  std::string operand, result;  ///< what turning on its two sides takes [us], and why
  bool chosen = false;
};

/// The kernel, and turning on its two sides where the network around it asks for that.
Result<OrderTime> time_order(const Decided& decided, std::size_t n, Order order, const TargetOnCores& place) {
  const Node& node = decided.graph.nodes[n];
  const Permutation wanted = order_of(order, decided.orders[n].order.size());
  const bool chosen = decided.orders[n].order == wanted;
  WHET_TRY(Graph graph, alone(decided.graph, node, order));
  WHET_TRY(const double kernel, measure(std::move(graph), order, place));
  double sum = kernel;
  std::string operand = "0 (stored so)", result = "0 (read so)";
  if (operand_order(decided, node) != wanted) {
    WHET_TRY(bool in_place, reads_in_place(decided.graph, node));
    in_place = in_place && order == Order::channels_last;
    WHET_TRY(const double turn, measure_turn(decided.graph.value(node.inputs[0]), place));
    operand = in_place ? "0 (read in place)" : microseconds(turn) + " (turned)";
    if (!in_place) sum += turn;
  }
  const std::string reader = other_reader(decided, n);
  if (chosen != reader.empty()) {
    WHET_TRY(const double turn, measure_turn(decided.graph.value(node.output), place));
    result = microseconds(turn) + (reader.empty() ? " (turned)" : " (turned for " + reader + ")");
    sum += turn;
  }
  return OrderTime{order, kernel, sum, operand, result, chosen};
}

Json to_json(const OrderTime& time) {
  return Json::object()
      .set("order", order_name(time.order))
      .set("kernel_seconds", time.kernel)
      .set("operand", time.operand)
      .set("result", time.result)
      .set("sum_seconds", time.sum)
      .set("chosen", time.chosen);
}

void print_measured(const std::vector<OrderTime>& times, const Target& target) {
  Table table(
      {{"Order", false}, {"Kernel (us)"}, {"Operand (us)", false}, {"Result (us)", false}, {"Sum (us)"}, {"", false}});
  for (const OrderTime& time : times)
    table.add({order_name(time.order), microseconds(time.kernel), time.operand, time.result, microseconds(time.sum),
               time.chosen ? "chosen" : ""});
  fmt::print("The operator alone, with default schedules, the fastest of 60 runs on {}:\n", to_string(target));
  print(table);
}

Result<int> print_node(const Decided& decided, const Question& question) {
  std::vector<std::string> names;
  for (const Node& node : decided.graph.nodes) names.push_back(node.name);
  const Result<std::size_t> found = find_name(question.what, names, "is no node of the model after simplification");
  if (!found.ok())
    return wrong_use({fmt::format("explain layout: {}; `whet explain layout --model {}` lists all",
                                  found.error().message, question.model.model)});
  const std::size_t n = *found;
  const Node& node = decided.graph.nodes[n];
  const StoredOrder& stored = decided.orders[n];
  const std::string reader = other_reader(decided, n);
  if (!question.json) {
    fmt::print("{}: {} {}\n  stored         {}: {}\n  turned for it  {}\n", node.name, name_of(node.op),
               to_string(decided.graph.value(node.output).type), order_text(stored.order), why(stored.reason),
               turned_text(decided.graph, stored.turned));
    if (!reader.empty()) fmt::print("  and turned     for {}, which reads another order\n", reader);
  }
  std::vector<OrderTime> times;
  if (has_two_orders(node)) {
    WHET_TRY(const TargetOnCores place, choose_target(question.place));
    for (const Order order : {Order::channels_last, Order::file}) {
      WHET_TRY(const OrderTime time, time_order(decided, n, order, place));
      times.push_back(time);
    }
    if (!question.json) print_measured(times, place.target);
  }
  if (!question.json) return kDone;
  Json orders = Json::array();
  for (const OrderTime& time : times) orders.add(to_json(time));
  return print(to_json(decided, n).set("other_reader", reader).set("orders", orders));
}

}  // namespace

Result<int> explain_layout(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(Graph graph, load_graph(question.model, files));
  WHET_TRY(const Decided decided, decide(std::move(graph)));
  return question.what.empty() ? print_all(decided, question.json) : print_node(decided, question);
}

}  // namespace whet
