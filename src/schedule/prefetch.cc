#include "schedule/prefetch.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const PrefetchRead& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.reader));
  WHET_RETURN_IF_ERROR(check_holds_ops(tree, step.loop));
  const std::vector<OpId> inputs = inputs_of(tree.dag, step.reader);
  if (std::find(inputs.begin(), inputs.end(), step.tensor) == inputs.end())
    return refuse(tree, step.reader, fmt::format("does not read o{}", step.tensor.value));
  if (tree.place(step.tensor).stored_in != StoredIn::memory)
    return refuse(tree, step.tensor, "is in registers or block memory, where nothing is fetched");
  const LoopId leaf = loop_of_leaf(tree, step.reader);
  if (!leaf.valid() || !encloses(tree, step.loop, leaf))
    return refuse(tree, step.loop, fmt::format("is not around {}", tree.dag.op(step.reader).name));
  if (tree.loop(step.loop).digits.size() != 1)
    return refuse(tree, step.loop, "is fused; what is read some iterations later is no box then");
  if (step.ahead < 1 || step.ahead > kMaxAhead)
    return refuse(tree, step.loop,
                  fmt::format("cannot fetch {} iterations ahead; expected 1 to {}", step.ahead, kMaxAhead));
  for (const PrefetchedRead& other : tree.prefetches)
    if (other.tensor == step.tensor && other.reader == step.reader && other.loop == step.loop)
      return refuse(tree, step.tensor, "is prefetched there already");
  tree.prefetches.push_back({step.tensor, step.reader, step.loop, step.ahead});
  return ok_status();
}

}  // namespace whet
