#include <algorithm>
#include <cmath>

#include "graph/infer.h"

namespace whet {
namespace {

std::string list(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::int64_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return "[" + text + "]";
}

Status expect_slice_inside(const InferSite& site, const SliceOperator& op, std::size_t i) {
  const std::int64_t extent = site.in(0).shape[i], count = op.shape[i], first = op.starts[i], step = op.steps[i];
  if (count == 0) return ok_status();
  // |step| <= 2^31 and count <= 2^31: no overflow.
  const std::int64_t last = first + (count - 1) * step;
  if (step != 0 && std::min(first, last) >= 0 && std::max(first, last) < extent) return ok_status();
  return site.error("a slice of dimension " + std::to_string(i) + " takes " + std::to_string(count) +
                    " elements from " + std::to_string(first) + " in steps of " + std::to_string(step) +
                    "; the extent is " + std::to_string(extent));
}

Status expect_pad_possible(const InferSite& site, const PadOperator& op, std::size_t i) {
  const std::int64_t extent = site.in(0).shape[i], most = std::max(op.begin[i], op.end[i]);
  const bool too_far = (op.mode == PadMode::reflect && most > 0 && most >= extent) ||
                       (op.mode == PadMode::edge && most > 0 && extent == 0) ||
                       (op.mode == PadMode::wrap && most > extent);
  if (extent + op.begin[i] + op.end[i] >= 0 && !too_far) return ok_status();
  return site.error("padding by " + std::to_string(op.begin[i]) + " and " + std::to_string(op.end[i]) +
                    " is not possible in dimension " + std::to_string(i) + " of extent " + std::to_string(extent));
}

}  // namespace

Result<TensorType> infer(const InferSite& site, const TransposeOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const Shape& x = site.in(0).shape;
  std::vector<std::int64_t> sorted = op.perm;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == x.size();
  for (std::size_t i = 0; permutation && i < sorted.size(); ++i) permutation = sorted[i] == static_cast<int>(i);
  if (!permutation) {
    return site.error("attribute \"perm\" is " + list(op.perm) + "; expected an order of the " +
                      std::to_string(x.size()) + " dimensions of " + to_string(site.in(0)));
  }
  Shape shape;
  for (std::int64_t dimension : op.perm) shape.push_back(x[static_cast<std::size_t>(dimension)]);
  return TensorType{site.in(0).dtype, shape};
}

Result<TensorType> infer(const InferSite& site, const ReshapeOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(check_shape(site.node + ": the result", op.shape));
  if (num_elements(op.shape) != num_elements(site.in(0).shape)) {
    return site.error(to_string(site.in(0)) + " cannot be reshaped to " + to_string(op.shape) + ": " +
                      std::to_string(num_elements(site.in(0).shape)) + " elements against " +
                      std::to_string(num_elements(op.shape)));
  }
  return TensorType{site.in(0).dtype, op.shape};
}

Result<TensorType> infer(const InferSite& site, const ConcatOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, static_cast<std::size_t>(kMaxElements)));
  TensorType type = site.in(0);
  WHET_RETURN_IF_ERROR(site.expect_axis("axis", op.axis, type.shape.size()));
  const auto axis = static_cast<std::size_t>(op.axis);
  for (std::size_t i = 1; i < site.inputs.size(); ++i) {
    WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, i));
    Shape other = site.in(i).shape;
    if (other.size() == type.shape.size()) std::swap(other[axis], type.shape[axis]);
    const bool fits = other.size() == type.shape.size() &&
                      std::equal(other.begin(), other.begin() + op.axis, type.shape.begin()) &&
                      std::equal(other.begin() + op.axis + 1, other.end(), type.shape.begin() + op.axis + 1);
    if (!fits) {
      return site.error("inputs 0 and " + std::to_string(i) + " are " + to_string(site.in(0)) + " and " +
                        to_string(site.in(i)) + "; to concatenate along dimension " + std::to_string(op.axis) +
                        " the others must be equal");
    }
    type.shape[axis] += other[axis];
  }
  return type;
}

