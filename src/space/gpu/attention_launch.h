#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/steps.h"
#include "space/attention_form.h"
#include "space/space.h"

namespace whet {

// What the templates of attention for GPUs have in common: the DAG that they begin with, and the nests around the two products.

constexpr std::int64_t kRowsOfATrip = 8;  ///< that a thread copies, unrolled: it may have hundreds

/// The DAG after operands have become copies and all other ops than the form's are inlined.
struct GpuAttention {
  AttentionForm
      ops;  ///< with their ids there; of parts of the keys, `output` is what a part gives, and `sum` is of `weights`
  OpId queries, keys, values;
  std::optional<SplitSoftmaxOps> parts;  ///< where the keys are in parts
  OpId result;                           ///< the launch that adds up parts
  std::shared_ptr<const Scheduler> start;
  std::int64_t all_keys = 1;
  std::int64_t columns = 1;  ///< of `output`
  std::int64_t strip = 1;    ///< neighbouring results of a thread
  bool turns_keys = false;   ///< a key's elements are neighbours in memory, and become a column of the copy
  bool keys_by_row = false;  ///< they are neighbours in the copy too, which is (heads, key, depth)
  /// Elements behind a row of scores or keys: vectors are whole, and eight rows begin in different banks.
  std::int64_t pad = 0;
};

/// By the keys of a part, of which 0 has all. None for DAGs that are no attention.
using GpuAttentions = std::map<std::int64_t, GpuAttention>;
///   keys_by_row   where a key's elements are neighbours in memory, they are so in its copy
GpuAttentions find_gpu_attentions(const ComputeDag&, bool keys_by_row = false);

/// The id of an op of the task when the softmax's ops are gone and others, the last of which is `product`, have taken the place of the
/// product with the values (compute/split_softmax.h, compute/online_softmax.h).
OpId id_behind_softmax(const AttentionForm&, OpId product, OpId op);
/// Ops of the task that are computed where they are read: those of the form, and the operands of both products.
std::vector<OpId> inlined_ops(const ComputeDag&, const AttentionForm&);
/// Copies of the operands of both products, in the order in which blocks read them.
struct OperandCopies {
  OpId queries, keys, values;
};
///   followed   ids of ops, which change with the copies
OperandCopies unfold_operands(Scheduler&, AttentionForm&, bool keys_by_row, std::vector<OpId*> followed);
void inline_each(Scheduler&, std::vector<OpId> ops);
/// Whether neighbours along the op's axis of this number are read from neighbouring places.
bool reads_along(const Element&, std::int64_t axis);

/// A maximum or a sum of each query's row of scores at `block`, in block memory, by some of the `threads` a row.
void add_up_rows(Scheduler&, const GpuAttention&, OpId op, LoopId block, std::int64_t queries, std::int64_t threads);

/// The second launch, where keys are in parts: a thread has neighbouring results, and reads the results of all parts for their row.
void add_attention_parts(Scheduler&, const GpuAttention&);

/// The keys of a part that was chosen; 0 where none was.
std::int64_t part_of(const Choices&);

}  // namespace whet
