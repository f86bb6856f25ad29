#include "import/parts/fused_attention.h"

#include <cmath>

#include "import/parts/attention.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

using B = BinaryKind;

Error misfit(const NodeSite& site, const Operand& x, const std::string& expected) {
  return site.error(x.what + " is " + to_string(site.type(x.value)) + "; expected " + expected);
}

/// Which places count, as [batch, 1, rows or 1, places]: the mask has the number of each batch, or the ends and the starts, or
/// each place.
Result<ValueId> allowed(NodeSite& site, const Operand& given, const Shape& scores) {
  const std::int64_t batch = scores[0], rows = scores[2], places = scores[3];
  const Shape mask = site.shape(given.value);
  if (site.dtype(given.value) != DType::i32) return misfit(site, given, "i32");
  if (mask == Shape{batch, places} || mask == Shape{batch, rows, places}) {
    const Shape apart = mask.size() == 2 ? Shape{batch, 1, 1, places} : Shape{batch, 1, rows, places};
    WHET_TRY(const ValueId each, site.add("mask", ReshapeOperator{apart}, {given.value}));
    return site.add("allowed", BinaryOperator{B::greater}, {each, site.add_scalar("none", DType::i32, 0)});
  }
  if (mask != Shape{batch} && mask != Shape{2 * batch}) {
    return misfit(site, given,
                  "a mask of shape " + to_string(Shape{batch, places}) + " or " +
                      to_string(Shape{batch, rows, places}) + ", or " + std::to_string(batch) + " or " +
                      std::to_string(2 * batch) + " ends of what counts");
  }
  const ValueId place = site.add_constant("place", numbered({places}, DType::i32));
  const auto bound = [&](std::int64_t first) -> Result<ValueId> {
    WHET_TRY(const ValueId list, places_of(site, given.value, 0, first, batch));
    return site.add("bound", ReshapeOperator{{batch, 1, 1, 1}}, {list});
  };
  WHET_TRY(const ValueId end, bound(0));
  WHET_TRY(const ValueId before, site.add("before", BinaryOperator{B::less}, {place, end}));
  if (mask == Shape{batch}) return before;
  WHET_TRY(const ValueId start, bound(batch));
  WHET_TRY(const ValueId behind, site.add("behind", BinaryOperator{B::greater_equal}, {place, start}));
  return site.add("allowed", BinaryOperator{B::logical_and}, {before, behind});
}

}  // namespace

Result<ValueId> places_of(NodeSite& site, ValueId x, std::size_t d, std::int64_t first, std::int64_t count) {
  return site.add("part", part_along(site.shape(x), d, first, count), {x});
}

Status put_past_before(NodeSite& site, Heads& heads, ValueId past_k, ValueId past_v) {
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

Result<ValueId> filtered_attention(NodeSite& site, const Heads& heads, const FilteredAttention& form) {
  const Shape q = site.type(heads.q).shape, k = site.type(heads.k).shape, v = site.type(heads.v).shape;
  if (q[0] != k[0] || q[0] != v[0] || q[1] != k[1] || q[1] != v[1] || q[3] != k[3] || k[2] != v[2] ||
      num_elements(q) == 0 || num_elements(k) == 0) {
    return site.error("queries, keys and values are " + to_string(q) + ", " + to_string(k) + " and " + to_string(v) +
                      " by heads; they do not fit each other");
  }
  // Scores of f16, and their masks, go far beyond its numbers; those of bf16 need more digits.
  const DType own = site.type(heads.q).dtype, dtype = is_half(own) ? DType::f32 : own;
  const double scale = form.scale == 0 ? 1 / std::sqrt(static_cast<double>(q[3])) : form.scale;
  WHET_TRY(ValueId scores, site.add("product", MatMulOperator{false, true, is_half(own)}, {heads.q, heads.k}));
  WHET_TRY(scores, site.add("scores", BinaryOperator{B::mul}, {scores, site.add_scalar("scale", dtype, scale)}));
  const Shape shape = site.type(scores).shape;
  if (form.bias) {
    ValueId bias = form.bias->value;
    if (site.rank(bias) != 4 || broadcast(site.shape(bias), shape) != shape || site.dtype(bias) != own) {
      return misfit(site, *form.bias, "what broadcasts to " + to_string(TensorType{own, shape}));
    }
    WHET_TRY(bias, site.cast("wide_bias", bias, dtype));
    WHET_TRY(scores, site.add("biased", BinaryOperator{B::add}, {scores, bias}));
  }
  if (form.mask) {
    WHET_TRY(const ValueId which, allowed(site, *form.mask, shape));
    const ValueId none = site.add_scalar("counts", dtype, 0), never = site.add_scalar("filter", dtype, form.filter);
    WHET_TRY(const ValueId added, site.add("mask", WhereOperator{}, {which, none, never}));
    WHET_TRY(scores, site.add("masked", BinaryOperator{B::add}, {scores, added}));
  }
  if (form.is_causal) {
    WHET_TRY(scores, causal(site, scores, heads.past));
  }
  WHET_TRY(scores, site.add("softmax", softmax_of_scores(own), {scores}));
  WHET_TRY(const ValueId y, site.add("weighted", MatMulOperator{}, {scores, heads.v}));
  return join_heads(site, y);
}

}  // namespace whet
