#include "import_tf/tflite/site.h"

#include <algorithm>
#include <sstream>

#include "base/arithmetic.h"
#include "base/nearest.h"
#include "import/parts/arithmetic.h"
#include "import/parts/quantize.h"
#include "import/parts/shape.h"
#include "import_tf/rows.h"
#include "import_tf/tflite/flex.h"
#include "import_tf/tflite/rows.h"

namespace whet::tflite {
namespace {

ValueIds found(const GrowingGraph& graph, const Subgraph& tensors, const Operation& operation) {
  ValueIds values;
  for (const int input : operation.inputs) {
    const std::string name = input < 0 ? "" : tensors.tensors[static_cast<std::size_t>(input)].name;
    values.push_back(graph.defined(name) ? graph.find(name) : ValueId());
  }
  return values;
}

}  // namespace

TfliteSite::TfliteSite(GrowingGraph& graph, const TfliteModel& model, const Subgraph& tensors,
                       const Operation& operation, Texts outputs, bool is_inner)
    : TfSite(graph, attributes_, operation.name, found(graph, tensors, operation), operation.label, std::move(outputs),
             no_bodies_, is_inner),
      model_(model),
      subgraph_(tensors),
      operation_(operation) {}

Status TfliteSite::import_defined(const OperatorDefinition& own) {
  AttributeNumbers numbers;
  if (const auto options = FlexMap::read(operation_.custom_options))
    for (const auto& [name, list] : options->all_numbers()) numbers[name] = number_texts(list);
  WHET_RETURN_IF_ERROR(check_operands());
  WHET_RETURN_IF_ERROR(give_defined(*this, own, operation_.name, inputs_, numbers));
  WHET_RETURN_IF_ERROR(check_results());
  return graph_.check_growth(name_);
}

Status TfliteSite::import() {
  if (const auto* own = graph_.definition_of(operation_.name)) return import_defined(*own);
  const TfliteRow* row = find_row(operation_.name);
  if (row == nullptr)
    return error("this operator is not supported: " + operation_.name + how_to_define(operation_.name));
  WHET_RETURN_IF_ERROR(check_operands());
  WHET_RETURN_IF_ERROR(read_fields(row->fields));
  const tensorflow::TfRow* as = tensorflow_row(*row);
  WHET_RETURN_IF_ERROR(bind(as != nullptr ? as->takes : row->takes));
  WHET_RETURN_IF_ERROR(pass_operands(row->passing));
  WHET_RETURN_IF_ERROR(as != nullptr ? as->import(*this) : row->import(*this));
  WHET_RETURN_IF_ERROR(check_results());
  return graph_.check_growth(name_);
}

Status TfliteSite::check_operands() const {
  for (const int number : operation_.inputs) {
    if (number < 0 || graph_.defined(tensor_info(number).name)) continue;
    const bool unknown = !dtype_of_tflite(tensor_info(number).type);
    return error("reads " + in_quotes(tensor_info(number).name) +
                 (unknown
                      ? ", which is of type " + tflite_type_name(tensor_info(number).type) + "; this is not supported"
                      : ", which nothing before it defines"));
  }
  return ok_status();
}

/// They have the file's own types, and shapes where these are fixed.
Status TfliteSite::check_results() const {
  WHET_RETURN_IF_ERROR(expect_results());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!graph_.defined(outputs_[i]) || is_sequence(given(i))) continue;
    const TensorInfo& said = result_info(i);
    const TensorType& made = type(given(i));
    const bool open =
        std::any_of(said.signature.begin(), said.signature.end(), [](std::int64_t extent) { return extent < 0; });
    const bool fits =
        dtype_of_tflite(said.type) == made.dtype && (open || said.shape.empty() || said.shape == made.shape);
    if (!fits)
      return error(in_quotes(said.name) + " becomes " + to_string(made) + "; the file says " +
                   tflite_type_name(said.type) + "[" + to_string(said.shape) + "]");
  }
  return ok_status();
}

