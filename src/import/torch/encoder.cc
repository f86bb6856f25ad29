#include <cmath>

#include "import/parts/activation.h"
#include "import/parts/attention.h"
#include "import/parts/heads.h"
#include "import/parts/normalize.h"
#include "import/parts/shape.h"
#include "import/torch/rows.h"

// The fast path of torch.nn.MultiheadAttention and TransformerEncoderLayer: whole layers in one operator, as programs have them
// that were traced or exported under torch.no_grad().

namespace whet::torch {
namespace {

using B = BinaryKind;
using Ints = std::vector<std::int64_t>;

/// x wᵀ + b
Result<ValueId> projected(TorchSite& site, ValueId x, ValueId w, ValueId b) {
  WHET_TRY(const ValueId product, site.add("product", MatMulOperator{.transpose_b = true}, {x, w}));
  return site.add("projected", BinaryOperator{B::add}, {product, b});
}

struct Layer {
  std::int64_t size = 0, heads = 0;
  ValueId weights, bias, out_weights, out_bias;
};
Result<Layer> read_layer(TorchSite& site, std::string_view heads_name) {
  Layer layer;
  WHET_TRY(layer.size, site.integer("embed_dim"));
  WHET_TRY(layer.heads, site.integer(heads_name));
  WHET_TRY(layer.weights, site.tensor("qkv_weight"));
  WHET_TRY(layer.bias, site.tensor("qkv_bias"));
  WHET_TRY(layer.out_weights, site.tensor("proj_weight"));
  WHET_TRY(layer.out_bias, site.tensor("proj_bias"));
  const std::int64_t e = layer.size;
  const bool fits = e >= 1 && e <= (1 << 20) && layer.heads >= 1 && e % layer.heads == 0 &&
                    site.shape(layer.weights) == Shape{3 * e, e} && site.shape(layer.bias) == Shape{3 * e} &&
                    site.shape(layer.out_weights) == Shape{e, e} && site.shape(layer.out_bias) == Shape{e};
  if (fits) return layer;
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
Result<std::optional<ValueId>> allowed_places(TorchSite& site) {
  WHET_TRY(const std::optional<ValueId> given, site.optional_tensor("mask"));
  if (!given) return given;
  ValueId mask = *given;
  const Shape shape = site.shape(mask);
  std::int64_t kind = shape.size() == 2 ? 0 : 2;
  if (site.has("mask_type")) {
    WHET_TRY(kind, site.integer("mask_type"));
  }
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
  for (const ValueId x : {q, k, v})
    if (site.rank(x) != 3 || site.shape(x)[2] != layer.size)
      return site.error("attends to " + to_string(site.type(x)) + "; expected a batch, places and " +
                        std::to_string(layer.size) + " numbers");
  std::vector<ValueId> parts;
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
  WHET_TRY(form.mask, allowed_places(site));
  WHET_TRY(const Attended attended, attention(site, parts[0], parts[1], parts[2], form));
  WHET_TRY(const ValueId joined, join_heads(site, attended.y));
  WHET_TRY(const ValueId y, projected(site, joined, layer.out_weights, layer.out_bias));
  return Attending{y, attended.weights};
}

/// The result, and the weights of the scores, of all heads or their mean.
Status import_native_attention(TorchSite& site) {
  WHET_TRY(const Layer layer, read_layer(site, "num_head"));
  WHET_TRY(const ValueId q, site.tensor("query"));
  WHET_TRY(const ValueId k, site.tensor("key"));
  WHET_TRY(const ValueId v, site.tensor("value"));
  WHET_TRY(const Attending attended, attend(site, layer, q, k, v));
  WHET_RETURN_IF_ERROR(site.give(attended.y, 0));
  WHET_TRY(const bool needed, site.flag("need_weights"));
  if (!site.wants_output(1)) return ok_status();
  if (!needed) return site.give_constant(Tensor(site.dtype(attended.y), {0}), 1);
  WHET_TRY(const bool mean, site.flag("average_attn_weights"));
  if (!mean) return site.give(attended.weights, 1);
  return site.give(ReduceOperator{ReduceKind::mean, {1}, false}, {attended.weights}, 1);
}

/// Attention and two linear layers, each with the input added, and normalized behind that or (`norm_first`) before.
Status import_encoder_layer(TorchSite& site) {
  WHET_TRY(const Layer layer, read_layer(site, "num_heads"));
  WHET_TRY(ValueId x, site.tensor("src"));
  WHET_TRY(const bool before, site.flag("norm_first"));
  WHET_TRY(const bool gelu_between, site.flag("use_gelu"));
  WHET_TRY(const double epsilon, site.number("eps"));
  const auto norm = [&](ValueId y, const char* scale, const char* bias) -> Result<ValueId> {
    LayerNorm form{{static_cast<std::int64_t>(site.rank(y)) - 1}, epsilon};
    WHET_TRY(form.scale, site.optional_tensor(scale));
    WHET_TRY(form.bias, site.optional_tensor(bias));
    return layer_norm(site, y, form);
  };
  const auto attention_of = [&](ValueId y) -> Result<ValueId> {
    WHET_TRY(const Attending attended, attend(site, layer, y, y, y));
    return attended.y;
  };
  const auto linear_layers = [&](ValueId y) -> Result<ValueId> {
    WHET_TRY(const ValueId w1, site.tensor("ffn_weight_1"));
    WHET_TRY(const ValueId b1, site.tensor("ffn_bias_1"));
    WHET_TRY(const ValueId w2, site.tensor("ffn_weight_2"));
    WHET_TRY(const ValueId b2, site.tensor("ffn_bias_2"));
    WHET_TRY(y, projected(site, y, w1, b1));
    WHET_TRY(y, gelu_between ? gelu(site, y, Gelu::erf) : site.add("relu", UnaryOperator{UnaryKind::relu}, {y}));
    return projected(site, y, w2, b2);
  };
  for (const bool first : {true, false}) {
    const char* const scale = first ? "norm_weight_1" : "norm_weight_2";
    const char* const bias = first ? "norm_bias_1" : "norm_bias_2";
    ValueId y = x;
    if (before) {
      WHET_TRY(y, norm(x, scale, bias));
    }
    WHET_TRY(y, first ? attention_of(y) : linear_layers(y));
    WHET_TRY(x, site.add("residual", BinaryOperator{B::add}, {x, y}));
    if (!before) {
      WHET_TRY(x, norm(x, scale, bias));
    }
  }
  return site.give(x);
}

}  // namespace

TorchRows encoder_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._native_multi_head_attention", "default",
       "query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias mask=none need_weights=true "
       "average_attn_weights=true mask_type=none",
       import_native_attention},
      {"aten._transformer_encoder_layer_fwd", "default",
       "src embed_dim num_heads qkv_weight qkv_bias proj_weight proj_bias use_gelu norm_first eps norm_weight_1 "
       "norm_bias_1 norm_weight_2 norm_bias_2 ffn_weight_1 ffn_bias_1 ffn_weight_2 ffn_bias_2 mask=none mask_type=none",
       import_encoder_layer},
  };
  return kRows;
}

}  // namespace whet::torch
