#include "formats/operator_file.h"

#include <memory>

#include "compute/dag.h"
#include "import/define.h"

namespace whet {
namespace {

FileInput input_of(const Op& placeholder) {
  std::vector<FileDimension> dimensions;
  for (const std::int64_t extent : placeholder.shape) dimensions.push_back({extent, ""});
  return {placeholder.name, placeholder.dtype, std::move(dimensions)};
}

/// "matmul+out": what is computed, step by step.
std::string steps_of(const ComputeDag& definition) {
  std::string name;
  for (const Op& op : definition.ops)
    if (!op.is_placeholder()) name += (name.empty() ? "" : "+") + op.name;
  return name;
}

}  // namespace

Result<FileModel> read_operator_file(ModelSource&& file) {
  Result<ComputeDag> read = parse_dag(file.bytes);
  if (!read.ok()) return read.error().at(file.what);
  const Result<ComputeDag> checked = as_definition(dag_at(*read, read->at));
  if (!checked.ok()) return checked.error().at(file.what);
  const ComputeDag& dag = *checked;
  FileModel model;
  std::vector<std::string> inputs;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    inputs.push_back(op.name);
    model.inputs.push_back(input_of(op));
    if (std::get<Placeholder>(op.def).constant && file.options && file.options->values.contains(op.name))
      model.folded.insert(op.name);
  }
  std::vector<std::shared_ptr<const ComputeDag>> definitions;
  for (const OpId output : dag.outputs) {
    const std::string& name = dag.op(output).name;
    definitions.push_back(definition_of(dag, output));
    model.nodes.push_back({name, name, inputs, {name}});
    model.outputs.push_back(name);
  }
  model.missing = [](std::size_t) { return std::vector<std::string>(); };
  model.import = [definitions, inputs, outputs = model.outputs](GrowingGraph& out, std::size_t i) -> Status {
    std::vector<ValueId> operands;
    for (const std::string& name : inputs) operands.push_back(out.find(name));
    WHET_TRY(const ValueId result,
             out.graph.add_node(outputs[i], CustomOperator{steps_of(*definitions[i]), definitions[i]}, operands));
    out.define(outputs[i], result);
    return ok_status();
  };
  return model;
}

}  // namespace whet
