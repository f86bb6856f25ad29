#include "import/parts/index.h"

#include "import/fold_shape.h"
#include "import/parts/constant.h"
#include "import/parts/einsum.h"
#include "import/parts/shape.h"
#include "import_tf/rows.h"

namespace whet::tensorflow {
namespace {

template <ScatterKind kind>
Result<ValueId> scatter(NodeSite& site, ValueId x, ValueId places, ValueId updates) {
  return scatter_nd(site, x, places, updates, kind);
}
Result<ValueId> scatter_into_zeros(NodeSite& site, ValueId places, ValueId updates, const Ints& shape) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  WHET_TRY(const ValueId zeros, filled(site, shape, Tensor(site.dtype(updates), {})));
  return scatter_nd(site, zeros, places, updates, ScatterKind::add);
}

template <ScatterKind kind, int start>
Result<ValueId> unsorted_segments(NodeSite& site, ValueId x, ValueId numbers, std::int64_t count) {
  return segments(site, x, numbers, {kind, start, count});
}
Result<ValueId> segment_sum(NodeSite& site, ValueId x, ValueId numbers) {
  WHET_TRY(const std::int64_t count, count_of_segments(site, numbers));
  return segments(site, x, numbers, {ScatterKind::add, 0, count});
}

/// Weights may be empty: each number counts once.
Result<ValueId> bin_counts(TfSite& site, ValueId numbers, std::int64_t count, ValueId weights, bool is_found) {
  NumberCounts form{.count = count, .dtype = site.dtype(weights), .is_found = is_found};
  if (num_elements(site.shape(weights)) > 0) form.weights = weights;
  if (site.op() == "Bincount" && site.rank(numbers) != 1) {
    const Shape list = {num_elements(site.shape(numbers))};
    WHET_TRY(numbers, site.add("list", ReshapeOperator{list}, {numbers}));
    if (form.weights) {
      WHET_TRY(form.weights, site.add("weights", ReshapeOperator{list}, {weights}));
    }
  }
  return counted_numbers(site, numbers, form);
}

/// TensorFlow Lite has the axis as an attribute.
Result<ValueId> gather_along(NodeSite& site, ValueId x, ValueId places, std::int64_t axis, std::int64_t said,
                             std::int64_t batches) {
  if (axis == 0) axis = said;
  if (site.rank(x) == 0) return site.error("gathers of a scalar");
  WHET_TRY(axis, site.resolve_axis(axis, site.rank(x)));
  return batches != 0 ? gather_in_batches(site, x, places, axis, batches) : gather(site, x, places, axis);
}

Result<ValueId> one_hot_of(NodeSite& site, ValueId places, std::int64_t depth, ValueId on, ValueId off,
                           std::int64_t axis) {
  WHET_TRY(axis, site.resolve_axis(axis, site.rank(places) + 1));
  if (depth < 1 || depth > kMaxElements) return site.error("has a depth of " + std::to_string(depth));
  WHET_TRY(off, site.add("off", ReshapeOperator{{1}}, {off}));
  WHET_TRY(on, site.add("on", ReshapeOperator{{1}}, {on}));
  WHET_TRY(const ValueId values, site.add("values", ConcatOperator{0}, {off, on}));
  return one_hot(site, places, {depth, axis, values});
}
Status give_top(NodeSite& site, ValueId x, std::int64_t k, DType dtype) {
  if (site.rank(x) == 0 || k < 1 || k > site.shape(x).back())
    return site.error("takes " + std::to_string(k) + " elements of " + to_string(site.type(x)));
  const auto last = static_cast<std::int64_t>(site.rank(x)) - 1;
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{last, k}, {x}));
  WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{last}, {x, places}));
  return site.give(site.cast("numbers", places, dtype), 1);
}
Result<ValueId> reverse_steps(NodeSite& site, ValueId x, ValueId lengths, std::int64_t steps, std::int64_t batch) {
  if ((steps != 0 || batch != 1) && (steps != 1 || batch != 0))
    return site.error("has sequences in dimension " + std::to_string(batch) + " and steps in dimension " +
                      std::to_string(steps) + "; expected 0 and 1, or 1 and 0");
  if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)));
  return reverse_sequence(site, x, lengths, static_cast<std::size_t>(steps));
}
/// Zeros below and above a band around the diagonal; a negative width keeps all.
Result<ValueId> band(NodeSite& site, ValueId x, std::int64_t below, std::int64_t above) {
  if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected matrices");
  if (below >= 0) {
    WHET_TRY(x, trilu(site, x, -below, true));
  }
  return above >= 0 ? trilu(site, x, above, false) : x;
}
Result<ValueId> einsum_of(NodeSite& site, const ValueIds& values, const std::string& equation) {
  const Einsum form{equation};
  if (operand_count(form) != values.size())
    return site.error("its equation " + equation + " has " + std::to_string(operand_count(form)) + " operands");
  return einsum(site, values, form);
}

}  // namespace

TfRows index_rows() {
  using S = ScatterKind;
  static constexpr std::string_view kScatter = "x places updates", kSegments = "x numbers number_of_segments";
  static constexpr TfRow kRows[] = {
      {"Bincount", "numbers number_of_bins weights =0", calls<bin_counts>},
      {"Bucketize", "x @boundaries=", calls<bucket_of>},
      {"DenseBincount", "numbers number_of_bins weights @binary_output=0", calls<bin_counts>},
      {"Einsum", "values... @equation", calls<einsum_of>},
      {"Gather GatherV2 ResourceGather", "x places axis=0 @axis=0 @batch_dims=0", calls<gather_along>},
      {"GatherNd", "x places =0", calls<two_operands<GatherNdOperator, std::int64_t>>},
      {"MatrixBandPart", "x width_below width_above", calls<band>},
      {"OneHot", "places depth on off @axis=-1", calls<one_hot_of>},
      {"ReverseSequence", "x lengths @seq_dim=0 @batch_dim=0", calls<reverse_steps>},
      {"ScatterNd", "places updates shape", calls<scatter_into_zeros>},
      {"SegmentSum", "x numbers", calls<segment_sum>},
      {"TensorScatterAdd", kScatter, calls<scatter<S::add>>},
      {"TensorScatterMax", kScatter, calls<scatter<S::max>>},
      {"TensorScatterMin", kScatter, calls<scatter<S::min>>},
      {"TensorScatterUpdate", kScatter, calls<scatter<S::replace>>},
      {"TopK", "x @k @index_type=i32", calls<give_top>},
      {"TopKV2", "x number_of_elements @index_type=i32", calls<give_top>},
      {"UnsortedSegmentProd", kSegments, calls<unsorted_segments<S::mul, 1>>},
      {"UnsortedSegmentSum", kSegments, calls<unsorted_segments<S::add, 0>>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
