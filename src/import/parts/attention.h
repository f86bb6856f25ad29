#pragma once

#include <optional>

#include "base/result.h"
#include "import/parts/heads.h"
#include "import/site.h"

/// Attention and rotary embedding by heads, as the products, sums and moves that exporters write: parts, see arithmetic.h.
namespace whet {

struct Attention {
  double scale = 1;                                  ///< of the scores
  double softcap = 0;                                ///< c: scores become c * tanh(scores / c); 0: they do not
  std::optional<ValueId> mask = std::nullopt;        ///< broadcasts to the scores: booleans allow, numbers are added
  bool mask_ends_early = false;                      ///< keys behind the mask's end are not looked at
  std::optional<ValueId> key_counts = std::nullopt;  ///< i64 [N]: only the first keys of a batch count
  bool is_causal = false;
  std::int64_t past = 0;  ///< causal: keys before the first query's own
};

/// The scores [N, H, L, S] at each stage, and the result [N, H, L, F].
struct Attended {
  ValueId raw, capped, biased, weights, y;
};

/// The softmax of scores [N, H, L, S] of queries of a type. Those of 16 bits have scores of f32 and weights of their own type.
SoftmaxOperator softmax_of_scores(DType queries);

/// softmax(q kᵀ * scale + mask) v of queries [N, H, L, E], keys [N, G, S, E] and values [N, G, S, F]; G divides H, and H / G
/// heads of queries share one of keys. Errors: shapes that do not fit each other.
Result<Attended> attention(NodeSite&, ValueId q, ValueId k, ValueId v, const Attention&);

struct Rotary {
  ValueId cosine, sine;           ///< [N or 1, places, pairs or more], or tables whose rows `places` choose
  std::optional<ValueId> places;  ///< [N, places]
  bool interleaved = false;       ///< a pair is two neighbours, else one number of each half
  std::int64_t turned = 0;        ///< numbers of a head that are turned, an even number; 0: all
};
/// Pairs of numbers of x [N, H, places, E] turned by angles, which each place has its own of.
Result<ValueId> rotary_embedding(NodeSite&, ValueId x, const Rotary&);

}  // namespace whet
