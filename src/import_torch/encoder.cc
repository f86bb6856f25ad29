#include <cmath>

#include "import/parts/activation.h"
#include "import/parts/attention.h"
#include "import/parts/heads.h"
#include "import/parts/normalize.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

// The fast path of torch.nn.MultiheadAttention and TransformerEncoderLayer: whole layers in one operator, as programs have them
// that were traced or exported under torch.no_grad().

namespace whet::torch {
namespace {

using B = BinaryKind;

/// x wᵀ + b
Result<ValueId> projected(TorchSite& site, ValueId x, ValueId w, ValueId b) {
  WHET_TRY(const ValueId product, site.add("product", MatMulOperator{.transpose_b = true}, {x, w}));
  return site.add("projected", BinaryOperator{B::add}, {product, b});
}

struct Layer {
  std::int64_t size, heads;
  ValueId weights, bias, out_weights, out_bias;
  OptionalId mask;
  std::optional<std::int64_t> mask_kind;
};
Status expect_layer(TorchSite& site, const Layer& layer) {
  const std::int64_t e = layer.size;
  const bool fits = e >= 1 && e <= (1 << 20) && layer.heads >= 1 && e % layer.heads == 0 &&
                    site.shape(layer.weights) == Shape{3 * e, e} && site.shape(layer.bias) == Shape{3 * e} &&
                    site.shape(layer.out_weights) == Shape{e, e} && site.shape(layer.out_bias) == Shape{e};
  if (fits) return ok_status();
  return site.error("has " + std::to_string(layer.heads) + " heads of " + std::to_string(e) + " numbers and weights " +
                    to_string(site.type(layer.weights)));
}

/// Queries, keys or values (`part` 0, 1, 2) of x [N, L, E] by heads.
Result<ValueId> part_by_heads(TorchSite& site, const Layer& layer, ValueId x, std::int64_t part) {
  const Ints begin = {part * layer.size}, end = {(part + 1) * layer.size}, first = {0};
  WHET_TRY(const ValueId w, sliced(site, layer.weights, begin, end, first, {1}));
  WHET_TRY(const ValueId b, sliced(site, layer.bias, begin, end, first, {1}));
  WHET_TRY(const ValueId y, projected(site, x, w, b));
  return split_heads(site, y, layer.heads);
}

/// The mask, not 0 where a place is left out (numbers are not added to the scores, as other operators have it): of queries and keys [L, L], of keys [N, L], or of everything [N, H, L, L].
Result<OptionalId> allowed_places(TorchSite& site, const Layer& layer) {
  if (!layer.mask) return layer.mask;
  ValueId mask = *layer.mask;
  const Shape shape = site.shape(mask);
  const std::int64_t kind = layer.mask_kind.value_or(shape.size() == 2 ? 0 : 2);
  if (kind < 0 || kind > 2 || shape.size() != (kind == 2 ? 4U : 2U))
    return site.error("has a mask " + to_string(site.type(mask)) + " of type " + std::to_string(kind));
  if (kind == 1) {
    WHET_TRY(mask, site.add("of_keys", ReshapeOperator{{shape[0], 1, 1, shape[1]}}, {mask}));
  }
  WHET_TRY(mask, site.cast("left_out", mask, DType::boolean));
  WHET_TRY(mask, site.add("allowed", UnaryOperator{UnaryKind::logical_not}, {mask}));
  return std::optional(mask);
}

struct Attending {
  ValueId y;        ///< [N, L, E]
  ValueId weights;  ///< [N, H, L, S]
};
Result<Attending> attend(TorchSite& site, const Layer& layer, ValueId q, ValueId k, ValueId v) {
  WHET_RETURN_IF_ERROR(expect_layer(site, layer));
  for (const ValueId x : {q, k, v})
    if (site.rank(x) != 3 || site.shape(x)[2] != layer.size)
      return site.error("attends to " + to_string(site.type(x)) + "; expected a batch, places and " +
                        std::to_string(layer.size) + " numbers");
  ValueIds parts;
  if (q == k && k == v) {  // one product
    WHET_TRY(const ValueId all, projected(site, q, layer.weights, layer.bias));
    WHET_TRY(parts, split(site, all, 2, Ints(3, layer.size)));
    for (ValueId& part : parts) {
      WHET_TRY(part, split_heads(site, part, layer.heads));
    }
  } else {
    const ValueId operands[] = {q, k, v};
    for (std::int64_t i = 0; i < 3; ++i) {
      WHET_TRY(const ValueId part, part_by_heads(site, layer, operands[i], i));
      parts.push_back(part);
    }
  }
  const std::int64_t depth = layer.size / layer.heads;
  Attention form;
  form.scale = 1 / std::sqrt(static_cast<double>(depth));
  WHET_TRY(form.mask, allowed_places(site, layer));
  WHET_TRY(const Attended attended, attention(site, parts[0], parts[1], parts[2], form));
  WHET_TRY(const ValueId joined, join_heads(site, attended.y));
  WHET_TRY(const ValueId y, projected(site, joined, layer.out_weights, layer.out_bias));
  return Attending{y, attended.weights};
}

/// The result, and the weights of the scores, of all heads or their mean.
Status import_native_attention(TorchSite& site, ValueId q, ValueId k, ValueId v, std::int64_t size, std::int64_t heads,
                               ValueId weights, ValueId bias, ValueId out_weights, ValueId out_bias, OptionalId mask,
                               bool needs_weights, bool wants_mean, std::optional<std::int64_t> mask_kind) {
  const Layer layer{size, heads, weights, bias, out_weights, out_bias, mask, mask_kind};
  WHET_TRY(const Attending attended, attend(site, layer, q, k, v));
  WHET_RETURN_IF_ERROR(site.give(attended.y, 0));
  if (!needs_weights) return site.give_constant(Tensor(site.dtype(attended.y), {0}), 1);
  if (!wants_mean) return site.give(attended.weights, 1);
  return site.give(ReduceOperator{ReduceKind::mean, {1}, false}, {attended.weights}, 1);
}

/// Attention and two linear layers, each with the input added, and normalized behind that or (`norm_first`) before.
Result<ValueId> import_encoder_layer(TorchSite& site, ValueId x, std::int64_t size, std::int64_t heads, ValueId weights,
                                     ValueId bias, ValueId out_weights, ValueId out_bias, bool has_gelu,
                                     bool norm_first, double epsilon, ValueId scale_1, ValueId shift_1, ValueId scale_2,
                                     ValueId shift_2, ValueId weights_1, ValueId bias_1, ValueId weights_2,
                                     ValueId bias_2, OptionalId mask, std::optional<std::int64_t> mask_kind) {
  const Layer layer{size, heads, weights, bias, out_weights, out_bias, mask, mask_kind};
  for (const bool first : {true, false}) {
    const LayerNorm form{
        {static_cast<std::int64_t>(site.rank(x)) - 1}, epsilon, first ? scale_1 : scale_2, first ? shift_1 : shift_2};
    ValueId y = x;
    if (norm_first) {
      WHET_TRY(y, layer_norm(site, x, form));
    }
    if (first) {
      WHET_TRY(const Attending attended, attend(site, layer, y, y, y));
      y = attended.y;
    } else {
      WHET_TRY(y, projected(site, y, weights_1, bias_1));
      WHET_TRY(y, has_gelu ? gelu(site, y, Gelu::erf) : site.add("relu", UnaryOperator{UnaryKind::relu}, {y}));
      WHET_TRY(y, projected(site, y, weights_2, bias_2));
    }
    WHET_TRY(x, site.add("residual", BinaryOperator{B::add}, {x, y}));
    if (!norm_first) {
      WHET_TRY(x, layer_norm(site, x, form));
    }
  }
  return x;
}

}  // namespace

TorchRows encoder_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._native_multi_head_attention", "default",
       "query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias mask? need_weights=true "
       "average_attn_weights=true mask_type?",
       calls<import_native_attention>},
      {"aten._transformer_encoder_layer_fwd", "default",
       "src embed_dim num_heads qkv_weight qkv_bias proj_weight proj_bias use_gelu norm_first eps norm_weight_1 "
       "norm_bias_1 norm_weight_2 norm_bias_2 ffn_weight_1 ffn_bias_1 ffn_weight_2 ffn_bias_2 mask? mask_type?",
       calls<import_encoder_layer>},
  };
  return kRows;
}

}  // namespace whet::torch
