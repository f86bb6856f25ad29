#include "cli/explain_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/table.h"
#include "compiler/choose.h"
#include "compiler/compile.h"
#include "compiler/opened_model.h"
#include "compiler/scratch.h"
#include "passes/layout.h"
#include "passes/optimize.h"

namespace whet {
namespace {

constexpr std::size_t kNodeWidth = 44;

/// The graph as the layout pass meets it, and what that decides.
struct Decided {
  Graph graph;
  std::vector<StoredOrder> orders;  ///< one a node
};

Result<Decided> decide(Graph graph) {
  for (const Pass& pass : graph_passes()) {
    if (pass.run == convert_to_channels_last) break;
    WHET_TRY(graph, pass.run(graph));
  }
  Decided decided{std::move(graph), {}};
  WHET_TRY(decided.orders, stored_orders(decided.graph));
  return decided;
}

bool is_prescribed(const Node& node) {
  return std::holds_alternative<ConvOperator>(node.op) || std::holds_alternative<PoolOperator>(node.op);
}

std::string text_of(const Permutation& order) {
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
      return "as its operands are stored, where they differ as most of their elements";
    case OrderReason::renamed:
      return "a transpose only renames dimensions: nothing moves";
  }
  return "";
}

std::string turned_text(const Graph& graph, const std::vector<ValueId>& turned) {
  std::string text;
  for (ValueId id : turned)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", shortened(graph.value(id).name, kNodeWidth),
                        to_string(graph.value(id).type));
  return text.empty() ? "–" : text;
}

int print_all(const Decided& decided) {
  Table table({{"Node", false}, {"Op", false}, {"Result"}, {"Stored", false}, {"Turned for it", false}});
  std::map<std::string, int> counts;
  for (std::size_t n = 0; n < decided.orders.size(); ++n) {
    const Node& node = decided.graph.nodes[n];
    const StoredOrder& stored = decided.orders[n];
    ++counts[text_of(stored.order)];
    table.add({shortened(node.name, kNodeWidth), name_of(node.op), to_string(decided.graph.value(node.output).type),
               text_of(stored.order), turned_text(decided.graph, stored.turned)});
  }
  fmt::print("{}", table.to_text());
  std::string summary;
  for (const auto& [order, count] : counts)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, order);
  fmt::print("Results of {} nodes: {}. Next: whet explain layout NODE --model MODEL\n", decided.orders.size(), summary);
  return kDone;
}

// ---- One node, measured

/// The node by itself, of the file's order; what it reads and is no constant is an input.
Graph alone(const Graph& from, const Node& node) {
  Graph graph;
  graph.name = node.name;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    const Value& value = from.value(id);
    inputs.push_back(value.constant ? graph.add_constant(value.name, *value.constant)
                                    : graph.add_value(value.name, value.type));
    if (!value.constant) graph.inputs.push_back(inputs.back());
  }
  const ValueId output = graph.add_value(from.value(node.output).name, from.value(node.output).type);
  graph.nodes.push_back({node.name, node.op, inputs, output});
  graph.outputs = {output};
  return graph;
}

/// Seconds of the node's own kernels and of those that turn its operand and its result.
struct Terms {
  double kernel = 0, operand = 0, result = 0;
};

Result<Terms> measure(const Graph& graph, bool channels_last, const Place& place) {
  constexpr int kRuns = 60;
  WHET_TRY(const FusedGraph fused, optimize(graph, {.channels_last = channels_last}));
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  const std::string library = scratch.path() + "/node.so";
  WHET_TRY(const CompileReport report, compile_model(fused, best_of(nullptr, place.target), place.target, library));
  OpenModelOptions options;
  options.threads = static_cast<std::uint32_t>(place.target.threads);
  options.cores.assign(place.cores.cpus.begin(), place.cores.cpus.end());
  WHET_TRY(OpenedModel model, OpenedModel::open(library, options));
  WHET_TRY(std::vector<Tensor> inputs, match_inputs(input_slots(fused.graph), {}, "random", 0));
  WHET_RETURN_IF_ERROR(model.set_inputs(std::move(inputs)));
  model.set_profiling(true);
  for (int run = 0; run < kRuns; ++run) WHET_RETURN_IF_ERROR(model.run());
  Terms terms;
  const whet_profile profile = model.profile();
  bool behind = false;
  for (std::uint32_t s = 0; s < profile.steps; ++s) {
    const double seconds = static_cast<double>(profile.step[s].min_ns) / 1e9;
    const bool turns = std::string_view(profile.step[s].op).starts_with("transpose ");
    behind = behind || !turns;
    (!turns ? terms.kernel : behind ? terms.result : terms.operand) += seconds;
  }
  return terms;
}

