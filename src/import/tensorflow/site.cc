#include "import/tensorflow/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/tensorflow/rows.h"

namespace whet::tensorflow {

std::string label_of(const TfNode& node) {
  constexpr std::size_t kMostLetters = 256;
  std::string name = node.name;
  if (name.size() > kMostLetters) name.replace(0, name.size() - kMostLetters, "...");
  return name + " (" + node.op + ")";
}

Result<std::shared_ptr<const TfProgram>> Bodies::body(const std::string& function) {
  if (const auto known = known_.find(function); known != known_.end()) return known->second;
  WHET_TRY(TfProgram program, inlined_function(graph_, function, in_quotes(function)));
  return known_[function] = std::make_shared<const TfProgram>(std::move(program));
}

Status TfSite::import() {
  const TfRow* row = find_row(node_.op);
  if (row == nullptr) return error("this operator is not supported: " + node_.op);
  for (const std::string& input : node_.inputs)
    if (!graph_.defined(input))
      return error("reads " + in_quotes(input) + ", which is no tensor of a type that is supported");
  if (node_.op != "Merge" && reads_absent()) return give_all_absent();
  WHET_RETURN_IF_ERROR(expect_inputs(row->arity.least, row->arity.most));
  WHET_RETURN_IF_ERROR(row->import(*this));
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (!graph_.defined(outputs_[i]) && graph_.is_read(outputs_[i]))
      return error("result " + std::to_string(i) + " is not supported");
  WHET_RETURN_IF_ERROR(check_shapes());
  return graph_.check_growth(name_);
}

bool TfSite::reads_absent() const {
  const auto is_absent = [&](const std::string& value) {
    return graph_.defined(value) && graph_.is_absent(graph_.find(value));
  };
  return std::any_of(node_.inputs.begin(), node_.inputs.end(), is_absent) ||
         std::any_of(node_.controls.begin(), node_.controls.end(), is_absent);
}
Status TfSite::give_all_absent() {
  for (const std::string& output : outputs_)
    if (!output.empty()) graph_.define(output, graph_.add_absent(output));
  return ok_status();
}

/// Some files say the shapes of results, with -1 where they are open.
Status TfSite::check_shapes() {
  const TfAttribute* attribute = find("_output_shapes");
  const auto* said = attribute == nullptr ? nullptr : std::get_if<TfList>(attribute);
  if (said == nullptr) return ok_status();
  for (std::size_t i = 0; i < outputs_.size() && i < said->shapes.size(); ++i) {
    if (!said->shapes[i].has_rank || !graph_.defined(outputs_[i]) || is_sequence(graph_.find(outputs_[i]))) continue;
    const Shape &wanted = said->shapes[i].extents, &made = shape(graph_.find(outputs_[i]));
    bool fits = wanted.size() == made.size();
    for (std::size_t d = 0; fits && d < made.size(); ++d) fits = wanted[d] < 0 || wanted[d] == made[d];
    if (!fits)
      return error("result " + std::to_string(i) + " becomes " + to_string(type(graph_.find(outputs_[i]))) +
                   "; the file says [" + to_string(wanted) + "]");
  }
  return ok_status();
}

Status TfSite::expect_inputs(std::size_t low, std::size_t high) const {
  const std::size_t count = node_.inputs.size();
  if (count >= low && count <= high) return ok_status();
  return error("has " + std::to_string(count) + " inputs; expected " + std::to_string(low) +
               (low == high ? "" : " to " + std::to_string(high)));
}
ValueId TfSite::in(std::size_t i) const {
  WHET_CHECK(i < node_.inputs.size(), name_.c_str());
  return operands_.empty() ? graph_.find(node_.inputs[i]) : operands_[i];
}
std::vector<ValueId> TfSite::ins() const {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) values.push_back(in(i));
  return values;
}
Result<std::int64_t> TfSite::integer(std::size_t i, const std::string& what) {
  WHET_TRY(const std::vector<std::int64_t> list, integers(i, what));
  if (list.size() == 1) return list[0];
  return error("its " + what + " is a list of " + std::to_string(list.size()));
}
Result<std::vector<std::int64_t>> TfSite::axes(std::size_t i, ValueId x) {
  WHET_TRY(const std::vector<std::int64_t> given, integers(i, "list of axes"));
  return resolve_axes(given, rank(x));
}
Result<std::int64_t> TfSite::axis(std::size_t i, std::size_t limit) {
  WHET_TRY(const std::int64_t given, integer(i, "axis"));
  return resolve_axis(given, limit);
}

// ---- Attributes.

