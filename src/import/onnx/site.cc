#include "import/onnx/site.h"

#include <algorithm>

#include "import/fold_shape.h"
#include "import/onnx/importers.h"

namespace whet {
namespace {

/// All folded constants together; beyond it nodes stay nodes.
constexpr std::int64_t kMaxFoldedBytes = std::int64_t{512} << 20;

std::string kind_of(const OnnxAttribute& attribute) {
  static constexpr const char* kKinds[] = {"an integer",         "a number",          "a text",         "a tensor",
                                           "a list of integers", "a list of numbers", "a list of texts"};
  if (attribute.value.index() == 8) return "a graph";
  if (std::holds_alternative<OnnxAttribute::Reference>(attribute.value)) return "a reference outside of a function";
  if (const auto* other = std::get_if<OnnxAttribute::Other>(&attribute.value)) return "of kind " + other->kind;
  return kKinds[attribute.value.index()];
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// "a, b or c"
std::string alternatives(const std::vector<std::string_view>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

}  // namespace

std::string OnnxGraph::unique(const std::string& name, Names& taken) {
  if (taken.insert(name).second) return name;
  int& number = taken.last[name];
  while (true) {
    std::string candidate = name + "_" + std::to_string(++number);
    if (taken.insert(candidate).second) return candidate;
  }
}

void OnnxGraph::reserve_names(const OnnxModel& model, const std::vector<std::size_t>& order) {
  for (const OnnxInput& input : model.inputs) value_names_.insert(input.name);
  for (const NamedTensor& initializer : model.initializers) value_names_.insert(initializer.name);
  for (const OnnxNode& node : model.nodes) value_names_.insert(node.outputs.begin(), node.outputs.end());
  value_names_.insert(model.outputs.begin(), model.outputs.end());
  read_names_.insert(model.outputs.begin(), model.outputs.end());
  for (std::size_t index : order) {
    read_names_.insert(model.nodes[index].inputs.begin(), model.nodes[index].inputs.end());
    read_names_.insert(model.nodes[index].captured.begin(), model.nodes[index].captured.end());
  }
}

Status OnnxGraph::check_growth(const std::string& node_name) const {
  constexpr std::size_t kMostValues = std::size_t{1} << 19;
  constexpr std::int64_t kMostMadeBytes = std::int64_t{1} << 30;
  if (graph.values.size() <= kMostValues && made_bytes_ <= kMostMadeBytes) return ok_status();
  return Error{node_name + ": the network grows beyond " + std::to_string(kMostValues) +
               " values, or beyond 1 GiB of constants that its operators make"};
}

Status OnnxGraph::count_inlined(const std::string& node_name) {
  constexpr std::int64_t kMostNodes = std::int64_t{1} << 19;
  if (++inlined_nodes_ <= kMostNodes) return ok_status();
  return Error{node_name + ": functions, branches and loops become more than " + std::to_string(kMostNodes) + " nodes"};
}

ValueId OnnxGraph::add_input(const std::string& name, TensorType type) {
  graph.inputs.push_back(graph.add_value(name, std::move(type)));
  return graph.inputs.back();
}

ValueId OnnxGraph::add_sequence(const std::string& name, DType dtype, std::vector<ValueId> values) {
  const ValueId id = graph.add_value(unique_value_name(name), TensorType{dtype, {0}});
  sequences_.emplace(id.value, std::move(values));
  return id;
}

const std::vector<ValueId>* OnnxGraph::sequence(ValueId id) const {
  const auto found = sequences_.find(id.value);
  return found == sequences_.end() ? nullptr : &found->second;
}

Result<ValueId> OnnxGraph::add(const std::string& node_name, const std::string& value_name, const Operator& op,
                               std::vector<ValueId> inputs) {
  for (ValueId id : inputs) {
    if (sequence(id) != nullptr) return Error{node_name + ": " + quoted(graph.value(id).name) + " is a sequence"};
  }
  const auto types_of = [&] {
    std::vector<TensorType> types;
    for (ValueId id : inputs) types.push_back(graph.value(id).type);
    return types;
  };
  const auto empty = [&](ValueId id) { return num_elements(graph.value(id).type.shape) == 0; };
  WHET_TRY(const TensorType type, infer_type(node_name, op, types_of()));
  // Empty tensors end here: they are constants, and nothing is concatenated with them.
  if (num_elements(type.shape) == 0) return graph.add_constant(value_name, Tensor(type.dtype, type.shape));
  if (std::holds_alternative<ConcatOperator>(op)) std::erase_if(inputs, empty);
  if (std::any_of(inputs.begin(), inputs.end(), empty)) {
    return Error{node_name + ": computes " + to_string(type) + " from an empty tensor; this is not supported"};
  }
  std::vector<const Tensor*> constants;
  for (ValueId id : inputs) {
    if (graph.value(id).constant) constants.push_back(&*graph.value(id).constant);
  }
  if (constants.size() == inputs.size() && folded_bytes_ < kMaxFoldedBytes) {
    WHET_TRY(std::optional<Tensor> folded, fold_shape(node_name, op, constants, type));
    if (folded) {
      if (!std::holds_alternative<ReshapeOperator>(op)) folded_bytes_ += folded->bytes();
      return graph.add_constant(value_name, std::move(*folded));
    }
  }
  WHET_TRY(const ValueId id, graph.add_node(unique(node_name, node_names_), op, std::move(inputs)));
  graph.value(id).name = value_name;
  return id;
}

std::vector<std::string> OnnxGraph::inputs_behind(ValueId id) const {
  std::vector<bool> behind(graph.values.size(), false);
  behind[id.index()] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!behind[node->output.index()]) continue;
    for (ValueId input : node->inputs) behind[input.index()] = true;
  }
  std::vector<std::string> names;
  for (ValueId input : graph.inputs) {
    if (behind[input.index()]) names.push_back(graph.value(input).name);
  }
  return names;
}

OnnxSite::OnnxSite(OnnxGraph& graph, const OnnxNode& node, std::string name, const OnnxScope& scope, bool inner)
    : graph_(graph),
      node_(node),
      name_(std::move(name)),
      scope_(scope),
      attribute_read_(node.attributes.size(), false),
      inner_(inner) {
  for (const std::string& input : node.inputs) inputs_.push_back(input.empty() ? ValueId() : graph.find(input));
  while (!inputs_.empty() && !inputs_.back().valid()) inputs_.pop_back();
}

Status OnnxSite::import() {
  const OnnxFunction* function = called_function(scope_.model, node_);
  WHET_RETURN_IF_ERROR(function != nullptr ? call(*function) : import_standard());
  WHET_RETURN_IF_ERROR(finish());
  return graph_.check_growth(name_);
}

Status OnnxSite::import_standard() {
  const OnnxImporter* importer = find_importer(node_.domain, node_.op, opset());
  if (importer == nullptr) {
    return error("this operator is not supported in operator set " + std::to_string(opset()) + ": " +
                 (node_.domain.empty() ? "" : node_.domain + ".") + node_.op);
  }
  if (opset() < 6) ignore({"consumed_inputs"});  // where a result may be written says nothing about its values
  if (!importer->takes_sequences) WHET_RETURN_IF_ERROR(expect_tensors());
  return importer->import(*this);
}

Status OnnxSite::expect_tensors() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (has(i) && is_sequence(inputs_[i])) {
      return error("input " + std::to_string(i) + " of " + node_.op + " is a sequence; expected a tensor");
    }
  }
  return ok_status();
}