/// Who reads the node's result in another order than `order`: a node's name, "the user", or "".
std::string other_reader(const Decided& decided, const Node& node) {
  for (std::size_t n = 0; n < decided.orders.size(); ++n) {
    const std::vector<ValueId>& turned = decided.orders[n].turned;
    if (std::find(turned.begin(), turned.end(), node.output) != turned.end()) return decided.graph.nodes[n].name;
  }
  const auto& outputs = decided.graph.outputs;
  return std::find(outputs.begin(), outputs.end(), node.output) != outputs.end() ? "the user" : "";
}

/// The node that computes its first operand; none for inputs of the model.
std::optional<std::size_t> producer_of(const Decided& decided, const Node& node) {
  for (std::size_t n = 0; n < decided.orders.size(); ++n)
    if (decided.graph.nodes[n].output == node.inputs[0]) return n;
  return std::nullopt;
}

struct Row {
  std::string order;
  double kernel;
  std::string operand, result;
  double sum;
};

std::string microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

Row channels_last_row(const Decided& decided, const Node& node, const StoredOrder& stored, const Terms& terms) {
  Row row{"channels last", terms.kernel, "0 (stored so)", "0 (read so)", terms.kernel};
  const bool turned = std::find(stored.turned.begin(), stored.turned.end(), node.inputs[0]) != stored.turned.end();
  if (turned && terms.operand > 0) {
    row.operand = microseconds(terms.operand) + " (turned)";
    row.sum += terms.operand;
  } else if (turned) {
    row.operand = "0 (read where it stands)";
  }
  if (const std::string reader = other_reader(decided, node); !reader.empty()) {
    row.result = fmt::format("{} (turned for {})", microseconds(terms.result), reader);
    row.sum += terms.result;
  }
  return row;
}

Row file_row(const Decided& decided, const Node& node, const Terms& own, const Terms& turns) {
  Row row{"as in the file", own.kernel, "0 (stored so)", "0 (read so)", own.kernel};
  const std::optional<std::size_t> producer = producer_of(decided, node);
  if (producer && decided.orders[*producer].order != identity_permutation(decided.orders[*producer].order.size())) {
    row.operand = microseconds(turns.operand) + " (turned)";
    row.sum += turns.operand;
  }
  if (other_reader(decided, node).empty()) {
    row.result = microseconds(turns.result) + " (turned)";
    row.sum += turns.result;
  }
  return row;
}

Status print_measured(const Decided& decided, const Node& node, const StoredOrder& stored, const Place& place) {
  const Graph graph = alone(decided.graph, node);
  WHET_TRY(const Terms last, measure(graph, true, place));
  WHET_TRY(const Terms file, measure(graph, false, place));
  Table table(
      {{"Order", false}, {"Kernel (us)"}, {"Operand (us)", false}, {"Result (us)", false}, {"Sum (us)"}, {"", false}});
  for (const Row& row : {channels_last_row(decided, node, stored, last), file_row(decided, node, file, last)})
    table.add({row.order, microseconds(row.kernel), row.operand, row.result, microseconds(row.sum),
               row.order == text_of(stored.order) ? "chosen" : ""});
  fmt::print("By itself, by default schedules, fastest of 60 runs on {}:\n{}", to_string(place.target),
             table.to_text());
  return ok_status();
}

int print_node(const Decided& decided, const LayoutQuestion& question) {
  std::vector<std::string> names;
  for (const Node& node : decided.graph.nodes) names.push_back(node.name);
  const auto found = std::find(names.begin(), names.end(), question.node);
  if (found == names.end())
    return wrong_use(
        {fmt::format("explain layout: the model has no node \"{}\" after simplification{}; `whet explain "
                     "layout --model {}` lists them",
                     question.node, did_you_mean(question.node, names), question.model.model)});
  const auto n = static_cast<std::size_t>(found - names.begin());
  const Node& node = decided.graph.nodes[n];
  const StoredOrder& stored = decided.orders[n];
  fmt::print("{}: {} {}\n  stored         {}: {}\n  turned for it  {}\n", node.name, name_of(node.op),
             to_string(decided.graph.value(node.output).type), text_of(stored.order), why(stored.reason),
             turned_text(decided.graph, stored.turned));
  if (const std::string reader = other_reader(decided, node); !reader.empty())
    fmt::print("  and turned     for {}, which reads another order\n", reader);
  if (!is_prescribed(node)) return kDone;
  const Result<Place> place = choose_place(question.place);
  if (!place.ok()) return fail(place.error());
  const Status printed = print_measured(decided, node, stored, *place);
  return printed.ok() ? kDone : fail(printed.error());
}

}  // namespace

int explain_layout(const LayoutQuestion& question) {
  if (question.model.model.empty()) return wrong_use({"explain layout: which model? say --model MODEL"});
  const Result<InputFiles> files = read_inputs(question.model.inputs);
  if (!files.ok()) return fail(files.error());
  Result<Graph> graph = load_graph(question.model, *files);
  if (!graph.ok()) return fail(graph.error());
  const Result<Decided> decided = decide(std::move(*graph));
  if (!decided.ok()) return fail(decided.error());
  return question.node.empty() ? print_all(*decided) : print_node(*decided, question);
}

}  // namespace whet