Status TfliteSite::read_fields(std::string_view fields) {
  const FlatTable& options = operation_.options;
  for (const Word& word : words_of(fields)) {
    const std::string said(word.usual.value_or(word.name)), kind = said.substr(0, said.find('#'));
    std::istringstream numbers(kind == said ? "" : said.substr(kind.size() + 1));
    std::vector<int> places;
    for (std::string place; std::getline(numbers, place, ',');) places.push_back(std::stoi(place));
    const int field = places.empty() ? 0 : places[0];
    tensorflow::TfAttribute attribute = kind;
    if (kind == "true") attribute = true;
    if (kind == "activation") activation_ = options.number<std::uint8_t>(field);
    if (kind == "int") attribute = std::int64_t{options.number<std::int32_t>(field)};
    if (kind == "byte") attribute = std::int64_t{options.number<std::uint8_t>(field)};
    if (kind == "bool") attribute = options.flag(field);
    if (kind == "yes") attribute = options.number<std::uint8_t>(field, 1) != 0;
    if (kind == "float") attribute = static_cast<double>(options.number<float>(field));
    if (kind == "graph") attribute = tensorflow::TfFunctionName{std::to_string(options.number<std::int32_t>(field))};
    if (kind == "ints") {
      const auto numbers = options.numbers<std::int32_t>(field);
      attribute = tensorflow::TfList{.integers = {numbers.begin(), numbers.end()}};
    }
    if (kind == "floats") {
      const auto numbers = options.numbers<float>(field);
      attribute = tensorflow::TfList{.numbers = {numbers.begin(), numbers.end()}};
    }
    if (kind == "window" || kind == "ones") {
      tensorflow::TfList entries{.integers = {1}};
      for (const int each : places)
        entries.integers.push_back(options.number<std::int32_t>(each, kind == "ones" ? 1 : 0));
      entries.integers.push_back(1);
      attribute = entries;
    }
    if (kind == "type") {
      const bool has = static_cast<std::size_t>(field) < operation_.outputs.size();
      const int type = has ? result_info(static_cast<std::size_t>(field)).type : 0;
      const auto dtype = has ? dtype_of_tflite(type) : DType::i32;
      if (!dtype) return error("gives " + tflite_type_name(type) + ", which is not supported");
      attribute = tensorflow::type_of(*dtype);
    }
    if (const std::size_t bar = kind.find('|'); bar != std::string::npos)
      attribute = options.number<std::int8_t>(field) == 0 ? kind.substr(0, bar) : kind.substr(bar + 1);
    attributes_.attributes[std::string(word.name)] = std::move(attribute);
  }
  return ok_status();
}

Status TfliteSite::pass_operands(Passing passing) {
  if (passing == as_plain) return ok_status();
  if (passing == as_sum && has_bytes(info(0)) && has_bytes(info(1)) && has_bytes(result_info())) return pass_bytes();
  bool moves = passing == as_moved && activation_ == 0;
  for (std::size_t i = 0; i < input_count(); ++i) moves = moves && (!has(i) || moves_as_stored(i));
  moves_ = moves;
  if (moves) return ok_status();
  ValueIds floats = inputs_;
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (!has(i)) continue;
    const bool is_bias = std::any_of(words_.begin(), words_.end(),
                                     [&](const Word& word) { return word.name == "bias" && word.place == i; });
    WHET_TRY(floats[i], is_bias ? real_bias(i) : real(i));
  }
  inputs_ = std::move(floats);
  computes_ = true;
  return ok_status();
}

Status TfliteSite::pass_bytes() {
  WHET_TRY(const std::string order, text("weights", ""));
  if (info(1).quantization.scales.size() != 1 && info(1).quantization.dimension != (order == "one_kO" ? 3 : 0))
    return error("has scales along a dimension that is not that of output channels");
  for (const std::size_t i : {0, 1}) {
    const Shape shape_of_operand = shape(i);
    WHET_TRY(const auto zero, zeros_of(info(i), shape_of_operand));
    WHET_TRY(inputs_[i], centred(*this, in(i), zero));
  }
  sum_bias_ = if_given(2);
  inputs_.resize(2);
  computes_ = sums_ = true;
  return ok_status();
}

Result<ValueId> TfliteSite::sum_in_floats(ValueId sum) {
  if (sum_bias_) {
    WHET_TRY(const ValueId bias, cast("bias", *sum_bias_, DType::i32));
    WHET_TRY(sum, add("biased", BinaryOperator{BinaryKind::add}, {sum, bias}));
  }
  WHET_TRY(const ValueId scale, product_of_scales("scales", shape(sum).back()));
  WHET_TRY(const ValueId y, add("float", CastOperator{DType::f32}, {sum}));
  return add("scaled", BinaryOperator{BinaryKind::mul}, {y, scale});
}

Result<ValueId> TfliteSite::product_of_scales(const char* part, std::int64_t channels) {
  const std::vector<float>&x = info(place_of("x")).quantization.scales, &w = info(place_of("w")).quantization.scales;
  const auto count = static_cast<std::int64_t>(w.size());
  if (x.size() != 1 || count == 0 || (count != 1 && count != channels))
    return error("has " + std::to_string(x.size()) + " scales of its input and " + std::to_string(count) +
                 " of its weights for " + std::to_string(channels) + " channels");
  std::vector<float> scales;
  for (const float scale : w) scales.push_back(scale * x[0]);
  return add_constant(part, Tensor::of<float>(DType::f32, count == 1 ? Shape{} : Shape{count}, scales));
}

