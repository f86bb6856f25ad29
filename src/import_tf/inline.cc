#include "import_tf/inline.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/nearest.h"

namespace whet::tensorflow {
namespace {

constexpr std::size_t kMostNodes = std::size_t{1} << 19;
constexpr std::size_t kMostVisited = std::size_t{1} << 25;
constexpr int kMostDepth = 64;

bool is_call(const TfNode& node) { return node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall"; }
/// Writes a variable, which is its first input.
bool is_write(const TfNode& node) {
  return (node.op.starts_with("Assign") || node.op.starts_with("ResourceApply") ||
          node.op.starts_with("ResourceScatter") || node.op == "Assign") &&
         !node.inputs.empty();
}
/// Loops of TensorFlow 1; its branches (Switch and Merge) are read.
bool is_old_loop(const std::string& op) {
  constexpr const char* kOps[] = {
      "Enter", "Exit", "NextIteration", "LoopCond", "RefEnter", "RefExit", "RefNextIteration", "RefSwitch", "RefMerge"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 6 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "node", "node:1", "node:output:0".
struct Reference {
  std::string node, result;
  std::size_t index = 0;
};
Reference reference_of(const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) return {text, "", 0};
  const std::size_t second = text.find(':', first + 1);
  Reference reference{text.substr(0, first), text.substr(first + 1, second - first - 1), 0};
  const std::string last = second == std::string::npos ? reference.result : text.substr(second + 1);
  if (is_number(last)) reference.index = static_cast<std::size_t>(std::stoi(last));
  if (second == std::string::npos && is_number(reference.result)) reference.result.clear();
  return reference;
}

/// The nodes of a graph or of a function, and what their names become.
struct Scope {
  const std::vector<TfNode>& nodes;
  std::unordered_map<std::string, std::size_t> places = {};
  std::map<std::string, std::string> arguments = {};  ///< values outside
  std::unordered_map<std::string, std::string> names = {};
  std::string around;  ///< the call; empty: the main graph
  /// Of each node, where there are branches of TensorFlow 1: the results of Switches that its control edges lead to.
  std::vector<std::vector<std::string>> deciding = {};
};

/// The node that a reference names; none: an argument, or nothing.
std::optional<std::size_t> place_of(const Scope& scope, const std::string& node) {
  const auto found = scope.places.find(node);
  return found == scope.places.end() ? std::nullopt : std::optional(found->second);
}
bool ends_branches(const std::string& op) { return op == "Merge" || is_old_loop(op); }

/// Which nodes are inside of branches of TensorFlow 1: computed from results of Switches, and from no Merge behind those. Empty:
/// there are no Switches.
std::vector<bool> nodes_of_branches(const Scope& scope) {
  const std::size_t count = scope.nodes.size();
  if (std::none_of(scope.nodes.begin(), scope.nodes.end(), [](const TfNode& node) { return node.op == "Switch"; }))
    return {};
  std::vector<std::vector<std::size_t>> readers(count);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < count; ++i) {
    const auto read = [&](const std::string& name, bool is_value) {
      const auto place = place_of(scope, name);
      if (!place) return;
      readers[*place].push_back(i);
      if (is_value && scope.nodes[*place].op == "Switch") open.push_back(i);
    };
    for (const std::string& input : scope.nodes[i].inputs) read(reference_of(input).node, true);
    for (const std::string& before : scope.nodes[i].controls) read(before, false);
  }
  std::vector<bool> inside(count, false);
  while (!open.empty()) {
    const std::size_t i = open.back();
    open.pop_back();
    if (inside[i] || ends_branches(scope.nodes[i].op)) continue;
    inside[i] = true;
    open.insert(open.end(), readers[i].begin(), readers[i].end());
  }
  return inside;
}

class Inliner {
 public:
  Inliner(const TfGraph& graph, const std::string& what) : graph_(graph), what_(what) {}

  /// Gives the values that the references `roots` are.
  Result<std::vector<std::string>> add(Scope scope, const std::vector<std::string>& roots,
                                       const std::map<std::string, std::string>& renamed, int depth) {
    if (depth > kMostDepth)
      return Error{what_ + ": has functions within " + std::to_string(kMostDepth) +
                   " functions; no more are supported"};
    visited_ += scope.nodes.size();
    if (visited_ > kMostVisited)
      return Error{what_ + ": calls functions of more than " + std::to_string(kMostVisited) + " nodes together"};
    for (std::size_t i = 0; i < scope.nodes.size(); ++i) scope.places.emplace(scope.nodes[i].name, i);
    WHET_RETURN_IF_ERROR(find_deciding(scope));
    WHET_TRY(const std::vector<bool> needed, reached(scope, roots, false));
    for (std::size_t i = 0; i < scope.nodes.size(); ++i)
      if (needed[i]) name(scope, scope.nodes[i].name, renamed);
    for (std::size_t i = 0; i < scope.nodes.size(); ++i)
      if (needed[i]) WHET_RETURN_IF_ERROR(add_node(scope, i, depth));
    WHET_RETURN_IF_ERROR(find_writes(scope, roots, needed));
    std::vector<std::string> values;
    for (const std::string& root : roots) {
      WHET_TRY(std::string value, resolved(scope, root, what_));
      values.push_back(std::move(value));
    }
    return values;
  }

  /// The nodes that the outputs need, in an order in which they can be computed.
  Result<TfProgram> program(std::vector<std::string> inputs, std::vector<std::string> outputs) {
    TfProgram program{std::move(inputs), {}, std::move(outputs), std::move(written_)};
    WHET_TRY(const std::vector<std::size_t> order, ordered(program));
    for (const std::size_t i : order) {
      TfNode& node = nodes_[i];
      if (is_old_loop(node.op))
        return Error{node.name + " (" + node.op + "): is part of a loop of TensorFlow 1; in Python: " +
                     "convert_variables_to_constants_v2(function, lower_control_flow=False) writes While and If, which "
                     "are supported"};
      program.nodes.push_back(std::move(node));
    }
    return program;
  }

  void take(const std::string& name) { taken_.insert(name); }

 private:
  void name(Scope& scope, const std::string& own, const std::map<std::string, std::string>& renamed) {
    const auto wanted = renamed.find(own);
    std::string name = wanted == renamed.end() ? own : wanted->second;
    if (!taken_.insert(name).second) {
      if (!scope.around.empty()) name = scope.around + "/" + own;
      for (int& number = numbers_[own]; !taken_.insert(name).second;) name = own + "_" + std::to_string(++number);
    }
    scope.names[own] = name;
  }

  Result<std::string> resolved(const Scope& scope, const std::string& text, const std::string& reader) const {
    const Reference reference = reference_of(text);
    if (const auto argument = scope.arguments.find(reference.node); argument != scope.arguments.end())
      return argument->second;
    const auto place = scope.places.find(reference.node);
    if (place == scope.places.end())
      return Error{reader + ": reads " + in_quotes(text) + ", which the graph does not have"};
    const TfNode& node = scope.nodes[place->second];
    const std::size_t result =
        reference.result.empty() ? reference.index : result_place(node, reference.result, reference.index);
    const auto found = scope.names.find(reference.node);
    return value_name(found == scope.names.end() ? reference.node : found->second, result);
  }

  /// Constants of a branch read nothing of it: they hang on it by control edges.
  Status find_deciding(Scope& scope) {
    const std::vector<bool> inside = nodes_of_branches(scope);
    scope.deciding.resize(inside.size());
    for (std::size_t i = 0; i < inside.size(); ++i) {
      std::vector<std::string> open = scope.nodes[i].controls;
      std::set<std::size_t> seen;
      std::set<std::string> found;
      while (!open.empty()) {
        const auto place = place_of(scope, open.back());
        open.pop_back();
        if (!place || !inside[*place] || !seen.insert(*place).second) continue;
        if (++visited_ > kMostVisited)
          return Error{what_ + ": its control edges lead through more than " + std::to_string(kMostVisited) + " nodes"};
        const TfNode& before = scope.nodes[*place];
        open.insert(open.end(), before.controls.begin(), before.controls.end());
        for (const std::string& input : before.inputs) {
          const std::string source = reference_of(input).node;
          const auto at = place_of(scope, source);
          if (at && scope.nodes[*at].op == "Switch") {
            found.insert(input);
          } else {
            open.push_back(source);
          }
        }
      }
      scope.deciding[i].assign(found.begin(), found.end());
    }
    return ok_status();
  }

  /// Marks what the roots read, one after the other; `controls`: also what must have run before.
  Result<std::vector<bool>> reached(const Scope& scope, const std::vector<std::string>& roots, bool controls) const {
    std::vector<bool> needed(scope.nodes.size(), false);
    std::vector<std::size_t> open;
    const auto reach = [&](const std::string& text, const std::string& reader) -> Status {
      const std::string node = reference_of(text).node;
      if (scope.arguments.contains(node)) return ok_status();
      const auto place = scope.places.find(node);
      if (place == scope.places.end())
        return Error{reader + ": reads " + in_quotes(text) + ", which the graph does not have"};
      if (!needed[place->second]) open.push_back(place->second);
      needed[place->second] = true;
      return ok_status();
    };
    for (const std::string& root : roots) WHET_RETURN_IF_ERROR(reach(root, what_));
    while (!open.empty()) {
      const std::size_t i = open.back();
      const TfNode& node = scope.nodes[i];
      open.pop_back();
      for (const std::string& input : node.inputs) WHET_RETURN_IF_ERROR(reach(input, node.name));
      for (const std::string& result : deciding(scope, i)) WHET_RETURN_IF_ERROR(reach(result, node.name));
      if (!controls) continue;
      for (const std::string& before : node.controls)
        if (scope.places.contains(before)) WHET_RETURN_IF_ERROR(reach(before, node.name));
    }
    return needed;
  }

  static std::vector<std::string> deciding(const Scope& scope, std::size_t i) {
    return scope.deciding.empty() ? std::vector<std::string>() : scope.deciding[i];
  }

  Status add_node(const Scope& scope, std::size_t i, int depth) {
    const TfNode& node = scope.nodes[i];
    if (nodes_.size() >= kMostNodes)
      return Error{what_ + ": its functions become more than " + std::to_string(kMostNodes) + " nodes"};
    TfNode own{scope.names.at(node.name), node.op, {}, {}, {}};
    for (const std::string& input : node.inputs) {
      WHET_TRY(std::string value, resolved(scope, input, node.name));
      own.inputs.push_back(std::move(value));
    }
    for (const std::string& result : deciding(scope, i)) {
      WHET_TRY(std::string value, resolved(scope, result, node.name));
      own.controls.push_back(std::move(value));
    }
    if (is_call(node)) return add_call(own, node, depth);
    own.attributes = node.attributes;
    nodes_.push_back(std::move(own));
    return ok_status();
  }

  /// The results of a call are second names of what the function gives.
  Status add_call(const TfNode& call, const TfNode& node, int depth) {
    const TfAttribute* attribute = node.find("f");
    const auto* name = attribute == nullptr ? nullptr : std::get_if<TfFunctionName>(attribute);
    const auto found = name == nullptr ? graph_.functions.end() : graph_.functions.find(name->name);
    if (found == graph_.functions.end())
      return Error{node.name + ": calls " + (name == nullptr ? "nothing" : in_quotes(name->name)) +
                   ", which the file does not have"};
    const TfFunction& function = found->second;
    if (function.arguments.size() != call.inputs.size())
      return Error{node.name + ": gives " + std::to_string(call.inputs.size()) + " arguments to " +
                   in_quotes(function.name) + ", which has " + std::to_string(function.arguments.size())};
    Scope inner{function.nodes, {}, {}, {}, call.name};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) inner.arguments[function.arguments[i]] = call.inputs[i];
    WHET_TRY(const std::vector<std::string> values, add(std::move(inner), function.results, {}, depth + 1));
    for (std::size_t i = 0; i < values.size(); ++i)
      nodes_.push_back({value_name(call.name, i), "Identity", {values[i]}, call.controls, {}});
    return ok_status();
  }

  /// A function runs all that it has; the main graph what its outputs ask for.
  Status find_writes(const Scope& scope, const std::vector<std::string>& roots, const std::vector<bool>& needed) {
    const bool is_function = !scope.around.empty();
    std::vector<bool> run = needed;
    if (!is_function) {
      WHET_TRY(run, reached(scope, roots, true));
    }
    for (std::size_t i = 0; i < scope.nodes.size(); ++i) {
      const TfNode& node = scope.nodes[i];
      if (!is_write(node) || (!is_function && !run[i])) continue;
      if (auto value = resolved(scope, node.inputs[0], node.name); value.ok()) written_.insert(*value);
    }
    return ok_status();
  }

  std::optional<std::size_t> maker(const std::unordered_map<std::string, std::size_t>& places,
                                   const std::string& value) const {
    auto found = places.find(value);
    if (found == places.end()) found = places.find(node_of(value));
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }

  /// The nodes that the outputs need, behind those that they read.
  Result<std::vector<std::size_t>> reached_from(const TfProgram& program) const {
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < nodes_.size(); ++i) places.emplace(nodes_[i].name, i);
    enum class State : std::uint8_t { unseen, open, done };
    std::vector<State> states(nodes_.size(), State::unseen);
    std::vector<std::size_t> order;
    std::vector<std::pair<std::size_t, std::size_t>> path;  // a node, and how many of its inputs are done
    const auto enter = [&](const std::string& value) -> Status {
      const auto place = maker(places, value);
      if (!place || states[*place] == State::done) return ok_status();
      const auto in_old_loop = [&](const auto& step) { return is_old_loop(nodes_[step.first].op); };
      if (states[*place] == State::open && std::none_of(path.begin(), path.end(), in_old_loop))
        return Error{nodes_[*place].name + " (" + nodes_[*place].op + "): reads what is computed from its own result"};
      if (states[*place] == State::open) return ok_status();
      states[*place] = State::open;
      path.emplace_back(*place, 0);
      return ok_status();
    };
    for (const std::string& output : program.outputs) {
      WHET_RETURN_IF_ERROR(enter(output));
      while (!path.empty()) {
        auto& [place, next] = path.back();
        const std::vector<std::string>&inputs = nodes_[place].inputs, &controls = nodes_[place].controls;
        if (next < inputs.size() + controls.size()) {
          const std::size_t i = next++;
          WHET_RETURN_IF_ERROR(enter(i < inputs.size() ? inputs[i] : controls[i - inputs.size()]));
          continue;
        }
        states[place] = State::done;
        order.push_back(place);
        path.pop_back();
      }
    }
    return order;
  }

