#include "schedule/inline.h"

#include <algorithm>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Inline& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  if (std::find(tree.dag.outputs.begin(), tree.dag.outputs.end(), step.op) != tree.dag.outputs.end())
    return refuse(tree, step.op, "is an output, which has to be stored");
  const Element element = tree.dag.op(step.op).element();
  if (element.reducer) return refuse(tree, step.op, "reduces, which would be done again for each reader");
  if (tree.place(step.op).kind != PlaceKind::root) return refuse(tree, step.op, "is placed already");
  for (LoopId own : own_loops(tree, step.op))
    if (is_frozen(tree, own)) return refuse(tree, step.op, "has something computed under its loops");
  for (Op& consumer : tree.dag.ops) {
    if (consumer.is_placeholder()) continue;
    Expr& body = consumer.element().body;
    body = rewrite(body, [&](const Expr& part) -> Expr {
      const Load* read = std::get_if<Load>(&part->kind);
      if (!read || read->source.value != step.op.value) return Expr();
      return substitute(element.body, [&](VarId v) { return read->index[static_cast<std::size_t>(v.value)]; });
    });
  }
  remove_nest(tree, step.op);
  tree.places[step.op.index()].kind = PlaceKind::inlined;
  return ok_status();
}

}  // namespace whet
