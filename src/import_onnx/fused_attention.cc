#include "import/parts/fused_attention.h"

#include "import_onnx/rows.h"

// Attention as ONNX Runtime's optimizer writes it: with the projections and a mask of integers in one node.

namespace whet {
namespace {

using B = BinaryKind;

/// Place `i` of dimension `d`, which goes.
Result<ValueId> one_of(OnnxSite& site, ValueId x, std::size_t d, std::int64_t i) {
  WHET_TRY(x, places_of(site, x, d, i, 1));
  Shape shape = site.type(x).shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  return site.add("one", ReshapeOperator{shape}, {x});
}

Error misfit(const OnnxSite& site, std::size_t i, const std::string& expected) {
  return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected " +
                    expected);
}

/// Attention with the mask and the bias of the scores that inputs may be.
Status give_attention(OnnxSite& site, const Heads& heads, std::size_t mask, std::size_t bias) {
  FilteredAttention form;
  WHET_TRY(form.scale, site.number("scale", 0));
  WHET_TRY(form.filter, site.number("mask_filter_value", -10000));
  WHET_TRY(form.is_causal, site.flag("unidirectional", false));
  if (site.has(mask)) form.mask = Operand{site.in(mask), "input " + std::to_string(mask)};
  if (site.has(bias)) form.bias = Operand{site.in(bias), "input " + std::to_string(bias)};
  return site.pass(filtered_attention(site, heads, form));
}

/// Buffers that are written in place, angles and beams are of other runtimes.
Status expect_plain(OnnxSite& site, std::initializer_list<const char*> flags, std::size_t first_unread) {
  for (const char* flag : flags) {
    WHET_TRY(const bool set, site.flag(flag, false));
    if (set) return site.error("attribute \"" + std::string(flag) + "\" is not supported");
  }
  for (std::size_t i = first_unread; i < site.input_count(); ++i)
    if (site.has(i)) return site.error("input " + std::to_string(i) + " is not supported");
  return ok_status();
}

Status expect_heads(OnnxSite& site, std::int64_t count) {
  return count >= 1 ? ok_status() : site.error("attribute \"num_heads\" is " + std::to_string(count));
}

/// A bias of queries, keys and values one behind the other: those of `count` columns from `first` on are added.
Result<ValueId> with_bias(OnnxSite& site, ValueId x, std::int64_t first, std::int64_t count) {
  if (!site.has(3)) return x;
  WHET_TRY(const ValueId part, places_of(site, site.in(3), 0, first, count));
  return site.add("biased", BinaryOperator{B::add}, {x, part});
}

/// (x, weights and bias of queries, keys and values side by side, mask, past, bias of the scores)
Status import_fused_attention(OnnxSite& site, std::int64_t count) {
  WHET_RETURN_IF_ERROR(expect_plain(site, {"do_rotary", "past_present_share_buffer"}, 6));
  WHET_RETURN_IF_ERROR(expect_heads(site, count));
  const Shape x = site.shape(0), w = site.shape(1);
  if (x.size() != 3 || w.size() != 2 || x[2] != w[0] || !is_float(site.dtype(0))) {
    return site.error("projects " + to_string(site.type(site.in(0))) + " by " + to_string(site.type(site.in(1))) +
                      "; expected floats of three and of two dimensions");
  }
  WHET_TRY(const auto sizes, site.integers("qkv_hidden_sizes", {w[1] / 3, w[1] / 3, w[1] / 3}));
  const bool fit = sizes.size() == 3 && sizes[0] > 0 && sizes[2] > 0 && sizes[0] == sizes[1] && sizes[0] <= w[1] &&
                   sizes[2] <= w[1] && 2 * sizes[0] + sizes[2] == w[1] && sizes[0] % count == 0 &&
                   sizes[2] % count == 0;
  if (!fit) {
    return site.error("divides " + std::to_string(w[1]) + " columns into " + to_string(Shape(sizes)) + " of " +
                      std::to_string(count) + " heads");
  }
  WHET_TRY(ValueId all, site.add("projected", MatMulOperator{}, {site.in(0), site.in(1)}));
  if (site.has(2)) {
    if (site.shape(2) != Shape{w[1]}) return misfit(site, 2, "one number a column");
    WHET_TRY(all, site.add("biased", BinaryOperator{B::add}, {all, site.in(2)}));
  }
  const auto part = [&](std::int64_t first, std::int64_t columns) -> Result<ValueId> {
    WHET_TRY(const ValueId own, places_of(site, all, 2, first, columns));
    return split_heads(site, own, count);
  };
  Heads heads;
  WHET_TRY(heads.q, part(0, sizes[0]));
  WHET_TRY(heads.k, part(sizes[0], sizes[0]));
  WHET_TRY(heads.v, part(2 * sizes[0], sizes[2]));
  if (site.has(4)) {
    if (site.rank(4) != 5 || site.shape(4)[0] != 2) return misfit(site, 4, "keys and values by heads");
    WHET_TRY(const ValueId k, one_of(site, site.in(4), 0, 0));
    WHET_TRY(const ValueId v, one_of(site, site.in(4), 0, 1));
    WHET_RETURN_IF_ERROR(put_past_before(site, heads, k, v));
  }
  if (site.wants_output(1)) {
    Shape apart = site.type(heads.k).shape;
    if (apart != site.type(heads.v).shape) return site.error("gives keys and values of two shapes as one");
    apart.insert(apart.begin(), 1);
    WHET_TRY(const ValueId k, site.add("keys", ReshapeOperator{apart}, {heads.k}));
    WHET_TRY(const ValueId v, site.add("values", ReshapeOperator{apart}, {heads.v}));
    WHET_RETURN_IF_ERROR(site.give(ConcatOperator{0}, {k, v}, 1));
  }
  return give_attention(site, heads, 3, 5);
}

/// (queries, keys, values, bias of all three, mask, bias of the scores, past keys, past values). Keys and values may be by
/// heads already, and have no bias then. (All three in one input, which other processors take, is not read.)
Status import_multi_head_attention(OnnxSite& site, ValueId q, ValueId k, ValueId v, std::int64_t count) {
  WHET_RETURN_IF_ERROR(expect_plain(site, {}, 8));
  WHET_RETURN_IF_ERROR(expect_heads(site, count));
  for (std::size_t i = 0; i < 3; ++i)
    if (!is_float(site.dtype(i))) return misfit(site, i, "floats");
  const bool by_heads = site.rank(1) == 4 && site.rank(2) == 4;
  const auto is_flat = [&](ValueId x) {
    const Shape& shape = site.type(x).shape;
    return shape.size() == 3 && shape[2] > 0 && shape[2] % count == 0;
  };
  if (!is_flat(q) || (!by_heads && !(is_flat(k) && is_flat(v)))) {
    return site.error("queries, keys and values are " + to_string(site.type(q)) + ", " + to_string(site.type(k)) +
                      " and " + to_string(site.type(v)) + "; expected three dimensions, of which " +
                      std::to_string(count) + " heads divide the last");
  }
  const std::int64_t columns = site.type(q).shape[2];
  const std::int64_t rest = by_heads ? columns : site.type(k).shape[2], last = by_heads ? 0 : site.type(v).shape[2];
  if (site.has(3) && (site.rank(3) != 1 || site.shape(3)[0] < columns + (by_heads ? 0 : rest + last))) {
    return misfit(site, 3, "one number for each column of queries, keys and values");
  }
  Heads heads{q, k, v};
  WHET_TRY(heads.q, with_bias(site, q, 0, columns));
  WHET_TRY(heads.q, split_heads(site, heads.q, count));
  if (!by_heads) {
    WHET_TRY(heads.k, with_bias(site, k, columns, rest));
    WHET_TRY(heads.v, with_bias(site, v, columns + rest, last));
    WHET_TRY(heads.k, split_heads(site, heads.k, count));
    WHET_TRY(heads.v, split_heads(site, heads.v, count));
  }
  if (site.has(6) != site.has(7)) return site.error("has keys of the past without values, or these without those");
  if (site.has(6)) WHET_RETURN_IF_ERROR(put_past_before(site, heads, site.in(6), site.in(7)));
  if (site.wants_output(1)) WHET_RETURN_IF_ERROR(site.pass(heads.k, 1));
  if (site.wants_output(2)) WHET_RETURN_IF_ERROR(site.pass(heads.v, 2));
  return give_attention(site, heads, 4, 5);
}

}  // namespace

/// Lengths of the past and indices into caches are refused.
OnnxRows onnx_fused_attention() {
  static constexpr OnnxRow kRows[] = {
      {"Attention", 1,
       "@num_heads x weights bias? mask? past? scores_bias? past_length? @qkv_hidden_sizes? @scale? "
       "@mask_filter_value? "
       "@unidirectional? @do_rotary? @past_present_share_buffer? ~rotary_embedding_dim",
       calls<import_fused_attention>, kMicrosoft},
      {"MultiHeadAttention", 1,
       "q k v @num_heads bias? mask? scores_bias? past_k? past_v? past_length? cache_indirection? @scale? "
       "@mask_filter_value? "
       "@unidirectional?",
       calls<import_multi_head_attention>, kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