ValueId OnnxSite::in(std::size_t i) const {
  WHET_CHECK(has(i), name_.c_str());
  return inputs_[i];
}

Status OnnxSite::expect_inputs(std::size_t low, std::size_t high) const {
  const std::string wanted = low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  if (input_count() < low || input_count() > high) {
    return error("has " + std::to_string(input_count()) + (input_count() == 1 ? " input" : " inputs") + "; " +
                 node_.op + " takes " + wanted);
  }
  for (std::size_t i = 0; i < low; ++i) {
    if (!has(i)) return error("input " + std::to_string(i) + " of " + node_.op + " is left out");
  }
  return ok_status();
}

const Tensor* OnnxSite::constant(std::size_t i) const {
  const auto& value = graph_.graph.value(in(i)).constant;
  return value ? &*value : nullptr;
}

Result<Tensor> OnnxSite::known(std::size_t i, const std::string& what) {
  if (const Tensor* tensor = constant(i)) return *tensor;
  const auto behind = graph_.inputs_behind(in(i));
  std::string names;
  for (const std::string& input : behind) {
    names += (names.empty() ? "" : ", ") + quoted(input);
    graph_.needed_values.insert(input);
  }
  if (behind.empty())
    return error("its " + what + " must be known while importing, and is computed by nodes that are not folded");
  // A picture's values would not be folded through a network.
  const auto large = [&](ValueId input) {
    const Value& value = graph_.graph.value(input);
    return is_float(value.type.dtype) && num_elements(value.type.shape) > kMaxFoldedFloats &&
           std::find(behind.begin(), behind.end(), value.name) != behind.end();
  };
  if (std::any_of(graph_.graph.inputs.begin(), graph_.graph.inputs.end(), large)) {
    return error("its " + what + " must be known while importing, and is computed from the values of input " + names);
  }
  return error("its " + what + " is computed from the values of input " + names + "; give " +
               (behind.size() == 1 ? "its value" : "their values") + " (--input " + behind.front() + "=FILE.npy)");
}

