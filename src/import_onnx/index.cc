#include "import/parts/index.h"

#include <algorithm>

#include "import/parts/arithmetic.h"
#include "import/parts/boxes.h"
#include "import/parts/non_zero.h"
#include "import/parts/shape.h"
#include "import/parts/unique.h"
#include "import_onnx/rows.h"

// Operators that read, write or give places.

namespace whet {
namespace {

Status import_top_k(OnnxSite& site, ValueId x, std::int64_t k, std::int64_t axis, bool largest) {
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{axis, k, largest}, {x}));
  WHET_RETURN_IF_ERROR(site.give(places, 1));
  return site.give(GatherElementsOperator{axis}, {x, places}, 0);
}

Status import_scatter_elements(OnnxSite& site, ValueId x, ValueId places, ValueId updates, std::int64_t axis,
                               ScatterKind kind) {
  if (num_elements(site.shape(places)) == 0) return site.pass(x);
  return site.give(ScatterElementsOperator{axis, kind}, {x, places, updates});
}

/// Rows of a cache are replaced from a place on that each batch entry has; "circular" goes on at the front.
Status import_tensor_scatter(OnnxSite& site, ValueId x, ValueId updates, std::optional<ValueId> starts,
                             std::int64_t axis, std::int64_t circular) {
  const Shape update = site.shape(updates);
  const auto d = static_cast<std::size_t>(axis);
  const std::int64_t rows = site.shape(x)[d];
  if (update.size() != site.rank(x) || axis == 0 || update[d] > rows)
    return site.error("writes " + to_string(site.type(updates)) + " into " + to_string(site.type(x)) +
                      " along dimension " + std::to_string(axis));
  ValueId places = site.add_constant("rows", numbered(shape_along(d, update.size(), update[d])));
  if (starts) {
    const Shape each = shape_along(0, update.size(), update[0]);
    WHET_TRY(const ValueId first, site.add("starts", ReshapeOperator{each}, {*starts}));
    WHET_TRY(places, site.add("places", BinaryOperator{BinaryKind::add}, {places, first}));
  }
  if (circular != 0) {
    WHET_TRY(places, with_number(site, "circular", BinaryKind::mod, places, static_cast<double>(rows)));
  }
  WHET_TRY(places, expanded(site, places, update));
  return site.give(ScatterElementsOperator{axis}, {x, places, updates});
}

Result<ValueId> import_one_hot(OnnxSite& site, ValueId x, const Tensor& depth, ValueId values, std::int64_t axis) {
  const bool counts = depth.size() == 1 && depth.get(0) >= 0 && depth.get(0) <= kMaxElements;
  if (!counts) return site.error("its depth is " + to_string(depth.type()) + "; expected one number of classes");
  OneHot form{.depth = static_cast<std::int64_t>(depth.get(0)), .values = values, .from_end = true};
  WHET_TRY(form.axis, site.resolve_axis(axis, site.rank(x) + 1));
  return one_hot(site, x, form);
}

Status import_eye_like(OnnxSite& site, ValueId x, std::int64_t k) {
  WHET_TRY(const DType dtype, site.dtype_attribute("dtype", site.dtype(x)));
  if (site.rank(x) != 2) return site.error("the input is " + to_string(site.type(x)) + "; expected a matrix");
  WHET_RETURN_IF_ERROR(expect_small(site, site.shape(x), "the result"));
  return site.give_constant(eye(dtype, site.shape(x)[0], site.shape(x)[1], k));
}

Status import_non_zero(OnnxSite& site, ValueId x) {
  if (const Tensor* known = site.constant(x)) return site.give_constant(non_zero(*known));
  return site.give(counted_non_zero(site, x));
}

/// Everything from `axis` on is one dimension.
Result<ValueId> import_hardmax_flattened(OnnxSite& site, ValueId x, std::int64_t axis) {
  const Shape shape = site.shape(x);
  const auto middle = shape.begin() + axis;
  const Shape flat = {num_elements(Shape(shape.begin(), middle)), num_elements(Shape(middle, shape.end()))};
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{flat}, {x}));
  return hardmax(site, rows, 1, shape);
}

Result<ValueId> import_hardmax(OnnxSite& site, ValueId x, std::int64_t axis) {
  const Shape shape = site.shape(x);
  return hardmax(site, x, axis, shape);
}

Result<ValueId> import_compress(OnnxSite& site, ValueId x, ValueId condition, std::optional<std::int64_t> axis) {
  if (!axis) {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(site.shape(x))}}, {x}));
  }
  const Tensor* known = site.constant(condition);
  return known != nullptr ? compress(site, x, *known, axis.value_or(0))
                          : counted_where(site, x, condition, axis.value_or(0));
}

