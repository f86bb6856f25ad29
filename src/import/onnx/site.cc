#include "import/onnx/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/onnx/held_types.h"
#include "import/onnx/importers.h"

namespace whet {
namespace {

std::string kind_of(const OnnxAttribute& attribute) {
  static constexpr const char* kKinds[] = {"an integer",         "a number",          "a text",         "a tensor",
                                           "a list of integers", "a list of numbers", "a list of texts"};
  if (attribute.value.index() == 8) return "a graph";
  if (std::holds_alternative<OnnxAttribute::Reference>(attribute.value)) return "a reference outside of a function";
  if (const auto* other = std::get_if<OnnxAttribute::Other>(&attribute.value)) return "of kind " + other->kind;
  return kKinds[attribute.value.index()];
}

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

OnnxSite::OnnxSite(GrowingGraph& graph, const OnnxNode& node, std::string name, const OnnxScope& scope, bool is_inner)
    : NodeSite(graph, std::move(name), node.outputs, is_inner),
      node_(node),
      scope_(scope),
      attribute_read_(node.attributes.size(), false) {
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
  const bool is_standard = node_.domain.empty();
  const std::int64_t type = is_standard ? held_result(graph_, node_.op, inputs_) : 0;
  if (wraps(type) && may_overflow(node_.op) && wants_output(0)) return import_held(*importer, type);
  WHET_RETURN_IF_ERROR(importer->import(*this));
  mark_held_result(type);
  return ok_status();
}

Status OnnxSite::import_held(const OnnxImporter& importer, std::int64_t type) {
  const std::string own = std::exchange(outputs_[0], graph_.unique_value_name(outputs_[0] + "_wide"));
  const Status status = importer.import(*this);
  const std::string wide = std::exchange(outputs_[0], own);
  WHET_RETURN_IF_ERROR(status);
  WHET_RETURN_IF_ERROR(give(wrapped(*this, graph_.find(wide), type)));
  mark_held_result(type);
  return ok_status();
}

void OnnxSite::mark_held_result(std::int64_t type) {
  // Several results of one type are those of Split.
  for (std::size_t i = 0; type != 0 && i < (node_.op == "Split" ? output_count() : 1); ++i)
    if (wants_output(i) && graph_.defined(outputs_[i]) && dtype(given(i)) == dtype_of_onnx(type))
      graph_.held_types[given(i).value] = type;
}

Status OnnxSite::expect_tensors() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (has(i) && is_sequence(inputs_[i])) {
      return error("input " + std::to_string(i) + " of " + node_.op + " is " + kind_of_list(i) + "; expected a tensor");
    }
  }
  return ok_status();
}

std::string OnnxSite::kind_of_list(std::size_t i) const {
  return graph_.is_absent(in(i)) ? "an optional value that is not there" : "a sequence";
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

Result<std::int64_t> OnnxSite::known_integer(std::size_t i, const std::string& what) {
  WHET_TRY(const std::vector<std::int64_t> values, known_integers(i, what));
  if (values.size() == 1) return values[0];
  return error("its " + what + " is a list of " + std::to_string(values.size()));
}

Result<std::vector<ValueId>> OnnxSite::sequence(std::size_t i) const {
  const std::vector<ValueId>* values = graph_.sequence(in(i));
  if (values != nullptr && !graph_.is_absent(in(i))) return *values;
  return error("input " + std::to_string(i) + " of " + node_.op + " is " +
               (values == nullptr ? to_string(type(in(i))) : kind_of_list(i)) + "; expected a sequence");
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
  return error("attribute " + in_quotes(attribute.name) + " is " + kind_of(attribute) + "; expected " + expected);
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
  return error("attribute " + in_quotes(attribute) + " is " + std::to_string(value) + "; expected 0 or 1");
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
  return error("attribute " + in_quotes(attribute) + " is " + in_quotes(value) + "; expected " + alternatives(choices));
}

Result<std::vector<std::int64_t>> OnnxSite::entries(std::string_view attribute, std::size_t count,
                                                    std::int64_t fallback, std::int64_t low) {
  WHET_TRY(std::vector<std::int64_t> values, integers(attribute, std::vector<std::int64_t>(count, fallback)));
  if (values.size() != count) {
    return error("attribute " + in_quotes(attribute) + " has " + std::to_string(values.size()) + " entries; expected " +
                 std::to_string(count));
  }
  for (std::int64_t value : values) {
    if (value >= low && value <= kMaxElements) continue;
    return error("attribute " + in_quotes(attribute) + " holds " + std::to_string(value) + "; expected " +
                 std::to_string(low) + " to " + std::to_string(kMaxElements));
  }
  return values;
}

void OnnxSite::ignore(std::initializer_list<std::string_view> attributes) {
  for (std::string_view attribute : attributes) find(attribute);
}

Status OnnxSite::expect_attribute(std::string_view attribute) const {
  if (has_attribute(attribute)) return ok_status();
  return error("attribute " + in_quotes(attribute) + " is missing");
}

Result<std::shared_ptr<const OnnxSubgraph>> OnnxSite::subgraph(std::string_view attribute) {
  const OnnxAttribute* found = find(attribute);
  if (found == nullptr) return error("attribute " + in_quotes(attribute) + " is missing");
  if (const auto* value = std::get_if<std::shared_ptr<const OnnxSubgraph>>(&found->value)) return *value;
  return wrong_kind(*found, "a graph");
}

Status OnnxSite::finish() const {
  for (std::size_t i = 0; i < attribute_read_.size(); ++i) {
    if (!attribute_read_[i] && resolved(node_.attributes[i]) != nullptr) {
      return error("attribute " + in_quotes(node_.attributes[i].name) + " is not one of " + node_.op +
                   " in operator set " + std::to_string(opset()));
    }
  }
  for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
    // In a body, whoever reads the output says so.
    if (!is_inner_ && wants_output(i) && graph_.is_read(node_.outputs[i]) && !graph_.defined(node_.outputs[i])) {
      return error("output " + std::to_string(i) + " of " + node_.op + " is not supported");
    }
  }
  return ok_status();
}

}  // namespace whet
