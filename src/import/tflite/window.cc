#include "import/parts/window.h"

#include <algorithm>
#include <cstring>

#include "import/parts/conv_transpose.h"
#include "import/parts/move_axis.h"
#include "import/parts/quantize.h"
#include "import/tflite/rows.h"

// Images are [N, H, W, C], and stay so: convolutions and pools of the graph take channels last.

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;

/// The options of a window, rows before columns.
struct Slide {
  bool same = false;
  Ints strides, dilations = {1, 1};
};
constexpr std::int64_t kMostStride = 1 << 20;

Status check_slide(const TfliteSite& site, const Slide& slide) {
  for (const Ints* list : {&slide.strides, &slide.dilations})
    for (const std::int64_t value : *list)
      if (value < 1 || value > kMostStride) return site.error("has a stride or dilation of " + std::to_string(value));
  return ok_status();
}

Status expect_image(const TfliteSite& site, ValueId x) {
  const Shape& shape = site.shape(x);
  if (shape.size() == 4 && num_elements(shape) > 0) return ok_status();
  return site.error("the input is " + to_string(site.type(x)) + "; expected a batch, rows, columns and channels");
}

ConvForm conv_form(const Slide& slide, WeightOrder order) {
  const Ints none(slide.strides.size(), 0);
  return {{slide.strides, slide.dilations, none, none}, slide.same, Layout::channels_last, order};
}

/// sum + bias in i32, in floats by the scales of image and weights, activated, and stored.
Status give_sum(TfliteSite& site, ValueId sum, std::size_t channels, int activation) {
  if (site.has(2)) {
    WHET_TRY(const ValueId bias, site.cast("bias", site.in(2), DType::i32));
    WHET_TRY(sum, site.add("biased", BinaryOperator{B::add}, {sum, bias}));
  }
  const std::vector<float>&x = site.info(0).quantization.scales, &w = site.info(1).quantization.scales;
  if (x.size() != 1 || (w.size() != 1 && site.info(1).quantization.dimension != static_cast<int>(channels)))
    return site.error("has scales along a dimension that is not that of output channels");
  std::vector<float> scales;
  for (const float scale : w) scales.push_back(scale * x[0]);
  const Shape shape = site.shape(sum);
  const auto count = static_cast<std::int64_t>(scales.size());
  if (count != 1 && count != shape.back())
    return site.error("has " + std::to_string(count) + " scales for " + std::to_string(shape.back()) + " channels");
  const ValueId scale =
      site.add_constant("scales", Tensor::of<float>(DType::f32, count == 1 ? Shape{} : Shape{count}, scales));
  WHET_TRY(ValueId y, site.add("float", CastOperator{DType::f32}, {sum}));
  WHET_TRY(y, site.add("scaled", BinaryOperator{B::mul}, {y, scale}));
  WHET_TRY(y, site.activated(y, activation));
  return site.give_real(y);
}

/// Numbers of 8 bits that are counted from their zero point.
Result<ValueId> centred_input(TfliteSite& site, std::size_t i) {
  const ValueId x = site.in(i);
  const Shape shape = site.shape(x);
  WHET_TRY(const auto zero, site.zeros_of(site.info(i), shape));
  return centred(site, x, zero);
}

bool is_integer_form(const TfliteSite& site) {
  return TfliteSite::has_bytes(site.info(0)) && TfliteSite::has_bytes(site.info(1)) &&
         TfliteSite::has_bytes(site.result_info());
}

Status give_real_conv(TfliteSite& site, const ConvForm& form, int activation) {
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId w, site.real(1));
  std::optional<ValueId> bias;
  if (site.has(2)) {
    WHET_TRY(bias, site.real_bias(2, 0, 1));
  }
  WHET_TRY(ValueId y, convolution(site, "conv", x, w, bias, form));
  return site.give_real(site.activated(y, activation));
}