  /// The same in the file's order wherever that allows it: what is fused depends on the order.
  Result<std::vector<std::size_t>> ordered(const TfProgram& program) const {
    WHET_TRY(const std::vector<std::size_t> live, reached_from(program));
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < nodes_.size(); ++i) places.emplace(nodes_[i].name, i);
    std::vector<std::size_t> waits(nodes_.size(), 0);
    std::vector<std::vector<std::size_t>> readers(nodes_.size());
    for (const std::size_t i : live)
      for (const auto* list : {&nodes_[i].inputs, &nodes_[i].controls})
        for (const std::string& input : *list)
          if (const auto place = maker(places, input)) {
            readers[*place].push_back(i);
            ++waits[i];
          }
    std::set<std::size_t> ready;
    for (const std::size_t i : live)
      if (waits[i] == 0) ready.insert(i);
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      order.push_back(*ready.begin());
      ready.erase(ready.begin());
      for (const std::size_t reader : readers[order.back()])
        if (--waits[reader] == 0) ready.insert(reader);
    }
    return order.size() == live.size() ? order : live;  // cycles of old control flow are refused by their names
  }

  const TfGraph& graph_;
  const std::string& what_;
  std::vector<TfNode> nodes_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;  ///< the last one behind a name: none below is free
  std::set<std::string> written_;
  std::size_t visited_ = 0;
};

}  // namespace

