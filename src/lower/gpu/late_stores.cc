#include "lower/gpu/late_stores.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "program/context.h"
#include "program/launch.h"
#include "schedule/pipeline.h"

namespace whet {
namespace {

bool is_group(const Stmt& s, CopyGroup::Kind kind) {
  const CopyGroup* group = std::get_if<CopyGroup>(&s->kind);
  return group && group->kind == kind;
}
bool is_commit(const Stmt& s) { return is_group(s, CopyGroup::Kind::commit); }

/// What is held of a value, and how the value is computed of that: computing waits for what is loaded. Zeros beside it need none.
struct Deferred {
  Expr held;
  std::function<Expr(Expr)> compute;  ///< null: the value is held itself
};

/// The one element of 16 bits that is computed with beside constants, where no condition guards its load.
Expr only_half(const Program& program, const Expr& e) {
  Expr found;
  bool is_only = true;
  for_each(e, [&](const Expr& part) {
    is_only = is_only && !std::holds_alternative<Select>(part->kind);
    const Load* load = std::get_if<Load>(&part->kind);
    if (!load || program.buffer(BufferId(load->source.value)).constant) return;
    is_only = is_only && is_half(part->dtype) && (!found.defined() || same(found, part));
    found = part;
  });
  return is_only ? found : Expr();
}

Deferred deferred(const Program& program, const Expr& e) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  const Call* call = std::get_if<Call>(&e->kind);
  const bool narrows = cast && is_half(e->dtype) && cast->a->dtype == DType::f32;
  const Expr half = std::holds_alternative<Select>(e->kind) ? Expr() : only_half(program, e);
  if (half.defined() && !same(half, e))
    return {half, [e, half](const Expr& x) {
              return rewrite(e, [&](const Expr& part) { return same(part, half) ? x : Expr(); });
            }};
  if (narrows) return {cast->a, [to = e->dtype](Expr x) { return whet::cast(to, std::move(x)); }};
  if (call && rounds_operands(call->fn))
    return {call->args[0], [fn = call->fn](Expr x) { return whet::call(fn, {std::move(x)}); }};
  const Select* choice = std::get_if<Select>(&e->kind);
  if (!choice || !is_const(choice->if_false, 0)) return {e, nullptr};
  Deferred chosen = deferred(program, choice->if_true);
  if (!chosen.compute) return {e, nullptr};
  return {select(choice->condition, chosen.held, constant_like(chosen.held, 0)), chosen.compute};
}

/// The stores of one statement that can wait, and where their elements are held.
class HeldStores {
 public:
  explicit HeldStores(Program& program) : program_(program) {}

  /// Finds them; false where something is in the way.
  bool find(const Stmt& s) {
    if (!s.defined()) return true;
    if (const Block* list = std::get_if<Block>(&s->kind)) {
      for (const Stmt& part : list->body)
        if (!find(part)) return false;
      return true;
    }
    if (const If* n = std::get_if<If>(&s->kind))
      return !n->else_body.defined() && !has_load(n->condition) && find(n->then_body);
    if (const Let* n = std::get_if<Let>(&s->kind)) return !has_load(n->value) && find(n->body);
    if (const Loop* n = std::get_if<Loop>(&s->kind)) return find_in(*n);
    const Store* store = std::get_if<Store>(&s->kind);
    return store && find_store(s, *store);
  }
  std::int64_t registers() const { return registers_; }
  bool empty() const { return found_.empty(); }

