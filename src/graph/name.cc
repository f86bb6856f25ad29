#include "compute/expr.h"
#include "graph/graph.h"

namespace whet {
namespace {

// In the order of the enums.
constexpr const char* kUnaryNames[] = {
    "relu",  "sigmoid", "tanh",  "exp",  "log",  "sqrt",     "reciprocal", "erf",   "abs",   "neg",
    "floor", "ceil",    "round", "sign", "not",  "softplus", "softsign",   "sin",   "cos",   "hard_swish",
    "tan",   "asin",    "acos",  "atan", "sinh", "cosh",     "asinh",      "acosh", "atanh", "is_nan"};
constexpr const char* kBinaryNames[] = {"add",  "sub",        "mul",     "div",           "pow",   "min", "max", "mod",
                                        "less", "less_equal", "greater", "greater_equal", "equal", "and", "or",  "xor"};
constexpr const char* kReduceNames[] = {"reduce_sum",     "reduce_mean",       "reduce_max", "reduce_min",
                                        "reduce_prod",    "reduce_l1",         "reduce_l2",  "reduce_sum_square",
                                        "reduce_log_sum", "reduce_log_sum_exp"};
static_assert(std::size(kUnaryNames) == static_cast<std::size_t>(UnaryKind::is_nan) + 1);
static_assert(std::size(kBinaryNames) == static_cast<std::size_t>(BinaryKind::logical_xor) + 1);
static_assert(std::size(kReduceNames) == static_cast<std::size_t>(ReduceKind::log_sum_exp) + 1);

}  // namespace

std::string name_of(const Operator& op) {
  return std::visit(
      Match{[](const UnaryOperator& o) -> std::string { return kUnaryNames[static_cast<int>(o.kind)]; },
            [](const ClipOperator&) -> std::string { return "clip"; },
            [](const HardSigmoidOperator&) -> std::string { return "hard_sigmoid"; },
            [](const LeakyReluOperator&) -> std::string { return "leaky_relu"; },
            [](const BinaryOperator& o) -> std::string { return kBinaryNames[static_cast<int>(o.kind)]; },
            [](const WhereOperator&) -> std::string { return "where"; },
            [](const CastOperator&) -> std::string { return "cast"; },
            [](const ConvOperator&) -> std::string { return "conv"; },
            [](const MatMulOperator&) -> std::string { return "matmul"; },
            [](const PoolOperator& o) -> std::string { return o.kind == PoolKind::max ? "maxpool" : "avgpool"; },
            [](const ReduceOperator& o) -> std::string { return kReduceNames[static_cast<int>(o.kind)]; },
            [](const SoftmaxOperator& o) -> std::string { return o.log ? "log_softmax" : "softmax"; },
            [](const BatchNormOperator&) -> std::string { return "batch_norm"; },
            [](const TransposeOperator&) -> std::string { return "transpose"; },
            [](const ReshapeOperator&) -> std::string { return "reshape"; },
            [](const ConcatOperator&) -> std::string { return "concat"; },
            [](const SliceOperator&) -> std::string { return "slice"; },
            [](const PadOperator&) -> std::string { return "pad"; },
            [](const GatherOperator&) -> std::string { return "gather"; },
            [](const ExpandOperator&) -> std::string { return "expand"; },
            [](const ResizeOperator&) -> std::string { return "resize"; },
            [](const GatherElementsOperator&) -> std::string { return "gather_elements"; },
            [](const GatherNdOperator&) -> std::string { return "gather_nd"; },
            [](const ScatterElementsOperator&) -> std::string { return "scatter_elements"; },
            [](const ScatterNdOperator&) -> std::string { return "scatter_nd"; },
            [](const ArgReduceOperator& o) -> std::string { return o.largest ? "argmax" : "argmin"; },
            [](const TopKOperator&) -> std::string { return "top_k"; },
            [](const CumSumOperator&) -> std::string { return "cumsum"; },
            [](const CustomOperator& o) -> std::string { return o.name; }},
      op);
}

}  // namespace whet