const TfAttribute* TfSite::find(const std::string& name) const {
  const TfAttribute* attribute = node_.find(name);
  return attribute == nullptr || std::holds_alternative<std::monostate>(*attribute) ? nullptr : attribute;
}
bool TfSite::has(const std::string& name) const { return find(name) != nullptr; }
Error TfSite::wrong_kind(const std::string& name, const char* expected) const {
  return error("attribute " + in_quotes(name) + " is not " + expected);
}

namespace {

template <typename Kind>
const Kind* kind_of(const TfAttribute& attribute) {
  return std::get_if<Kind>(&attribute);
}

}  // namespace

Result<std::string> TfSite::text(const std::string& name, const std::string& otherwise) const {
  const TfAttribute* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  const auto* value = kind_of<std::string>(*attribute);
  return value == nullptr ? Result<std::string>(wrong_kind(name, "a text")) : *value;
}
Result<std::int64_t> TfSite::integer(const std::string& name, std::int64_t otherwise) const {
  const TfAttribute* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  const auto* value = kind_of<std::int64_t>(*attribute);
  return value == nullptr ? Result<std::int64_t>(wrong_kind(name, "an integer")) : *value;
}
Result<double> TfSite::number(const std::string& name, double otherwise) const {
  const TfAttribute* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  const auto* value = kind_of<double>(*attribute);
  return value == nullptr ? Result<double>(wrong_kind(name, "a number")) : *value;
}
Result<bool> TfSite::flag(const std::string& name, bool otherwise) const {
  const TfAttribute* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  const auto* value = kind_of<bool>(*attribute);
  return value == nullptr ? Result<bool>(wrong_kind(name, "true or false")) : *value;
}
Result<TfType> TfSite::type_attribute(const std::string& name, TfType otherwise) const {
  const TfAttribute* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  const auto* value = kind_of<TfType>(*attribute);
  return value == nullptr ? Result<TfType>(wrong_kind(name, "a type")) : *value;
}
Result<DType> TfSite::dtype_attribute(const std::string& name, TfType otherwise) const {
  WHET_TRY(const TfType type, type_attribute(name, otherwise));
  const auto dtype = dtype_of(type);
  if (dtype) return *dtype;
  return error("attribute " + in_quotes(name) + " is " + name_of(type) +
               "; expected float32, float64, float16, bfloat16, int8, uint8, int32, int64 or bool");
}
Result<TfList> TfSite::list(const std::string& name) const {
  const TfAttribute* attribute = find(name);
  if (attribute == nullptr) return TfList{};
  const auto* value = kind_of<TfList>(*attribute);
  return value == nullptr ? Result<TfList>(wrong_kind(name, "a list")) : *value;
}
Result<std::string> TfSite::function(const std::string& name) const {
  const TfAttribute* attribute = find(name);
  const auto* value = attribute == nullptr ? nullptr : kind_of<TfFunctionName>(*attribute);
  return value == nullptr ? Result<std::string>(wrong_kind(name, "a function")) : value->name;
}

// ---- Bodies.

Result<std::vector<ValueId>> TfSite::inlined(const std::string& function, const std::vector<ValueId>& inputs) {
  constexpr int kMostLevels = 64;
  if (graph_.depth == kMostLevels)
    return error("is inside " + std::to_string(kMostLevels) + " bodies; no more are supported");
  WHET_TRY(const std::shared_ptr<const TfProgram> body, bodies_.body(function));
  if (body->inputs.size() != inputs.size())
    return error("gives " + std::to_string(inputs.size()) + " arguments to " + in_quotes(function) + ", which has " +
                 std::to_string(body->inputs.size()));
  if (!body->written.empty())
    return error("its body " + in_quotes(function) + " writes to a variable; this is not supported");
  WHET_RETURN_IF_ERROR(graph_.count_inlined(name_, inputs.size() + body->outputs.size()));
  GrowingGraph::ValuesByName around = graph_.exchange_values({});
  ++graph_.depth;
  for (std::size_t i = 0; i < inputs.size(); ++i) graph_.define(body->inputs[i], inputs[i]);
  Status status = ok_status();
  for (std::size_t i = 0; i < body->nodes.size() && status.ok(); ++i) {
    const TfNode& node = body->nodes[i];
    const std::string label = label_of(node);
    status = graph_.count_inlined(label);
    std::vector<std::string> outputs;
    for (std::size_t k = 0; k < result_count(node); ++k) outputs.push_back(tensorflow::value_name(node.name, k));
    if (status.ok()) status = TfSite(graph_, node, label, outputs, bodies_, true).import();
  }
  std::vector<ValueId> results;
  for (const std::string& name : body->outputs) {
    if (status.ok() && !graph_.defined(name)) status = error("its body does not define " + in_quotes(name));
    if (status.ok()) results.push_back(graph_.find(name));
  }
  --graph_.depth;
  graph_.exchange_values(std::move(around));
  if (!status.ok()) return status.error();
  return results;
}

}  // namespace whet::tensorflow
