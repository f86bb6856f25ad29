#include "import/parts/conv_transpose.h"
#include "import_tf/tflite/rows.h"

// Images are [N, H, W, C], and stay so: convolutions and pools of the graph take channels last.

namespace whet::tflite {
namespace {

/// MediaPipe's own: padding, columns and rows of the stride in three numbers.
Result<ValueId> conv_transpose_bias(TfliteSite& site, ValueId x, ValueId w, std::optional<ValueId> bias) {
  constexpr std::int64_t kMostStride = 1 << 20;
  WHET_TRY(const Ints fields, custom_fields(site, 3));
  const Ints strides = {fields[2], fields[1]};
  const Shape image = site.shape(x), weights = site.shape(w);
  if (image.size() != 4 || weights.size() != 4 || num_elements(image) == 0 || strides[0] < 1 || strides[1] < 1 ||
      strides[0] > kMostStride || strides[1] > kMostStride)
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(weights) + " in steps of " +
                      to_string(strides) + "; expected a batch, rows, columns and channels");
  const ConvForm form{{strides, {1, 1}, {0, 0}, {0, 0}}, fields[0] == 1, Layout::channels_last, WeightOrder::OkI};
  Shape extents;
  for (std::size_t d = 0; d < 2; ++d)
    extents.push_back(form.same ? image[d + 1] * strides[d] : (image[d + 1] - 1) * strides[d] + weights[d + 1]);
  return transposed_convolution(site, x, w, bias, form, extents);
}

/// x as rows times weights [O, I], plus a bias. `keeps`: the dimensions of x before the last.
Result<ValueId> fully_connected(TfliteSite& site, ValueId x, ValueId weights, std::optional<ValueId> bias, bool keeps,
                                std::int64_t is_shuffled) {
  if (is_shuffled != 0) return site.error("has shuffled weights, which are not supported");
  const Shape w = site.shape(weights), given = site.shape(x);
  if (w.size() != 2 || given.empty() || w[1] < 1 || num_elements(given) % w[1] != 0)
    return site.error("multiplies " + to_string(given) + " by weights " + to_string(w));
  const Shape rows = {num_elements(given) / w[1], w[1]};
  Shape result = keeps ? given : rows;
  result.back() = w[0];
  if (given != rows) {
    WHET_TRY(x, site.add("rows", ReshapeOperator{rows}, {x}));
  }
  WHET_TRY(ValueId y, site.add("product", MatMulOperator{.transpose_b = true}, {x, weights}));
  if (bias) {
    WHET_TRY(y, site.add("biased", BinaryOperator{BinaryKind::add}, {y, *bias}));
  }
  if (is_float(site.dtype(y))) {
    WHET_TRY(y, site.activated(y));
  }
  return site.shape(y) == result ? y : site.add("shaped", ReshapeOperator{result}, {y});
}

}  // namespace

TfliteRows window_rows() {
  static constexpr TfliteRow kRows[] = {
      {"AVERAGE_POOL_2D", as_real, "AvgPool", "ksize=window#4,3 strides=window#2,1 padding=SAME|VALID#0 activation#5"},
      {"BATCH_MATMUL", as_real, "BatchMatMulV2", "adj_x=bool#0 adj_y=bool#1"},
      {"CONV_2D", as_sum, "Conv2D",
       "weights=OkI strides=window#2,1 dilations=ones#5,4 padding=SAME|VALID#0 activation#3"},
      {"CONV_3D", as_real, "Conv3D", "strides=window#1,3,2 dilations=ones#5,7,6 padding=SAME|VALID#0 activation#4"},
      {"CONV_3D_TRANSPOSE", as_real, "Conv3DBackpropInputV2",
       "strides=window#1,3,2 dilations=ones#5,7,6 padding=SAME|VALID#0 activation#4"},
      {"Convolution2DTransposeBias", as_real, "x w bias?", calls<conv_transpose_bias>},
      {"DEPTHWISE_CONV_2D", as_sum, "Conv2D",
       "weights=one_kO strides=window#2,1 dilations=ones#6,5 padding=SAME|VALID#0 activation#4"},
      {"FULLY_CONNECTED", as_sum, "x w bias? @keep_num_dims=0 @weights_format=0", calls<fully_connected>,
       "keep_num_dims=bool#2 weights_format=byte#1 activation#0"},
      {"L2_POOL_2D", as_real, "AvgPool",
       "ksize=window#4,3 strides=window#2,1 padding=SAME|VALID#0 activation#5 of_squares=true"},
      {"MAX_POOL_2D", as_real, "MaxPool", "ksize=window#4,3 strides=window#2,1 padding=SAME|VALID#0 activation#5"},
      {"TRANSPOSE_CONV", as_real, "Conv2DBackpropInput",
       "weights=OkI strides=window#2,1 padding=SAME|VALID#0 activation#3"},
  };
  return kRows;
}

}  // namespace whet::tflite
