#include <algorithm>
#include <map>
#include <set>

#include "ops/evaluate_graph.h"
#include "passes/integer_form.h"
#include "passes/integer_products.h"
#include "passes/operator_class.h"

namespace whet {
namespace {

constexpr std::int64_t kBytes = 256;
/// Vector instructions that a look-up takes the place of. A processor that permutes bytes needs five; others three a byte.
constexpr int kDearEnough = 15;

int cost_of(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::relu:
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::sign:
    case UnaryKind::logical_not:
    case UnaryKind::is_nan:
      return 1;
    case UnaryKind::sqrt:
    case UnaryKind::reciprocal:
    case UnaryKind::softsign:
    case UnaryKind::hard_swish:
      return 4;
    default:
      return 12;
  }
}
int cost_of(const Operator& op) {
  if (const auto* unary = std::get_if<UnaryOperator>(&op)) return cost_of(unary->kind);
  if (const auto* binary = std::get_if<BinaryOperator>(&op))
    return binary->kind == BinaryKind::pow ? 12 : binary->kind == BinaryKind::div ? 4 : 1;
  return std::holds_alternative<HardSigmoidOperator>(op) ? 3 : std::holds_alternative<CastOperator>(op) ? 1 : 2;
}

/// Finds the functions of one byte.
class Tables {
 public:
  explicit Tables(const Graph& from)
      : rewriter_(from), root_(from.values.size()), producer_(from.values.size(), nullptr) {
    for (ValueId input : from.inputs)
      if (is_root(input)) root_[input.index()] = input;
  }

  Status visit(const Node& node) {
    producer_[node.output.index()] = &node;
    root_[node.output.index()] = root_of(node);
    const ValueId root = root_[node.output.index()];
    if (root.valid() && root != node.output && is_byte(type(node.output).dtype)) {
      const std::vector<const Node*> region = between(root, node.output);
      int cost = 0;
      for (const Node* each : region) cost += cost_of(each->op);
      if (cost >= kDearEnough) return look_up(node, root, region);
    }
    return rewriter_.copy(node);
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  const TensorType& type(ValueId old) const { return rewriter_.from().value(old).type; }
  bool is_number(ValueId old) const {
    const auto& constant = rewriter_.from().value(old).constant;
    return constant && constant->size() == 1;
  }
  bool is_root(ValueId old) const { return type(old).dtype == DType::u8 && !rewriter_.from().value(old).constant; }

  /// The bytes that the result is a function of, element by element; itself where it is such bytes, none where it is not.
  ValueId root_of(const Node& node) const {
    ValueId root;
    bool one = class_of(node.op) == OperatorClass::elementwise && !std::holds_alternative<BatchNormOperator>(node.op);
    for (ValueId input : node.inputs) {
      if (!one || is_number(input)) continue;
      const ValueId of_input = root_[input.index()];
      one = of_input.valid() && (!root.valid() || of_input == root) && type(input).shape == type(node.output).shape;
      root = of_input;
    }
    if (one && root.valid()) return root;
    return is_root(node.output) ? node.output : ValueId();
  }

  /// The nodes on the way, in order.
  std::vector<const Node*> between(ValueId root, ValueId end) const {
    std::set<std::int32_t> seen;
    std::vector<ValueId> open = {end};
    std::vector<const Node*> nodes;
    while (!open.empty()) {
      const ValueId at = open.back();
      open.pop_back();
      if (at == root || is_number(at) || !seen.insert(at.value).second) continue;
      nodes.push_back(producer_[at.index()]);
      open.insert(open.end(), nodes.back()->inputs.begin(), nodes.back()->inputs.end());
    }
    std::sort(nodes.begin(), nodes.end());  // as they lie in the graph
    return nodes;
  }

  Status look_up(const Node& node, ValueId root, const std::vector<const Node*>& region) {
    std::map<std::int32_t, Tensor> values;
    Tensor bytes(DType::u8, {kBytes});
    for (std::int64_t i = 0; i < kBytes; ++i) bytes.set(i, static_cast<double>(i));
    values.emplace(root.value, bytes);
    for (const Node* each : region) {
      std::vector<Tensor> inputs;
      for (ValueId input : each->inputs)
        inputs.push_back(is_number(input) ? rewriter_.from().value(input).constant->reshaped({})
                                          : values.at(input.value));
      WHET_TRY(Tensor value, evaluate_operator(each->op, inputs, {type(each->output).dtype, {kBytes}}, each->name));
      values.insert_or_assign(each->output.value, std::move(value));
    }
    const ValueId table = rewriter_.constant(node.name + "_table", values.at(node.output.value));
    WHET_TRY(const ValueId at, rewriter_.emit(node.name + "_index", CastOperator{DType::i32}, {rewriter_.now(root)}));
    return rewriter_.copy_as(node, GatherOperator{0}, {table, at});
  }

  Rewriter rewriter_;
  std::vector<ValueId> root_;  ///< by old value
  std::vector<const Node*> producer_;
};

}  // namespace

bool is_look_up(const Graph& graph, const Node& node) {
  const auto* gather = std::get_if<GatherOperator>(&node.op);
  if (!gather || gather->axis != 0) return false;
  const Value& table = graph.value(node.inputs[0]);
  return table.constant && table.type.shape == Shape{kBytes} && is_byte(table.type.dtype);
}

Result<Graph> tabulate_bytes(const Graph& from) {
  Tables tables(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(tables.visit(node));
  return std::move(tables).finish();
}

}  // namespace whet
