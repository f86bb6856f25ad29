#pragma once

#include <optional>

#include "base/result.h"
#include "import/parts/arithmetic.h"
#include "import/parts/heads.h"
#include "import/site.h"

/// Attention as ONNX Runtime's optimizer writes it, with masks of integers: parts, see arithmetic.h.
namespace whet {

/// `count` places of dimension `d` from `first` on.
Result<ValueId> places_of(NodeSite&, ValueId x, std::size_t d, std::int64_t first, std::int64_t count);

/// Queries, keys and values by heads, [N, H, places, size]; those of the past are among the latter two.
struct Heads {
  ValueId q, k, v;
  std::int64_t past = 0;  ///< places
};
/// Puts keys and values of the past before the others. Errors: shapes that do not fit them.
Status put_past_before(NodeSite&, Heads&, ValueId past_k, ValueId past_v);

struct FilteredAttention {
  double scale = 0;        ///< of the scores; 0: 1 / sqrt(size)
  double filter = -10000;  ///< is added to the scores of places that the mask leaves out
  bool is_causal = false;
  std::optional<Operand> mask =
      std::nullopt;  ///< i32 [N, places], [N, rows, places], ends [N], or ends and starts [2 * N]
  std::optional<Operand> bias = std::nullopt;  ///< is added to the scores, to which it broadcasts
};
/// softmax(q kᵀ * scale + bias + mask) v, the heads side by side: [N, places, H * size].
Result<ValueId> filtered_attention(NodeSite&, const Heads&, const FilteredAttention&);

}  // namespace whet