Result<std::vector<std::int64_t>> OnnxSite::known_integers(std::size_t i, const std::string& what) {
  WHET_TRY(const Tensor tensor, known(i, what));
  const bool integers = tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32;
  if (!integers || tensor.shape().size() > 1) {
    return error("its " + what + " is " + to_string(tensor.type()) + "; expected a list of i64");
  }
  if (tensor.size() > 4096) return error("its " + what + " has " + std::to_string(tensor.size()) + " entries");
  std::vector<std::int64_t> values;
  for (std::int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.integer(k));
  return values;
}

Result<double> OnnxSite::known_number(std::size_t i, const std::string& what) {
  WHET_TRY(const Tensor tensor, known(i, what));
  if (tensor.size() == 1) return tensor.get(0);
  return error("its " + what + " is " + to_string(tensor.type()) + "; expected one number");
}

Result<std::vector<ValueId>> OnnxSite::sequence(std::size_t i) const {
  if (const std::vector<ValueId>* values = graph_.sequence(in(i))) return *values;
  return error("input " + std::to_string(i) + " of " + node_.op + " is " + to_string(type(in(i))) +
               "; expected a sequence");
}

const OnnxAttribute* OnnxSite::find(std::string_view attribute) {
  for (std::size_t i = 0; i < node_.attributes.size(); ++i) {
    if (node_.attributes[i].name != attribute) continue;
    attribute_read_[i] = true;
    return resolved(node_.attributes[i]);
  }
  return nullptr;
}

const OnnxAttribute* OnnxSite::resolved(const OnnxAttribute& attribute) const {
  const auto* reference = std::get_if<OnnxAttribute::Reference>(&attribute.value);
  if (reference == nullptr || scope_.function == nullptr) return &attribute;
  const auto found = scope_.attributes.find(reference->name);
  return found == scope_.attributes.end() ? nullptr : found->second;
}

bool OnnxSite::has_attribute(std::string_view attribute) const {
  return std::any_of(node_.attributes.begin(), node_.attributes.end(),
                     [&](const OnnxAttribute& a) { return a.name == attribute && resolved(a) != nullptr; });
}

Error OnnxSite::wrong_kind(const OnnxAttribute& attribute, const char* expected) const {
  return error("attribute " + quoted(attribute.name) + " is " + kind_of(attribute) + "; expected " + expected);
}

Result<std::int64_t> OnnxSite::integer(std::string_view attribute, std::int64_t fallback) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<std::int64_t>(&found->value)) return *value;
  return wrong_kind(*found, "an integer");
}

Result<bool> OnnxSite::flag(std::string_view attribute, bool fallback) {
  WHET_TRY(const std::int64_t value, integer(attribute, fallback ? 1 : 0));
  if (value == 0 || value == 1) return value == 1;
  return error("attribute " + quoted(attribute) + " is " + std::to_string(value) + "; expected 0 or 1");
}

Result<double> OnnxSite::number(std::string_view attribute, double fallback) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<double>(&found->value)) return *value;
  return wrong_kind(*found, "a number");
}

Result<std::string> OnnxSite::text(std::string_view attribute, const std::string& fallback) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<std::string>(&found->value)) return *value;
  return wrong_kind(*found, "a text");
}

Result<std::vector<std::int64_t>> OnnxSite::integers(std::string_view attribute, std::vector<std::int64_t> fallback) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<std::vector<std::int64_t>>(&found->value)) return *value;
  return wrong_kind(*found, "a list of integers");
}

Result<std::vector<double>> OnnxSite::numbers(std::string_view attribute, std::vector<double> fallback) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<std::vector<double>>(&found->value)) return *value;
  return wrong_kind(*found, "a list of numbers");
}

Result<std::vector<std::string>> OnnxSite::texts(std::string_view attribute, std::vector<std::string> fallback) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<std::vector<std::string>>(&found->value)) return *value;
  return wrong_kind(*found, "a list of texts");
}

Result<std::optional<Tensor>> OnnxSite::tensor(std::string_view attribute) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return std::optional<Tensor>();
  if (const auto* value = std::get_if<Tensor>(&found->value)) return std::optional<Tensor>(*value);
  return wrong_kind(*found, "a tensor");
}

Result<std::size_t> OnnxSite::choice(std::string_view attribute, std::string_view fallback,
                                     const std::vector<std::string_view>& choices) {
  WHET_TRY(const std::string value, text(attribute, std::string(fallback)));
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  return error("attribute " + quoted(attribute) + " is " + quoted(value) + "; expected " + alternatives(choices));
}