Result<Shape> TfliteSite::column(const TensorInfo& info, std::size_t count, const char* what,
                                 const Shape& shape) const {
  if (count == 1) return Shape{};
  const auto d = static_cast<std::size_t>(std::max(info.quantization.dimension, 0));
  if (d >= shape.size() || shape[d] != static_cast<std::int64_t>(count))
    return error(in_quotes(info.name) + " has " + std::to_string(count) + " " + what + " for " + to_string(shape));
  return shape_along(d, shape.size(), shape[d]);
}

Result<ValueId> TfliteSite::scales_of(const TensorInfo& info, const Shape& shape) {
  const std::vector<float>& scales = info.quantization.scales;
  WHET_TRY(const Shape along, column(info, scales.size(), "scales", shape));
  return add_constant(along.empty() ? "scale" : "scales", Tensor::of<float>(DType::f32, along, scales));
}

Result<std::optional<ValueId>> TfliteSite::zeros_of(const TensorInfo& info, const Shape& shape) {
  const std::vector<std::int64_t>& zeros = info.quantization.zeros;
  if (std::all_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero == 0; }))
    return std::optional<ValueId>();
  for (const std::int64_t zero : zeros)
    if (zero < -128 || zero > 255) return error(in_quotes(info.name) + " has a zero point of " + std::to_string(zero));
  WHET_TRY(const Shape along, column(info, zeros.size(), "zero points", shape));
  return std::optional(add_constant(along.empty() ? "zero" : "zeros", Tensor::of(DType::i32, along, zeros)));
}

Result<ValueId> TfliteSite::real(std::size_t i) {
  const ValueId x = in(i);
  if (!is_quantized(info(i))) return is_float(dtype(x)) ? cast("float", x, DType::f32) : Result<ValueId>(x);
  const Shape shape_of_x = shape(x);
  WHET_TRY(const ValueId scale, scales_of(info(i), shape_of_x));
  WHET_TRY(const auto zero, zeros_of(info(i), shape_of_x));
  return dequantized(*this, x, scale, zero, DType::f32);
}

Result<ValueId> TfliteSite::real_bias(std::size_t bias) {
  if (is_float(dtype(bias))) return real(bias);
  if (num_elements(shape(bias)) == 0 || rank(bias) != 1)
    return error("has a bias of " + to_string(type(bias)) + "; expected a list");
  WHET_TRY(const ValueId scale, product_of_scales("bias_scales", shape(bias)[0]));
  WHET_TRY(const ValueId steps, cast("bias_steps", in(bias), DType::f32));
  return add("bias", BinaryOperator{BinaryKind::mul}, {steps, scale});
}

/// Numbers of 16 bits that stand for themselves are held in 32: what is computed of them wraps.
bool TfliteSite::wraps(std::size_t i) const {
  return !moves_ && result_info(i).type == kInt16 && !is_quantized(result_info(i));
}

Status TfliteSite::give(ValueId x, std::size_t i) {
  if (!wants_output(i)) return ok_status();
  if (sums_) {
    WHET_TRY(x, sum_in_floats(x));
  }
  if (computes_) {
    WHET_TRY(x, activated(x));
    WHET_TRY(x, stored(x, i));
  }
  if (wraps(i) && dtype(x) == DType::i32) {
    WHET_TRY(x, wrapped(*this, x, HeldInteger{}));
  }
  return TfSite::give(x, i);
}
Status TfliteSite::give(const Operator& op, ValueIds inputs, std::size_t i) {
  if (!wants_output(i) || !(computes_ || wraps(i))) return TfSite::give(op, std::move(inputs), i);
  WHET_TRY(const ValueId y, add("y", op, std::move(inputs)));
  return give(y, i);
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
    return tensor_info(output).quantization.scales == info(i).quantization.scales &&
           tensor_info(output).quantization.zeros == info(i).quantization.zeros;
  });
}

Result<ValueId> TfliteSite::activated(ValueId y, int activation) {
  const std::pair<const char*, Operator> steps[] = {{"relu", UnaryOperator{UnaryKind::relu}},
                                                    {"clip", ClipOperator{-1, 1}},
                                                    {"clip", ClipOperator{0, 6}},
                                                    {"tanh", UnaryOperator{UnaryKind::tanh}}};
  if (activation == 0) return y;
  if (activation >= 1 && activation <= 4) return add(steps[activation - 1].first, steps[activation - 1].second, {y});
  return error("its activation " + std::to_string(activation) + " is not supported");
}

}  // namespace whet::tflite
