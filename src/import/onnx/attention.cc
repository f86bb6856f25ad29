#include <cmath>
#include <limits>
#include <optional>

#include "import/onnx/heads.h"
#include "import/onnx/importers.h"

// Attention and RotaryEmbedding, as the products, sums and moves that exporters write.

namespace whet {
namespace {

using B = BinaryKind;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

/// Several heads of queries share one of keys: their rows stand one above the other.
Result<ValueId> product(OnnxSite& site, ValueId a, ValueId b, bool transpose_b) {
  const Shape rows = site.type(a).shape, shared = site.type(b).shape;
  if (rows[1] == shared[1]) return site.add("product", MatMulOperator{false, transpose_b}, {a, b});
  const std::int64_t group = rows[1] / shared[1];
  WHET_TRY(ValueId x, site.add("group", ReshapeOperator{{rows[0], shared[1], group * rows[2], rows[3]}}, {a}));
  WHET_TRY(x, site.add("product", MatMulOperator{false, transpose_b}, {x, b}));
  return site.add("heads", ReshapeOperator{{rows[0], rows[1], rows[2], site.type(x).shape[3]}}, {x});
}

/// `x` where `allowed`, else minus infinity.
Result<ValueId> masked(OnnxSite& site, ValueId x, ValueId allowed) {
  const ValueId never = site.add_scalar("never", site.type(x).dtype, -kInfinity);
  return site.add("masked", WhereOperator{}, {allowed, x, never});
}

/// The mask; from operator set 24 on it may end before the keys do, of which the rest is not looked at.
Result<ValueId> whole_mask(OnnxSite& site, std::int64_t keys) {
  const Shape mask = site.shape(3);
  if (site.opset() < 24 || mask.empty() || mask.back() == 1 || mask.back() >= keys) return site.in(3);
  const bool allows = site.dtype(3) == DType::boolean;
  PadOperator pad{PadMode::constant, allows ? 0 : -kInfinity, Shape(mask.size(), 0), Shape(mask.size(), 0)};
  pad.end.back() = keys - mask.back();
  return site.add("whole_mask", pad, {site.in(3)});
}

Result<ValueId> with_mask(OnnxSite& site, ValueId scores) {
  if (!site.has(3)) return scores;
  WHET_TRY(const ValueId mask, whole_mask(site, site.type(scores).shape[3]));
  if (site.dtype(3) == DType::boolean) return masked(site, scores, mask);
  return site.add("biased", BinaryOperator{B::add}, {scores, mask});
}

/// Of each batch's keys, only the first ones count: input 6 says how many.
Result<ValueId> without_padding(OnnxSite& site, ValueId scores, bool is_causal) {
  if (!site.has(6)) return scores;
  const Shape shape = site.type(scores).shape;
  if (is_causal || site.has(4) || site.has(5)) {
    return site.error("numbers of keys that are no padding are not supported beside \"is_causal\" or a past");
  }
  if (site.shape(6) != Shape{shape[0]} || site.dtype(6) != DType::i64) {
    return site.error("input 6 is " + to_string(site.type(site.in(6))) + "; expected one i64 for each of the " +
                      std::to_string(shape[0]) + " batches");
  }
  Tensor places(DType::i64, {shape[3]});
  for (std::int64_t i = 0; i < shape[3]; ++i) places.set_integer(i, i);
  const ValueId place = site.add_constant("place", places);
  WHET_TRY(const ValueId count, site.add("count", ReshapeOperator{{shape[0], 1, 1, 1}}, {site.in(6)}));
  WHET_TRY(const ValueId counts, site.add("counts", BinaryOperator{B::less}, {place, count}));
  return masked(site, scores, counts);
}

Result<ValueId> softened(OnnxSite& site, ValueId scores, double cap) {
  if (cap == 0) return scores;
  const DType dtype = site.type(scores).dtype;
  const ValueId part = site.add_scalar("part", dtype, 1 / cap), whole = site.add_scalar("cap", dtype, cap);
  WHET_TRY(ValueId x, site.add("small", BinaryOperator{B::mul}, {scores, part}));
  WHET_TRY(x, site.add("tanh", UnaryOperator{UnaryKind::tanh}, {x}));
  return site.add("capped", BinaryOperator{B::mul}, {x, whole});
}

/// Queries, keys and values fit each other.
Status check_heads(OnnxSite& site, ValueId q, ValueId k, ValueId v) {
  const Shape &a = site.type(q).shape, &b = site.type(k).shape, &c = site.type(v).shape;
  const bool four = a.size() == 4 && b.size() == 4 && c.size() == 4;
  if (four && a[0] == b[0] && a[0] == c[0] && b[1] >= 1 && b[1] == c[1] && a[1] % b[1] == 0 && a[3] == b[3] &&
      b[2] == c[2] && num_elements(a) > 0 && num_elements(b) > 0) {
    return ok_status();
  }
  return site.error("queries, keys and values are " + to_string(a) + ", " + to_string(b) + " and " + to_string(c) +
                    " by heads; they do not fit each other");
}

/// Where a rotary embedding takes its angles from: two inputs, whose rows `places` choose where they are given.
struct Angles {
  std::size_t cosine, sine;
  std::optional<ValueId> places;
};

/// Pairs of numbers are turned by angles, which each place has its own of.
Status give_rotated(OnnxSite& site, std::int64_t heads, const Angles& from) {
  WHET_TRY(const bool interleaved, site.flag("interleaved", false));
  WHET_TRY(std::int64_t turned, site.integer("rotary_embedding_dim", 0));
  const bool three = site.rank(0) == 3;
  WHET_TRY(const ValueId x, by_heads(site, 0, heads, "num_heads"));
  const Shape shape = site.type(x).shape;
  if (turned == 0) turned = shape[3];
  if (turned < 2 || turned > shape[3] || turned % 2 != 0) {
    return site.error("turns " + std::to_string(turned) + " of " + std::to_string(shape[3]) + " numbers");
  }
  const std::int64_t pairs = turned / 2;
  const auto angles = [&](std::size_t i) -> Result<ValueId> {  // [batch, 1, places, pairs]
    ValueId cache = site.in(i);
    if (from.places) {
      WHET_TRY(cache, site.add("angles", GatherOperator{0}, {cache, *from.places}));
    }
    const Shape found = site.type(cache).shape;
    if (found.size() != 3 || found[1] != shape[2] || found[2] < pairs) {
      return site.error("the angles of its places are " + to_string(found) + "; expected " +
                        to_string(Shape{shape[0], shape[2], pairs}));
    }
    if (found[2] > pairs) {
      WHET_TRY(cache, site.add("used", SliceOperator{{0, 0, 0}, {1, 1, 1}, {found[0], found[1], pairs}}, {cache}));
    }
    return site.add("of_heads", ReshapeOperator{{found[0], 1, found[1], pairs}}, {cache});
  };
  WHET_TRY(const ValueId cosine, angles(from.cosine));
  WHET_TRY(const ValueId sine, angles(from.sine));
  const auto part = [&](std::int64_t start, std::int64_t step, std::int64_t count) {
    return site.add("part", SliceOperator{{0, 0, 0, start}, {1, 1, 1, step}, {shape[0], shape[1], shape[2], count}},
                    {x});
  };
  const auto combined = [&](B kind, ValueId a, ValueId a_factor, ValueId b, ValueId b_factor) -> Result<ValueId> {
    WHET_TRY(const ValueId first, site.add("first", BinaryOperator{B::mul}, {a, a_factor}));
    WHET_TRY(const ValueId second, site.add("second", BinaryOperator{B::mul}, {b, b_factor}));
    return site.add("turned", BinaryOperator{kind}, {first, second});
  };
  WHET_TRY(const ValueId a, part(0, interleaved ? 2 : 1, pairs));
  WHET_TRY(const ValueId b, part(interleaved ? 1 : pairs, interleaved ? 2 : 1, pairs));
  WHET_TRY(ValueId real, combined(B::sub, a, cosine, b, sine));
  WHET_TRY(ValueId imaginary, combined(B::add, a, sine, b, cosine));
  ValueId y;
  if (interleaved) {
    const Shape apart = {shape[0], shape[1], shape[2], pairs, 1};
    WHET_TRY(real, site.add("real", ReshapeOperator{apart}, {real}));
    WHET_TRY(imaginary, site.add("imaginary", ReshapeOperator{apart}, {imaginary}));
    WHET_TRY(y, site.add("pairs", ConcatOperator{4}, {real, imaginary}));
    WHET_TRY(y, site.add("mixed", ReshapeOperator{{shape[0], shape[1], shape[2], turned}}, {y}));
  } else {
    WHET_TRY(y, site.add("halves", ConcatOperator{3}, {real, imaginary}));
  }
  if (turned < shape[3]) {
    WHET_TRY(const ValueId rest, part(turned, 1, shape[3] - turned));
    WHET_TRY(y, site.add("whole", ConcatOperator{3}, {y, rest}));
  }
  if (three) {
    WHET_TRY(y, join_heads(site, y));
  }
  return site.pass(y);
}

}  // namespace

Result<ValueId> split_heads(OnnxSite& site, ValueId x, std::int64_t heads) {
  const Shape shape = site.type(x).shape;
  WHET_TRY(x, site.add("heads", ReshapeOperator{{shape[0], shape[1], heads, shape[2] / heads}}, {x}));
  return site.add("by_heads", TransposeOperator{{0, 2, 1, 3}}, {x});
}

Result<ValueId> join_heads(OnnxSite& site, ValueId x) {
  const Shape shape = site.type(x).shape;
  WHET_TRY(const ValueId turned, site.add("by_places", TransposeOperator{{0, 2, 1, 3}}, {x}));
  return site.add("together", ReshapeOperator{{shape[0], shape[2], shape[1] * shape[3]}}, {turned});
}

Result<ValueId> causal(OnnxSite& site, ValueId scores, std::int64_t past) {
  const Shape shape = site.type(scores).shape;
  const std::int64_t rows = shape[2], columns = shape[3];
  Tensor mask(DType::boolean, {rows, columns});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) mask.set_integer(r * columns + c, c <= r + past);
  }
  return masked(site, scores, site.add_constant("causal", mask));
}