std::string node_of(const std::string& value) {
  const std::size_t colon = value.rfind(':');
  return colon != std::string::npos && is_number(value.substr(colon + 1)) ? value.substr(0, colon) : value;
}

Result<TfProgram> inlined_graph(const TfGraph& graph, const std::vector<std::string>& roots,
                                const std::map<std::string, std::string>& renamed, const std::string& what) {
  Inliner inliner(graph, what);
  WHET_TRY(std::vector<std::string> outputs, inliner.add(Scope{graph.nodes, {}, {}, {}, ""}, roots, renamed, 0));
  return inliner.program({}, std::move(outputs));
}

Result<TfProgram> inlined_function(const TfGraph& graph, const std::string& name, const std::string& what) {
  const auto found = graph.functions.find(name);
  if (found == graph.functions.end())
    return Error{what + ": calls " + in_quotes(name) + ", which the file does not have"};
  const TfFunction& function = found->second;
  Inliner inliner(graph, what);
  Scope scope{function.nodes, {}, {}, {}, name};
  for (const std::string& argument : function.arguments) {
    scope.arguments[argument] = argument;
    inliner.take(argument);
  }
  WHET_TRY(std::vector<std::string> outputs, inliner.add(std::move(scope), function.results, {}, 0));
  return inliner.program(function.arguments, std::move(outputs));
}

}  // namespace whet::tensorflow
