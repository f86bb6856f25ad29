#pragma once

#include "base/result.h"
#include "import/onnx/site.h"

/// What the operators of attention share. By heads is [batch, heads, places, size].
namespace whet {

/// From [batch, places, heads * size], whose last dimension `heads` divides, and back.
Result<ValueId> split_heads(OnnxSite&, ValueId x, std::int64_t heads);
Result<ValueId> join_heads(OnnxSite&, ValueId x);
/// Scores [..., rows, columns] without those of places behind the row's own; `past` places stand before the first row's.
Result<ValueId> causal(OnnxSite&, ValueId scores, std::int64_t past);

}  // namespace whet
