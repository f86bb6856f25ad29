#include "import/parts/index.h"

#include "import/fold_shape.h"
#include "import/parts/constant.h"
#include "import/parts/einsum.h"
#include "import/parts/shape.h"
#include "import/tensorflow/rows.h"

namespace whet::tensorflow {
namespace {

using Ints = std::vector<std::int64_t>;

Status give_scattered(TfSite& site, ScatterKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  return site.give(scatter_nd(site, site.in(0), site.in(1), site.in(2), kind));
}

Status give_segments(TfSite& site, ScatterKind kind, double start) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const std::int64_t count, site.integer(2, "number of segments"));
  return site.give(segments(site, site.in(0), site.in(1), {kind, start, count}));
}

Status import_gather(TfSite& site) {
  WHET_TRY(std::int64_t axis, site.integer("axis", 0));
  if (site.input_count() == 3) {
    WHET_TRY(axis, site.axis(2, site.rank(site.in(0))));
  } else if (axis != 0) {
    WHET_TRY(axis, site.resolve_axis(axis, site.rank(site.in(0))));
  }
  WHET_TRY(const std::int64_t batches, site.integer("batch_dims", 0));
  if (batches != 0) return site.give(gather_in_batches(site, site.in(0), site.in(1), axis, batches));
  if (site.rank(site.in(0)) == 0) return site.error("gathers of a scalar");
  return site.give(gather(site, site.in(0), site.in(1), axis));
}
Status import_gather_nd(TfSite& site) { return site.give(GatherNdOperator{0}, {site.in(0), site.in(1)}); }
Status import_scatter_nd(TfSite& site) {
  WHET_TRY(const Ints shape, site.integers(2, "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  WHET_TRY(const ValueId zeros, filled(site, shape, Tensor(site.dtype(site.in(1)), {})));
  return site.give(scatter_nd(site, zeros, site.in(0), site.in(1), ScatterKind::add));
}
Status import_scatter_update(TfSite& site) { return give_scattered(site, ScatterKind::replace); }
Status import_scatter_add(TfSite& site) { return give_scattered(site, ScatterKind::add); }
Status import_scatter_max(TfSite& site) { return give_scattered(site, ScatterKind::max); }
Status import_scatter_min(TfSite& site) { return give_scattered(site, ScatterKind::min); }
Status import_unsorted_sum(TfSite& site) { return give_segments(site, ScatterKind::add, 0); }
Status import_unsorted_prod(TfSite& site) { return give_segments(site, ScatterKind::mul, 1); }
Status import_segment_sum(TfSite& site) {
  WHET_TRY(const std::int64_t count, count_of_segments(site, site.in(1)));
  return site.give(segments(site, site.in(0), site.in(1), {ScatterKind::add, 0, count}));
}

Status import_one_hot(TfSite& site) {
  WHET_TRY(const std::int64_t depth, site.integer(1, "depth"));
  WHET_TRY(std::int64_t axis, site.integer("axis", -1));
  WHET_TRY(axis, site.resolve_axis(axis, site.rank(site.in(0)) + 1));
  if (depth < 1 || depth > kMaxElements) return site.error("has a depth of " + std::to_string(depth));
  WHET_TRY(const ValueId off, site.add("off", ReshapeOperator{{1}}, {site.in(3)}));
  WHET_TRY(const ValueId on, site.add("on", ReshapeOperator{{1}}, {site.in(2)}));
  WHET_TRY(const ValueId values, site.add("values", ConcatOperator{0}, {off, on}));
  return site.give(one_hot(site, site.in(0), {depth, axis, values}));
}
Status import_top_k(TfSite& site) {
  WHET_TRY(std::int64_t k, site.integer("k", 0));
  if (site.input_count() == 2) {
    WHET_TRY(k, site.integer(1, "number of elements"));
  }
  const ValueId x = site.in(0);
  if (site.rank(x) == 0 || k < 1 || k > site.shape(x).back())
    return site.error("takes " + std::to_string(k) + " elements of " + to_string(site.type(x)));
  const auto last = static_cast<std::int64_t>(site.rank(x)) - 1;
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{last, k}, {x}));
  WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{last}, {x, places}));
  WHET_TRY(const DType dtype, site.dtype_attribute("index_type", {3}));
  return site.give(site.cast("numbers", places, dtype), 1);
}
Status import_reverse_sequence(TfSite& site) {
  WHET_TRY(const std::int64_t steps, site.integer("seq_dim", 0));
  WHET_TRY(const std::int64_t batch, site.integer("batch_dim", 0));
  if ((steps != 0 || batch != 1) && (steps != 1 || batch != 0))
    return site.error("has sequences in dimension " + std::to_string(batch) + " and steps in dimension " +
                      std::to_string(steps) + "; expected 0 and 1, or 1 and 0");
  if (site.rank(site.in(0)) < 2) return site.error("the input is " + to_string(site.type(site.in(0))));
  return site.give(reverse_sequence(site, site.in(0), site.in(1), static_cast<std::size_t>(steps)));
}
/// Zeros below and above a band around the diagonal; a negative width keeps all.
Status import_band(TfSite& site) {
  WHET_TRY(const std::int64_t below, site.integer(1, "width below"));
  WHET_TRY(const std::int64_t above, site.integer(2, "width above"));
  ValueId x = site.in(0);
  if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected matrices");
  if (below >= 0) {
    WHET_TRY(x, trilu(site, x, -below, true));
  }
  if (above >= 0) {
    WHET_TRY(x, trilu(site, x, above, false));
  }
  return below < 0 && above < 0 ? site.pass(x) : site.give(x);
}
Status import_einsum(TfSite& site) {
  WHET_TRY(const std::string equation, site.text("equation", ""));
  const Einsum form{equation};
  if (operand_count(form) != site.input_count())
    return site.error("its equation " + equation + " has " + std::to_string(operand_count(form)) + " operands");
  return site.give(einsum(site, site.ins(), form));
}

}  // namespace

TfRows index_rows() {
  static constexpr TfRow kRows[] = {
      {"Einsum", {1, 64}, import_einsum},
      {"Gather", {2, 3}, import_gather},
      {"GatherNd", 2, import_gather_nd},
      {"GatherV2", {2, 3}, import_gather},
      {"MatrixBandPart", 3, import_band},
      {"OneHot", 4, import_one_hot},
      {"ResourceGather", {2, 3}, import_gather},
      {"ReverseSequence", 2, import_reverse_sequence},
      {"ScatterNd", 3, import_scatter_nd},
      {"SegmentSum", 2, import_segment_sum},
      {"TensorScatterAdd", import_scatter_add},
      {"TensorScatterMax", import_scatter_max},
      {"TensorScatterMin", import_scatter_min},
      {"TensorScatterUpdate", import_scatter_update},
      {"TopK", {1, 2}, import_top_k},
      {"TopKV2", {1, 2}, import_top_k},
      {"UnsortedSegmentProd", import_unsorted_prod},
      {"UnsortedSegmentSum", import_unsorted_sum},
  };
  return kRows;
}

}  // namespace whet::tensorflow
