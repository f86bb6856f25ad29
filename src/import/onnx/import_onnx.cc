#include "import/onnx/import_onnx.h"

#include <set>
#include <unordered_set>

#include "import/onnx/bind.h"
#include "import/onnx/importers.h"
#include "import/onnx/order.h"
#include "import/onnx/site.h"
#include "import/onnx/until.h"

namespace whet {
namespace {

/// Everything about a model that stays the same when import begins again with more inputs folded.
struct Model {
  OnnxModel onnx;
  std::vector<std::size_t> order;
  std::vector<TensorType> input_types;
};

bool is_known(const OnnxModel& model, const OnnxNode& node, std::int64_t opset) {
  return called_function(model, node) != nullptr || find_importer(node.domain, node.op, opset) != nullptr;
}

/// How to read what comes before the nodes that cannot be read; "" where that is nothing.
std::string until_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  if (names.empty()) return "";
  if (names.size() > kMost) return "; --until NAME, which may be repeated, ends the model at values before it";
  std::string text = "; what comes before can be read:";
  for (const std::string& name : names) text += " --until " + name;
  return text;
}

/// Operators without an importer, in the model and in the functions that it calls, each once, all in one sentence.
Status check_operators(const Model& model) {
  std::set<std::string> missing;
  std::set<const OnnxFunction*> called;
  std::vector<const OnnxFunction*> pending;
  const auto look_at = [&](const OnnxNode& node, std::int64_t opset) {
    const OnnxFunction* function = called_function(model.onnx, node);
    if (function != nullptr && called.insert(function).second) pending.push_back(function);
    if (is_known(model.onnx, node, opset)) return true;
    missing.insert(node.domain.empty() ? node.op : node.domain + "." + node.op);
    return false;
  };
  std::vector<bool> unreadable(model.onnx.nodes.size(), false);
  for (std::size_t index : model.order) unreadable[index] = !look_at(model.onnx.nodes[index], model.onnx.opset);
  bool functions_readable = true;
  while (!pending.empty()) {
    const OnnxFunction& function = *pending.back();
    pending.pop_back();
    for (const OnnxNode& node : function.body.nodes) functions_readable &= look_at(node, function.opset);
  }
  if (missing.empty()) return ok_status();
  // Which calls lead to it is not followed up.
  for (std::size_t index : model.order)
    if (!functions_readable && called_function(model.onnx, model.onnx.nodes[index])) unreadable[index] = true;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  return Error{(missing.size() == 1 ? "this operator is" : "these operators are") +
               std::string(" not supported in operator set ") + std::to_string(model.onnx.opset) + ": " + names +
               until_text(last_readable(model.onnx, model.order, unreadable))};
}

/// Operators without an importer in the bodies of branches and loops: whether those are needed shows later.
void find_missing(const OnnxModel& model, const std::vector<OnnxNode>& nodes, bool inner,
                  std::set<std::string>& missing) {
  for (const OnnxNode& node : nodes) {
    if (inner && !is_known(model, node, model.opset)) missing.insert(node.op);
    for (const OnnxAttribute& attribute : node.attributes) {
      const auto* body = std::get_if<std::shared_ptr<const OnnxSubgraph>>(&attribute.value);
      if (body != nullptr) find_missing(model, (*body)->nodes, true, missing);
    }
  }
}

/// The error, what in bodies would have failed too, and what can be read.
Error explained(const Model& model, Error error, const std::vector<std::string>& readable) {
  std::set<std::string> missing;
  find_missing(model.onnx, model.onnx.nodes, false, missing);
  std::string names;
  for (const std::string& name : missing) {
    if (error.message.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) error.message += " (its branches and loops also use " + names + ", not supported)";
  error.message += until_text(readable);
  return error;
}

/// The file's outputs. A value gets the name of the output; an input, or a second name for one value, is passed through
/// a reshape that changes nothing.
Status give_outputs(const Model& model, OnnxGraph& out) {
  std::unordered_set<std::int32_t> named;
  for (ValueId input : out.graph.inputs) named.insert(input.value);
  for (const std::string& name : model.onnx.outputs) {
    ValueId id = out.find(name);
    if (out.sequence(id) != nullptr) return Error{"output \"" + name + "\" is a sequence; only tensors can be given"};
    const Value& value = out.graph.value(id);
    if (value.name != name) {
      if (named.insert(id.value).second) {
        out.graph.value(id).name = name;
      } else {
        const Shape shape = value.type.shape;
        WHET_TRY(id, out.graph.add_node("output/" + name, ReshapeOperator{shape}, {id}));
        out.graph.value(id).name = name;
      }
    }
    named.insert(id.value);
    out.graph.outputs.push_back(id);
  }
  return ok_status();
}

/// Drops constants that no node reads (their shape arithmetic is folded), keeping the others' order.
void drop_unread_values(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    used[node.output.index()] = true;
    for (ValueId id : node.inputs) used[id.index()] = true;
  }
  for (ValueId id : graph.inputs) used[id.index()] = true;
  for (ValueId id : graph.outputs) used[id.index()] = true;
  std::vector<ValueId> renumbered(graph.values.size());
  std::vector<Value> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = ValueId(static_cast<std::int64_t>(kept.size()));
    kept.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(kept);
  const auto renumber = [&](ValueId& id) { id = renumbered[id.index()]; };
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) renumber(id);
    renumber(node.output);
  }
  for (ValueId& id : graph.inputs) renumber(id);
  for (ValueId& id : graph.outputs) renumber(id);
}

