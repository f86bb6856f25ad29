#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "import/onnx/site.h"

/// One importer an operator of the standard, or of ONNX Runtime's optimizer; the families are in one file each, the
/// table in importers.cc.
namespace whet {

struct OnnxImporter {
  std::string_view op;
  int since;  ///< from this operator set on, until a later row of the same operator
  Status (*import)(OnnxSite&);
  bool takes_sequences = false;  ///< else an input that is a sequence is refused before
  std::string_view domain = "";  ///< "": the standard's; the operator sets of others are not told apart
};

/// The row for an operator, or null when it is not supported. `opset`: of the standard.
const OnnxImporter* find_importer(std::string_view domain, std::string_view op, std::int64_t opset);
/// All rows, in the order of the table.
std::span<const OnnxImporter> onnx_importers();

// elementwise.cc
template <UnaryKind kind>
Status import_unary(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(UnaryOperator{kind}, {site.in(0)});
}
template <BinaryKind kind>
Status import_binary(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return site.give(BinaryOperator{kind}, {site.in(0), site.in(1)});
}
Status import_variadic(OnnxSite&, BinaryKind);
template <BinaryKind kind>
Status import_variadic(OnnxSite& site) {
  return import_variadic(site, kind);
}
Status import_aligned(OnnxSite&, BinaryKind);
template <BinaryKind kind>
Status import_aligned(OnnxSite& site) {
  return import_aligned(site, kind);
}
Status import_prelu_channels(OnnxSite&);
Status import_mean(OnnxSite&);
Status import_pow(OnnxSite&);
Status import_mod(OnnxSite&);
Status import_clip_attributes(OnnxSite&);
Status import_clip(OnnxSite&);
Status import_hard_sigmoid(OnnxSite&);
Status import_leaky_relu(OnnxSite&);
Status import_prelu(OnnxSite&);
Status import_elu(OnnxSite&);
Status import_selu(OnnxSite&);
Status import_celu(OnnxSite&);
Status import_thresholded_relu(OnnxSite&);
Status import_mish(OnnxSite&);
Status import_swish(OnnxSite&);
Status import_gelu(OnnxSite&);
Status import_bias_gelu(OnnxSite&);
Status import_fast_gelu(OnnxSite&);
Status import_quick_gelu(OnnxSite&);
Status import_is_inf(OnnxSite&);
Status import_shrink(OnnxSite&);
Status import_where(OnnxSite&);
Status import_cast_like(OnnxSite&);
Status import_cast(OnnxSite&);

// conv.cc
Status import_conv(OnnxSite&);
// conv_transpose.cc
Status import_conv_transpose(OnnxSite&);

// pool.cc
Status import_max_pool(OnnxSite&);
Status import_max_roi_pool(OnnxSite&);
Status import_average_pool(OnnxSite&);
Status import_lp_pool(OnnxSite&);
Status import_global_lp_pool(OnnxSite&);
Status import_global_average_pool(OnnxSite&);
Status import_global_max_pool(OnnxSite&);
Status import_max_unpool(OnnxSite&);

// matrix.cc
Status import_gemm(OnnxSite&);
Status import_matmul(OnnxSite&);
Status import_det(OnnxSite&);

// normalize.cc
Status import_batch_norm(OnnxSite&);
Status import_layer_norm(OnnxSite&);
Status import_instance_norm(OnnxSite&);
Status import_rms_norm(OnnxSite&);
Status import_skip_layer_norm(OnnxSite&);
Status import_skip_rms_norm(OnnxSite&);
Status import_embed_layer_norm(OnnxSite&);
Status import_group_norm(OnnxSite&);
Status import_mean_variance_norm(OnnxSite&);
Status import_lp_norm(OnnxSite&);
Status import_lrn(OnnxSite&);
Status import_softmax(OnnxSite&);
Status import_log_softmax(OnnxSite&);
Status import_softmax_flattened(OnnxSite&);
Status import_log_softmax_flattened(OnnxSite&);

// reduce.cc
Status import_reduce(OnnxSite&, ReduceKind, int axes_are_an_input_since);
/// `since`: the operator set from which on the axes are an input.
template <ReduceKind kind, int since>
Status import_reduce(OnnxSite& site) {
  return import_reduce(site, kind, since);
}

// shape.cc
Status import_reshape(OnnxSite&);
Status import_flatten(OnnxSite&);
Status import_squeeze(OnnxSite&);
Status import_unsqueeze(OnnxSite&);
Status import_expand(OnnxSite&);
Status import_tile(OnnxSite&);
Status import_transpose(OnnxSite&);
Status import_depth_to_space(OnnxSite&);
Status import_space_to_depth(OnnxSite&);
Status import_identity(OnnxSite&);
Status import_dropout(OnnxSite&);
Status import_shape(OnnxSite&);
Status import_size(OnnxSite&);

// data.cc
Status import_concat(OnnxSite&);
Status import_split(OnnxSite&);
Status import_slice_attributes(OnnxSite&);
Status import_slice(OnnxSite&);
Status import_gather(OnnxSite&);
Status import_pad_attributes(OnnxSite&);
Status import_pad(OnnxSite&);
Status import_center_crop_pad(OnnxSite&);

// constant.cc
Status import_constant(OnnxSite&);
Status import_constant_of_shape(OnnxSite&);
Status import_range(OnnxSite&);

// index.cc
Status import_arg_max(OnnxSite&);
Status import_arg_min(OnnxSite&);
Status import_top_k_attribute(OnnxSite&);
Status import_tensor_scatter(OnnxSite&);
Status import_top_k(OnnxSite&);
Status import_cumsum(OnnxSite&);
Status import_gather_elements(OnnxSite&);
Status import_gather_nd(OnnxSite&);
Status import_scatter_elements(OnnxSite&);
Status import_scatter_nd(OnnxSite&);
Status import_one_hot(OnnxSite&);
Status import_trilu(OnnxSite&);
Status import_eye_like(OnnxSite&);
Status import_non_zero(OnnxSite&);
Status import_hardmax(OnnxSite&);
Status import_compress(OnnxSite&);
Status import_reverse_sequence(OnnxSite&);

// boxes.cc
Status import_non_max_suppression(OnnxSite&);
Status import_unique(OnnxSite&);

// einsum.cc
Status import_einsum(OnnxSite&);

// recurrent.cc
Status import_lstm(OnnxSite&);
Status import_gru(OnnxSite&);
Status import_rnn(OnnxSite&);

// loss.cc
Status import_negative_log_likelihood(OnnxSite&);
Status import_softmax_cross_entropy(OnnxSite&);

// control.cc
Status import_if(OnnxSite&);
Status import_loop(OnnxSite&);
Status import_scan_batches(OnnxSite&);
Status import_scan(OnnxSite&);

// attention.cc
Status import_attention(OnnxSite&);
Status import_rotary_embedding(OnnxSite&);
Status import_fused_rotary_embedding(OnnxSite&);

// fused_attention.cc
Status import_fused_attention(OnnxSite&);
Status import_multi_head_attention(OnnxSite&);

// fused.cc
Status import_fused_conv(OnnxSite&);
Status import_fused_gemm(OnnxSite&);
Status import_fused_matmul(OnnxSite&);

// grid_sample.cc
Status import_grid_sample(OnnxSite&);

// deform_conv.cc
Status import_deform_conv(OnnxSite&);

// roi_align.cc
Status import_roi_align(OnnxSite&);

// fourier.cc
Status import_dft_17(OnnxSite&);
Status import_dft(OnnxSite&);
Status import_stft(OnnxSite&);

// signal.cc
Status import_hann_window(OnnxSite&);
Status import_hamming_window(OnnxSite&);
Status import_blackman_window(OnnxSite&);
Status import_mel_weight_matrix(OnnxSite&);

// bits.cc
Status import_bit_shift(OnnxSite&);
Status import_bitwise(OnnxSite&, BinaryKind);
template <BinaryKind kind>
Status import_bitwise(OnnxSite& site) {
  return import_bitwise(site, kind);
}
Status import_bitwise_not(OnnxSite&);

// affine_grid.cc
Status import_affine_grid(OnnxSite&);

// col2im.cc
Status import_col2im(OnnxSite&);

// sequence.cc
Status import_sequence_empty(OnnxSite&);
Status import_sequence_construct(OnnxSite&);
Status import_sequence_insert(OnnxSite&);
Status import_sequence_erase(OnnxSite&);
Status import_sequence_at(OnnxSite&);
Status import_sequence_length(OnnxSite&);
Status import_split_to_sequence(OnnxSite&);
Status import_concat_from_sequence(OnnxSite&);
Status import_sequence_map(OnnxSite&);
Status import_optional(OnnxSite&);
Status import_optional_has_element(OnnxSite&);
Status import_optional_get_element(OnnxSite&);

// quantize.cc
Status import_quantize_linear(OnnxSite&);
Status import_dequantize_linear(OnnxSite&);
Status import_dynamic_quantize_linear(OnnxSite&);
Status import_matmul_integer(OnnxSite&);
Status import_conv_integer(OnnxSite&);
Status import_qlinear_matmul(OnnxSite&);
Status import_qlinear_conv(OnnxSite&);
Status import_qlinear_binary(OnnxSite&, BinaryKind);
template <BinaryKind kind>
Status import_qlinear_binary(OnnxSite& site) {
  return import_qlinear_binary(site, kind);
}
Status import_qlinear_sigmoid(OnnxSite&);
Status import_qlinear_leaky_relu(OnnxSite&);
Status import_qlinear_softmax(OnnxSite&);
Status import_qlinear_global_average_pool(OnnxSite&);
Status import_qlinear_average_pool(OnnxSite&);
Status import_qlinear_where(OnnxSite&);
Status import_qlinear_concat(OnnxSite&);
Status import_qgemm(OnnxSite&);
Status import_matmul_integer_to_float(OnnxSite&);
Status import_dynamic_quantize_matmul(OnnxSite&);

// resize.cc
Status import_resize_10(OnnxSite&);
Status import_resize(OnnxSite&);
Status import_upsample(OnnxSite&);

}  // namespace whet
