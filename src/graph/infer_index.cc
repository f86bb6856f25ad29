#include <algorithm>

#include "graph/infer.h"

namespace whet {
namespace {

/// There is something along `axis` to choose from.
Status expect_elements_along(const InferSite& site, std::int64_t axis) {
  const Shape& x = site.in(0).shape;
  WHET_RETURN_IF_ERROR(site.expect_axis("axis", axis, x.size()));
  if (x[static_cast<std::size_t>(axis)] > 0) return ok_status();
  return site.error("input 0 is " + to_string(site.in(0)) + "; there is no element along dimension " +
                    std::to_string(axis));
}

/// Data and indices have equal rank; indices.shape[d] <= data.shape[d] except along `axis`.
Status expect_indices_inside(const InferSite& site, std::int64_t axis) {
  const Shape &data = site.in(0).shape, &indices = site.in(1).shape;
  WHET_RETURN_IF_ERROR(site.expect_axis("axis", axis, data.size()));
  WHET_RETURN_IF_ERROR(site.expect_index(1));
  bool fits = data.size() == indices.size();
  for (std::size_t d = 0; fits && d < data.size(); ++d) {
    fits = static_cast<std::int64_t>(d) == axis ? data[d] > 0 || indices[d] == 0 : indices[d] <= data[d];
  }
  if (fits) return ok_status();
  return site.error("the indices are " + to_string(site.in(1)) + " into " + to_string(site.in(0)) +
                    " along dimension " + std::to_string(axis) +
                    "; expected as many dimensions, and no larger extents in the others");
}

/// The extent of the last dimension of the indices: how many dimensions of data one entry names.
Result<std::size_t> index_depth(const InferSite& site, std::size_t batch) {
  const Shape &data = site.in(0).shape, &indices = site.in(1).shape;
  WHET_RETURN_IF_ERROR(site.expect_index(1));
  const bool fits = !indices.empty() && batch < indices.size() && batch <= data.size() && indices.back() >= 1 &&
                    indices.back() <= static_cast<std::int64_t>(data.size() - batch) &&
                    std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(batch), indices.begin());
  if (!fits) {
    return site.error("the indices are " + to_string(site.in(1)) + " into " + to_string(site.in(0)) + " with " +
                      std::to_string(batch) + " batch dimensions; expected equal batches and a last extent of 1 to " +
                      std::to_string(data.size() - std::min(batch, data.size())));
  }
  return static_cast<std::size_t>(indices.back());
}

Status expect_numbers_to_combine(const InferSite& site, ScatterKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, 2));
  return kind == ScatterKind::replace ? ok_status() : site.expect_number(0);
}

}  // namespace

Result<TensorType> infer(const InferSite& site, const GatherElementsOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_RETURN_IF_ERROR(expect_indices_inside(site, op.axis));
  return TensorType{site.in(0).dtype, site.in(1).shape};
}

Result<TensorType> infer(const InferSite& site, const GatherNdOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (op.batch_dims < 0 || op.batch_dims > static_cast<std::int64_t>(site.in(0).shape.size())) {
    return site.error("attribute \"batch_dims\" is " + std::to_string(op.batch_dims) + " for " + to_string(site.in(0)));
  }
  const auto batch = static_cast<std::size_t>(op.batch_dims);
  WHET_TRY(const std::size_t depth, index_depth(site, batch));
  const Shape &data = site.in(0).shape, &indices = site.in(1).shape;
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(batch + depth), data.end());
  if (num_elements(data) == 0 && num_elements(shape) > 0) {
    return site.error("nothing can be taken from " + to_string(site.in(0)));
  }
  return TensorType{site.in(0).dtype, shape};
}

Result<TensorType> infer(const InferSite& site, const ScatterElementsOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_RETURN_IF_ERROR(expect_indices_inside(site, op.axis));
  WHET_RETURN_IF_ERROR(expect_numbers_to_combine(site, op.kind));
  if (site.in(1).shape == site.in(2).shape) return site.in(0);
  return site.error("the indices are " + to_string(site.in(1)) + " and the updates " + to_string(site.in(2)) +
                    "; expected equal shapes");
}

Result<TensorType> infer(const InferSite& site, const ScatterNdOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const std::size_t depth, index_depth(site, 0));
  WHET_RETURN_IF_ERROR(expect_numbers_to_combine(site, op.kind));
  const Shape &data = site.in(0).shape, &indices = site.in(1).shape;
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), data.begin() + static_cast<std::ptrdiff_t>(depth), data.end());
  if (site.in(2).shape == updates) return site.in(0);
  return site.error("the updates are " + to_string(site.in(2)) + "; expected the shape " + to_string(updates) +
                    " for indices " + to_string(indices) + " into " + to_string(data));
}

Result<TensorType> infer(const InferSite& site, const ArgReduceOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  WHET_RETURN_IF_ERROR(expect_elements_along(site, op.axis));
  Shape shape = site.in(0).shape;
  if (op.keep_dims) {
    shape[static_cast<std::size_t>(op.axis)] = 1;
  } else {
    shape.erase(shape.begin() + op.axis);
  }
  return TensorType{DType::i64, shape};
}

Result<TensorType> infer(const InferSite& site, const TopKOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  WHET_RETURN_IF_ERROR(expect_elements_along(site, op.axis));
  Shape shape = site.in(0).shape;
  std::int64_t& extent = shape[static_cast<std::size_t>(op.axis)];
  if (op.k < 0 || op.k > extent) {
    return site.error("takes " + std::to_string(op.k) + " elements of " + std::to_string(extent));
  }
  extent = op.k;
  return TensorType{DType::i64, shape};
}

Result<TensorType> infer(const InferSite& site, const CumSumOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  WHET_RETURN_IF_ERROR(site.expect_axis("axis", op.axis, site.in(0).shape.size()));
  return site.in(0);
}

}  // namespace whet
