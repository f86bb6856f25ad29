#include "formats/operator_file.h"

#include <memory>

#include "compute/loads_inside.h"
#include "compute/recognise.h"

namespace whet {
namespace {

FileInput input_of(const Op& placeholder) {
  std::vector<FileDimension> dimensions;
  for (const std::int64_t extent : placeholder.shape) dimensions.push_back({extent, ""});
  return {placeholder.name, placeholder.dtype, std::move(dimensions)};
}

/// `e` with each element of an index tensor clamped to 0 .. bound-1: a program may give any number.
Expr within_bounds(const ComputeDag& dag, const Expr& e) {
  return rewrite(e, [&](const Expr& part) -> Expr {
    const auto* load = std::get_if<Load>(&part->kind);
    const auto* p = load ? std::get_if<Placeholder>(&dag.op(OpId(load->source.value)).def) : nullptr;
    if (p == nullptr || p->index_bound == 0) return {};
    std::vector<Expr> index;
    for (const Expr& i : load->index) index.push_back(within_bounds(dag, i));
    const Expr element = whet::load(part->dtype, load->source, std::move(index));
    return max(min(element, int_const(p->index_bound - 1, part->dtype)), int_const(0, part->dtype));
  });
}
ComputeDag within_bounds(ComputeDag dag) {
  for (Op& op : dag.ops)
    if (!op.is_placeholder()) op.element().body = within_bounds(dag, op.element().body);
  return dag;
}

/// What computes one of the outputs. Whether an input is a constant is the graph's business.
std::shared_ptr<const ComputeDag> definition_of(ComputeDag dag, OpId output) {
  dag.outputs = {output};
  dag = without_dead_ops(dag);
  for (Op& op : dag.ops)
    if (auto* p = std::get_if<Placeholder>(&op.def)) *p = Placeholder{};
  return std::make_shared<const ComputeDag>(std::move(dag));
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
  const ComputeDag dag = within_bounds(recognised(dag_at(*read, read->at)));
  if (const Status inside = check_loads_inside(dag); !inside.ok()) return inside.error().at(file.what);
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
