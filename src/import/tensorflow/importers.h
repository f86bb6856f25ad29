#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "import/tensorflow/site.h"

/// The operators of TensorFlow that whet reads.
namespace whet::tensorflow {

struct TfImporter {
  std::string_view op;
  Status (*import)(TfSite&);
};
std::span<const TfImporter> importers();
const TfImporter* find_importer(std::string_view op);
/// Why an operator is not read, in brackets, where more can be said than that.
std::string reason_against(std::string_view op);

Status import_binary(TfSite&, BinaryKind);
template <BinaryKind K>
Status import_binary(TfSite& site) {
  return import_binary(site, K);
}
Status import_unary(TfSite&, UnaryKind);
template <UnaryKind K>
Status import_unary(TfSite& site) {
  return import_unary(site, K);
}
Status import_reduce(TfSite&, ReduceKind);
template <ReduceKind K>
Status import_reduce(TfSite& site) {
  return import_reduce(site, K);
}

Status import_add_n(TfSite&);
Status import_arg_max(TfSite&);
Status import_arg_min(TfSite&);
Status import_atan2(TfSite&);
Status import_average_pool(TfSite&);
Status import_average_pool3d(TfSite&);
Status import_band(TfSite&);
Status import_batch_matmul(TfSite&);
Status import_batch_to_space(TfSite&);
Status import_bias_add(TfSite&);
Status import_broadcast_to(TfSite&);
Status import_case(TfSite&);
Status import_cast(TfSite&);
Status import_clip(TfSite&);
Status import_combined_suppression(TfSite&);
Status import_complex_abs(TfSite&);
Status import_complex_angle(TfSite&);
Status import_concat(TfSite&);
Status import_const(TfSite&);
Status import_conv2d(TfSite&);
Status import_conv2d_transpose(TfSite&);
Status import_conv3d(TfSite&);
Status import_conv3d_transpose(TfSite&);
Status import_crop_and_resize(TfSite&);
Status import_cumsum(TfSite&);
Status import_depth_to_space(TfSite&);
Status import_depthwise(TfSite&);
Status import_div_no_nan(TfSite&);
Status import_einsum(TfSite&);
Status import_elu(TfSite&);
Status import_erfc(TfSite&);
Status import_expand_dims(TfSite&);
Status import_expm1(TfSite&);
Status import_fake_quant(TfSite&);
Status import_fill(TfSite&);
Status import_floor_div(TfSite&);
Status import_floor_mod(TfSite&);
Status import_fused_batch_norm(TfSite&);
Status import_fused_conv2d(TfSite&);
Status import_fused_depthwise(TfSite&);
Status import_fused_matmul(TfSite&);
Status import_gather(TfSite&);
Status import_gather_nd(TfSite&);
Status import_global_batch_norm(TfSite&);
Status import_identity(TfSite&);
Status import_identity_n(TfSite&);
Status import_if(TfSite&);
Status import_image_patches(TfSite&);
Status import_imaginary_part(TfSite&);
Status import_is_finite(TfSite&);
Status import_is_infinite(TfSite&);
Status import_l2_loss(TfSite&);
Status import_leaky_relu(TfSite&);
Status import_lin_space(TfSite&);
Status import_list_from_tensor(TfSite&);
Status import_list_get(TfSite&);
Status import_list_length(TfSite&);
Status import_list_pop(TfSite&);
Status import_list_push(TfSite&);
Status import_list_reserve(TfSite&);
Status import_list_set(TfSite&);
Status import_list_stack(TfSite&);
Status import_log1p(TfSite&);
Status import_lrn(TfSite&);
Status import_matmul(TfSite&);
Status import_max_pool(TfSite&);
Status import_max_pool3d(TfSite&);
Status import_merge(TfSite&);
Status import_mirror_pad(TfSite&);
Status import_mul_no_nan(TfSite&);
Status import_non_max_suppression(TfSite&);
Status import_not_equal(TfSite&);
Status import_one_hot(TfSite&);
Status import_ones_like(TfSite&);
Status import_pack(TfSite&);
Status import_pad(TfSite&);
Status import_pow(TfSite&);
Status import_prelu(TfSite&);
Status import_range(TfSite&);
Status import_rank(TfSite&);
Status import_real_part(TfSite&);
Status import_relu6(TfSite&);
Status import_reshape(TfSite&);
Status import_resize_bicubic(TfSite&);
Status import_resize_bilinear(TfSite&);
Status import_resize_nearest(TfSite&);
Status import_reverse(TfSite&);
Status import_reverse_sequence(TfSite&);
Status import_rfft(TfSite&);
Status import_roll(TfSite&);
Status import_rsqrt(TfSite&);
Status import_scatter_add(TfSite&);
Status import_scatter_max(TfSite&);
Status import_scatter_min(TfSite&);
Status import_scatter_nd(TfSite&);
Status import_scatter_update(TfSite&);
Status import_segment_sum(TfSite&);
Status import_select(TfSite&);
Status import_switch(TfSite&);
Status import_unique(TfSite&);
Status import_where(TfSite&);
Status import_selu(TfSite&);
Status import_shape(TfSite&);
Status import_size(TfSite&);
Status import_slice(TfSite&);
Status import_softmax(TfSite&);
Status import_space_to_batch(TfSite&);
Status import_space_to_depth(TfSite&);
Status import_split(TfSite&);
Status import_split_v(TfSite&);
Status import_square(TfSite&);
Status import_squared_difference(TfSite&);
Status import_squeeze(TfSite&);
Status import_strided_slice(TfSite&);
Status import_tile(TfSite&);
Status import_top_k(TfSite&);
Status import_transpose(TfSite&);
Status import_truncate_mod(TfSite&);
Status import_unpack(TfSite&);
Status import_unsorted_prod(TfSite&);
Status import_unsorted_sum(TfSite&);
Status import_while(TfSite&);
Status import_xdivy(TfSite&);
Status import_zeros_like(TfSite&);

}  // namespace whet::tensorflow
