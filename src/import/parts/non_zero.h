#pragma once

#include "base/result.h"
#include "import/site.h"

/// Places that values decide, with padding behind them (GrowingGraph::counted): parts, see arithmetic.h.
namespace whet {

/// The places in order where `mask` [n] is true, i64 [n], -1 behind them; and their number, i64 [].
struct PlacesWhere {
  ValueId places, count;
};
/// Needs: booleans; n is 1 or more. The result is not marked as counted.
Result<PlacesWhere> places_where(NodeSite&, ValueId mask);

/// Where x is not 0, in row-major order: i64 [rank, elements], counted in dimension 1. Errors: a scalar.
Result<ValueId> counted_non_zero(NodeSite&, ValueId x);

/// The entries of x along `axis` where `mask` (booleans, a list that may end early) is true, counted in that dimension.
Result<ValueId> counted_where(NodeSite&, ValueId x, ValueId mask, std::int64_t axis);

/// Rows `places` [n] of x [rows, ...], `padding` where a place is -1. The result is not marked as counted.
Result<ValueId> rows_at(NodeSite&, ValueId x, ValueId places, double padding);

}  // namespace whet
