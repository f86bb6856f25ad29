#include "import/parts/attention.h"

#include <cmath>

#include "import/parts/index.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

/// Heads apart: [batch, heads, length, size]. Three dimensions hold all heads of a place side by side.
Result<ValueId> by_heads(OnnxSite& site, std::size_t i, std::int64_t heads, const char* attribute) {
  const Shape x = site.shape(i);
  if (x.size() == 4) return site.in(i);
  if (x.size() != 3 || heads < 1 || x[2] % heads != 0) {
    return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + " with \"" +
                      attribute + "\" of " + std::to_string(heads) +
                      "; expected four dimensions, or three and a number of heads that divides the last");
  }
  return split_heads(site, site.in(i), heads);
}

/// What came before (input `i`, if given), and `x`, along the places.
Result<ValueId> behind_past(OnnxSite& site, std::size_t i, ValueId x) {
  if (!site.has(i)) return x;
  return site.add("present", ConcatOperator{2}, {site.in(i), x});
}

/// How many keys of each batch are no padding: input 6.
Status check_key_counts(OnnxSite& site, std::int64_t batch, bool is_causal) {
  if (!site.has(6)) return ok_status();
  if (is_causal || site.has(4) || site.has(5)) {
    return site.error("numbers of keys that are no padding are not supported beside \"is_causal\" or a past");
  }
  if (site.shape(6) == Shape{batch} && site.dtype(6) == DType::i64) return ok_status();
  return site.error("input 6 is " + to_string(site.type(site.in(6))) + "; expected one i64 for each of the " +
                    std::to_string(batch) + " batches");
}

/// x turned by angles.
Status give_rotary_embedding(OnnxSite& site, std::int64_t heads, const Rotary& form) {
  const bool three = site.rank(0) == 3;
  WHET_TRY(const ValueId x, by_heads(site, 0, heads, "num_heads"));
  WHET_TRY(ValueId y, rotary_embedding(site, x, form));
  if (three) {
    WHET_TRY(y, join_heads(site, y));
  }
  return site.pass(y);
}

Status import_attention(OnnxSite& site, std::int64_t q_heads, std::int64_t kv_heads, bool is_causal, double softcap,
                        std::int64_t shown) {
  Attention form{.softcap = softcap,
                 .mask = site.if_given(3),
                 .mask_ends_early = site.opset() >= 24,
                 .key_counts = site.if_given(6),
                 .is_causal = is_causal};
  if (shown < 0 || shown > 3) return site.error("attribute \"qk_matmul_output_mode\" is " + std::to_string(shown));
  if (!is_float(site.dtype(0))) return site.error("the queries are " + to_string(site.type(site.in(0))));
  const bool three = site.rank(0) == 3;
  WHET_TRY(const ValueId q, by_heads(site, 0, q_heads, "q_num_heads"));
  WHET_TRY(ValueId k, by_heads(site, 1, kv_heads, "kv_num_heads"));
  WHET_TRY(ValueId v, by_heads(site, 2, kv_heads, "kv_num_heads"));
  const std::int64_t own = site.shape(k)[2];
  WHET_TRY(k, behind_past(site, 4, k));
  WHET_TRY(v, behind_past(site, 5, v));
  WHET_RETURN_IF_ERROR(site.pass(k, 1));
  WHET_RETURN_IF_ERROR(site.pass(v, 2));
  form.past = site.shape(k)[2] - own;
  WHET_RETURN_IF_ERROR(check_key_counts(site, site.shape(q)[0], form.is_causal));
  WHET_TRY(form.scale, site.number("scale", 1 / std::sqrt(static_cast<double>(site.shape(q)[3]))));
  WHET_TRY(const Attended result, attention(site, q, k, v, form));
  const ValueId stages[] = {result.raw, result.biased, result.capped, result.weights};
  WHET_RETURN_IF_ERROR(site.pass(site.cast("shown", stages[shown], site.dtype(q)), 3));
  if (three) return site.pass(join_heads(site, result.y));
  return site.shape(v)[1] == site.shape(q)[1] ? site.give(result.y) : site.pass(result.y);
}

Status import_rotary_embedding(OnnxSite& site, ValueId, ValueId cosine, ValueId sine, std::optional<ValueId> places,
                               std::int64_t heads, bool interleaved, std::int64_t turned) {
  return give_rotary_embedding(site, heads, {cosine, sine, places, interleaved, turned});
}

/// (x, places, cosines, sines): one place is that of the first row. As many heads as the angles leave room for.
Status import_fused_rotary_embedding(OnnxSite& site, ValueId input, ValueId places, ValueId cosine, ValueId sine,
                                     std::int64_t heads, bool interleaved, std::int64_t turned, bool packed,
                                     double scale) {
  if (packed || scale != 1) return site.error("packed batches and scales are not supported");
  const Shape x = site.shape(input), angles = site.shape(cosine);
  if (x.size() < 3 || angles.size() != 2 || angles[1] < 1) {
    return site.error("turns " + to_string(site.type(input)) + " by " + to_string(site.type(cosine)) +
                      "; expected three or four dimensions, and the angles of each place");
  }
  if (heads == 0) heads = x.back() / (2 * angles[1]);
  if (num_elements(site.shape(places)) == 1) {
    const Tensor rows = numbered({1, x[x.size() - 2]});
    WHET_TRY(places, site.add("first", ReshapeOperator{{1, 1}}, {places}));
    WHET_TRY(places, site.add("places", BinaryOperator{BinaryKind::add}, {places, site.add_constant("rows", rows)}));
  }
  return give_rotary_embedding(site, heads, {cosine, sine, places, interleaved, turned});
}

}  // namespace

OnnxRows onnx_attention() {
  static constexpr OnnxRow kRows[] = {
      {"Attention", 23,
       "@q_num_heads=0 @kv_num_heads=0 @is_causal=0 @softcap=0 @qk_matmul_output_mode=0 q k v mask? past_k? past_v? "
       "@scale? "
       "~softmax_precision",
       calls<import_attention>},
      {"Attention", 24,
       "@q_num_heads=0 @kv_num_heads=0 @is_causal=0 @softcap=0 @qk_matmul_output_mode=0 q k v mask? past_k? past_v? "
       "key_counts? "
       "@scale? ~softmax_precision",
       calls<import_attention>},
      {"RotaryEmbedding", 23, "x cosine sine places? @num_heads=0 @interleaved=0 @rotary_embedding_dim=0",
       calls<import_rotary_embedding>},
      {"RotaryEmbedding", 1,
       "x places cosine sine @num_heads=0 @interleaved=0 @rotary_embedding_dim=0 @is_packed_batching=0 @scale=1",
       calls<import_fused_rotary_embedding>, kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