/// The fields of the dilation's columns and of the activation, and the dimension of the weights that has the results.
Status give_conv2d(TfliteSite& site, WeightOrder order, int dilation, std::size_t channels, int activation) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  const FlatTable& o = site.options();
  const Slide slide{o.number<std::int8_t>(0) == 0,
                    {o.number<std::int32_t>(2), o.number<std::int32_t>(1)},
                    {o.number<std::int32_t>(dilation + 1, 1), o.number<std::int32_t>(dilation, 1)}};
  WHET_RETURN_IF_ERROR(check_slide(site, slide));
  const ConvForm form = conv_form(slide, order);
  if (!is_integer_form(site)) return give_real_conv(site, form, o.number<std::int8_t>(activation));
  WHET_TRY(const ValueId x, centred_input(site, 0));
  WHET_TRY(const ValueId w, centred_input(site, 1));
  WHET_TRY(const ValueId sum, convolution(site, "sum", x, w, std::nullopt, form));
  return give_sum(site, sum, channels, o.number<std::int8_t>(activation));
}

/// The root of the mean of squares.
Status import_l2_pool(TfliteSite& site) {
  const FlatTable& o = site.options();
  const Slide slide{o.number<std::int8_t>(0) == 0, {o.number<std::int32_t>(2), o.number<std::int32_t>(1)}};
  const Shape kernel = {o.number<std::int32_t>(4), o.number<std::int32_t>(3)};
  WHET_RETURN_IF_ERROR(expect_image(site, site.in(0)));
  WHET_RETURN_IF_ERROR(check_slide(site, slide));
  if (kernel[0] < 1 || kernel[1] < 1) return site.error("has windows of " + to_string(kernel));
  WHET_TRY(ValueId x, site.real(0));
  const Shape shape = site.shape(x);
  const bool whole = kernel[0] == shape[1] && kernel[1] == shape[2] && !slide.same;
  Window window{slide.strides, slide.dilations, {0, 0}, {0, 0}};
  if (slide.same) pad_to_same(window, {shape[1], shape[2]}, kernel, SamePadding::upper);
  WHET_TRY(x, site.add("squares", BinaryOperator{B::mul}, {x, x}));
  PoolOperator op{PoolKind::average, kernel, window.strides, window.dilations, window.pads_begin, window.pads_end};
  op.layout = Layout::channels_last;
  WHET_TRY(ValueId y,
           whole ? site.add("mean", ReduceOperator{ReduceKind::mean, {1, 2}, true}, {x}) : site.add("pool", op, {x}));
  WHET_TRY(y, site.add("root", UnaryOperator{UnaryKind::sqrt}, {y}));
  return site.give_real(site.activated(y, o.number<std::int8_t>(5)));
}

/// Where a transposed convolution has its operands, and the turn of its weights to [I, O, kernel...].
struct Transposed {
  std::size_t image, weights, bias;
  Ints turn;
};

/// By their meaning in channels first; the layout pass takes the turns away. `extents`: the pixels of the result.
Status give_transposed(TfliteSite& site, const Transposed& inputs, const Slide& slide, const Ints& extents,
                       int activation) {
  const std::size_t dims = extents.size();
  WHET_RETURN_IF_ERROR(check_slide(site, slide));
  for (const std::int64_t extent : extents)
    if (extent < 1 || extent > kMaxElements) return site.error("makes an image of " + to_string(extents));
  WHET_TRY(ValueId x, site.real(inputs.image));
  WHET_TRY(ValueId w, site.real(inputs.weights));
  const Shape image = site.shape(x), given = site.shape(w);
  if (image.size() != dims + 2 || given.size() != dims + 2 || num_elements(image) == 0 || num_elements(given) == 0 ||
      given[static_cast<std::size_t>(inputs.turn[0])] != image.back())
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(given));
  ConvTranspose form;
  form.window = {slide.strides, Ints(dims, 1), Ints(dims, 0), Ints(dims, 0)};
  form.output_padding = Ints(dims, 0);
  // The padding of the convolution that this one is the transpose of.
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t kernel = given[static_cast<std::size_t>(inputs.turn[d + 2])], extent = extents[d];
    const std::int64_t full = (image[d + 1] - 1) * slide.strides[d] + kernel;
    const std::int64_t total = slide.same ? std::max<std::int64_t>(full - extent, 0) : 0;
    form.window.pads_begin[d] = total / 2;
    form.window.pads_end[d] = total - total / 2;
    form.output_padding[d] = std::max<std::int64_t>(extent - full, 0);
    if (full - total + form.output_padding[d] != extent)
      return site.error("makes " + std::to_string(extent) + " pixels of " + std::to_string(image[d + 1]));
  }
  WHET_TRY(x, site.add("channels_first", move_axis(dims + 2, dims + 1, 1), {x}));
  WHET_TRY(w, site.add("weights", TransposeOperator{inputs.turn}, {w}));
  std::optional<ValueId> bias;
  if (site.has(inputs.bias)) {
    WHET_TRY(bias, site.real_bias(inputs.bias, inputs.image, inputs.weights));
  }
  WHET_TRY(ValueId y, conv_transposed(site, x, w, bias, form));
  WHET_TRY(y, site.add("channels_last", move_axis(dims + 2, 1, dims + 1), {y}));
  WHET_TRY(y, site.activated(y, activation));
  return site.give_real(y);
}

