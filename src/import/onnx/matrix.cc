#include "import/onnx/matrix.h"

#include "import/onnx/importers.h"

namespace whet {
namespace {

Result<ValueId> scaled(OnnxSite& site, const char* part, ValueId value, double factor) {
  if (factor == 1) return value;
  const std::string name(part);
  const ValueId scalar = site.add_scalar(name + "_factor", site.type(value).dtype, factor);
  return site.add(name, BinaryOperator{BinaryKind::mul}, {value, scalar});
}

}  // namespace

/// alpha * a * b + beta * c
Status import_gemm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  if (site.opset() < 7) site.ignore({"broadcast"});
  MatMulOperator op;
  WHET_TRY(op.transpose_a, site.flag("transA", false));
  WHET_TRY(op.transpose_b, site.flag("transB", false));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  WHET_TRY(const double beta, site.number("beta", 1));
  if (site.rank(0) != 2 || site.rank(1) != 2) {
    return site.error("multiplies " + to_string(site.type(site.in(0))) + " and " + to_string(site.type(site.in(1))) +
                      "; expected two matrices");
  }
  if (!is_float(site.dtype(0)) && (alpha != 1 || beta != 1)) {
    return site.error("scales " + to_string(site.type(site.in(0))) +
                      " by attributes \"alpha\" and \"beta\"; this is supported for floats");
  }
  const bool adds = site.has(2) && beta != 0;
  if (!adds && alpha == 1) return site.give(op, {site.in(0), site.in(1)});
  WHET_TRY(const ValueId product, site.add("matmul", op, {site.in(0), site.in(1)}));
  if (!adds) {
    const ValueId factor = site.add_scalar("alpha", site.dtype(0), alpha);
    return site.give(BinaryOperator{BinaryKind::mul}, {product, factor});
  }
  if (broadcast(site.shape(2), site.type(product).shape) != site.type(product).shape) {
    return site.error("adds " + to_string(site.type(site.in(2))) + " to " + to_string(site.type(product)) +
                      "; expected a tensor that broadcasts to it");
  }
  WHET_TRY(const ValueId left, scaled(site, "alpha", product, alpha));
  WHET_TRY(const ValueId right, scaled(site, "beta", site.in(2), beta));
  return site.give(BinaryOperator{BinaryKind::add}, {left, right});
}

/// As numpy.matmul: a vector on the left is a row, on the right a column, and that dimension is dropped again.
Result<ValueId> add_matmul(OnnxSite& site, ValueId a, ValueId b) {
  const Shape left = site.type(a).shape, right = site.type(b).shape;
  const bool row = left.size() == 1, column = right.size() == 1;
  if (row) {
    WHET_TRY(a, site.add("row", ReshapeOperator{{1, left[0]}}, {a}));
  }
  if (column) {
    WHET_TRY(b, site.add("column", ReshapeOperator{{right[0], 1}}, {b}));
  }
  WHET_TRY(const ValueId product, site.add("matmul", MatMulOperator{}, {a, b}));
  if (!row && !column) return product;
  Shape shape = site.type(product).shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return site.add("vector", ReshapeOperator{shape}, {product});
}

Status import_matmul(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (site.rank(0) != 1 && site.rank(1) != 1) return site.give(MatMulOperator{}, {site.in(0), site.in(1)});
  WHET_TRY(const ValueId product, add_matmul(site, site.in(0), site.in(1)));
  return site.give(product);
}

}  // namespace whet
