#include "graph/infer.h"

#include <algorithm>

namespace whet {

bool is_sane(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kMaxElements || count > kMaxElements / std::max<std::int64_t>(extent, 1)) return false;
    count *= std::max<std::int64_t>(extent, 1);
  }
  return true;
}

Status check_shape(const std::string& what, const Shape& shape) {
  // The product of the extents that are not 0 is bounded too, so that no later product overflows.
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (extent < 0) return Error{what + " has shape " + to_string(shape) + ": an extent is negative"};
    if (extent > kMaxElements || count > kMaxElements / std::max<std::int64_t>(extent, 1)) {
      return Error{what + " has shape " + to_string(shape) + "; at most 2147483647 elements are supported"};
    }
    count *= std::max<std::int64_t>(extent, 1);
  }
  return ok_status();
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {  // from the innermost dimension outwards
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1, right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

Status InferSite::expect_inputs(std::size_t low, std::size_t high) const {
  if (inputs.size() >= low && inputs.size() <= high) return ok_status();
  const std::string wanted = low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  return error(operation + " has " + std::to_string(inputs.size()) + " inputs; expected " + wanted);
}

Status InferSite::expect_float(std::size_t i) const {
  if (is_float(in(i).dtype)) return ok_status();
  return error("input " + std::to_string(i) + " is " + to_string(in(i)) + "; " + operation +
               " needs f32, f64, f16 or bf16");
}

Status InferSite::expect_number(std::size_t i) const {
  if (in(i).dtype != DType::boolean) return ok_status();
  return error("input " + std::to_string(i) + " is " + to_string(in(i)) + "; " + operation + " needs numbers");
}

Status InferSite::expect_boolean(std::size_t i) const {
  if (in(i).dtype == DType::boolean) return ok_status();
  return error("input " + std::to_string(i) + " is " + to_string(in(i)) + "; " + operation + " needs bool");
}

Status InferSite::expect_index(std::size_t i) const {
  if (in(i).dtype == DType::i32 || in(i).dtype == DType::i64) return ok_status();
  return error("the indices are " + to_string(in(i)) + "; expected i32 or i64");
}

Status InferSite::expect_same_dtype(std::size_t i, std::size_t j) const {
  if (in(i).dtype == in(j).dtype) return ok_status();
  return error("inputs " + std::to_string(i) + " and " + std::to_string(j) + " of " + operation + " are " +
               to_string(in(i)) + " and " + to_string(in(j)) + "; expected one type");
}

bool is_product_of_bytes(const InferSite& site) {
  return site.inputs.size() >= 2 && site.in(0).dtype == DType::u8 && site.in(1).dtype == DType::i8;
}

Result<DType> dtype_of_sums(const InferSite& site, bool wide) {
  if (is_product_of_bytes(site)) return DType::i32;
  if (!wide) return site.in(0).dtype;
  if (is_half(site.in(0).dtype)) return DType::f32;
  if (site.in(0).dtype == DType::i16) return site.in(1).dtype == DType::i16 ? DType::i32 : DType::f32;
  return site.error("input 0 is " + to_string(site.in(0)) + "; a wide " + site.operation + " needs f16, bf16 or i16");
}

Status InferSite::expect_rank_at_least(std::size_t i, std::size_t rank) const {
  if (in(i).shape.size() >= rank) return ok_status();
  return error("input " + std::to_string(i) + " is " + to_string(in(i)) + "; " + operation + " needs at least " +
               std::to_string(rank) + " dimensions");
}

Status InferSite::expect_entries(std::string_view attribute, const std::vector<std::int64_t>& values, std::size_t count,
                                 std::int64_t low) const {
  const std::string quoted = "attribute \"" + std::string(attribute) + "\" ";
  if (values.size() != count) {
    return error(quoted + "has " + std::to_string(values.size()) + " entries; expected " + std::to_string(count));
  }
  for (std::int64_t value : values) {
    if (value < low || value > kMaxElements) {
      return error(quoted + "holds " + std::to_string(value) + "; expected " + std::to_string(low) + " to " +
                   std::to_string(kMaxElements));
    }
  }
  return ok_status();
}

Status InferSite::expect_axis(std::string_view attribute, std::int64_t axis, std::size_t rank) const {
  if (axis >= 0 && axis < static_cast<std::int64_t>(rank)) return ok_status();
  return error("attribute \"" + std::string(attribute) + "\" is " + std::to_string(axis) + "; the input has " +
               std::to_string(rank) + " dimensions");
}

Result<TensorType> infer_type(const std::string& node_name, const Operator& op, const std::vector<TensorType>& inputs) {
  const InferSite site{node_name, name_of(op), inputs};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_sane(inputs[i].shape)) continue;
    WHET_RETURN_IF_ERROR(check_shape(node_name + ": input " + std::to_string(i), inputs[i].shape));
  }
  WHET_TRY(TensorType type, std::visit([&](const auto& o) { return infer(site, o); }, op));
  if (!is_sane(type.shape)) WHET_RETURN_IF_ERROR(check_shape(node_name + ": the result", type.shape));
  return type;
}

}  // namespace whet
