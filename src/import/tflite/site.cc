#include "import/tflite/site.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/nearest.h"
#include "import/parts/quantize.h"
#include "import/tflite/rows.h"

namespace whet::tflite {
namespace {

/// A list along dimension `d` of `rank`.
Shape column_shape(std::size_t rank, std::size_t d, std::int64_t count) {
  Shape shape(rank, 1);
  shape[d] = count;
  return shape;
}

}  // namespace

Status TfliteSite::import() {
  const TfliteRow* row = find_row(operation_.name);
  if (row == nullptr) return error("this operator is not supported: " + operation_.name);
  for (std::size_t i = 0; i < operation_.inputs.size(); ++i) {
    if (!has(i) || graph_.defined(info(i).name)) continue;
    const bool unknown = !dtype_of_tflite(info(i).type);
    return error("reads " + in_quotes(info(i).name) +
                 (unknown ? ", which is of type " + tflite_type_name(info(i).type) + "; this is not supported"
                          : ", which nothing before it defines"));
  }
  WHET_RETURN_IF_ERROR(check_int16());
  WHET_RETURN_IF_ERROR(row->import(*this));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!graph_.defined(outputs_[i])) {
      if (graph_.is_read(outputs_[i])) return error("result " + std::to_string(i) + " is not supported");
      continue;
    }
    if (is_sequence(graph_.find(outputs_[i]))) continue;
    // The file's own type and shape, where they are fixed.
    const TensorInfo& said = result_info(i);
    const TensorType& made = type(graph_.find(outputs_[i]));
    const bool open =
        std::any_of(said.signature.begin(), said.signature.end(), [](std::int64_t extent) { return extent < 0; });
    const bool fits =
        dtype_of_tflite(said.type) == made.dtype && (open || said.shape.empty() || said.shape == made.shape);
    if (!fits)
      return error(in_quotes(said.name) + " becomes " + to_string(made) + "; the file says " +
                   tflite_type_name(said.type) + "[" + to_string(said.shape) + "]");
  }
  return graph_.check_growth(name_);
}

/// Numbers of 16 bits are held in 32: where they stand for nothing, their sums would not wrap around.
Status TfliteSite::check_int16() const {
  for (const std::vector<int>* tensors : {&operation_.inputs, &operation_.outputs})
    for (const int number : *tensors)
      if (number >= 0 && tensor(number).type == kInt16 && tensor(number).quantization.scales.empty())
        return error(in_quotes(tensor(number).name) + " is of type int16 without a scale; this is not supported");
  return ok_status();
}

Status TfliteSite::expect_inputs(std::size_t low, std::size_t high) const {
  const std::size_t count = operation_.inputs.size();
  if (count < low || count > high)
    return error("has " + std::to_string(count) + " inputs; expected " + std::to_string(low) +
                 (low == high ? "" : " to " + std::to_string(high)));
  for (std::size_t i = 0; i < low; ++i)
    if (!has(i)) return error("input " + std::to_string(i) + " is left out");
  return ok_status();
}

ValueId TfliteSite::in(std::size_t i) const {
  WHET_CHECK(has(i), name_.c_str());
  return graph_.find(info(i).name);
}

Result<std::int64_t> TfliteSite::integer(std::size_t i, const std::string& what) {
  WHET_TRY(const std::vector<std::int64_t> list, integers(i, what));
  if (list.size() == 1) return list[0];
  return error("its " + what + " is a list of " + std::to_string(list.size()));
}

Result<ValueId> TfliteSite::scales_of(const TensorInfo& info, const Shape& shape,
                                      std::optional<std::size_t> dimension) {
  const std::vector<float>& scales = info.quantization.scales;
  if (scales.size() == 1) return add_scalar("scale", DType::f32, scales[0]);
  const std::size_t d = dimension.value_or(static_cast<std::size_t>(std::max(info.quantization.dimension, 0)));
  const auto count = static_cast<std::int64_t>(scales.size());
  if (d >= shape.size() || shape[d] != count)
    return error(in_quotes(info.name) + " has " + std::to_string(count) + " scales for " + to_string(shape));
  return add_constant("scales", Tensor::of<float>(DType::f32, column_shape(shape.size(), d, count), scales));
}