Status import_conv(TfliteSite& site) { return give_conv2d(site, WeightOrder::OkI, 4, 0, 3); }
Status import_depthwise_conv(TfliteSite& site) { return give_conv2d(site, WeightOrder::one_kO, 5, 3, 4); }

/// Images [N, D, H, W, C] by weights [D, H, W, C / groups, O].
Status import_conv3d(TfliteSite& site) {
  const FlatTable& o = site.options();
  const Slide slide{o.number<std::int8_t>(0) == 0,
                    {o.number<std::int32_t>(1), o.number<std::int32_t>(3), o.number<std::int32_t>(2)},
                    {o.number<std::int32_t>(5, 1), o.number<std::int32_t>(7, 1), o.number<std::int32_t>(6, 1)}};
  WHET_RETURN_IF_ERROR(check_slide(site, slide));
  return give_real_conv(site, conv_form(slide, WeightOrder::kIO), o.number<std::int8_t>(4));
}

/// Inputs: the shape of the result, weights [O, rows, columns, I], the image, a bias.
Status import_transpose_conv(TfliteSite& site) {
  WHET_TRY(const Ints shape, site.integers(0, "shape"));
  if (shape.size() != 4) return site.error("the shape of its result has " + std::to_string(shape.size()) + " entries");
  const FlatTable& o = site.options();
  const Slide slide{o.number<std::int8_t>(0) == 0, {o.number<std::int32_t>(2), o.number<std::int32_t>(1)}};
  return give_transposed(site, {2, 1, 3, {3, 0, 1, 2}}, slide, {shape[1], shape[2]}, o.number<std::int8_t>(3));
}

/// Inputs: the shape of the result, weights [D, H, W, O, I], the image, a bias.
Status import_conv3d_transpose(TfliteSite& site) {
  WHET_TRY(const Ints shape, site.integers(0, "shape"));
  if (shape.size() != 5) return site.error("the shape of its result has " + std::to_string(shape.size()) + " entries");
  const FlatTable& o = site.options();
  for (const int field : {5, 6, 7}) {
    const std::int32_t dilation = o.number<std::int32_t>(field, 1);
    if (dilation != 1) return site.error("has a dilation of " + std::to_string(dilation) + "; expected 1");
  }
  const Slide slide{o.number<std::int8_t>(0) == 0,
                    {o.number<std::int32_t>(1), o.number<std::int32_t>(3), o.number<std::int32_t>(2)}};
  return give_transposed(site, {2, 1, 3, {4, 3, 0, 1, 2}}, slide, {shape[1], shape[2], shape[3]},
                         o.number<std::int8_t>(4));
}

