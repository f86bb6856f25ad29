#include <algorithm>

#include "base/nearest.h"
#include "import_onnx/site.h"

// The bodies of branches, loops and functions, which become part of the graph where their node is.

namespace whet {
namespace {

/// What node `i` of a body is called: itself behind `around`. Bodies in bodies would get names without end, of which there
/// may be many: the last letters are kept.
std::string inner_label(const std::string& around, const OnnxNode& node, std::size_t i) {
  constexpr std::size_t kMostLetters = 256;
  std::string label = around + "/" + (node.name.empty() ? node.op + "_" + std::to_string(i) : node.name);
  if (label.size() > kMostLetters) label.replace(0, label.size() - kMostLetters, "...");
  return label;
}

}  // namespace

Result<std::vector<ValueId>> OnnxSite::inlined(const OnnxSubgraph& body, const std::vector<ValueId>& inputs) {
  if (inputs.size() != body.inputs.size()) {
    return error("its body has " + std::to_string(body.inputs.size()) + " inputs; expected " +
                 std::to_string(inputs.size()));
  }
  WHET_TRY(std::vector<ValueId> outputs, import_body(body, inputs, scope_));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid()) return error("reads " + in_quotes(body.outputs[i]) + ", which nothing before it defines");
  }
  return outputs;
}

Result<std::vector<ValueId>> OnnxSite::import_body(const OnnxSubgraph& body, const std::vector<ValueId>& inputs,
                                                   const OnnxScope& scope) {
  constexpr int kMostLevels = 64;
  if (graph_.depth == kMostLevels) {
    return error("is inside " + std::to_string(kMostLevels) + " bodies; no more are supported");
  }
  WHET_RETURN_IF_ERROR(graph_.count_inlined(name_, inputs.size() + body.initializers.size() + body.outputs.size()));
  ++graph_.depth;
  std::vector<std::pair<std::string, std::optional<ValueId>>> hidden;
  const auto hide = [&](const std::string& name) {
    hidden.emplace_back(name, graph_.defined(name) ? std::optional(graph_.find(name)) : std::nullopt);
  };
  const auto define = [&](const std::string& name, ValueId id) {
    hide(name);
    graph_.define(name, id);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) define(body.inputs[i], inputs[i]);
  for (const NamedTensor& initializer : body.initializers) {
    define(initializer.name, add_constant(initializer.name, initializer.tensor));
  }
  Status status = ok_status();
  for (std::size_t i = 0; i < body.nodes.size() && status.ok(); ++i) {
    const OnnxNode& node = body.nodes[i];
    std::for_each(node.outputs.begin(), node.outputs.end(), hide);
    status = import_inner(node, inner_label(name_, node, i), scope);
  }
  std::vector<ValueId> outputs;
  for (const std::string& name : body.outputs) {
    outputs.push_back(graph_.defined(name) ? graph_.find(name) : ValueId());
  }
  for (auto name = hidden.rbegin(); name != hidden.rend(); ++name) graph_.restore(name->first, name->second);
  --graph_.depth;
  if (!status.ok()) return status.error();
  return outputs;
}

Status OnnxSite::import_inner(const OnnxNode& node, const std::string& name, const OnnxScope& scope) {
  WHET_RETURN_IF_ERROR(graph_.count_inlined(name));
  const auto undefined = [&](const std::string& read) { return !read.empty() && !graph_.defined(read); };
  for (const std::vector<std::string>* names : {&node.inputs, &node.captured}) {
    const auto read = std::find_if(names->begin(), names->end(), undefined);
    if (read == names->end()) continue;
    return Error{name + ": reads " + in_quotes(*read) + ", which nothing before it defines"};
  }
  return OnnxSite(graph_, node, name, scope, true).import();
}

Result<OnnxScope> OnnxSite::scope_of(const OnnxFunction& function) {
  for (const OnnxScope* scope = &scope_; scope != nullptr; scope = scope->caller) {
    if (scope->function == &function) return error("the function " + in_quotes(node_.op) + " calls itself");
  }
  OnnxScope scope{scope_.model, function.opset, &function, &scope_, {}};
  for (const OnnxAttribute& attribute : function.defaults) scope.attributes[attribute.name] = &attribute;
  for (const OnnxAttribute& attribute : node_.attributes) {
    const auto& own = function.attributes;
    const bool declared =
        scope.attributes.contains(attribute.name) || std::find(own.begin(), own.end(), attribute.name) != own.end();
    const OnnxAttribute* given = resolved(attribute);
    if (!declared && given != nullptr) return unknown(attribute);
    if (given != nullptr) scope.attributes[attribute.name] = given;
  }
  for (const auto& [name, attribute] : scope.attributes) {
    // The names that a graph reads would be those of the body.
    if (std::holds_alternative<std::shared_ptr<const OnnxSubgraph>>(attribute->value)) {
      return error("gives the function " + in_quotes(node_.op) + " a graph as attribute " + in_quotes(name) +
                   "; this is not supported");
    }
  }
  return scope;
}

Status OnnxSite::call(const OnnxFunction& function) {
  const OnnxSubgraph& body = function.body;
  if (inputs_.size() > body.inputs.size() || output_count() > body.outputs.size()) {
    return error("has " + std::to_string(inputs_.size()) + " inputs and " + std::to_string(output_count()) +
                 " outputs; the function " + in_quotes(node_.op) + " has " + std::to_string(body.inputs.size()) +
                 " and " + std::to_string(body.outputs.size()));
  }
  WHET_TRY(const OnnxScope scope, scope_of(function));
  std::vector<ValueId> inputs = inputs_;
  inputs.resize(body.inputs.size());  // those left out are invalid, and left out in the body too
  GrowingGraph::ValuesByName around = graph_.exchange_values({});
  const Result<std::vector<ValueId>> outputs = import_body(body, inputs, scope);
  graph_.exchange_values(std::move(around));
  if (!outputs.ok()) return outputs.error();
  for (std::size_t i = 0; i < output_count(); ++i) {
    if (!wants_output(i)) continue;
    if (!(*outputs)[i].valid())
      return error("nothing defines output " + in_quotes(body.outputs[i]) + " of " + node_.op);
    WHET_RETURN_IF_ERROR(pass((*outputs)[i], i));
  }
  return ok_status();
}

}  // namespace whet
