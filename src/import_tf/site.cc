#include "import_tf/site.h"

#include <algorithm>

#include "base/nearest.h"
#include "import_tf/rows.h"

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

namespace {

ValueIds found(const GrowingGraph& graph, const std::vector<std::string>& names) {
  ValueIds values;
  for (const std::string& name : names) values.push_back(graph.defined(name) ? graph.find(name) : ValueId());
  return values;
}

}  // namespace

TfSite::TfSite(GrowingGraph& graph, const TfNode& node, std::string op, ValueIds inputs, std::string label,
               Texts outputs, Bodies& bodies, bool is_inner)
    : CallSite(graph, std::move(label), std::move(op), std::move(inputs), std::move(outputs), is_inner),
      node_(node),
      bodies_(bodies) {}
TfSite::TfSite(GrowingGraph& graph, const TfNode& node, std::string label, Texts outputs, Bodies& bodies, bool is_inner)
    : TfSite(graph, node, node.op, found(graph, node.inputs), std::move(label), std::move(outputs), bodies, is_inner) {}

Status TfSite::import() {
  const OperatorDefinition* own = graph_.definition_of(node_.op);
  const TfRow* row = find_row(node_.op);
  if (row == nullptr && own == nullptr)
    return error("this operator is not supported: " + node_.op + how_to_define(node_.op));
  for (const std::string& input : node_.inputs)
    if (!graph_.defined(input))
      return error("reads " + in_quotes(input) + ", which is no tensor of a type that is supported");
  if (node_.op != "Merge" && reads_absent()) return give_all_absent();
  if (own != nullptr) {
    WHET_RETURN_IF_ERROR(give_defined(*this, *own, node_.op, inputs_, attribute_numbers()));
  } else {
    WHET_RETURN_IF_ERROR(bind(row->takes));
    WHET_RETURN_IF_ERROR(row->import(*this));
  }
  WHET_RETURN_IF_ERROR(expect_results());
  WHET_RETURN_IF_ERROR(check_shapes());
  return graph_.check_growth(name_);
}

Status TfSite::expect_results() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (!graph_.defined(outputs_[i]) && graph_.is_read(outputs_[i]))
      return error("result " + std::to_string(i) + " is not supported");
  return ok_status();
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

// ---- Attributes.

AttributeNumbers TfSite::attribute_numbers() const {
  AttributeNumbers numbers;
  for (const auto& [name, attribute] : node_.attributes) {
    if (const auto* one = std::get_if<std::int64_t>(&attribute)) numbers[name] = {number_text(*one)};
    if (const auto* one = std::get_if<double>(&attribute)) numbers[name] = {number_text(*one)};
    const auto* list = std::get_if<TfList>(&attribute);
    if (list == nullptr) continue;
    if (!list->integers.empty()) numbers[name] = number_texts(list->integers);
    if (!list->numbers.empty()) numbers[name] = number_texts(list->numbers);
  }
  return numbers;
}

const TfAttribute* TfSite::find(std::string_view name) const {
  const TfAttribute* attribute = node_.find(std::string(name));
  return attribute == nullptr || std::holds_alternative<std::monostate>(*attribute) ? nullptr : attribute;
}

Result<Tensor> TfSite::tensor(std::string_view name) const {
  WHET_TRY(const TfTensor value, attribute(name, TfTensor(), "a tensor"));
  if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
  return error("attribute " + in_quotes(name) + " is no tensor of numbers");
}

Result<DType> TfSite::type_of(const Word& word) const {
  const TfType usual = word.usual ? tensorflow::type_of(*parse_dtype(*word.usual)) : TfType{};
  WHET_TRY(const TfType type, attribute(word.name, usual, "a type"));
  const auto dtype = dtype_of(type);
  if (dtype) return *dtype;
  return error("attribute " + in_quotes(word.name) + " is " + name_of(type) +
               "; expected float32, float64, float16, bfloat16, int8, uint8, int32, int64 or bool");
}

// ---- Bodies.

Result<ValueIds> TfSite::in_body(const Texts& names, const ValueIds& inputs, const Texts& results,
                                 const std::function<Status()>& import_nodes) {
  constexpr int kMostLevels = 64;
  if (graph_.depth == kMostLevels)
    return error("is inside " + std::to_string(kMostLevels) + " bodies; no more are supported");
  if (names.size() != inputs.size())
    return error("gives " + std::to_string(inputs.size()) + " values to a body that takes " +
                 std::to_string(names.size()));
  WHET_RETURN_IF_ERROR(graph_.count_inlined(name_, inputs.size() + results.size()));
  GrowingGraph::ValuesByName around = graph_.exchange_values({});
  ++graph_.depth;
  for (std::size_t i = 0; i < inputs.size(); ++i) graph_.define(names[i], inputs[i]);
  Status status = import_nodes();
  ValueIds values;
  for (const std::string& result : results) {
    if (status.ok() && !graph_.defined(result)) status = error("its body does not define " + in_quotes(result));
    if (status.ok()) values.push_back(graph_.find(result));
  }
  --graph_.depth;
  graph_.exchange_values(std::move(around));
  if (!status.ok()) return status.error();
  return values;
}

Result<ValueIds> TfSite::inlined(const TfFunctionName& function, const ValueIds& inputs) {
  WHET_TRY(const std::shared_ptr<const TfProgram> body, bodies_.body(function.name));
  if (!body->written.empty())
    return error("its body " + in_quotes(function.name) + " writes to a variable; this is not supported");
  return in_body(body->inputs, inputs, body->outputs, [&]() -> Status {
    for (const TfNode& node : body->nodes) {
      const std::string label = label_of(node);
      WHET_RETURN_IF_ERROR(graph_.count_inlined(label));
      Texts outputs;
      for (std::size_t k = 0; k < result_count(node); ++k) outputs.push_back(tensorflow::value_name(node.name, k));
      WHET_RETURN_IF_ERROR(TfSite(graph_, node, label, outputs, bodies_, true).import());
    }
    return ok_status();
  });
}

}  // namespace whet::tensorflow
