#include "schedule/reorder.h"

#include <algorithm>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Reorder& step) {
  if (step.loops.size() < 2) return Error{"reorder needs two loops or more"};
  for (LoopId id : step.loops) {
    WHET_RETURN_IF_ERROR(check_changeable(tree, id));
    if (tree.loop(id).op != tree.loop(step.loops[0]).op)
      return refuse(tree, id, "belongs to another op than the loops before it");
    if (std::count(step.loops.begin(), step.loops.end(), id) != 1) return refuse(tree, id, "is named twice");
  }
  const std::vector<LoopId> chain = own_loops(tree, tree.loop(step.loops[0]).op);
  std::vector<LoopId> slots;  // the places that the named loops hold now, outermost first
  for (LoopId id : chain)
    if (std::find(step.loops.begin(), step.loops.end(), id) != step.loops.end()) slots.push_back(id);
  // Swapping what the loops are (digits) under swapped ids keeps every parent and child link in place: so move the
  // nodes' places instead.
  std::vector<LoopId> order = chain;
  std::size_t next = 0;
  for (LoopId& id : order)
    if (std::find(slots.begin(), slots.end(), id) != slots.end()) id = step.loops[next++];
  for (LoopId id : chain)
    if (encloses(tree, slots.front(), id) && id != chain.back() && tree.loop(id).children.size() != 1)
      return refuse(tree, id, "holds more than one item, so loops cannot move across it");

  WHET_RETURN_IF_ERROR(check_overlaps(tree, tree.loop(chain.front()).op, order));

  // Loops outside of the first named loop stay: other items may be there too.
  const auto first = static_cast<std::size_t>(std::find(chain.begin(), chain.end(), slots.front()) - chain.begin());
  const LoopId parent = tree.loop(chain[first]).parent;
  const std::vector<Item> innermost = tree.loop(chain.back()).children;
  for (Item& item : items_of(tree, parent))
    if (item.loop == chain[first]) item.loop = order[first];
  for (std::size_t i = first; i < order.size(); ++i) {
    TreeLoop& loop = tree.loop(order[i]);
    loop.parent = i == first ? parent : order[i - 1];
    if (i + 1 < order.size())
      loop.children = {{.loop = order[i + 1]}};
    else
      loop.children = innermost;
  }
  return ok_status();
}

}  // namespace whet
