#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// The ops of an attention. Ids are those of the task's DAG.
struct AttentionForm {
  OpId scores;                  ///< the product of queries and keys
  OpId masked;                  ///< what the softmax reads: `scores` themselves, or scaled, masked, biased
  OpId top, exp, sum, weights;  ///< of the softmax
  OpId mix;                     ///< the product with the values
  OpId output;                  ///< `mix`, or the op that moves its elements
  std::vector<OpId> inlined;    ///< all other ops, which are computed where they are read, in order
  std::optional<OpId> queries;  ///< computed into a copy
  std::optional<OpId> keys;     ///< turned, or computed, into a copy
  std::optional<OpId> values;   ///< may be copied, must be where `copy_values`
  bool copy_values = false;
  std::int64_t row = 0, column = 0;  ///< axes of `output`: of queries, and of a head's dimensions (the last one)
  std::int64_t rows = 1, keys_count = 1, depth = 1, width = 1, heads = 1;
};
/// Nothing for DAGs of another form.
std::optional<AttentionForm> find_attention(const ComputeDag&);

}  // namespace whet
