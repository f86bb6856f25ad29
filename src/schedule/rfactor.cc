#include "schedule/rfactor.h"

#include <fmt/format.h>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Rfactor& step) {
  WHET_RETURN_IF_ERROR(check_changeable(tree, step.loop));
  const TreeLoop& loop = tree.loop(step.loop);
  if (!is_reduce(tree, step.loop)) return refuse(tree, step.loop, "is spatial; only a reduce loop has sums to factor");
  if (loop.digits.size() != 1) return refuse(tree, step.loop, "is fused; factor one digit");
  WHET_RETURN_IF_ERROR(check_fixed(tree, step.loop));
  if (extent_of(tree, step.loop) > kMaxPartials)
    return refuse(tree, step.loop,
                  fmt::format("has {} iterations; at most {} partial results are kept: split it first",
                              extent_of(tree, step.loop), kMaxPartials));
  for (const Rfactored& other : tree.rfactors)
    if (other.op == loop.op) return refuse(tree, loop.op, "is factored already");
  for (const RegisterCache& cache : tree.caches)
    if (cache.op == loop.op) return refuse(tree, loop.op, "has a register cache; factor or cache, not both");
  tree.rfactors.push_back({loop.op, step.loop});
  if (Status stored = check_stored(tree, loop.op); !stored.ok()) {
    tree.rfactors.pop_back();
    return stored;
  }
  return ok_status();
}

}  // namespace whet
