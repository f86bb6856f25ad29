#include <limits>
#include <numeric>

#include "import/onnx/importers.h"

namespace whet {
namespace {

/// What a reduction over nothing gives. Of booleans the largest is false.
double of_nothing(ReduceKind kind, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::prod:
      return 1;
    case ReduceKind::max:
      return dtype == DType::boolean ? 0 : -kInfinity;
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp:
      return -kInfinity;
    case ReduceKind::min:
      return kInfinity;
    case ReduceKind::mean:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return 0;
  }
}

/// The input has no elements, the result may have some.
Status give_of_nothing(OnnxSite& site, const ReduceOperator& op) {
  Shape shape = site.shape(0);
  for (std::size_t i = op.axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(op.axes[i]);
    if (op.keep_dims) {
      shape[axis] = 1;
    } else {
      shape.erase(shape.begin() + op.axes[i]);
    }
  }
  const ValueId value = site.add_scalar("of_nothing", site.dtype(0), of_nothing(op.kind, site.dtype(0)));
  return site.give(ExpandOperator{shape}, {value});
}

/// Over no axis: nothing is added up, but what is done to each element is done.
Status give_each(OnnxSite& site, ReduceKind kind) {
  const ValueId x = site.in(0);
  switch (kind) {
    case ReduceKind::l1:
    case ReduceKind::l2:
      return site.give(UnaryOperator{UnaryKind::abs}, {x});
    case ReduceKind::sum_square:
      return site.give(BinaryOperator{BinaryKind::mul}, {x, x});
    case ReduceKind::log_sum:
      return site.give(UnaryOperator{UnaryKind::log}, {x});
    default:
      return site.pass(x);
  }
}

}  // namespace

Status import_reduce(OnnxSite& site, ReduceKind kind, int axes_are_an_input_since) {
  const bool as_input = site.opset() >= axes_are_an_input_since;
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, as_input ? 2 : 1));
  std::vector<std::int64_t> axes;
  bool none_means_all = true;
  if (as_input) {
    WHET_TRY(const bool noop, site.flag("noop_with_empty_axes", false));
    none_means_all = !noop;
    if (site.has(1)) {
      WHET_TRY(axes, site.known_integers(1, "list of axes"));
    }
  } else {
    WHET_TRY(axes, site.integers("axes", {}));
  }
  WHET_TRY(const bool keep_dims, site.flag("keepdims", true));
  if (axes.empty()) {
    if (!none_means_all) return give_each(site, kind);
    axes.resize(site.rank(0));
    std::iota(axes.begin(), axes.end(), 0);
  }
  WHET_TRY(axes, site.resolve_axes(axes, site.rank(0)));
  const ReduceOperator op{kind, axes, keep_dims};
  if (num_elements(site.shape(0)) == 0) return give_of_nothing(site, op);
  const bool picks = kind == ReduceKind::max || kind == ReduceKind::min;
  if (site.dtype(0) == DType::boolean && picks) {  // any, or all
    WHET_TRY(const ValueId numbers, site.add("numbers", CastOperator{DType::u8}, {site.in(0)}));
    WHET_TRY(const ValueId picked, site.add("picked", op, {numbers}));
    return site.give(CastOperator{DType::boolean}, {picked});
  }
  return site.give(op, {site.in(0)});
}

}  // namespace whet
