#include "import/parts/heads.h"

#include <limits>

namespace whet {

Result<ValueId> split_heads(NodeSite& site, ValueId x, std::int64_t heads) {
  const Shape shape = site.type(x).shape;
  WHET_TRY(x, site.add("heads", ReshapeOperator{{shape[0], shape[1], heads, shape[2] / heads}}, {x}));
  return site.add("by_heads", TransposeOperator{{0, 2, 1, 3}}, {x});
}

Result<ValueId> join_heads(NodeSite& site, ValueId x) {
  const Shape shape = site.type(x).shape;
  WHET_TRY(const ValueId turned, site.add("by_places", TransposeOperator{{0, 2, 1, 3}}, {x}));
  return site.add("together", ReshapeOperator{{shape[0], shape[2], shape[1] * shape[3]}}, {turned});
}

Result<ValueId> masked(NodeSite& site, ValueId x, ValueId allowed) {
  const ValueId never = site.add_scalar("never", site.dtype(x), -std::numeric_limits<double>::infinity());
  return site.add("masked", WhereOperator{}, {allowed, x, never});
}

Result<ValueId> causal(NodeSite& site, ValueId scores, std::int64_t past) {
  const Shape shape = site.type(scores).shape;
  const std::int64_t rows = shape[2], columns = shape[3];
  Tensor mask(DType::boolean, {rows, columns});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) mask.set_integer(r * columns + c, c <= r + past);
  }
  return masked(site, scores, site.add_constant("causal", mask));
}

}  // namespace whet
