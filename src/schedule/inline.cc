#include "schedule/inline.h"

#include <algorithm>
#include <string>

#include "schedule/check.h"

namespace whet {
namespace {

std::int64_t nodes_of(const Expr& body) {
  std::int64_t nodes = 0;
  for_each(body, [&](const Expr&) { ++nodes; });
  return nodes;
}

}  // namespace

std::int64_t nodes_when_inlined(const LoopTree& tree, OpId op) {
  const std::int64_t inlined = nodes_of(tree.dag.op(op).element().body);
  std::int64_t most = 0;
  for (const Op& reader : tree.dag.ops) {
    if (reader.is_placeholder()) continue;
    std::int64_t reads = 0;
    for_each(reader.element().body, [&](const Expr& part) {
      const Load* l = std::get_if<Load>(&part->kind);
      reads += l && l->source.value == op.value;
    });
    if (reads > 0) most = std::max(most, nodes_of(reader.element().body) + reads * inlined);
  }
  return most;
}

Status apply(LoopTree& tree, const Inline& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  if (std::find(tree.dag.outputs.begin(), tree.dag.outputs.end(), step.op) != tree.dag.outputs.end())
    return refuse(tree, step.op, "is an output, which has to be stored");
  const Element element = tree.dag.op(step.op).element();
  if (element.reducer) return refuse(tree, step.op, "reduces, which would be done again for each reader");
  if (tree.place(step.op).kind != PlaceKind::root) return refuse(tree, step.op, "is placed already");
  for (LoopId own : own_loops(tree, step.op))
    if (is_frozen(tree, own)) return refuse(tree, step.op, "has something computed under its loops");
  if (const std::int64_t nodes = nodes_when_inlined(tree, step.op); nodes > kMostNodes)
    return refuse(tree, step.op,
                  "would make a body of " + std::to_string(nodes) + " nodes; at most " + std::to_string(kMostNodes));
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
