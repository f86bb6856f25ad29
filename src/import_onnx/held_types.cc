#include "import_onnx/held_types.h"

#include <algorithm>

#include "import/parts/arithmetic.h"

namespace whet {
namespace {

template <std::size_t N>
bool is_among(const std::string_view (&ops)[N], std::string_view op) {
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

}  // namespace

bool wraps(const GrowingGraph& graph, std::int64_t type) {
  return type == kUint16 || type == kUint32 || (type == kInt16 && !graph.native_types);
}

Result<ValueId> wrapped(NodeSite& site, ValueId x, std::int64_t type) {
  return wrapped(site, x, HeldInteger{type == kUint32 ? 32 : 16, type == kInt16, *dtype_of_onnx(type, false)});
}

std::int64_t held_type(const GrowingGraph& graph, ValueId id) {
  const auto found = graph.held_types.find(id.value);
  return found == graph.held_types.end() ? 0 : found->second;
}

std::int64_t stored_type(const GrowingGraph& graph, ValueId id) {
  const std::int64_t type = held_type(graph, id);
  return type != 0 ? type : onnx_type(graph.graph.value(id).type.dtype);
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
  // Their results are of other types than their inputs, or are marked already.
  static constexpr std::string_view kOthers[] = {"ArgMax",  "ArgMin", "Cast", "CastLike", "EyeLike", "If",  "Loop",
                                                 "NonZero", "OneHot", "Pow",  "Scan",     "Shape",   "Size"};
  if (is_among(kOthers, op)) return 0;
  for (const ValueId id : inputs)
    if (const std::int64_t type = id.valid() ? held_type(graph, id) : 0; type != 0) return type;
  return 0;
}

bool may_overflow(std::string_view op) {
  static constexpr std::string_view kOverflows[] = {
      "Abs",       "Add", "BitShift", "BitwiseNot", "CumSum",     "Div",       "Einsum",          "Gemm",
      "MatMul",    "Mul", "Neg",      "ReduceL1",   "ReduceProd", "ReduceSum", "ReduceSumSquare", "ScatterElements",
      "ScatterND", "Sub"};
  return is_among(kOverflows, op);
}

}  // namespace whet