Result<TensorType> infer(const InferSite& site, const SliceOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const std::size_t rank = site.in(0).shape.size();
  WHET_RETURN_IF_ERROR(site.expect_entries("starts", op.starts, rank, 0));
  WHET_RETURN_IF_ERROR(site.expect_entries("steps", op.steps, rank, -kMaxElements));
  WHET_RETURN_IF_ERROR(site.expect_entries("shape", op.shape, rank, 0));
  for (std::size_t i = 0; i < rank; ++i) WHET_RETURN_IF_ERROR(expect_slice_inside(site, op, i));
  return TensorType{site.in(0).dtype, op.shape};
}

Result<TensorType> infer(const InferSite& site, const PadOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  TensorType type = site.in(0);
  WHET_RETURN_IF_ERROR(site.expect_entries("pads (begin)", op.begin, type.shape.size(), -kMaxElements));
  WHET_RETURN_IF_ERROR(site.expect_entries("pads (end)", op.end, type.shape.size(), -kMaxElements));
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    WHET_RETURN_IF_ERROR(expect_pad_possible(site, op, i));
    type.shape[i] += op.begin[i] + op.end[i];
  }
  return type;
}

Result<TensorType> infer(const InferSite& site, const GatherOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  const Shape &data = site.in(0).shape, &indices = site.in(1).shape;
  WHET_RETURN_IF_ERROR(site.expect_axis("axis", op.axis, data.size()));
  WHET_RETURN_IF_ERROR(site.expect_index(1));
  if (data[static_cast<std::size_t>(op.axis)] == 0 && num_elements(indices) > 0) {
    return site.error("nothing can be taken from " + to_string(site.in(0)) + " along dimension " +
                      std::to_string(op.axis));
  }
  Shape shape(data.begin(), data.begin() + op.axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + op.axis + 1, data.end());
  return TensorType{site.in(0).dtype, shape};
}

Result<TensorType> infer(const InferSite& site, const ExpandOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(check_shape(site.node + ": the result", op.shape));
  if (broadcast(site.in(0).shape, op.shape) != op.shape) {
    return site.error(to_string(site.in(0)) + " cannot be expanded to " + to_string(op.shape));
  }
  return TensorType{site.in(0).dtype, op.shape};
}

Result<TensorType> infer(const InferSite& site, const ResizeOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (op.mode != ResizeMode::nearest) WHET_RETURN_IF_ERROR(site.expect_float(0));
  const std::size_t rank = site.in(0).shape.size();
  WHET_RETURN_IF_ERROR(site.expect_entries("sizes", op.shape, rank, 1));
  const std::size_t roi = op.coordinates == CoordinateMode::tf_crop_and_resize ? rank : 0;
  if (op.roi_begin.size() != roi || op.roi_end.size() != roi) {
    return site.error("the region of interest has " + std::to_string(op.roi_begin.size()) + " and " +
                      std::to_string(op.roi_end.size()) + " entries; expected " + std::to_string(roi));
  }
  for (std::size_t d = 0; d < roi; ++d) {
    if (!(std::abs(op.roi_begin[d]) <= 1024 && std::abs(op.roi_end[d]) <= 1024)) {
      return site.error("the region of interest is from " + std::to_string(op.roi_begin[d]) + " to " +
                        std::to_string(op.roi_end[d]) + " in dimension " + std::to_string(d) +
                        "; expected parts of the extent");
    }
  }
  if (op.scales.size() != rank) {
    return site.error("attribute \"scales\" has " + std::to_string(op.scales.size()) + " entries; expected " +
                      std::to_string(rank));
  }
  for (double scale : op.scales) {
    if (!(scale > 0 && scale < 1e9)) return site.error("a scale is " + std::to_string(scale) + "; expected above 0");
  }
  if (num_elements(site.in(0).shape) == 0)
    return site.error("input 0 is " + to_string(site.in(0)) + ", which is empty");
  return TensorType{site.in(0).dtype, op.shape};
}

}  // namespace whet
