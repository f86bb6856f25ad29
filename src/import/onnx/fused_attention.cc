#include <cmath>
#include <optional>

#include "import/onnx/importers.h"
#include "import/parts/heads.h"

// Attention as ONNX Runtime's optimizer writes it: with the projections and a mask of integers in one node.

namespace whet {
namespace {

using B = BinaryKind;

/// Queries, keys and values by heads; those of the past are among the latter two.
struct Heads {
  ValueId q, k, v;
  std::int64_t past = 0;  ///< places
};

/// `count` places of dimension `d` from `first` on.
Result<ValueId> slice(OnnxSite& site, ValueId x, std::size_t d, std::int64_t first, std::int64_t count) {
  Shape shape = site.type(x).shape;
  SliceOperator op{std::vector<std::int64_t>(shape.size(), 0), std::vector<std::int64_t>(shape.size(), 1), shape};
  op.starts[d] = first;
  op.shape[d] = count;
  return site.add("part", op, {x});
}

/// Place `i` of dimension `d`, which goes.
Result<ValueId> one_of(OnnxSite& site, ValueId x, std::size_t d, std::int64_t i) {
  WHET_TRY(x, slice(site, x, d, i, 1));
  Shape shape = site.type(x).shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  return site.add("one", ReshapeOperator{shape}, {x});
}

Error misfit(const OnnxSite& site, std::size_t i, const std::string& expected) {
  return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected " +
                    expected);
}

/// Which places count, as [batch, 1, rows or 1, places]: input `i` says how many of each batch do, or those behind and
/// the first ones, or each place by itself.
Result<ValueId> allowed(OnnxSite& site, std::size_t i, const Shape& scores) {
  const std::int64_t batch = scores[0], rows = scores[2], places = scores[3];
  const Shape mask = site.shape(i);
  if (site.dtype(i) != DType::i32) return misfit(site, i, "i32");
  if (mask == Shape{batch, places} || mask == Shape{batch, rows, places}) {
    const Shape apart = mask.size() == 2 ? Shape{batch, 1, 1, places} : Shape{batch, 1, rows, places};
    WHET_TRY(const ValueId each, site.add("mask", ReshapeOperator{apart}, {site.in(i)}));
    return site.add("allowed", BinaryOperator{B::greater}, {each, site.add_scalar("none", DType::i32, 0)});
  }
  if (mask != Shape{batch} && mask != Shape{2 * batch}) {
    return misfit(site, i,
                  "a mask of shape " + to_string(Shape{batch, places}) + " or " +
                      to_string(Shape{batch, rows, places}) + ", or " + std::to_string(batch) + " or " +
                      std::to_string(2 * batch) + " ends of what counts");
  }
  Tensor numbers(DType::i32, {places});
  for (std::int64_t p = 0; p < places; ++p) numbers.set_integer(p, p);
  const ValueId place = site.add_constant("place", numbers);
  const auto bound = [&](std::int64_t first) -> Result<ValueId> {
    WHET_TRY(const ValueId list, slice(site, site.in(i), 0, first, batch));
    return site.add("bound", ReshapeOperator{{batch, 1, 1, 1}}, {list});
  };
  WHET_TRY(const ValueId end, bound(0));
  WHET_TRY(const ValueId before, site.add("before", BinaryOperator{B::less}, {place, end}));
  if (mask == Shape{batch}) return before;
  WHET_TRY(const ValueId start, bound(batch));
  WHET_TRY(const ValueId behind, site.add("behind", BinaryOperator{B::greater_equal}, {place, start}));
  return site.add("allowed", BinaryOperator{B::logical_and}, {before, behind});
}

/// Keys and values behind those of the past, inputs or parts of one.
Status append(OnnxSite& site, Heads& heads, ValueId past_k, ValueId past_v) {
  const Shape k = site.type(past_k).shape, v = site.type(past_v).shape;
  Shape fit_k = site.type(heads.k).shape, fit_v = site.type(heads.v).shape;
  if (k.size() == 4 && v.size() == 4) fit_k[2] = fit_v[2] = k[2];
  if (k != fit_k || v != fit_v) {
    return site.error("keys and values of the past are " + to_string(k) + " and " + to_string(v) +
                      "; they do not fit the others");
  }
  heads.past = k[2];
  WHET_TRY(heads.k, site.add("present", ConcatOperator{2}, {past_k, heads.k}));
  WHET_TRY(heads.v, site.add("present", ConcatOperator{2}, {past_v, heads.v}));
  return ok_status();
}

/// softmax(q kᵀ * scale + bias + mask) v, the heads side by side. What the mask, input `mask`, leaves out gets
/// "mask_filter_value" added; input `bias` is added as it is.
Status give_attention(OnnxSite& site, const Heads& heads, std::size_t mask, std::size_t bias) {
  const Shape q = site.type(heads.q).shape, k = site.type(heads.k).shape, v = site.type(heads.v).shape;
  if (q[0] != k[0] || q[0] != v[0] || q[1] != k[1] || q[1] != v[1] || q[3] != k[3] || k[2] != v[2] ||
      num_elements(q) == 0 || num_elements(k) == 0) {
    return site.error("queries, keys and values are " + to_string(q) + ", " + to_string(k) + " and " + to_string(v) +
                      " by heads; they do not fit each other");
  }
  const DType dtype = site.type(heads.q).dtype;
  WHET_TRY(double scale, site.number("scale", 0));
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q[3]));
  WHET_TRY(const double filter, site.number("mask_filter_value", -10000));
  WHET_TRY(const bool unidirectional, site.flag("unidirectional", false));
  WHET_TRY(ValueId scores, site.add("product", MatMulOperator{false, true}, {heads.q, heads.k}));
  WHET_TRY(scores, site.add("scores", BinaryOperator{B::mul}, {scores, site.add_scalar("scale", dtype, scale)}));
  const Shape shape = site.type(scores).shape;
  if (site.has(bias)) {
    if (site.rank(bias) != 4 || broadcast(site.shape(bias), shape) != shape || site.dtype(bias) != dtype) {
      return misfit(site, bias, "what broadcasts to " + to_string(site.type(scores)));
    }
    WHET_TRY(scores, site.add("biased", BinaryOperator{B::add}, {scores, site.in(bias)}));
  }
  if (site.has(mask)) {
    WHET_TRY(const ValueId which, allowed(site, mask, shape));
    const ValueId none = site.add_scalar("counts", dtype, 0), never = site.add_scalar("filter", dtype, filter);
    WHET_TRY(const ValueId added, site.add("mask", WhereOperator{}, {which, none, never}));
    WHET_TRY(scores, site.add("masked", BinaryOperator{B::add}, {scores, added}));
  }
  if (unidirectional) {
    WHET_TRY(scores, causal(site, scores, heads.past));
  }
  WHET_TRY(scores, site.add("softmax", SoftmaxOperator{3, false}, {scores}));
  WHET_TRY(ValueId y, site.add("weighted", MatMulOperator{}, {scores, heads.v}));
  WHET_TRY(y, join_heads(site, y));
  return site.pass(y);
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

