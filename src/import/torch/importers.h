#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "import/torch/site.h"

/// The operators of PyTorch that whet reads.
namespace whet::torch {

/// A row of the table. One importer reads an operator with all overloads of equal arguments.
struct TorchImporter {
  std::string_view op;         ///< "aten.conv2d"
  std::string_view overloads;  ///< "default padding"
  /// The names of its arguments in order, and their defaults: "input weight bias=none stride=1".
  std::string_view arguments;
  Status (*import)(TorchSite&);
};

std::span<const TorchImporter> importers();
/// The row of "aten.conv2d.default"; null where there is none.
const TorchImporter* find_importer(std::string_view op);
/// Why an operator without a row is not read, and what to do; "" where there is nothing to say.
std::string reason_against(std::string_view op);

Status import_unary(TorchSite&, UnaryKind);
template <UnaryKind K>
Status import_unary(TorchSite& site) {
  return import_unary(site, K);
}
Status import_binary(TorchSite&, BinaryKind);
template <BinaryKind K>
Status import_binary(TorchSite& site) {
  return import_binary(site, K);
}
Status import_logical(TorchSite&, BinaryKind);
template <BinaryKind K>
Status import_logical(TorchSite& site) {
  return import_logical(site, K);
}
Status import_number(TorchSite&, BinaryKind);
template <BinaryKind K>
Status import_number(TorchSite& site) {
  return import_number(site, K);
}

Status import_abs(TorchSite&);
Status import_adaptive_average_pool(TorchSite&);
Status import_adaptive_max_pool(TorchSite&);
Status import_add(TorchSite&);
Status import_addcdiv(TorchSite&);
Status import_addcmul(TorchSite&);
Status import_addmm(TorchSite&);
Status import_addmv(TorchSite&);
Status import_affine_grid(TorchSite&);
Status import_all(TorchSite&);
Status import_amax(TorchSite&);
Status import_amin(TorchSite&);
Status import_angle(TorchSite&);
Status import_any(TorchSite&);
Status import_arange(TorchSite&);
Status import_arg_max(TorchSite&);
Status import_arg_min(TorchSite&);
Status import_argsort(TorchSite&);
Status import_as_strided(TorchSite&);
Status import_atan2(TorchSite&);
Status import_autocast(TorchSite&);
Status import_average_pool(TorchSite&);
Status import_baddbmm(TorchSite&);
Status import_batch_norm(TorchSite&);
Status import_batch_norm_no_stats(TorchSite&);
Status import_batch_norm_no_training(TorchSite&);
Status import_broadcast_tensors(TorchSite&);
Status import_bucketize(TorchSite&);
Status import_cat(TorchSite&);
Status import_cdist(TorchSite&);
Status import_celu(TorchSite&);
Status import_channel_shuffle(TorchSite&);
Status import_chunk(TorchSite&);
Status import_clamp(TorchSite&);
Status import_clamp_tensor(TorchSite&);
Status import_col2im(TorchSite&);
Status import_cond(TorchSite&);
Status import_conv(TorchSite&);
Status import_conv_transpose(TorchSite&);
Status import_convolution(TorchSite&);
Status import_copy(TorchSite&);
Status import_cosine_similarity(TorchSite&);
Status import_count_nonzero(TorchSite&);
Status import_cross(TorchSite&);
Status import_cumprod(TorchSite&);
Status import_cumsum(TorchSite&);
Status import_deform_conv(TorchSite&);
Status import_dequantize_channel(TorchSite&);
Status import_dequantize_tensor(TorchSite&);
Status import_diag_embed(TorchSite&);
Status import_diagonal(TorchSite&);
Status import_dist(TorchSite&);
Status import_div(TorchSite&);
Status import_div_mode(TorchSite&);
Status import_dropout(TorchSite&);
Status import_einsum(TorchSite&);
Status import_elu(TorchSite&);
Status import_embedding(TorchSite&);
Status import_empty(TorchSite&);
Status import_encoder_layer(TorchSite&);
Status import_equal_numbers(TorchSite&);
Status import_erfc(TorchSite&);
Status import_exp2(TorchSite&);
Status import_expand(TorchSite&);
Status import_expand_as(TorchSite&);
Status import_expm1(TorchSite&);
Status import_eye(TorchSite&);
Status import_fill(TorchSite&);
Status import_flatten(TorchSite&);
Status import_flip(TorchSite&);
Status import_floor_divide(TorchSite&);
Status import_fmod(TorchSite&);
Status import_full(TorchSite&);
Status import_full_like(TorchSite&);
Status import_gather(TorchSite&);
Status import_gelu(TorchSite&);
Status import_glu(TorchSite&);
Status import_grid_sample(TorchSite&);
Status import_group_norm(TorchSite&);
Status import_gru(TorchSite&);
Status import_hardshrink(TorchSite&);
Status import_hardsigmoid(TorchSite&);
Status import_hardtanh(TorchSite&);
Status import_identity(TorchSite&);
Status import_im2col(TorchSite&);
Status import_imag(TorchSite&);
Status import_index(TorchSite&);
Status import_index_add(TorchSite&);
Status import_index_copy(TorchSite&);
Status import_index_fill(TorchSite&);
Status import_index_put(TorchSite&);
Status import_index_select(TorchSite&);
Status import_instance_norm(TorchSite&);
Status import_is_finite(TorchSite&);
Status import_is_inf(TorchSite&);
Status import_isin(TorchSite&);
Status import_layer_norm(TorchSite&);
Status import_leaky_relu(TorchSite&);
Status import_lerp(TorchSite&);
Status import_linear(TorchSite&);
Status import_linspace(TorchSite&);
Status import_log10(TorchSite&);
Status import_log1p(TorchSite&);
Status import_log2(TorchSite&);
Status import_log_sigmoid(TorchSite&);
Status import_log_softmax(TorchSite&);
Status import_logical_not(TorchSite&);
Status import_logsumexp(TorchSite&);
Status import_lstm(TorchSite&);
Status import_map(TorchSite&);
Status import_masked_fill(TorchSite&);
Status import_masked_scatter(TorchSite&);
Status import_matmul(TorchSite&);
Status import_max_all(TorchSite&);
Status import_max_dim(TorchSite&);
Status import_max_pool(TorchSite&);
Status import_mean(TorchSite&);
Status import_meshgrid(TorchSite&);
Status import_min_all(TorchSite&);
Status import_min_dim(TorchSite&);
Status import_mish(TorchSite&);
Status import_movedim(TorchSite&);
Status import_nan_to_num(TorchSite&);
Status import_narrow(TorchSite&);
Status import_native_attention(TorchSite&);
Status import_native_group_norm(TorchSite&);
Status import_native_layer_norm(TorchSite&);
Status import_new_full(TorchSite&);
Status import_norm(TorchSite&);
Status import_not_equal(TorchSite&);
Status import_nothing(TorchSite&);
Status import_number_division(TorchSite&);
Status import_number_floor_division(TorchSite&);
Status import_number_mod(TorchSite&);
Status import_number_negated(TorchSite&);
Status import_number_truncated(TorchSite&);
Status import_one_hot(TorchSite&);
Status import_ones(TorchSite&);
Status import_ones_like(TorchSite&);
Status import_outer(TorchSite&);
Status import_pad(TorchSite&);
Status import_pad_constant(TorchSite&);
Status import_pad_reflect(TorchSite&);
Status import_pad_replicate(TorchSite&);
Status import_pairwise_distance(TorchSite&);
Status import_permute(TorchSite&);
Status import_pixel_shuffle(TorchSite&);
Status import_pixel_unshuffle(TorchSite&);
Status import_pow(TorchSite&);
Status import_prelu(TorchSite&);
Status import_prod(TorchSite&);
Status import_quantize_channel(TorchSite&);
Status import_quantize_tensor(TorchSite&);
Status import_real(TorchSite&);
Status import_reciprocal(TorchSite&);
Status import_relu6(TorchSite&);
Status import_remainder(TorchSite&);
Status import_repeat(TorchSite&);
Status import_repeat_interleave(TorchSite&);
Status import_reshape(TorchSite&);
Status import_reshape_as(TorchSite&);
Status import_rms_norm(TorchSite&);
Status import_rnn_relu(TorchSite&);
Status import_rnn_tanh(TorchSite&);
Status import_roi_align(TorchSite&);
Status import_roll(TorchSite&);
Status import_round_decimals(TorchSite&);
Status import_rsqrt(TorchSite&);
Status import_rsub(TorchSite&);
Status import_scalar_tensor(TorchSite&);
Status import_scatter(TorchSite&);
Status import_scatter_add(TorchSite&);
Status import_scatter_reduce(TorchSite&);
Status import_sdpa(TorchSite&);
Status import_sdpa_biased(TorchSite&);
Status import_sdpa_flash(TorchSite&);
Status import_searchsorted(TorchSite&);
Status import_select(TorchSite&);
Status import_select_scatter(TorchSite&);
Status import_selu(TorchSite&);
Status import_set_grad(TorchSite&);
Status import_silu(TorchSite&);
Status import_slice(TorchSite&);
Status import_slice_scatter(TorchSite&);
Status import_softmax(TorchSite&);
Status import_softplus(TorchSite&);
Status import_softshrink(TorchSite&);
Status import_sort(TorchSite&);
Status import_split(TorchSite&);
Status import_split_sizes(TorchSite&);
Status import_square(TorchSite&);
Status import_squeeze(TorchSite&);
Status import_stack(TorchSite&);
Status import_std(TorchSite&);
Status import_std_mean(TorchSite&);
Status import_stft(TorchSite&);
Status import_sub(TorchSite&);
Status import_sum(TorchSite&);
Status import_sym_numel(TorchSite&);
Status import_shape_as_tensor(TorchSite&);
Status import_sym_size(TorchSite&);
Status import_t(TorchSite&);
Status import_tensor_split(TorchSite&);
Status import_tensor_split_places(TorchSite&);
Status import_threshold(TorchSite&);
Status import_to_copy(TorchSite&);
Status import_to_dtype(TorchSite&);
Status import_topk(TorchSite&);
Status import_transpose(TorchSite&);
Status import_triangle_indices(TorchSite&);
Status import_tril(TorchSite&);
Status import_triu(TorchSite&);
Status import_trunc(TorchSite&);
Status import_true_divide(TorchSite&);
Status import_type_as(TorchSite&);
// counted.cc
Status import_masked_select(TorchSite&);
Status import_nms(TorchSite&);
Status import_nonzero(TorchSite&);
Result<ValueId> rows_where(TorchSite&, ValueId x, ValueId mask);

// compose.cc
Status import_aminmax(TorchSite&);
Status import_frac(TorchSite&);
Status import_gru_cell(TorchSite&);
Status import_hstack(TorchSite&);
Status import_logaddexp(TorchSite&);
Status import_logit(TorchSite&);
Status import_lstm_cell(TorchSite&);
Status import_max_unpool2d(TorchSite&);
Status import_rrelu(TorchSite&);
Status import_unfold(TorchSite&);
Status import_unique(TorchSite&);
Status import_view_as_complex(TorchSite&);
Status import_view_as_real(TorchSite&);
Status import_vstack(TorchSite&);

Status import_unbind(TorchSite&);
Status import_unflatten(TorchSite&);
Status import_unsqueeze(TorchSite&);
Status import_upsample_bicubic(TorchSite&);
Status import_upsample_bicubic_aa(TorchSite&);
Status import_upsample_linear(TorchSite&);
Status import_upsample_linear_aa(TorchSite&);
Status import_upsample_nearest(TorchSite&);
Status import_upsample_nearest_exact(TorchSite&);
Status import_var(TorchSite&);
Status import_var_mean(TorchSite&);
Status import_vector_norm(TorchSite&);
Status import_weight_norm(TorchSite&);
Status import_where(TorchSite&);
Status import_while_loop(TorchSite&);
Status import_zeros(TorchSite&);
Status import_zeros_like(TorchSite&);

}  // namespace whet::torch