Result<ValueId> import_reverse_sequence(OnnxSite& site, ValueId x, ValueId lengths, std::int64_t time,
                                        std::int64_t batch) {
  if ((time == 0 && batch == 1) || (time == 1 && batch == 0))
    return reverse_sequence(site, x, lengths, static_cast<std::size_t>(time));
  return site.error("attributes \"time_axis\" and \"batch_axis\" are " + std::to_string(time) + " and " +
                    std::to_string(batch) + "; expected 0 and 1, or 1 and 0");
}

/// The different elements of a list; without an axis of any tensor.
Result<ValueIds> import_unique(OnnxSite& site, ValueId x, bool sorted, std::optional<std::int64_t> axis) {
  if (axis && site.rank(x) != 1)
    return site.error("finds the different parts of " + to_string(site.type(x)) + " along axis " +
                      std::to_string(*axis) + "; only elements are supported");
  WHET_TRY(const Unique found, unique_elements(site, x, sorted));
  return ValueIds{found.values, found.firsts, found.inverse, found.counts};
}

/// The maximum of a class is the file's; that of all is as many times the images and classes.
Status import_non_max_suppression(OnnxSite& site, ValueId boxes, ValueId scores, std::int64_t most,
                                  std::optional<ValueId> overlap, std::optional<ValueId> score, bool centres) {
  const bool lists = site.rank(boxes) == 3 && site.rank(scores) == 3 && site.shape(boxes)[2] == 4;
  if (!lists) {
    return site.error("chooses among boxes " + to_string(site.type(boxes)) + " by scores " +
                      to_string(site.type(scores)) + "; expected [N, boxes, 4] and [N, classes, boxes]");
  }
  if (most <= 0 || num_elements(site.shape(scores)) == 0) return site.give_constant(Tensor(DType::i64, {0, 3}));
  const BestBoxes how{std::min(most, site.shape(scores)[2]), overlap, score};
  WHET_TRY(const ValueId corners, centres ? corners_of_centres(site, boxes) : ordered_corners(site, boxes));
  WHET_TRY(const ChosenBoxes chosen, non_max_suppression(site, corners, scores, how));
  return site.give(rows_of_boxes(site, chosen));
}

}  // namespace

OnnxRows onnx_index() {
  constexpr auto place = calls<one_operand<ArgReduceOperator, bool, std::int64_t, bool, bool>>;
  static constexpr std::string_view kScatter = "x places updates @axis(x)=0 @reduction:none|add|mul|max|min=none";
  static constexpr OnnxRow kRows[] = {
      {"ArgMax", 1, "x =1 @axis(x)=0 @keepdims=1 @select_last_index=0", place},
      {"ArgMin", 1, "x =0 @axis(x)=0 @keepdims=1 @select_last_index=0", place},
      {"Compress", 9, "x condition @axis(x)?", calls<import_compress>},
      {"CumSum", 11, "x axis(x) @exclusive=0 @reverse=0", calls<one_operand<CumSumOperator, std::int64_t, bool, bool>>},
      {"EyeLike", 9, "x @k=0 @dtype?", calls<import_eye_like>},
      {"GatherElements", 11, "x places @axis(x)=0", calls<two_operands<GatherElementsOperator, std::int64_t>>},
      {"GatherND", 11, "x places @batch_dims=0", calls<two_operands<GatherNdOperator, std::int64_t>>},
      {"Hardmax", 1, "x @axis(x)=1", calls<import_hardmax_flattened>},
      {"Hardmax", 13, "x @axis(x)=-1", calls<import_hardmax>},
      {"NonMaxSuppression", 10, "boxes scores number_of_boxes_of_a_class=0 overlap? score? @center_point_box=0",
       calls<import_non_max_suppression>},
      {"NonZero", 9, "x", calls<import_non_zero>},
      {"OneHot", 9, "x depth values @axis=-1", calls<import_one_hot>},
      {"ReverseSequence", 10, "x lengths @time_axis=0 @batch_axis=1", calls<import_reverse_sequence>},
      {"Scatter", 9, kScatter, calls<import_scatter_elements>},
      {"ScatterElements", 11, kScatter, calls<import_scatter_elements>},
      {"ScatterND", 11, "x places updates @reduction:none|add|mul|max|min=none", calls<scatter_nd>},
      {"TensorScatter", 24, "x updates starts? @axis(x)=-2 @mode:linear|circular=linear", calls<import_tensor_scatter>},
      {"TopK", 1, "x @k @axis(x)=-1 @largest=1 ~sorted", calls<import_top_k>},
      {"TopK", 10, "x number_of_elements @axis(x)=-1 @largest=1 ~sorted", calls<import_top_k>},
      {"Trilu", 14, "x diagonal=0 @upper=1", calls<trilu>},
      {"Unique", 11, "x @sorted=1 @axis(x)?", calls<import_unique>},
  };
  return kRows;
}

}  // namespace whet