/// Drops nodes whose results nobody reads: folding made them superfluous.
void drop_dead_nodes(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId id : graph.outputs) needed[id.index()] = true;
  std::vector<bool> live(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    live[i] = needed[graph.nodes[i].output.index()];
    if (!live[i]) continue;
    for (ValueId id : graph.nodes[i].inputs) needed[id.index()] = true;
  }
  std::vector<Node> kept;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
}

/// What an import found out besides the graph.
struct Findings {
  std::set<std::string> needed;       ///< inputs whose values a shape asked for
  std::vector<std::string> readable;  ///< where the model could end before what cannot be read
};

/// Imports with the values of `folded` inputs as constants. The error is that of the first node that cannot be read; the
/// others are looked at all the same, but for those behind it.
Result<Graph> build(const Model& model, const ImportOptions& options, const std::set<std::string>& folded,
                    Findings& findings) {
  OnnxGraph out;
  out.graph.name = model.onnx.graph_name;
  out.reserve_names(model.onnx, model.order);
  for (std::size_t i = 0; i < model.onnx.inputs.size(); ++i) {
    const std::string& name = model.onnx.inputs[i].name;
    const TensorType& type = model.input_types[i];
    if (folded.contains(name)) {
      out.define(name, out.graph.add_constant(name, options.values.at(name)));
      continue;
    }
    ValueId id = out.add_input(name, type);
    // The value of an empty input is known, though it stays an input.
    if (num_elements(type.shape) == 0) {
      id = out.graph.add_constant(out.unique_value_name(name), Tensor(type.dtype, type.shape));
    }
    out.define(name, id);
  }
  for (const NamedTensor& initializer : model.onnx.initializers) {
    out.define(initializer.name, out.graph.add_constant(initializer.name, initializer.tensor));
  }
  const OnnxScope scope{model.onnx, model.onnx.opset, nullptr, nullptr, {}};
  Status first = ok_status();
  std::set<std::string> behind;
  std::vector<bool> unreadable(model.onnx.nodes.size(), false);
  for (std::size_t index : model.order) {
    const OnnxNode& node = model.onnx.nodes[index];
    Status status = ok_status();
    const bool is_behind = !behind.empty() && reads_any(node, behind);
    if (!is_behind) status = OnnxSite(out, node, node_label(model.onnx, index), scope).import();
    if (first.ok()) findings.needed = out.needed_values;
    if (first.ok()) first = status;
    // What is looked at only for the sentence may not grow without end either.
    if (!first.ok() && !out.check_growth(node.name).ok()) return first.error();
    unreadable[index] = !status.ok();
    if (!is_behind && status.ok()) continue;
    behind.insert(node.outputs.begin(), node.outputs.end());
    behind.erase("");
  }
  if (!first.ok()) {
    findings.readable = last_readable(model.onnx, model.order, unreadable);
    std::erase_if(findings.readable, [&](const std::string& name) {
      return !out.defined(name) || out.sequence(out.find(name)) != nullptr;
    });
    return first.error();
  }
  WHET_RETURN_IF_ERROR(give_outputs(model, out));
  drop_dead_nodes(out.graph);
  drop_unread_values(out.graph);
  WHET_RETURN_IF_ERROR(verify(out.graph));
  return std::move(out.graph);
}

}  // namespace

Result<Graph> import_onnx(OnnxModel onnx, const ImportOptions& options) {
  Model model{std::move(onnx), {}, {}};
  if (!options.until.empty()) WHET_RETURN_IF_ERROR(end_at(model.onnx, options.until));
  WHET_TRY(model.order, live_order(model.onnx));
  if (!options.until.empty()) drop_unread_inputs(model.onnx, model.order);
  WHET_RETURN_IF_ERROR(check_operators(model));
  WHET_TRY(model.input_types, bind_inputs(model.onnx, options));
  std::set<std::string> folded;
  while (true) {
    Findings findings;
    Result<Graph> graph = build(model, options, folded, findings);
    if (graph.ok()) return graph;
    // A shape asked for the value of an input: fold those whose value is known, and begin again.
    const std::size_t before = folded.size();
    for (const std::string& name : findings.needed) {
      if (options.values.contains(name)) folded.insert(name);
    }
    if (folded.size() == before) return explained(model, graph.error(), findings.readable);
  }
}

}  // namespace whet