Status import_attention(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, site.opset() >= 24 ? 7 : 6));
  site.ignore({"softmax_precision"});
  WHET_TRY(const std::int64_t q_heads, site.integer("q_num_heads", 0));
  WHET_TRY(const std::int64_t kv_heads, site.integer("kv_num_heads", 0));
  WHET_TRY(const bool is_causal, site.flag("is_causal", false));
  WHET_TRY(const double cap, site.number("softcap", 0));
  WHET_TRY(const std::int64_t shown, site.integer("qk_matmul_output_mode", 0));
  if (!is_float(site.dtype(0))) return site.error("the queries are " + to_string(site.type(site.in(0))));
  const bool three = site.rank(0) == 3;
  WHET_TRY(const ValueId q, by_heads(site, 0, q_heads, "q_num_heads"));
  WHET_TRY(ValueId k, by_heads(site, 1, kv_heads, "kv_num_heads"));
  WHET_TRY(ValueId v, by_heads(site, 2, kv_heads, "kv_num_heads"));
  const std::int64_t own = site.type(k).shape[2];
  WHET_TRY(k, behind_past(site, 4, k));
  WHET_TRY(v, behind_past(site, 5, v));
  WHET_RETURN_IF_ERROR(check_heads(site, q, k, v));
  WHET_RETURN_IF_ERROR(site.pass(k, 1));
  WHET_RETURN_IF_ERROR(site.pass(v, 2));
  WHET_TRY(const double scale, site.number("scale", 1 / std::sqrt(static_cast<double>(site.type(q).shape[3]))));
  WHET_TRY(ValueId scores, product(site, q, k, true));
  const ValueId factor = site.add_scalar("scale", site.type(scores).dtype, scale);
  WHET_TRY(scores, site.add("scores", BinaryOperator{B::mul}, {scores, factor}));
  const ValueId raw = scores;
  WHET_TRY(scores, softened(site, scores, cap));
  const ValueId soft = scores;
  WHET_TRY(scores, with_mask(site, scores));
  WHET_TRY(scores, without_padding(site, scores, is_causal));
  if (is_causal) {
    WHET_TRY(scores, causal(site, scores, site.type(k).shape[2] - own));
  }
  const ValueId biased = scores;
  WHET_TRY(scores, site.add("softmax", SoftmaxOperator{3, false}, {scores}));
  if (shown < 0 || shown > 3) return site.error("attribute \"qk_matmul_output_mode\" is " + std::to_string(shown));
  const ValueId stages[] = {raw, biased, soft, scores};
  WHET_RETURN_IF_ERROR(site.pass(stages[shown], 3));
  if (!three && site.type(v).shape[1] == site.type(q).shape[1]) return site.give(MatMulOperator{}, {scores, v});
  WHET_TRY(ValueId y, product(site, scores, v, false));
  if (three) {
    WHET_TRY(y, join_heads(site, y));
  }
  return site.pass(y);
}