  /// The statement with registers in place of block memory.
  Stmt early(const Stmt& s) {
    for (auto& [node, held] : found_) {
      const Store& store = std::get<Store>(node->kind);
      held.registers = BufferId(static_cast<std::int64_t>(program_.buffers.size()));
      program_.buffers.push_back({.name = program_.buffer(store.buffer).name + ".held",
                                  .dtype = deferred(program_, store.value).held->dtype,
                                  .extents = held.extents,
                                  .scope = Scope::registers});
    }
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          const auto found = found_.find(&*part);
          if (found == found_.end()) return Stmt();
          Store now = std::get<Store>(part->kind);
          now.buffer = found->second.registers, now.index = found->second.index;
          now.value = deferred(program_, now.value).held;
          return make_stmt(std::move(now));
        },
        nullptr);
  }
  /// What stores the registers, of a statement that `early` was called with.
  Stmt late(const Stmt& s) const {
    if (!s.defined()) return s;
    if (const Block* list = std::get_if<Block>(&s->kind)) {
      std::vector<Stmt> kept;
      for (const Stmt& part : list->body)
        if (Stmt each = late(part); each.defined()) kept.push_back(std::move(each));
      return kept.empty() ? Stmt() : block(std::move(kept));
    }
    const auto found = found_.find(&*s);
    if (std::holds_alternative<Store>(s->kind) && found == found_.end()) return Stmt();
    if (found != found_.end()) {
      Store now = std::get<Store>(s->kind);
      const Held& held = found->second;
      const std::function<Expr(Expr)> compute = deferred(program_, now.value).compute;
      now.value = load(program_.buffer(held.registers).dtype, SourceId(held.registers.value), held.index);
      if (compute) now.value = compute(now.value);
      return make_stmt(std::move(now));
    }
    if (const If* n = std::get_if<If>(&s->kind)) {
      const Stmt body = late(n->then_body);
      return body.defined() ? make_stmt(If{n->condition, body, {}}) : Stmt();
    }
    if (const Let* n = std::get_if<Let>(&s->kind)) {
      const Stmt body = late(n->body);
      return body.defined() ? make_stmt(Let{n->var, n->name, n->value, body}) : Stmt();
    }
    Loop loop = std::get<Loop>(s->kind);
    loop.body = late(loop.body);
    return loop.body.defined() ? make_stmt(std::move(loop)) : Stmt();
  }

 private:
  struct Held {
    Shape extents;
    std::vector<Expr> index;
    BufferId registers;
  };

  bool find_in(const Loop& n) {
    const std::int64_t *min = as_int(n.min), *extent = as_int(n.extent);
    const bool whole = min && *min == 0 && extent && n.intrinsic == Intrinsic::none &&
                       (n.kind == LoopKind::unrolled || n.kind == LoopKind::vectorized || *extent == 1);
    if (!whole) return false;
    extents_.push_back(*extent), index_.push_back(var(n.index, n.name));
    const bool found = find(n.body);
    extents_.pop_back(), index_.pop_back();
    return found;
  }

  bool find_store(const Stmt& s, const Store& store) {
    if (store.async) return true;
    const Buffer& to = program_.buffer(store.buffer);
    if (to.scope != Scope::block || store.mask.defined() || store.cross != 0) return false;
    bool reads = false, reads_others = false;
    for_each(store.value, [&](const Expr& e) {
      const Load* load = std::get_if<Load>(&e->kind);
      if (!load) return;
      const Scope scope = program_.buffers[load->source.index()].scope;
      const bool far = scope == Scope::argument || scope == Scope::workspace;
      (far ? reads : reads_others) = true;
    });
    if (reads_others) return false;
    if (!reads) return true;  // zeros, whose store waits for nothing
    Held held{extents_, index_, {}};
    if (held.extents.empty()) held.extents = {1}, held.index = {int_const(0)};
    std::int64_t elements = 1;
    for (const std::int64_t extent : held.extents) elements *= extent;
    // Two of 16 bits share a register; a byte may take a whole one.
    registers_ += is_half(deferred(program_, store.value).held->dtype) ? (elements + 1) / 2 : elements;
    return found_.emplace(&*s, std::move(held)).second;
  }

  Program& program_;
  Shape extents_;            ///< of the loops around
  std::vector<Expr> index_;  ///< their variables
  std::map<const StmtNode*, Held> found_;
  std::int64_t registers_ = 0;
};

/// The iteration with late stores, or undefined.
Stmt iteration(Program& program, const Block& list) {
  // What is filled before the first iteration, perhaps in each iteration of a loop around, has no wait in front.
  if (!is_group(list.body.front(), CopyGroup::Kind::wait)) return Stmt();
  const auto commit = std::find_if(list.body.begin(), list.body.end(), is_commit);
  if (commit == list.body.end() || commit + 1 == list.body.end()) return Stmt();
  std::vector<HeldStores> held;
  std::int64_t registers = 0;
  for (auto part = list.body.begin(); part != commit; ++part) {
    HeldStores& stores = held.emplace_back(program);
    if (std::holds_alternative<CopyGroup>((*part)->kind)) continue;
    if (!stores.find(*part)) return Stmt();
    registers += stores.registers();
  }
  if (registers == 0 || registers > kMostHeld) return Stmt();
  std::vector<Stmt> body = list.body;
  std::vector<Stmt> behind;
  for (std::size_t k = 0; k < held.size(); ++k) {
    if (held[k].empty()) continue;
    body[k] = held[k].early(list.body[k]);
    behind.push_back(held[k].late(list.body[k]));
  }
  body.insert(body.end(), behind.begin(), behind.end());
  return block(std::move(body));
}

}  // namespace

Stmt with_late_stores(Program& program, const Stmt& launch, bool& changed) {
  return rewrite(
      launch,
      [&](const Stmt& s) -> Stmt {
        const Loop* loop = std::get_if<Loop>(&s->kind);
        const Block* list = loop && loop->kind == LoopKind::serial ? std::get_if<Block>(&loop->body->kind) : nullptr;
        if (!list) return Stmt();
        Stmt late = iteration(program, *list);
        if (!late.defined()) return Stmt();
        changed = true;
        Loop out = *loop;
        out.body = std::move(late);
        return make_stmt(std::move(out));
      },
      nullptr);
}

}  // namespace whet