Result<std::optional<ValueId>> TfliteSite::zeros_of(const TensorInfo& info, const Shape& shape) {
  const std::vector<std::int64_t>& zeros = info.quantization.zeros;
  if (std::all_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero == 0; }))
    return std::optional<ValueId>();
  for (const std::int64_t zero : zeros)
    if (zero < -128 || zero > 255) return error(in_quotes(info.name) + " has a zero point of " + std::to_string(zero));
  if (zeros.size() == 1) return std::optional(add_scalar("zero", DType::i32, static_cast<double>(zeros[0])));
  const auto d = static_cast<std::size_t>(std::max(info.quantization.dimension, 0));
  const auto count = static_cast<std::int64_t>(zeros.size());
  if (d >= shape.size() || shape[d] != count)
    return error(in_quotes(info.name) + " has " + std::to_string(count) + " zero points for " + to_string(shape));
  return std::optional(
      add_constant("zeros", Tensor::of<std::int64_t>(DType::i32, column_shape(shape.size(), d, count), zeros)));
}

Result<ValueId> TfliteSite::real(std::size_t i) {
  const ValueId x = in(i);
  if (!is_quantized(info(i))) return is_float(dtype(x)) ? cast("float", x, DType::f32) : Result<ValueId>(x);
  const Shape shape_of_x = shape(x);
  WHET_TRY(const ValueId scale, scales_of(info(i), shape_of_x));
  WHET_TRY(const auto zero, zeros_of(info(i), shape_of_x));
  return dequantized(*this, x, scale, zero, DType::f32);
}

Result<ValueId> TfliteSite::real_bias(std::size_t bias, std::size_t image, std::size_t weights) {
  if (is_float(dtype(in(bias)))) return real(bias);
  const std::vector<float>&x = info(image).quantization.scales, &w = info(weights).quantization.scales;
  if (x.size() != 1 || w.empty() || num_elements(shape(in(bias))) == 0 || rank(in(bias)) != 1)
    return error("has a bias of " + to_string(type(in(bias))) + " beside " + to_string(type(in(image))) +
                 ", whose scale is not known");
  std::vector<float> scales;
  for (const float scale : w) scales.push_back(scale * x[0]);
  const auto count = static_cast<std::int64_t>(scales.size());
  if (count != 1 && count != shape(in(bias))[0])
    return error("has " + std::to_string(count) + " scales for " + to_string(type(in(bias))));
  const ValueId scale =
      add_constant("bias_scales", Tensor::of<float>(DType::f32, count == 1 ? Shape{} : Shape{count}, scales));
  WHET_TRY(const ValueId steps, cast("bias_steps", in(bias), DType::f32));
  return add("bias", BinaryOperator{BinaryKind::mul}, {steps, scale});
}

Status TfliteSite::give_real(ValueId y, std::size_t i) {
  if (i >= operation_.outputs.size()) return ok_status();
  const TensorInfo& said = result_info(i);
  if (!is_quantized(said)) {
    const auto wanted = dtype_of_tflite(said.type);
    if (wanted && is_float(*wanted) && is_float(dtype(y)) && *wanted != dtype(y))
      return give(cast("narrow", y, *wanted), i);
    return give(y, i);
  }
  const Shape shape_of_y = shape(y);
  WHET_TRY(const ValueId scale, scales_of(said, shape_of_y));
  WHET_TRY(const auto zero, zeros_of(said, shape_of_y));
  return give(quantized(*this, y, scale, zero, *dtype_of_tflite(said.type)), i);
}

bool TfliteSite::moves_as_stored(std::size_t i) const {
  if (!is_quantized(info(i))) return true;
  return std::all_of(operation_.outputs.begin(), operation_.outputs.end(), [&](int output) {
    return tensor(output).quantization.scales == info(i).quantization.scales &&
           tensor(output).quantization.zeros == info(i).quantization.zeros;
  });
}

Result<ValueId> TfliteSite::activated(ValueId y, int activation) {
  switch (activation) {
    case 0:
      return y;
    case 1:
      return add("relu", UnaryOperator{UnaryKind::relu}, {y});
    case 2:
      return add("clip", ClipOperator{-1, 1}, {y});
    case 3:
      return add("clip", ClipOperator{0, 6}, {y});
    case 4:
      return add("tanh", UnaryOperator{UnaryKind::tanh}, {y});
    default:
      return error("its activation " + std::to_string(activation) + " is not supported");
  }
}

}  // namespace whet::tflite
