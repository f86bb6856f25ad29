#include "formats/operator_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compute/dag.h"
#include "import/define.h"
#include "import/sized_text.h"

namespace whet {
namespace {

/// For a size that nothing binds yet, so that the text can be read.
constexpr std::int64_t kSomeExtent = 64;

/// "matmul+out": what is computed, step by step.
std::string steps_of(const ComputeDag& definition) {
  std::string name;
  for (const Op& op : definition.ops)
    if (!op.is_placeholder()) name += (name.empty() ? "" : "+") + op.name;
  return name;
}

/// What `--shape` or a value gives an input.
std::optional<Shape> given_shape(const ImportOptions* options, const std::string& input) {
  if (options == nullptr) return std::nullopt;
  if (const auto shape = options->shapes.find(input); shape != options->shapes.end()) return shape->second;
  if (const auto value = options->values.find(input); value != options->values.end()) return value->second.shape();
  return std::nullopt;
}

/// The file as it was read.
struct OperatorText {
  std::string what;
  SizedText text;
  ComputeDag read;  ///< with the sizes of its SIZE lines, at the values that are known

  /// The definition at shapes of its inputs.
  Result<ComputeDag> at(const std::vector<Shape>& shapes) const {
    SizedText sized = text;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (const Status bound = sized.bind(i, shapes[i]); !bound.ok()) return bound.error().at(what);
    return definition(sized);
  }
  Result<ComputeDag> definition(const SizedText& sized) const {
    const Result<ComputeDag> with_numbers = parse_dag(sized.numbers());
    if (!with_numbers.ok()) return with_numbers.error().at(what);
    const Result<SizeValues> values = sized.sizes(*with_numbers);
    if (!values.ok()) return values.error().at(what);
    Result<ComputeDag> dag = as_definition(dag_at(*with_numbers, *values));
    return dag.ok() ? dag : dag.error().at(what);
  }
};

/// A dimension that a SIZE line has is open within its bounds, and `at` where nothing binds it.
FileDimension dimension_of(const OperatorText& file, const std::string& name, std::int64_t extent) {
  if (name.empty()) return {extent, ""};
  FileDimension dimension{std::nullopt, name};
  dimension.least = 1;
  for (std::size_t k = 0; k < file.read.sizes.size(); ++k) {
    const SizeRange& range = file.read.sizes[k];
    if (range.name != name) continue;
    dimension.usual = file.read.at[k], dimension.least = range.min, dimension.most = range.max;
    if (range.min % range.step == 0) dimension.step = range.step;
  }
  return dimension;
}

FileInput input_of(const OperatorText& file, const SizedText::Input& text, const Op& placeholder) {
  std::vector<FileDimension> dimensions;
  for (std::size_t d = 0; d < placeholder.shape.size(); ++d)
    dimensions.push_back(dimension_of(file, text.extents.at(d), placeholder.shape[d]));
  return {placeholder.name, placeholder.dtype, std::move(dimensions)};
}

/// "A=NxL"
std::string shape_option(const SizedText::Input& input, const Op& placeholder) {
  std::string shape;
  for (std::size_t d = 0; d < placeholder.shape.size(); ++d) {
    const std::string& name = input.extents[d];
    shape += (d > 0 ? "x" : "") + (name.empty() ? std::to_string(placeholder.shape[d]) : name);
  }
  return "--shape " + input.name + "=" + shape;
}

/// That no shape and no value decides a size: "no value for size L; give --shape A=NxL or --shape B=LxM".
Error no_value(const OperatorText& file, const std::string& size) {
  std::string options;
  std::size_t input = 0;
  for (const Op& op : file.read.ops) {
    if (!op.is_placeholder()) continue;
    const SizedText::Input& own = file.text.inputs()[input++];
    if (std::find(own.extents.begin(), own.extents.end(), size) == own.extents.end()) continue;
    options += (options.empty() ? "" : " or ") + shape_option(own, op);
  }
  return {file.what + ": no value for size " + size + "; give " + options};
}

/// Binds what is given, and some extent to all other sizes; gives the first of these that no input with a given shape has, or "".
Result<std::string> bind_given(const std::string& what, SizedText& text, const ImportOptions* options) {
  std::set<std::string> undecided = text.undeclared();
  for (std::size_t i = 0; i < text.inputs().size(); ++i) {
    const SizedText::Input& input = text.inputs()[i];
    const std::optional<Shape> given = given_shape(options, input.name);
    if (!given) continue;
    for (const std::string& name : input.extents) undecided.erase(name);
    if (given->size() != input.extents.size()) continue;  // who binds the inputs says so
    if (const Status bound = text.bind(i, *given); !bound.ok()) return bound.error().at(what);
  }
  for (const std::string& name : text.undeclared()) text.set(name, kSomeExtent);
  return undecided.empty() ? "" : *undecided.begin();
}

}  // namespace

Result<FileModel> read_operator_file(ModelSource&& source) {
  auto file = std::make_shared<OperatorText>(OperatorText{source.what, SizedText(source.bytes), {}});
  SizedText bound = file->text;
  WHET_TRY(const std::string undecided, bind_given(file->what, bound, source.options));
  Result<ComputeDag> read = parse_dag(bound.numbers());
  if (!read.ok()) return read.error().at(file->what);
  const Result<SizeValues> sizes = bound.sizes(*read);
  if (!sizes.ok()) return sizes.error().at(file->what);
  file->read = moved_to(*read, *sizes);
  if (undecided.empty()) {
    if (const Result<ComputeDag> now = file->definition(bound); !now.ok()) return now.error();
  }
  FileModel model;
  std::vector<std::string> inputs;
  for (const Op& op : file->read.ops) {
    if (!op.is_placeholder()) continue;
    const SizedText::Input& text = file->text.inputs()[inputs.size()];
    inputs.push_back(op.name);
    model.inputs.push_back(input_of(*file, text, op));
    if (std::get<Placeholder>(op.def).constant && source.options && source.options->values.contains(op.name))
      model.folded.insert(op.name);
  }
  for (const OpId output : file->read.outputs) {
    const std::string& name = file->read.op(output).name;
    model.nodes.push_back({name, name, inputs, {name}});
    model.outputs.push_back(name);
  }
  model.missing = [](std::size_t) { return std::vector<std::string>(); };
  if (!undecided.empty()) model.undecided = no_value(*file, undecided);
  model.import = [file, inputs](GrowingGraph& out, std::size_t i) -> Status {
    std::vector<ValueId> operands;
    std::vector<Shape> shapes;
    for (const std::string& name : inputs) {
      operands.push_back(out.find(name));
      shapes.push_back(out.graph.value(operands.back()).type.shape);
    }
    WHET_TRY(const ComputeDag dag, file->at(shapes));
    const OpId output = dag.outputs[i];
    const auto definition = definition_of(dag, output);
    const std::string& name = dag.op(output).name;
    WHET_TRY(const ValueId result,
             out.graph.add_node(name, CustomOperator{steps_of(*definition), definition}, operands));
    out.define(name, result);
    return ok_status();
  };
  return model;
}

}  // namespace whet
