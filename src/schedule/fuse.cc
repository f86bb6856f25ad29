#include "schedule/fuse.h"

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Fuse& step) {
  if (step.loops.size() < 2) return Error{"fuse needs two loops or more"};
  std::vector<DigitId> digits;
  for (std::size_t i = 0; i < step.loops.size(); ++i) {
    const LoopId id = step.loops[i];
    WHET_RETURN_IF_ERROR(check_changeable(tree, id));
    if (i > 0) {
      const TreeLoop& above = tree.loop(step.loops[i - 1]);
      if (above.children != std::vector<Item>{{.loop = id}} || above.op != tree.loop(id).op)
        return refuse(tree, id, "is not nested directly in the loop before it");
      if (is_reduce(tree, id) != is_reduce(tree, step.loops[0]))
        return refuse(tree, id, "and the loops before it are spatial and reduce; fuse one kind only");
    }
    digits.insert(digits.end(), tree.loop(id).digits.begin(), tree.loop(id).digits.end());
  }
  const TreeLoop first = tree.loop(step.loops.front()), last = tree.loop(step.loops.back());
  const LoopId fused(static_cast<std::int64_t>(tree.loops.size()));
  tree.loops.push_back({.op = first.op, .digits = digits, .parent = first.parent, .children = last.children});
  replace_loop(tree, step.loops.front(), fused, fused);
  for (LoopId id : step.loops) tree.loop(id).alive = false;
  return ok_status();
}

}  // namespace whet
