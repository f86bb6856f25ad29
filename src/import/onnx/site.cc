#include "import/onnx/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/onnx/held_types.h"
#include "import/onnx/rows.h"

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
    : NodeSite(graph, std::move(name), node.outputs, is_inner), node_(node), scope_(scope) {
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
  const OnnxRow* importer = find_importer(node_.domain, node_.op, opset());
  if (importer == nullptr) {
    return error("this operator is not supported in operator set " + std::to_string(opset()) + ": " +
                 (node_.domain.empty() ? "" : node_.domain + ".") + node_.op);
  }
  WHET_RETURN_IF_ERROR(bind(*importer));
  const bool is_standard = node_.domain.empty();
  const std::int64_t type = is_standard ? held_result(graph_, node_.op, inputs_) : 0;
  if (wraps(type) && may_overflow(node_.op) && wants_output(0)) return import_held(*importer, type);
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
    if (wants_output(i) && graph_.defined(outputs_[i]) && dtype(given(i)) == dtype_of_onnx(type))
      graph_.held_types[given(i).value] = type;
}

Status OnnxSite::bind(const OnnxRow& row) {
  constexpr std::size_t kMostInputs = 65536;
  words_ = words_of(row.takes);
  std::size_t low = 0, high = 0;
  for (const Word& word : words_) {
    if (!word.is_operand) continue;
    if (word.must_be_given() && low == word.place) ++low;
    high = word.is_rest ? kMostInputs : word.place + 1;
  }
  WHET_RETURN_IF_ERROR(expect_inputs(low, high));
  for (const Word& word : words_) {
    if (word.must_be_given() && !is_given(word))
      return word.is_operand ? error("input " + std::to_string(word.place) + " of " + node_.op + " is left out")
                             : error("attribute " + in_quotes(word.name) + " is missing");
    const std::size_t end = !word.is_operand ? 0 : word.is_rest ? input_count() : word.place + 1;
    for (std::size_t i = word.place; i < end; ++i)
      if (has(i) && !word.may_be_sequence && is_sequence(inputs_[i]))
        return error("input " + std::to_string(i) + " of " + node_.op + " is " + kind_of_list(i) +
                     "; expected a tensor");
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

ValueId OnnxSite::operand(std::string_view name) const {
  const auto found = std::find_if(words_.begin(), words_.end(), [&](const Word& word) { return word.name == name; });
  WHET_CHECK(found != words_.end(), name_.c_str());
  return in(found->place);
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

bool OnnxSite::is_given(const Word& word) const {
  return word.is_operand ? has(word.place) : find(word.name) != nullptr;
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

template <typename T>
Result<T> OnnxSite::attribute(std::string_view name, T fallback, const char* expected) const {
  const OnnxAttribute* found = find(name);
  if (found == nullptr) return fallback;
  if (const auto* value = std::get_if<T>(&found->value)) return *value;
  return error("attribute " + in_quotes(found->name) + " is " + kind_of(*found) + "; expected " + expected);
}

Result<std::int64_t> OnnxSite::integer(std::string_view name, std::int64_t fallback) const {
  return attribute(name, fallback, "an integer");
}

Result<bool> OnnxSite::flag(std::string_view name, bool fallback) const {
  WHET_TRY(const std::int64_t value, integer(name, fallback ? 1 : 0));
  if (value == 0 || value == 1) return value == 1;
  return error("attribute " + in_quotes(name) + " is " + std::to_string(value) + "; expected 0 or 1");
}

Result<double> OnnxSite::number(std::string_view name, double fallback) const {
  return attribute(name, fallback, "a number");
}

Result<std::string> OnnxSite::text(std::string_view name, const std::string& fallback) const {
  return attribute(name, fallback, "a text");
}

Result<std::vector<std::int64_t>> OnnxSite::integers(std::string_view name, std::vector<std::int64_t> fallback) const {
  return attribute(name, std::move(fallback), "a list of integers");
}

Result<DType> OnnxSite::type(std::string_view name, DType fallback) const {
  if (!has_attribute(name)) return fallback;
  WHET_TRY(const std::int64_t number, integer(name, 0));
  if (const auto dtype = dtype_of_onnx(number)) return *dtype;
  return error("attribute " + in_quotes(name) + " is " + onnx_type_name(number) + ", which is not supported");
}

Result<std::int64_t> OnnxSite::choice(std::string_view name, const std::string& fallback,
                                      const std::vector<std::string_view>& choices) const {
  WHET_TRY(const std::string value, text(name, fallback));
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return found - choices.begin();
  return error("attribute " + in_quotes(name) + " is " + in_quotes(value) + "; expected " + alternatives(choices));
}

Result<std::vector<std::int64_t>> OnnxSite::entries(std::string_view name, std::size_t count, std::int64_t fallback,
                                                    std::int64_t low) const {
  WHET_TRY(std::vector<std::int64_t> values, integers(name, std::vector<std::int64_t>(count, fallback)));
  if (values.size() != count) {
    return error("attribute " + in_quotes(name) + " has " + std::to_string(values.size()) + " entries; expected " +
                 std::to_string(count));
  }
  for (std::int64_t value : values) {
    if (value >= low && value <= kMaxElements) continue;
    return error("attribute " + in_quotes(name) + " holds " + std::to_string(value) + "; expected " +
                 std::to_string(low) + " to " + std::to_string(kMaxElements));
  }
  return values;
}

Status OnnxSite::read(std::size_t i, ValueId& value) {
  value = in(words_.at(i).place);
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::int64_t& value) {
  const Word& word = words_.at(i);
  if (!word.choices.empty()) {
    WHET_TRY(value, choice(word.name, word.usual_text(), word.choices));
  } else if (!word.is_operand) {
    WHET_TRY(value, integer(word.name, word.usual_integer()));
  } else if (has(word.place)) {
    WHET_TRY(value, known_integer(word.place, word.what()));
  } else {
    value = word.usual_integer();
  }
  if (word.axis_of.empty()) return ok_status();
  WHET_TRY(value, resolve_axis(value, rank(operand(word.axis_of))));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, double& value) {
  const Word& word = words_.at(i);
  if (word.is_operand && !has(word.place)) {
    value = word.usual_number();
    return ok_status();
  }
  WHET_TRY(value, word.is_operand ? known_number(word.place, word.what()) : number(word.name, word.usual_number()));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, bool& value) {
  WHET_TRY(value, flag(words_.at(i).name, words_[i].usual_integer() != 0));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::string& value) {
  WHET_TRY(value, text(words_.at(i).name, words_[i].usual_text()));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::vector<std::int64_t>& values) {
  const Word& word = words_.at(i);
  if (!word.is_operand) {
    WHET_TRY(values, integers(word.name, word.usual_integers()));
  } else if (has(word.place)) {
    WHET_TRY(values, known_integers(word.place, word.what()));
  }
  if (word.axis_of.empty()) return ok_status();
  WHET_TRY(values, resolve_axes(values, rank(operand(word.axis_of))));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::vector<double>& values) {
  const Word& word = words_.at(i);
  WHET_TRY(values, word.is_operand ? known_numbers(word.place, word.what())
                                   : attribute(word.name, std::vector<double>(), "a list of numbers"));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::vector<std::string>& values) {
  WHET_TRY(values, attribute(words_.at(i).name, std::vector<std::string>(), "a list of texts"));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::vector<Size>& sizes) {
  WHET_TRY(sizes, known_sizes(in(words_.at(i).place), words_[i].what()));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, Tensor& tensor) {
  const Word& word = words_.at(i);
  WHET_TRY(tensor, word.is_operand ? known(word.place, word.what()) : attribute(word.name, Tensor(), "a tensor"));
  return ok_status();
}

Status OnnxSite::read(std::size_t i, std::shared_ptr<const OnnxSubgraph>& body) {
  WHET_TRY(body, attribute(words_.at(i).name, std::shared_ptr<const OnnxSubgraph>(), "a graph"));
  return ok_status();
}

Status OnnxSite::read(std::size_t word, std::vector<ValueId>& values) {
  if (!words_.at(word).is_rest) {
    WHET_TRY(values, sequence(words_[word].place));
    return ok_status();
  }
  for (std::size_t i = words_[word].place; i < input_count(); ++i) {
    if (!has(i)) return error("input " + std::to_string(i) + " is left out");
    values.push_back(in(i));
  }
  return ok_status();
}

Error OnnxSite::unknown(const OnnxAttribute& attribute) const {
  return error("attribute " + in_quotes(attribute.name) + " is not one of " + node_.op + " in operator set " +
               std::to_string(opset()));
}

Status OnnxSite::expect_known_attributes() const {
  for (const OnnxAttribute& attribute : node_.attributes) {
    const bool named = std::any_of(words_.begin(), words_.end(),
                                   [&](const Word& word) { return !word.is_operand && word.name == attribute.name; });
    // Where a result may be written says nothing about its values.
    const bool means_nothing = opset() < 6 && attribute.name == "consumed_inputs";
    if (!named && !means_nothing && resolved(attribute) != nullptr) return unknown(attribute);
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
