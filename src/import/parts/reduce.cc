#include "import/parts/reduce.h"

#include <limits>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// What a reduction over nothing gives. Of booleans the largest is false.
double of_nothing(ReduceKind kind, DType dtype) {
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
Result<ValueId> reduced_nothing(NodeSite& site, ValueId x, const ReduceOperator& op) {
  Shape shape = site.shape(x);
  for (std::size_t i = op.axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(op.axes[i]);
    if (op.keep_dims) {
      shape[axis] = 1;
    } else {
      shape.erase(shape.begin() + op.axes[i]);
    }
  }
  const ValueId value = site.add_scalar("of_nothing", site.dtype(x), of_nothing(op.kind, site.dtype(x)));
  return site.add("reduced", ExpandOperator{shape}, {value});
}

}  // namespace

Result<ValueId> reduced(NodeSite& site, ValueId x, const ReduceOperator& op) {
  if (num_elements(site.shape(x)) == 0) return reduced_nothing(site, x, op);
  const bool picks = op.kind == ReduceKind::max || op.kind == ReduceKind::min;
  if (site.dtype(x) != DType::boolean || !picks) return site.add("reduced", op, {x});
  WHET_TRY(const ValueId numbers, site.add("numbers", CastOperator{DType::u8}, {x}));
  WHET_TRY(const ValueId picked, site.add("picked", op, {numbers}));
  return site.add("reduced", CastOperator{DType::boolean}, {picked});
}

Result<ValueId> reduced_each(NodeSite& site, ValueId x, ReduceKind kind) {
  switch (kind) {
    case ReduceKind::l1:
    case ReduceKind::l2:
      return site.add("each", UnaryOperator{UnaryKind::abs}, {x});
    case ReduceKind::sum_square:
      return site.add("each", BinaryOperator{BinaryKind::mul}, {x, x});
    case ReduceKind::log_sum:
      return site.add("each", UnaryOperator{UnaryKind::log}, {x});
    default:
      return x;
  }
}

}  // namespace whet
