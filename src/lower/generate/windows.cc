#include <algorithm>
#include <set>

#include "lower/generate/generator.h"
#include "schedule/check.h"
#include "schedule/pipeline.h"
#include "schedule/roll.h"

namespace whet {
namespace {

Stmt at_value(const Stmt& s, VarId v, const Expr& value) {
  const std::pair<VarId, Expr> pair(v, value);
  return rewrite(s, nullptr, [&](const Expr& e) { return substitute(e, Substitution(&pair, 1)); });
}

bool fills_block_memory(const LoopTree& tree, LoopId pipeline) {
  const std::vector<OpId> ops = computed_at(tree, pipeline);
  return std::any_of(ops.begin(), ops.end(), [&](OpId op) { return tree.place(op).stored_in == StoredIn::block; });
}

/// Every iteration of the loops of `op` counts for something else: a pipeline made ahead, or the window of another rolled op under
/// them, which moves on with all of them.
bool needs_all_iterations(const LoopTree& tree, OpId op) {
  const std::vector<LoopId> loops = own_loops(tree, op);
  return std::any_of(loops.begin(), loops.end(), [&](LoopId loop) {
    return stages_of(tree, loop) > 1 ||
           std::any_of(tree.places.begin(), tree.places.end(),
                       [&](const Placement& other) { return other.rolled.valid() && encloses(tree, loop, other.at); });
  });
}

}  // namespace

bool Generator::is_windowed(const Item& item) const {
  const OpId op = op_of(tree_, item);
  const Placement& place = tree_.place(op);
  const LoopId around = item.loop.valid() ? tree_.loop(item.loop).parent : loop_of_leaf(tree_, op);
  return place.rolled.valid() && around == place.at && extent_of(tree_, place.rolled) != 1;
}

void Generator::append_window(const Item& item, std::vector<Stmt>& out) {
  const OpId op = op_of(tree_, item);
  std::vector<Stmt> whole, rest;
  append_whole(item, whole);
  only_new_ = op;
  append_whole(item, rest);
  only_new_ = OpId();
  const Expr first = digit_var(tree_, tree_.loop(tree_.place(op).rolled).digits.front()) <= int_const(0);
  out.push_back(make_stmt(If{first, block(std::move(whole)), block(std::move(rest))}));
}

std::vector<Expr> Generator::window_guards(LoopId id) const {
  const OpId op = tree_.loop(id).op;
  const Placement& place = tree_.place(op);
  if (!place.rolled.valid() || needs_all_iterations(tree_, op)) return {};
  const std::size_t axis = rolled_axis(tree_, op);
  const std::vector<DigitId> digits = leaves_of(tree_, place.axes[axis]);
  LoopId innermost;
  for (LoopId loop : own_loops(tree_, op))
    for (DigitId digit : tree_.loop(loop).digits)
      if (std::find(digits.begin(), digits.end(), digit) != digits.end()) innermost = loop;
  if (id != innermost) return {};
  const Expr element = axis_value(tree_, op, AxisId(static_cast<std::int64_t>(axis)));
  std::vector<Expr> conditions = {element >= int_const(0),
                                  element < iterations_of(tree_.dag.op(op).element().axes[axis])};
  if (only_new_ == op) conditions.push_back(element >= first_new(tree_, op));
  std::erase_if(conditions, [&](const Expr& condition) { return is_const(simplified(tree_, condition), 1); });
  return conditions;
}

bool Generator::is_made_ahead(const Item& item, LoopId loop) const {
  const OpId op = op_of(tree_, item);
  return op != tree_.loop(loop).op && is_staged(tree_, op) && tree_.place(op).at == loop;
}

Stmt Generator::append_ahead(LoopId id, std::vector<Stmt>& out) {
  std::vector<Stmt> staged;
  for (const Item& child : tree_.loop(id).children)
    if (is_made_ahead(child, id)) append_item(child, staged);
  if (staged.empty()) return Stmt();
  const Stmt made = block(std::move(staged));
  const Expr extent = iterations_of(tree_, id);
  const std::int64_t ahead = stages_of(tree_, id) - 1;
  const DigitId digit = tree_.loop(id).digits.front();
  const auto made_for = [&](const Expr& iteration) {
    return make_stmt(If{iteration < extent, at_value(made, VarId(digit.value), iteration), Stmt()});
  };
  const VarId first = storage_.lowered.program.fresh_var();
  const std::string name = name_of(tree_, id);
  if (!fills_block_memory(tree_, id)) {
    out.push_back(made_for(digit_var(tree_, digit) + ahead));
    return make_stmt(Loop{first, name, int_const(0), min(int_const(ahead), extent), LoopKind::serial,
                          at_value(made, VarId(digit.value), var(first, name))});
  }
  // A group an iteration, even an empty one: `wait` counts groups.
  const Stmt commit = make_stmt(CopyGroup{CopyGroup::Kind::commit});
  out.push_back(make_stmt(CopyGroup{CopyGroup::Kind::wait, static_cast<int>(ahead) - 1}));
  out.push_back(made_for(digit_var(tree_, digit) + ahead));
  out.push_back(commit);
  const Stmt filled = with_own_memory(made_for(var(first, name)), id);
  return make_stmt(Loop{first, name, int_const(0), int_const(ahead), LoopKind::serial, block({filled, commit})});
}

/// The nests that the pipeline `loop` computes ahead once more, with memory of a thread that nothing else uses: all threads
/// run each of the two in a numbering of its own.
Stmt Generator::with_own_memory(const Stmt& nests, LoopId loop) {
  Program& program = storage_.lowered.program;
  std::vector<OpId> sources;  // by BufferId
  for (std::size_t k = 0; k < program.buffers.size(); ++k) sources.emplace_back(static_cast<std::int64_t>(k));
  std::set<BufferId> seen;
  for (OpId op : computed_at(tree_, loop)) seen.insert(storage_.of(op).buffer);
  for_each(
      nests,
      [&](const Stmt& s) {
        const Store* store = std::get_if<Store>(&s->kind);
        if (!store || !seen.insert(store->buffer).second) return;
        const Buffer buffer = program.buffer(store->buffer);
        if (buffer.scope == Scope::local || buffer.scope == Scope::registers)
          sources[store->buffer.index()] = OpId(program.add(buffer).value);
      },
      nullptr);
  const auto expr = [&](const Expr& e) { return with_sources(e, sources); };
  return rewrite(
      nests,
      [&](const Stmt& s) -> Stmt {
        const Store* store = std::get_if<Store>(&s->kind);
        if (!store) return {};
        Store own = *store;
        own.buffer = BufferId(sources[store->buffer.index()].value);
        for (Expr& e : own.index) e = expr(e);
        own.value = expr(own.value);
        return make_stmt(std::move(own));
      },
      expr);
}

}  // namespace whet