/// MediaPipe's own: padding, columns and rows of the stride in three numbers. Weights are [O, rows, columns, I].
Status import_conv_transpose_bias(TfliteSite& site) {
  const std::string_view bytes = site.operation().custom_options;
  std::int32_t numbers[3] = {};
  if (bytes.size() < sizeof(numbers))
    return site.error("has " + std::to_string(bytes.size()) + " bytes of options; expected 12");
  std::memcpy(numbers, bytes.data(), sizeof(numbers));
  const Slide slide{numbers[0] == 1, {numbers[2], numbers[1]}};
  WHET_RETURN_IF_ERROR(check_slide(site, slide));
  WHET_RETURN_IF_ERROR(expect_image(site, site.in(0)));
  const Shape x = site.shape(site.in(0)), w = site.shape(site.in(1));
  if (w.size() != 4) return site.error("the weights are " + to_string(w));
  Ints extents;
  for (std::size_t d = 0; d < 2; ++d)
    extents.push_back(slide.same ? x[d + 1] * slide.strides[d] : (x[d + 1] - 1) * slide.strides[d] + w[d + 1]);
  return give_transposed(site, {0, 1, 2, {3, 0, 1, 2}}, slide, extents, 0);
}

/// x as rows times weights [O, I], plus a bias.
Status import_fully_connected(TfliteSite& site) {
  const FlatTable& o = site.options();
  const int activation = o.number<std::uint8_t>(0);
  if (o.number<std::int8_t>(1) != 0) return site.error("has shuffled weights, which are not supported");
  const Shape w = site.shape(site.in(1)), given = site.shape(site.in(0));
  if (w.size() != 2 || given.empty() || w[1] < 1 || num_elements(given) % w[1] != 0)
    return site.error("multiplies " + to_string(given) + " by weights " + to_string(w));
  const bool keeps = o.flag(2);
  const Shape rows = {num_elements(given) / w[1], w[1]};
  Shape result = given;
  result.back() = w[0];
  if (!keeps) result = {rows[0], w[0]};
  const bool integers = is_integer_form(site);
  WHET_TRY(ValueId x, integers ? centred_input(site, 0) : site.real(0));
  WHET_TRY(const ValueId weights, integers ? centred_input(site, 1) : site.real(1));
  if (site.shape(x) != rows) {
    WHET_TRY(x, site.add("rows", ReshapeOperator{rows}, {x}));
  }
  WHET_TRY(ValueId y, site.add("product", MatMulOperator{.transpose_b = true}, {x, weights}));
  const auto shaped = [&](ValueId value) -> Result<ValueId> {
    return site.shape(value) == result ? Result<ValueId>(value) : site.add("shaped", ReshapeOperator{result}, {value});
  };
  if (integers) {
    WHET_TRY(y, shaped(y));
    return give_sum(site, y, 0, activation);
  }
  if (site.has(2)) {
    WHET_TRY(const ValueId bias, site.real_bias(2, 0, 1));
    WHET_TRY(y, site.add("biased", BinaryOperator{B::add}, {y, bias}));
  }
  WHET_TRY(y, site.activated(y, activation));
  WHET_TRY(y, shaped(y));
  return site.give_real(y);
}

constexpr std::string_view kPool = "ksize=window#4,3 strides=window#2,1 padding=SAME|VALID#0 activation#5";

}  // namespace

TfliteRows window_rows() {
  static constexpr TfliteRow kRows[] = {
      {"AVERAGE_POOL_2D", as_real, "AvgPool", kPool},
      {"BATCH_MATMUL", as_real, "BatchMatMulV2", "adj_x=bool#0 adj_y=bool#1"},
      {"CONV_2D", import_conv},
      {"CONV_3D", {2, 3}, import_conv3d},
      {"CONV_3D_TRANSPOSE", {3, 4}, import_conv3d_transpose},
      {"Convolution2DTransposeBias", {2, 3}, import_conv_transpose_bias},
      {"DEPTHWISE_CONV_2D", import_depthwise_conv},
      {"FULLY_CONNECTED", {2, 3}, import_fully_connected},
      {"L2_POOL_2D", 1, import_l2_pool},
      {"MAX_POOL_2D", as_real, "MaxPool", kPool},
      {"TRANSPOSE_CONV", {3, 4}, import_transpose_conv},
  };
  return kRows;
}

}  // namespace whet::tflite
