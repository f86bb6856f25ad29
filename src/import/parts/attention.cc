#include "import/parts/attention.h"

#include <limits>

#include "base/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

using B = BinaryKind;

/// Several heads of queries share one of keys: their rows are put one above the other. `wide`: of 16 bits as f32.
Result<ValueId> product(NodeSite& site, ValueId a, ValueId b, bool transpose_b, bool wide = false) {
  const Shape rows = site.type(a).shape, shared = site.type(b).shape;
  const MatMulOperator op{false, transpose_b, wide};
  if (rows[1] == shared[1]) return site.add("product", op, {a, b});
  const std::int64_t group = rows[1] / shared[1];
  WHET_TRY(ValueId x, site.add("group", ReshapeOperator{{rows[0], shared[1], group * rows[2], rows[3]}}, {a}));
  WHET_TRY(x, site.add("product", op, {x, b}));
  return site.add("heads", ReshapeOperator{{rows[0], rows[1], rows[2], site.type(x).shape[3]}}, {x});
}

/// The mask continued behind its end, where no key counts.
Result<ValueId> whole_mask(NodeSite& site, ValueId mask, std::int64_t keys) {
  const Shape shape = site.shape(mask);
  if (shape.empty() || shape.back() == 1 || shape.back() >= keys) return mask;
  const bool allows = site.dtype(mask) == DType::boolean;
  PadOperator pad{PadMode::constant, allows ? 0 : -kInfinity, Shape(shape.size(), 0), Shape(shape.size(), 0)};
  pad.end.back() = keys - shape.back();
  return site.add("whole_mask", pad, {mask});
}

Result<ValueId> with_mask(NodeSite& site, ValueId scores, const Attention& form) {
  if (!form.mask) return scores;
  ValueId mask = *form.mask;
  if (form.mask_ends_early) {
    WHET_TRY(mask, whole_mask(site, mask, site.shape(scores)[3]));
  }
  if (site.dtype(mask) == DType::boolean) return masked(site, scores, mask);
  WHET_TRY(mask, site.cast("wide_mask", mask, site.dtype(scores)));
  return site.add("biased", BinaryOperator{B::add}, {scores, mask});
}

/// Of each batch's keys, only the first `count` ones.
Result<ValueId> without_padding(NodeSite& site, ValueId scores, ValueId key_counts) {
  const Shape shape = site.shape(scores);
  const ValueId place = site.add_constant("place", numbered({shape[3]}));
  WHET_TRY(const ValueId count, site.add("count", ReshapeOperator{{shape[0], 1, 1, 1}}, {key_counts}));
  WHET_TRY(const ValueId counts, site.add("counts", BinaryOperator{B::less}, {place, count}));
  return masked(site, scores, counts);
}

Result<ValueId> softened(NodeSite& site, ValueId scores, double cap) {
  if (cap == 0) return scores;
  const DType dtype = site.type(scores).dtype;
  const ValueId part = site.add_scalar("part", dtype, 1 / cap), whole = site.add_scalar("cap", dtype, cap);
  WHET_TRY(ValueId x, site.add("small", BinaryOperator{B::mul}, {scores, part}));
  WHET_TRY(x, site.add("tanh", UnaryOperator{UnaryKind::tanh}, {x}));
  return site.add("capped", BinaryOperator{B::mul}, {x, whole});
}

/// Queries, keys and values fit each other.
Status check_heads(NodeSite& site, ValueId q, ValueId k, ValueId v) {
  const Shape &a = site.type(q).shape, &b = site.type(k).shape, &c = site.type(v).shape;
  const bool four = a.size() == 4 && b.size() == 4 && c.size() == 4;
  if (four && a[0] == b[0] && a[0] == c[0] && b[1] >= 1 && b[1] == c[1] && a[1] % b[1] == 0 && a[3] == b[3] &&
      b[2] == c[2] && num_elements(a) > 0 && num_elements(b) > 0) {
    return ok_status();
  }
  return site.error("queries, keys and values are " + to_string(a) + ", " + to_string(b) + " and " + to_string(c) +
                    " by heads; they do not fit each other");
}

}  // namespace

SoftmaxOperator softmax_of_scores(DType queries) {
  SoftmaxOperator op{3};
  if (is_half(queries)) op.rounds = queries;
  return op;
}

Result<Attended> attention(NodeSite& site, ValueId q, ValueId k, ValueId v, const Attention& form) {
  WHET_RETURN_IF_ERROR(check_heads(site, q, k, v));
  Attended result;
  // Scores of f16, and their masks, go far beyond its numbers; those of bf16 need more digits.
  const DType own = site.dtype(q);
  WHET_TRY(ValueId scores, product(site, q, k, true, is_half(own)));
  const ValueId factor = site.add_scalar("scale", site.dtype(scores), form.scale);
  WHET_TRY(result.raw, site.add("scores", BinaryOperator{B::mul}, {scores, factor}));
  WHET_TRY(result.capped, softened(site, result.raw, form.softcap));
  WHET_TRY(scores, with_mask(site, result.capped, form));
  if (form.key_counts) {
    WHET_TRY(scores, without_padding(site, scores, *form.key_counts));
  }
  if (form.is_causal) {
    WHET_TRY(scores, causal(site, scores, form.past));
  }
  result.biased = scores;
  WHET_TRY(result.weights, site.add("softmax", softmax_of_scores(own), {scores}));
  WHET_TRY(result.y, product(site, result.weights, v, false));
  return result;
}

Result<ValueId> rotary_embedding(NodeSite& site, ValueId x, const Rotary& form) {
  const Shape shape = site.shape(x);
  const std::int64_t turned = form.turned == 0 ? shape[3] : form.turned;
  const bool interleaved = form.interleaved;
  if (turned < 2 || turned > shape[3] || turned % 2 != 0) {
    return site.error("turns " + std::to_string(turned) + " of " + std::to_string(shape[3]) + " numbers");
  }
  const std::int64_t pairs = turned / 2;
  const auto angles = [&](ValueId cache) -> Result<ValueId> {  // [batch, 1, places, pairs]
    if (form.places) {
      WHET_TRY(cache, site.add("angles", GatherOperator{0}, {cache, *form.places}));
    }
    const Shape found = site.type(cache).shape;
    if (found.size() != 3 || found[1] != shape[2] || found[2] < pairs) {
      return site.error("the angles of its places are " + to_string(found) + "; expected " +
                        to_string(Shape{shape[0], shape[2], pairs}));
    }
    if (found[2] > pairs) {
      WHET_TRY(cache, columns_of(site, cache, 0, pairs));
    }
    return site.add("of_heads", ReshapeOperator{{found[0], 1, found[1], pairs}}, {cache});
  };
  WHET_TRY(const ValueId cosine, angles(form.cosine));
  WHET_TRY(const ValueId sine, angles(form.sine));
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
  return y;
}

}  // namespace whet
