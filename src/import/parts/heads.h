#pragma once

#include "base/result.h"
#include "import/site.h"

/// What the operators of attention share: parts, see arithmetic.h. By heads is [batch, heads, places, size].
namespace whet {

/// From [batch, places, heads * size], whose last dimension `heads` divides, and back.
Result<ValueId> split_heads(NodeSite&, ValueId x, std::int64_t heads);
Result<ValueId> join_heads(NodeSite&, ValueId x);
/// `x` where `allowed`, else minus infinity.
Result<ValueId> masked(NodeSite&, ValueId x, ValueId allowed);
/// Scores [..., rows, columns] without those of places behind the row's own; `past` places come before the first row's.
Result<ValueId> causal(NodeSite&, ValueId scores, std::int64_t past);

}  // namespace whet
