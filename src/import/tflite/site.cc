#include "import/tflite/site.h"

#include <algorithm>
#include <sstream>

#include "base/arithmetic.h"
#include "base/nearest.h"
#include "import/parts/quantize.h"
#include "import/tensorflow/rows.h"
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
  WHET_RETURN_IF_ERROR(expect_inputs(row->arity.least, row->arity.most));
  WHET_RETURN_IF_ERROR(row->import != nullptr ? row->import(*this) : import_as(*row));
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

TfliteSite::TfliteSite(GrowingGraph& graph, const TfliteModel& model, const Subgraph& tensors,
                       const Operation& operation, std::vector<std::string> outputs, bool is_inner)
    : TfSite(graph, call_, operation.label, std::move(outputs), no_bodies_, is_inner),
      model_(model),
      subgraph_(tensors),
      operation_(operation) {
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) call_.inputs.push_back(has(i) ? info(i).name : "");
}

Status TfliteSite::import_as(const TfliteRow& row) {
  while (!call_.inputs.empty() && !has(call_.inputs.size() - 1)) call_.inputs.pop_back();
  bool moves = row.passing != as_real;
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (!has(i)) return error("input " + std::to_string(i) + " is left out");
    moves = moves && (row.passing == as_plain || moves_as_stored(i));
  }
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < input_count(); ++i) {
    WHET_TRY(const ValueId x, moves ? Result<ValueId>(in(i)) : real(i));
    operands.push_back(x);
  }
  call_.op = row.as;
  read_attributes(row.attributes);
  operands_ = std::move(operands);
  computes_ = !moves;
  const tensorflow::TfRow& as = *tensorflow::find_row(row.as);
  WHET_RETURN_IF_ERROR(expect_inputs(as.arity.least, as.arity.most));
  return as.import(*this);
}

void TfliteSite::read_attributes(std::string_view words) {
  std::istringstream list{std::string(words)};
  for (std::string word; list >> word;) {
    const std::size_t mark = word.find('#'), equals = word.find('=');
    const int field = std::stoi(word.substr(mark + 1));
    if (equals == std::string::npos) {
      activation_ = options().number<std::int8_t>(field);
      continue;
    }
    tensorflow::TfAttribute& attribute = call_.attributes[word.substr(0, equals)];
    const std::string kind = word.substr(equals + 1, mark - equals - 1);
    if (kind == "int") attribute = std::int64_t{options().number<std::int32_t>(field)};
    if (kind == "bool") attribute = options().flag(field);
    if (kind == "float") attribute = static_cast<double>(options().number<float>(field));
    if (kind == "ints") {
      const auto numbers = options().numbers<std::int32_t>(field);
      attribute = tensorflow::TfList{.integers = {numbers.begin(), numbers.end()}};
    }
    if (kind == "window") {
      const int columns = std::stoi(word.substr(word.find(',') + 1));
      attribute = tensorflow::TfList{
          .integers = {1, options().number<std::int32_t>(field), options().number<std::int32_t>(columns), 1}};
    }
    if (kind == "type") {
      const bool has = static_cast<std::size_t>(field) < operation_.outputs.size();
      const auto dtype = has ? dtype_of_tflite(result_info(static_cast<std::size_t>(field)).type) : std::nullopt;
      attribute = tensorflow::type_of(dtype.value_or(DType::i32));
    }
    if (const std::size_t bar = kind.find('|'); bar != std::string::npos)
      attribute = options().number<std::int8_t>(field) == 0 ? kind.substr(0, bar) : kind.substr(bar + 1);
  }
}

Status TfliteSite::expect_inputs(std::size_t low, std::size_t high) const {
  WHET_RETURN_IF_ERROR(TfSite::expect_inputs(low, high));
  for (std::size_t i = 0; i < low; ++i)
    if (!has(i)) return error("input " + std::to_string(i) + " is left out");
  return ok_status();
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

Status TfliteSite::give(ValueId x, std::size_t i) {
  if (!computes_ || !wants_output(i)) return TfSite::give(x, i);
  WHET_TRY(const ValueId y, activated(x, activation_));
  WHET_TRY(const ValueId said, stored(y, i));
  return TfSite::give(said, i);
}
Status TfliteSite::give(const Operator& op, std::vector<ValueId> inputs, std::size_t i) {
  if (!computes_) return TfSite::give(op, std::move(inputs), i);
  return give(add("y", op, std::move(inputs)), i);
}
Status TfliteSite::give_real(ValueId y, std::size_t i) {
  return i < operation_.outputs.size() ? give(stored(y, i), i) : ok_status();
}

Result<ValueId> TfliteSite::stored(ValueId y, std::size_t i) {
  const TensorInfo& said = result_info(i);
  if (!is_quantized(said)) {
    const auto wanted = dtype_of_tflite(said.type);
    if (wanted && is_float(*wanted) && is_float(dtype(y)) && *wanted != dtype(y)) return cast("narrow", y, *wanted);
    return y;
  }
  const Shape shape_of_y = shape(y);
  WHET_TRY(const ValueId scale, scales_of(said, shape_of_y));
  WHET_TRY(const auto zero, zeros_of(said, shape_of_y));
  return quantized(*this, y, scale, zero, *dtype_of_tflite(said.type));
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