Result<std::int64_t> read_heads(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_attribute("num_heads"));
  WHET_TRY(const std::int64_t heads, site.integer("num_heads", 1));
  if (heads < 1) return site.error("attribute \"num_heads\" is " + std::to_string(heads));
  return heads;
}

/// A bias of queries, keys and values one behind the other: those of `count` columns from `first` on are added.
Result<ValueId> with_bias(OnnxSite& site, ValueId x, std::int64_t first, std::int64_t count) {
  if (!site.has(3)) return x;
  WHET_TRY(const ValueId part, slice(site, site.in(3), 0, first, count));
  return site.add("biased", BinaryOperator{B::add}, {x, part});
}

}  // namespace

/// (x, weights and bias of queries, keys and values side by side, mask, past, bias of the scores)
Status import_fused_attention(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 7));
  WHET_RETURN_IF_ERROR(expect_plain(site, {"do_rotary", "past_present_share_buffer"}, 6));
  site.ignore({"rotary_embedding_dim"});
  WHET_TRY(const std::int64_t count, read_heads(site));
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
    WHET_TRY(const ValueId own, slice(site, all, 2, first, columns));
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
    WHET_RETURN_IF_ERROR(append(site, heads, k, v));
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
Status import_multi_head_attention(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 10));
  WHET_RETURN_IF_ERROR(expect_plain(site, {}, 8));
  WHET_TRY(const std::int64_t count, read_heads(site));
  for (std::size_t i = 0; i < 3; ++i)
    if (!is_float(site.dtype(i))) return misfit(site, i, "floats");
  const ValueId q = site.in(0), k = site.in(1), v = site.in(2);
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
  if (site.has(6)) WHET_RETURN_IF_ERROR(append(site, heads, site.in(6), site.in(7)));
  if (site.wants_output(1)) WHET_RETURN_IF_ERROR(site.pass(heads.k, 1));
  if (site.wants_output(2)) WHET_RETURN_IF_ERROR(site.pass(heads.v, 2));
  return give_attention(site, heads, 4, 5);
}

}  // namespace whet