Status import_rotary_embedding(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 4));
  WHET_TRY(const std::int64_t heads, site.integer("num_heads", 0));
  return give_rotated(site, heads, {1, 2, site.has(3) ? std::optional(site.in(3)) : std::nullopt});
}

/// (x, places, cosines, sines): one place is that of the first row. As many heads as the angles leave room for.
Status import_fused_rotary_embedding(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(4));
  WHET_TRY(const bool packed, site.flag("is_packed_batching", false));
  WHET_TRY(const double scale, site.number("scale", 1));
  WHET_TRY(std::int64_t heads, site.integer("num_heads", 0));
  if (packed || scale != 1) return site.error("packed batches and scales are not supported");
  const Shape x = site.shape(0), angles = site.shape(2);
  if (x.size() < 3 || angles.size() != 2 || angles[1] < 1) {
    return site.error("turns " + to_string(site.type(site.in(0))) + " by " + to_string(site.type(site.in(2))) +
                      "; expected three or four dimensions, and the angles of each place");
  }
  if (heads == 0) heads = x.back() / (2 * angles[1]);
  ValueId places = site.in(1);
  if (num_elements(site.shape(1)) == 1) {
    Tensor rows(DType::i64, {1, x[x.size() - 2]});
    for (std::int64_t i = 0; i < rows.size(); ++i) rows.set_integer(i, i);
    WHET_TRY(places, site.add("first", ReshapeOperator{{1, 1}}, {places}));
    WHET_TRY(places, site.add("places", BinaryOperator{B::add}, {places, site.add_constant("rows", rows)}));
  }
  return give_rotated(site, heads, {2, 3, places});
}

}  // namespace whet
