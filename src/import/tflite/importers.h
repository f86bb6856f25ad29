#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "import/tflite/flex.h"
#include "import/tflite/site.h"

/// The operators of TensorFlow Lite that whet reads.
namespace whet::tflite {

struct TfliteImporter {
  std::string_view op;
  Status (*import)(TfliteSite&);
};
std::span<const TfliteImporter> importers();
const TfliteImporter* find_importer(std::string_view op);
/// The name of an operator's number; a custom one's own name.
std::string operator_name(int code, const std::string& custom);

Status import_binary(TfliteSite&, BinaryKind);
template <BinaryKind K>
Status import_binary(TfliteSite& site) {
  return import_binary(site, K);
}
Status import_unary(TfliteSite&, UnaryKind);
template <UnaryKind K>
Status import_unary(TfliteSite& site) {
  return import_unary(site, K);
}
Status import_reduce(TfliteSite&, ReduceKind);
template <ReduceKind K>
Status import_reduce(TfliteSite& site) {
  return import_reduce(site, K);
}

Status import_add_n(TfliteSite&);
Status import_arg_max(TfliteSite&);
Status import_arg_min(TfliteSite&);
Status import_atan2(TfliteSite&);
Status import_average_pool(TfliteSite&);
Status import_batch_matmul(TfliteSite&);
Status import_batch_to_space(TfliteSite&);
Status import_bidirectional_lstm(TfliteSite&);
Status import_bidirectional_rnn(TfliteSite&);
Status import_broadcast_args(TfliteSite&);
Status import_broadcast_to(TfliteSite&);
Status import_cast(TfliteSite&);
Status import_complex_abs(TfliteSite&);
Status import_concatenation(TfliteSite&);
Status import_conv(TfliteSite&);
Status import_conv3d(TfliteSite&);
Status import_conv3d_transpose(TfliteSite&);
Status import_conv_transpose_bias(TfliteSite&);
Status import_cumsum(TfliteSite&);
Status import_depth_to_space(TfliteSite&);
Status import_depthwise_conv(TfliteSite&);
Status import_dequantize(TfliteSite&);
Status import_detection(TfliteSite&);
Status import_dynamic_update_slice(TfliteSite&);
Status import_elu(TfliteSite&);
Status import_embedding(TfliteSite&);
Status import_expand_dims(TfliteSite&);
Status import_fake_quant(TfliteSite&);
Status import_fill(TfliteSite&);
Status import_floor_div(TfliteSite&);
Status import_floor_mod(TfliteSite&);
Status import_fully_connected(TfliteSite&);
Status import_gather(TfliteSite&);
Status import_gather_nd(TfliteSite&);
Status import_gelu(TfliteSite&);
Status import_hard_swish(TfliteSite&);
Status import_identity(TfliteSite&);
Status import_if(TfliteSite&);
Status import_imaginary_part(TfliteSite&);
Status import_l2_normalization(TfliteSite&);
Status import_l2_pool(TfliteSite&);
Status import_landmark_matrix(TfliteSite&);
Status import_leaky_relu(TfliteSite&);
Status import_log_softmax(TfliteSite&);
Status import_logical_not(TfliteSite&);
Status import_lrn(TfliteSite&);
Status import_lstm(TfliteSite&);
Status import_matrix_diag(TfliteSite&);
Status import_matrix_set_diag(TfliteSite&);
Status import_max_pool(TfliteSite&);
Status import_max_pool_argmax(TfliteSite&);
Status import_max_unpool(TfliteSite&);
Status import_mirror_pad(TfliteSite&);
Status import_non_max_suppression(TfliteSite&);
Status import_not_equal(TfliteSite&);
Status import_one_hot(TfliteSite&);
Status import_pack(TfliteSite&);
Status import_pad(TfliteSite&);
Status import_pow(TfliteSite&);
Status import_prelu(TfliteSite&);
Status import_quantize(TfliteSite&);
Status import_range(TfliteSite&);
Status import_rank(TfliteSite&);
Status import_real_part(TfliteSite&);
Status import_relu6(TfliteSite&);
Status import_relu_0_to_1(TfliteSite&);
Status import_relu_n1_to_1(TfliteSite&);
Status import_reshape(TfliteSite&);
Status import_resize_bilinear(TfliteSite&);
Status import_resize_nearest(TfliteSite&);
Status import_reverse(TfliteSite&);
Status import_reverse_sequence(TfliteSite&);
Status import_rfft2d(TfliteSite&);
Status import_rsqrt(TfliteSite&);
Status import_scatter_nd(TfliteSite&);
Status import_segment_sum(TfliteSite&);
Status import_unsorted_prod(TfliteSite&);
Status import_unsorted_sum(TfliteSite&);
Status import_select(TfliteSite&);
Status import_sequence_lstm(TfliteSite&);
Status import_sequence_rnn(TfliteSite&);
Status import_shape(TfliteSite&);
Status import_slice(TfliteSite&);
Status import_softmax(TfliteSite&);
Status import_space_to_batch(TfliteSite&);
Status import_space_to_depth(TfliteSite&);
Status import_split(TfliteSite&);
Status import_split_v(TfliteSite&);
Status import_square(TfliteSite&);
Status import_squared_difference(TfliteSite&);
Status import_squeeze(TfliteSite&);
Status import_strided_slice(TfliteSite&);
Status import_svdf(TfliteSite&);
Status import_tile(TfliteSite&);
Status import_topk(TfliteSite&);
Status import_transform_image(TfliteSite&);
Status import_transform_landmarks(TfliteSite&);
Status import_transpose(TfliteSite&);
Status import_transpose_conv(TfliteSite&);
Status import_unique(TfliteSite&);
Status import_unpack(TfliteSite&);
Status import_where(TfliteSite&);
Status import_while(TfliteSite&);
Status import_zeros_like(TfliteSite&);

/// The options of custom operators, which are maps of FlexBuffers. Errors name the option.
Result<FlexMap> custom_map(const TfliteSite&);
Result<double> custom_number(const TfliteSite&, const FlexMap&, const std::string& name);
Result<std::int64_t> custom_integer(const TfliteSite&, const FlexMap&, const std::string& name, std::int64_t low,
                                    std::int64_t high);
/// A list of 0 .. high; not empty.
Result<std::vector<std::int64_t>> custom_integers(const TfliteSite&, const FlexMap&, const std::string& name,
                                                  std::int64_t high);

/// Operators of the bodies of branches and loops that nothing reads.
std::vector<std::string> missing_in_bodies(const TfliteModel&);

}  // namespace whet::tflite
