#include <algorithm>

#include "graph/infer.h"

namespace whet {

Result<TensorType> infer(const InferSite& site, const MatMulOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  const bool bytes = is_product_of_bytes(site);
  const bool narrow_weights = op.wide && site.in(0).dtype == DType::f32 && is_half(site.in(1).dtype);
  if (!bytes && !narrow_weights) WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, 1));
  WHET_TRY(const DType sum, narrow_weights ? DType::f32 : dtype_of_sums(site, op.wide));
  WHET_RETURN_IF_ERROR(site.expect_rank_at_least(0, 2));
  WHET_RETURN_IF_ERROR(site.expect_rank_at_least(1, 2));
  const Shape &a = site.in(0).shape, &b = site.in(1).shape;
  std::int64_t rows = a[a.size() - 2], a_depth = a.back(), b_depth = b[b.size() - 2], columns = b.back();
  if (op.transpose_a) std::swap(rows, a_depth);
  if (op.transpose_b) std::swap(b_depth, columns);
  const auto batch = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (a_depth != b_depth || !batch) {
    return site.error("matrices " + to_string(a) + (op.transpose_a ? " (transposed)" : "") + " and " + to_string(b) +
                      (op.transpose_b ? " (transposed)" : "") + " do not multiply: " +
                      (batch ? "the inner extents are " + std::to_string(a_depth) + " and " + std::to_string(b_depth)
                             : "the leading extents do not broadcast"));
  }
  if (a_depth == 0) return site.error("multiplies " + to_string(a) + " and " + to_string(b) + ": a sum over nothing");
  Shape shape = *batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return TensorType{sum, shape};
}

Result<TensorType> infer(const InferSite& site, const ReduceOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  const Shape& x = site.in(0).shape;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    WHET_RETURN_IF_ERROR(site.expect_axis("axes", op.axes[i], x.size()));
    if (i > 0 && op.axes[i] <= op.axes[i - 1]) {
      return site.error("attribute \"axes\" names dimension " + std::to_string(op.axes[i]) + " twice or out of order");
    }
    if (x[static_cast<std::size_t>(op.axes[i])] == 0) {
      return site.error("input 0 is " + to_string(site.in(0)) + "; a reduction over no elements is not supported");
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool reduced = std::binary_search(op.axes.begin(), op.axes.end(), static_cast<std::int64_t>(i));
    if (!reduced) {
      shape.push_back(x[i]);
    } else if (op.keep_dims) {
      shape.push_back(1);
    }
  }
  return TensorType{site.in(0).dtype, shape};
}

Result<TensorType> infer(const InferSite& site, const SoftmaxOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_float(0));
  WHET_RETURN_IF_ERROR(site.expect_axis("axis", op.axis, site.in(0).shape.size()));
  const TensorType& x = site.in(0);
  if (!op.rounds) return x;
  if (x.dtype != DType::f32) return site.error("input 0 is " + to_string(x) + "; a softmax that rounds needs f32");
  return TensorType{*op.rounds, x.shape};
}

Result<TensorType> infer(const InferSite& site, const BatchNormOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  WHET_RETURN_IF_ERROR(site.expect_float(0));
  WHET_RETURN_IF_ERROR(site.expect_rank_at_least(0, 2));
  const Shape& x = site.in(0).shape;
  const std::int64_t channels = x[channel_place(op.layout, x.size()).channel];
  static constexpr const char* kNames[] = {"input", "scale", "bias", "mean", "variance"};
  for (std::size_t i = 1; i < 5; ++i) {
    WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, i));
    if (site.in(i).shape != Shape{channels}) {
      return site.error(std::string("the ") + kNames[i] + " is " + to_string(site.in(i)) +
                        "; expected one value for each of the " + std::to_string(channels) + " channels");
    }
  }
  return site.in(0);
}

}  // namespace whet
