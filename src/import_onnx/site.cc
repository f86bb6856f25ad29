#include "import_onnx/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import_onnx/held_types.h"
#include "import_onnx/rows.h"

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

std::vector<ValueId> found(const GrowingGraph& graph, const std::vector<std::string>& names) {
  std::vector<ValueId> values;
  for (const std::string& name : names) values.push_back(name.empty() ? ValueId() : graph.find(name));
  return values;
}

}  // namespace

OnnxSite::OnnxSite(GrowingGraph& graph, const OnnxNode& node, std::string name, const OnnxScope& scope, bool is_inner)
    : CallSite(graph, std::move(name), node.op, found(graph, node.inputs), node.outputs, is_inner),
      node_(node),
      scope_(scope) {}

Status OnnxSite::import() {
  const OperatorDefinition* own = graph_.definition_of(full_name(node_));
  const OnnxFunction* function = called_function(scope_.model, node_);
  WHET_RETURN_IF_ERROR(own != nullptr        ? give_defined(*this, *own, full_name(node_), inputs_, attribute_numbers())
                       : function != nullptr ? call(*function)
                                             : import_standard());
  WHET_RETURN_IF_ERROR(finish());
  return graph_.check_growth(name_);
}

AttributeNumbers OnnxSite::attribute_numbers() const {
  AttributeNumbers numbers;
  for (const OnnxAttribute& attribute : node_.attributes) {
    const OnnxAttribute* given = resolved(attribute);
    if (given == nullptr) continue;
    if (const auto* one = std::get_if<std::int64_t>(&given->value)) numbers[attribute.name] = {number_text(*one)};
    if (const auto* one = std::get_if<double>(&given->value)) numbers[attribute.name] = {number_text(*one)};
    if (const auto* list = std::get_if<Ints>(&given->value)) numbers[attribute.name] = number_texts(*list);
    if (const auto* list = std::get_if<Numbers>(&given->value)) numbers[attribute.name] = number_texts(*list);
  }
  return numbers;
}

Status OnnxSite::import_standard() {
  const OnnxRow* importer = find_importer(node_.domain, node_.op, opset());
  if (importer == nullptr) {
    return error("this operator is not supported in operator set " + std::to_string(opset()) + ": " + full_name(node_) +
                 how_to_define(full_name(node_)));
  }
  WHET_RETURN_IF_ERROR(bind(importer->takes));
  const bool is_standard = node_.domain.empty();
  const std::int64_t type = is_standard ? held_result(graph_, node_.op, inputs_) : 0;
  if (wraps(graph_, type) && may_overflow(node_.op) && wants_output(0)) return import_held(*importer, type);
  WHET_RETURN_IF_ERROR(importer->import(*this));
  mark_held_result(type);
  return expect_known_attributes();
}

Status OnnxSite::import_held(const OnnxRow& importer, std::int64_t type) {
  const std::string own = std::exchange(outputs_[0], graph_.unique_value_name(outputs_[0] + "_wide"));
  const Status status = importer.import(*this);
  const std::string wide = std::exchange(outputs_[0], own);
  WHET_RETURN_IF_ERROR(status);
  WHET_RETURN_IF_ERROR(give(wrapped(*this, graph_.find(wide), type)));
  mark_held_result(type);
  return expect_known_attributes();
}

void OnnxSite::mark_held_result(std::int64_t type) {
  // Several results of one type are those of Split.
  for (std::size_t i = 0; type != 0 && i < (node_.op == "Split" ? output_count() : 1); ++i)
    if (wants_output(i) && graph_.defined(outputs_[i]) && dtype(given(i)) == dtype_of_onnx(type, graph_.native_types))
      graph_.held_types[given(i).value] = type;
}

const OnnxAttribute* OnnxSite::find(std::string_view attribute) const {
  const auto found = std::find_if(node_.attributes.begin(), node_.attributes.end(),
                                  [&](const OnnxAttribute& each) { return each.name == attribute; });
  return found == node_.attributes.end() ? nullptr : resolved(*found);
}

const OnnxAttribute* OnnxSite::resolved(const OnnxAttribute& attribute) const {
  const auto* reference = std::get_if<OnnxAttribute::Reference>(&attribute.value);
  if (reference == nullptr || scope_.function == nullptr) return &attribute;
  const auto found = scope_.attributes.find(reference->name);
  return found == scope_.attributes.end() ? nullptr : found->second;
}

Error OnnxSite::wrong_kind(const OnnxAttribute& attribute, const char* expected) const {
  return error("attribute " + in_quotes(attribute.name) + " is " + kind_of(attribute) + "; expected " + expected);
}

Result<bool> OnnxSite::flag(std::string_view name, bool fallback) const {
  WHET_TRY(const std::int64_t value, integer(name, fallback ? 1 : 0));
  if (value == 0 || value == 1) return value == 1;
  return error("attribute " + in_quotes(name) + " is " + std::to_string(value) + "; expected 0 or 1");
}

Result<DType> OnnxSite::dtype_attribute(std::string_view name, DType fallback) const {
  WHET_TRY(const std::int64_t number, integer(name, onnx_type(fallback)));
  const bool is_narrow = number == kUint4 || number == kInt4;  // what leaves their range would have to wrap
  if (const auto dtype = dtype_of_onnx(number, graph_.native_types); dtype && !is_narrow)
    return has_attribute(name) ? *dtype : fallback;
  return error("attribute " + in_quotes(name) + " is " + onnx_type_name(number) + ", which is not supported");
}

Error OnnxSite::unknown(const OnnxAttribute& attribute) const {
  return error("attribute " + in_quotes(attribute.name) + " is not one of " + node_.op + " in operator set " +
               std::to_string(opset()));
}

Status OnnxSite::expect_known_attributes() const {
  for (const OnnxAttribute& attribute : node_.attributes) {
    // Where a result may be written says nothing about its values.
    const bool means_nothing = opset() < 6 && attribute.name == "consumed_inputs";
    if (!names(attribute.name) && !means_nothing && resolved(attribute) != nullptr) return unknown(attribute);
  }
  return ok_status();
}

Status OnnxSite::finish() const {
  for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
    // In a body, whoever reads the output says so.
    if (!is_inner_ && wants_output(i) && graph_.is_read(node_.outputs[i]) && !graph_.defined(node_.outputs[i])) {
      return error("output " + std::to_string(i) + " of " + node_.op + " is not supported");
    }
  }
  return ok_status();
}

}  // namespace whet
