#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "import/mxnet/site.h"

/// The operators of MXNet that whet reads.
namespace whet::mxnet {

struct MxImporter {
  std::string_view op;
  Status (*import)(MxSite&);
};
std::span<const MxImporter> importers();
const MxImporter* find_importer(std::string_view op);

/// The input of an operator that is a label, which only training reads; npos: none is.
std::size_t unread_label(std::string_view op);
/// From which of its inputs on a layer reads its parameters; npos: it has none.
std::size_t first_parameter(std::string_view op);

Status import_unary(MxSite&, UnaryKind);
Status import_binary(MxSite&, BinaryKind);
Status import_scalar(MxSite&, BinaryKind, bool on_left);
Status import_reduce(MxSite&, ReduceKind);
Status import_constant(MxSite&, double value);
Status import_like(MxSite&, double value);

template <UnaryKind K>
Status import_unary(MxSite& site) {
  return import_unary(site, K);
}
template <BinaryKind K>
Status import_binary(MxSite& site) {
  return import_binary(site, K);
}
template <BinaryKind K>
Status import_scalar(MxSite& site) {
  return import_scalar(site, K, false);
}
template <BinaryKind K>
Status import_left_scalar(MxSite& site) {
  return import_scalar(site, K, true);
}
template <ReduceKind K>
Status import_reduce(MxSite& site) {
  return import_reduce(site, K);
}
inline Status import_ones(MxSite& site) { return import_constant(site, 1); }
inline Status import_zeros(MxSite& site) { return import_constant(site, 0); }
inline Status import_ones_like(MxSite& site) { return import_like(site, 1); }
inline Status import_zeros_like(MxSite& site) { return import_like(site, 0); }

Status import_activation(MxSite&);
Status import_adaptive_average(MxSite&);
Status import_add_n(MxSite&);
Status import_arange(MxSite&);
Status import_arange_like(MxSite&);
Status import_arg_max(MxSite&);
Status import_arg_min(MxSite&);
Status import_batch_dot(MxSite&);
Status import_batch_norm(MxSite&);
Status import_bilinear_resize(MxSite&);
Status import_bilinear_sampler(MxSite&);
Status import_box_nms(MxSite&);
Status import_broadcast_axis(MxSite&);
Status import_broadcast_like(MxSite&);
Status import_broadcast_to(MxSite&);
Status import_cast(MxSite&);
Status import_clip(MxSite&);
Status import_common_cast(MxSite&);
Status import_concat(MxSite&);
Status import_convolution(MxSite&);
Status import_crop(MxSite&);
Status import_deconvolution(MxSite&);
Status import_degrees(MxSite&);
Status import_depth_to_space(MxSite&);
Status import_div_sqrt_dim(MxSite&);
Status import_dot(MxSite&);
Status import_embedding(MxSite&);
Status import_expand_dims(MxSite&);
Status import_expm1(MxSite&);
Status import_flatten(MxSite&);
Status import_fully_connected(MxSite&);
Status import_gather_nd(MxSite&);
Status import_grid_generator(MxSite&);
Status import_group_norm(MxSite&);
Status import_hard_sigmoid(MxSite&);
Status import_identity(MxSite&);
Status import_instance_norm(MxSite&);
Status import_l2_normalization(MxSite&);
Status import_layer_norm(MxSite&);
Status import_leaky_relu(MxSite&);
Status import_log10(MxSite&);
Status import_log1p(MxSite&);
Status import_log2(MxSite&);
Status import_logical_not(MxSite&);
Status import_logistic_output(MxSite&);
Status import_lrn(MxSite&);
Status import_modulated_convolution(MxSite&);
Status import_modulo(MxSite&);
Status import_modulo_by_scalar(MxSite&);
Status import_scalar_modulo(MxSite&);
Status import_multi_box_detection(MxSite&);
Status import_multi_box_prior(MxSite&);
Status import_norm(MxSite&);
Status import_not_equal(MxSite&);
Status import_not_equal_scalar(MxSite&);
Status import_one_hot(MxSite&);
Status import_pad(MxSite&);
Status import_pick(MxSite&);
Status import_pooling(MxSite&);
Status import_power(MxSite&);
Status import_radians(MxSite&);
Status import_repeat(MxSite&);
Status import_reshape(MxSite&);
Status import_reshape_like(MxSite&);
Status import_reverse(MxSite&);
Status import_rint(MxSite&);
Status import_rnn(MxSite&);
Status import_roi_align(MxSite&);
Status import_roi_pooling(MxSite&);
Status import_round(MxSite&);
Status import_rsqrt(MxSite&);
Status import_self_attention_scores(MxSite&);
Status import_self_attention_values(MxSite&);
Status import_sequence_last(MxSite&);
Status import_sequence_mask(MxSite&);
Status import_sequence_reverse(MxSite&);
Status import_slice(MxSite&);
Status import_slice_axis(MxSite&);
Status import_slice_like(MxSite&);
Status import_smooth_l1(MxSite&);
Status import_softmax(MxSite&);
Status import_softmax_activation(MxSite&);
Status import_softmax_output(MxSite&);
Status import_space_to_depth(MxSite&);
Status import_spatial_transformer(MxSite&);
Status import_split(MxSite&);
Status import_split_at(MxSite&);
Status import_square(MxSite&);
Status import_squeeze(MxSite&);
Status import_stack(MxSite&);
Status import_swap_axis(MxSite&);
Status import_take(MxSite&);
Status import_tile(MxSite&);
Status import_top_k(MxSite&);
Status import_transpose(MxSite&);
Status import_trunc(MxSite&);
Status import_up_sampling(MxSite&);
Status import_where(MxSite&);

}  // namespace whet::mxnet