Result<std::vector<std::int64_t>> OnnxSite::entries(std::string_view attribute, std::size_t count,
                                                    std::int64_t fallback, std::int64_t low) {
  WHET_TRY(std::vector<std::int64_t> values, integers(attribute, std::vector<std::int64_t>(count, fallback)));
  if (values.size() != count) {
    return error("attribute " + quoted(attribute) + " has " + std::to_string(values.size()) + " entries; expected " +
                 std::to_string(count));
  }
  for (std::int64_t value : values) {
    if (value >= low && value <= kMaxElements) continue;
    return error("attribute " + quoted(attribute) + " holds " + std::to_string(value) + "; expected " +
                 std::to_string(low) + " to " + std::to_string(kMaxElements));
  }
  return values;
}

void OnnxSite::ignore(std::initializer_list<std::string_view> attributes) {
  for (std::string_view attribute : attributes) find(attribute);
}

Status OnnxSite::expect_attribute(std::string_view attribute) const {
  if (has_attribute(attribute)) return ok_status();
  return error("attribute " + quoted(attribute) + " is missing");
}

Result<std::int64_t> OnnxSite::resolve_axis(std::int64_t axis, std::size_t limit) const {
  const auto count = static_cast<std::int64_t>(limit);
  if (count == 0) return error("axis " + std::to_string(axis) + " does not exist: a scalar has none");
  if (axis >= -count && axis < count) return axis < 0 ? axis + count : axis;
  return error("axis " + std::to_string(axis) + " does not exist; expected " + std::to_string(-count) + " to " +
               std::to_string(count - 1));
}

Result<std::vector<std::int64_t>> OnnxSite::resolve_axes(std::vector<std::int64_t> axes, std::size_t rank) const {
  for (std::int64_t& axis : axes) {
    WHET_TRY(axis, resolve_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice == axes.end()) return axes;
  return error("axis " + std::to_string(*twice) + " is named twice");
}

Result<ValueId> OnnxSite::add(const std::string& part, const Operator& op, std::vector<ValueId> inputs) {
  const std::string step = name_ + "/" + part;
  return graph_.add(step, graph_.unique_value_name(step), op, std::move(inputs));
}

ValueId OnnxSite::add_constant(const std::string& part, Tensor tensor) {
  return graph_.add_made(graph_.unique_value_name(name_ + "/" + part), std::move(tensor));
}

Result<ValueId> OnnxSite::cast(const std::string& part, ValueId x, DType dtype) {
  if (type(x).dtype == dtype) return x;
  return add(part, CastOperator{dtype}, {x});
}

ValueId OnnxSite::add_scalar(const std::string& part, DType dtype, double value) {
  return add_constant(part, Tensor::of<double>(dtype, {}, {value}));
}

Status OnnxSite::give(const Operator& op, std::vector<ValueId> inputs, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  const std::string value = inner_ ? graph_.unique_value_name(node_.outputs[i]) : node_.outputs[i];
  WHET_TRY(const ValueId id, graph_.add(name_, value, op, std::move(inputs)));
  return give(id, i);
}

Status OnnxSite::give(ValueId id, std::size_t i) {
  if (wants_output(i)) graph_.define(node_.outputs[i], id);
  return ok_status();
}

Status OnnxSite::give_constant(Tensor tensor, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  const std::string value = inner_ ? graph_.unique_value_name(node_.outputs[i]) : node_.outputs[i];
  return give(graph_.add_made(value, std::move(tensor)), i);
}

Status OnnxSite::give_sequence(DType dtype, std::vector<ValueId> values, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  return give(graph_.add_sequence(node_.outputs[i], dtype, std::move(values)), i);
}

Result<std::shared_ptr<const OnnxSubgraph>> OnnxSite::subgraph(std::string_view attribute) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return error("attribute " + quoted(attribute) + " is missing");
  if (const auto* value = std::get_if<std::shared_ptr<const OnnxSubgraph>>(&found->value)) return *value;
  return wrong_kind(*found, "a graph");
}

Status OnnxSite::finish() const {
  for (std::size_t i = 0; i < attribute_read_.size(); ++i) {
    if (!attribute_read_[i] && resolved(node_.attributes[i]) != nullptr) {
      return error("attribute " + quoted(node_.attributes[i].name) + " is not one of " + node_.op +
                   " in operator set " + std::to_string(opset()));
    }
  }
  for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
    // In a body, whoever reads the output says so.
    if (!inner_ && wants_output(i) && graph_.is_read(node_.outputs[i]) && !graph_.defined(node_.outputs[i])) {
      return error("output " + std::to_string(i) + " of " + node_.op + " is not supported");
    }
  }
  return ok_status();
}

}  // namespace whet
