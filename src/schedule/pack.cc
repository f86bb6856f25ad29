#include "schedule/pack.h"

#include <fmt/format.h>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Pack& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.reader));
  if (!step.tensor.valid() || step.tensor.index() >= tree.dag.ops.size())
    return Error{fmt::format("there is no op o{} to pack", step.tensor.value)};
  if (tree.place(step.tensor).kind != PlaceKind::placeholder || !is_constant(tree.dag, step.tensor))
    return refuse(tree, step.tensor, "is no constant input; only weights are packed ahead of time");
  int reads = 0;
  for_each(tree.dag.op(step.reader).element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    reads += read && read->source.value == step.tensor.value;
  });
  if (reads != 1)
    return refuse(
        tree, step.tensor,
        fmt::format("is read {} times by {}; exactly one read can be packed", reads, tree.dag.op(step.reader).name));
  for (const PackedRead& packed : tree.packs)
    if (packed.tensor == step.tensor && packed.reader == step.reader)
      return refuse(tree, step.tensor, "is packed already");
  tree.packs.push_back({step.tensor, step.reader});
  return ok_status();
}

}  // namespace whet
