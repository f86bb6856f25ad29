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

const Load* read_of(const Expr& part, OpId op) {
  const Load* l = std::get_if<Load>(&part->kind);
  return l != nullptr && l->source.value == op.value ? l : nullptr;
}

/// The op inlined into an expression. What it is read at may read it again: a gather from it by a gather from it.
Expr with_inlined(const Expr& e, OpId op, const Expr& body) {
  return rewrite(e, [&](const Expr& part) -> Expr {
    const Load* read = read_of(part, op);
    if (read == nullptr) return Expr();
    return substitute(body,
                      [&](VarId v) { return v.valid() ? with_inlined(read->index[v.index()], op, body) : Expr(); });
  });
}

/// The nodes of an expression with the op inlined, indices included; of more than `kFar` about as many.
constexpr std::int64_t kFar = std::int64_t{1} << 40;
std::int64_t nodes_with_indices(const Expr& e, OpId op, const Expr& body) {
  std::int64_t nodes = 0;
  (void)rewrite(e, [&](const Expr& part) -> Expr {
    const Load* read = read_of(part, op);
    ++nodes;
    if (read == nullptr) return Expr();
    std::vector<std::int64_t> of_index;
    for (const Expr& index : read->index) of_index.push_back(nodes_with_indices(index, op, body));
    for_each(body, [&](const Expr& inner) {
      const Var* v = std::get_if<Var>(&inner->kind);
      nodes = std::min(kFar, nodes + (v == nullptr || !v->id.valid() ? 1 : of_index[v->id.index()]));
    });
    return part;
  });
  return nodes;
}

}  // namespace

std::int64_t nodes_when_inlined(const LoopTree& tree, OpId op) {
  const Expr& body = tree.dag.op(op).element().body;
  const std::int64_t inlined = nodes_of(body);
  std::int64_t most = 0;
  for (std::size_t r = op.index() + 1; r < tree.dag.ops.size(); ++r) {
    const Op& reader = tree.dag.ops[r];
    if (reader.is_placeholder()) continue;
    std::int64_t reads = 0;
    bool at_itself = false;
    for_each(reader.element().body, [&](const Expr& part) {
      const Load* read = read_of(part, op);
      reads += read != nullptr;
      for (std::size_t k = 0; read != nullptr && k < read->index.size(); ++k)
        for_each(read->index[k], [&](const Expr& inner) { at_itself = at_itself || read_of(inner, op) != nullptr; });
    });
    if (at_itself) {
      most = std::max(most, nodes_with_indices(reader.element().body, op, body));
    } else if (reads > 0) {
      most = std::max(most, nodes_of(reader.element().body) + reads * inlined);
    }
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
  // Ops read those before them. Their own bodies stay, also of those that are inlined, and grow with each.
  for (std::size_t k = step.op.index() + 1; k < tree.dag.ops.size(); ++k) {
    Op& consumer = tree.dag.ops[k];
    if (consumer.is_placeholder()) continue;
    consumer.element().body = with_inlined(consumer.element().body, step.op, element.body);
  }
  remove_nest(tree, step.op);
  tree.places[step.op.index()].kind = PlaceKind::inlined;
  return ok_status();
}

}  // namespace whet
