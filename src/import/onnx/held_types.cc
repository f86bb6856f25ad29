#include "import/onnx/held_types.h"

#include <algorithm>

namespace whet {
namespace {

constexpr std::int64_t kUint16 = 4, kInt16 = 5, kUint32 = 12;

template <std::size_t N>
bool is_among(const std::string_view (&ops)[N], std::string_view op) {
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

}  // namespace

bool wraps(std::int64_t type) { return type == kUint16 || type == kInt16 || type == kUint32; }

Result<ValueId> wrapped(NodeSite& site, ValueId x, std::int64_t type) {
  const std::int64_t count = std::int64_t{1} << (type == kUint32 ? 32 : 16), below = type == kInt16 ? count / 2 : 0;
  const auto number = [&](const char* part, std::int64_t value) {
    return site.add_constant(part, Tensor::of<std::int64_t>(DType::i64, {}, {value}));
  };
  WHET_TRY(x, site.cast("wide", x, DType::i64));
  if (below != 0) {
    WHET_TRY(x, site.add("raised", BinaryOperator{BinaryKind::add}, {x, number("below", below)}));
  }
  WHET_TRY(x, site.add("wrapped", BinaryOperator{BinaryKind::mod}, {x, number("count", count)}));
  if (below != 0) {
    WHET_TRY(x, site.add("lowered", BinaryOperator{BinaryKind::sub}, {x, number("above", below)}));
  }
  return site.cast("held", x, *dtype_of_onnx(type));
}

std::int64_t held_type(const GrowingGraph& graph, ValueId id) {
  const auto found = graph.held_types.find(id.value);
  return found == graph.held_types.end() ? 0 : found->second;
}

void mark_held_types(GrowingGraph& graph, const OnnxModel& model, const OnnxNode& node) {
  if (model.held_types.empty()) return;
  for (const std::vector<std::string>* names : {&node.inputs, &node.captured})
    for (const std::string& name : *names) {
      const auto found = model.held_types.find(name);
      if (found != model.held_types.end() && graph.defined(name))
        graph.held_types[graph.find(name).value] = found->second;
    }
}

std::int64_t held_result(const GrowingGraph& graph, std::string_view op, const std::vector<ValueId>& inputs) {
  // Their results are of other types than their inputs.
  static constexpr std::string_view kOthers[] = {"ArgMax",  "ArgMin", "Cast", "CastLike", "EyeLike",
                                                 "NonZero", "OneHot", "Pow",  "Shape",    "Size"};
  if (is_among(kOthers, op)) return 0;
  for (const ValueId id : inputs)
    if (const std::int64_t type = id.valid() ? held_type(graph, id) : 0; type != 0) return type;
  return 0;
}

bool may_overflow(std::string_view op) {
  static constexpr std::string_view kOverflows[] = {"Abs",
                                                    "Add",
                                                    "BitwiseNot",
                                                    "CumSum",
                                                    "Div",
                                                    "Einsum",
                                                    "Gemm",
                                                    "MatMul",
                                                    "Mul",
                                                    "Neg",
                                                    "ReduceL1",
                                                    "ReduceProd",
                                                    "ReduceSum",
                                                    "ReduceSumSquare",
                                                    "ScatterElements",
                                                    "ScatterND",
                                                    "Sub"};
  return is_among(kOverflows, op);
}

}  // namespace whet
