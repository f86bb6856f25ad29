#include "graph/infer.h"

namespace whet {
namespace {

bool is_logical(BinaryKind kind) {
  return kind == BinaryKind::logical_and || kind == BinaryKind::logical_or || kind == BinaryKind::logical_xor;
}

bool is_comparison(BinaryKind kind) {
  return kind == BinaryKind::less || kind == BinaryKind::less_equal || kind == BinaryKind::greater ||
         kind == BinaryKind::greater_equal || kind == BinaryKind::equal;
}

Result<Shape> broadcast_inputs(const InferSite& site, const Shape& a, const Shape& b) {
  if (auto shape = broadcast(a, b)) return *shape;
  return site.error("shapes " + to_string(a) + " and " + to_string(b) +
                    " do not broadcast; extents, counted from the right, must be equal or 1");
}

}  // namespace

Result<TensorType> infer(const InferSite& site, const UnaryOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  switch (op.kind) {
    case UnaryKind::logical_not:
      WHET_RETURN_IF_ERROR(site.expect_boolean(0));
      break;
    case UnaryKind::relu:
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::sign:
      WHET_RETURN_IF_ERROR(site.expect_number(0));
      break;
    default:
      WHET_RETURN_IF_ERROR(site.expect_float(0));
  }
  return TensorType{op.kind == UnaryKind::is_nan ? DType::boolean : site.in(0).dtype, site.in(0).shape};
}

Result<TensorType> infer(const InferSite& site, const ClipOperator&) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  return site.in(0);
}

Result<TensorType> infer(const InferSite& site, const HardSigmoidOperator&) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_float(0));
  return site.in(0);
}

Result<TensorType> infer(const InferSite& site, const LeakyReluOperator&) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_float(0));
  return site.in(0);
}

Result<TensorType> infer(const InferSite& site, const BinaryOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, 1));
  if (is_logical(op.kind)) {
    WHET_RETURN_IF_ERROR(site.expect_boolean(0));
  } else if (op.kind != BinaryKind::equal) {
    WHET_RETURN_IF_ERROR(site.expect_number(0));
  }
  WHET_TRY(Shape shape, broadcast_inputs(site, site.in(0).shape, site.in(1).shape));
  return TensorType{is_comparison(op.kind) ? DType::boolean : site.in(0).dtype, shape};
}

Result<TensorType> infer(const InferSite& site, const WhereOperator&) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_RETURN_IF_ERROR(site.expect_boolean(0));
  WHET_RETURN_IF_ERROR(site.expect_same_dtype(1, 2));
  WHET_TRY(Shape both, broadcast_inputs(site, site.in(1).shape, site.in(2).shape));
  WHET_TRY(Shape shape, broadcast_inputs(site, site.in(0).shape, both));
  return TensorType{site.in(1).dtype, shape};
}

Result<TensorType> infer(const InferSite& site, const CastOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return TensorType{op.to, site.in(0).shape};
}

}  // namespace whet
