#include "lower/gpu/unguard_registers.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "program/context.h"
#include "program/launch.h"
#include "program/verify.h"

namespace whet {
namespace {

bool contains(const std::vector<Expr>& all, const Expr& one) {
  return std::ranges::any_of(all, [&](const Expr& each) { return same(each, one); });
}

/// Conditions of the accesses to each register buffer, as functions of the element and of the block's and the thread's number.
class Conditions {
 public:
  Conditions(const Program& program, const LaunchNest& launch) : program_(program), common_(program.buffers.size()) {
    fixed_ = {launch.blocks->index, launch.threads->index};
    for_each(
        launch.body,
        [&](const Stmt& part) {
          if (const Let* let = std::get_if<Let>(&part->kind); let && is_fixed(let->value)) fixed_.insert(let->var);
        },
        nullptr);
    collect(launch.body);
  }

  /// Those that all accesses have.
  const std::vector<Expr>& of(BufferId buffer) const {
    static const std::vector<Expr> none;
    return common_[buffer.index()] ? *common_[buffer.index()] : none;
  }

  /// Whether all accesses to the buffer have the condition that one has to the element.
  bool have(BufferId buffer, const Expr& condition, const std::vector<Expr>& index) const {
    const Expr known = of_element(condition, index);
    return known.defined() && contains(of(buffer), known);
  }

 private:
  /// The condition of an access to the element, with the number of a dimension in place of each variable that is its index.
  /// Undefined where it depends on anything else that changes while a thread runs.
  Expr of_element(const Expr& condition, const std::vector<Expr>& index) const {
    bool fixed = true;
    const Expr out = substitute(condition, [&](VarId v) -> Expr {
      for (std::size_t d = 0; d < index.size(); ++d)
        if (const Var* n = std::get_if<Var>(&index[d]->kind); n && n->id == v)
          return var(VarId(program_.vars + static_cast<std::int32_t>(d)), "element");
      fixed = fixed && fixed_.count(v) > 0;
      return {};
    });
    return fixed && !has_load(condition) ? out : Expr();
  }

  bool is_fixed(const Expr& e) const {
    bool fixed = !has_load(e);
    for_each(e, [&](const Expr& part) {
      if (const Var* n = std::get_if<Var>(&part->kind)) fixed = fixed && fixed_.count(n->id) > 0;
    });
    return fixed;
  }

  void collect(const Stmt& s) {
    if (!s.defined()) return;
    if (const If* n = std::get_if<If>(&s->kind)) {
      loads(n->condition);
      const std::size_t before = around_.size();
      for (Expr& each : conjuncts_of(n->condition)) around_.push_back(std::move(each));
      collect(n->then_body);
      around_.resize(before);
      collect(n->else_body);
    } else if (const Block* list = std::get_if<Block>(&s->kind)) {
      for (const Stmt& each : list->body) collect(each);
    } else if (const Loop* loop = std::get_if<Loop>(&s->kind)) {
      loads(loop->min), loads(loop->extent);
      collect(loop->body);
    } else if (const Let* let = std::get_if<Let>(&s->kind)) {
      loads(let->value);
      collect(let->body);
    } else if (const Store* store = std::get_if<Store>(&s->kind)) {
      for (const Expr& e : store->index) loads(e);
      loads(store->value);
      if (store->mask.defined()) loads(store->mask);
      access(store->buffer, store->index);
    }
  }
  void loads(const Expr& e) {
    for_each(e, [&](const Expr& part) {
      if (const Load* n = std::get_if<Load>(&part->kind)) access(BufferId(n->source.value), n->index);
    });
  }
  void access(BufferId buffer, const std::vector<Expr>& index) {
    if (program_.buffer(buffer).scope != Scope::registers) return;
    std::vector<Expr> found;
    for (const Expr& condition : around_)
      if (Expr known = of_element(condition, index); known.defined()) found.push_back(std::move(known));
    std::optional<std::vector<Expr>>& common = common_[buffer.index()];
    if (!common)
      common = std::move(found);
    else
      std::erase_if(*common, [&](const Expr& known) { return !contains(found, known); });
  }

  const Program& program_;
  std::set<VarId> fixed_;  ///< one value a thread
  std::vector<Expr> around_;
  std::vector<std::optional<std::vector<Expr>>> common_;
};

/// A processor may stop where it divides integers by what lies beyond the end.
bool divides_integers(const Expr& e) {
  const Binary* n = std::get_if<Binary>(&e->kind);
  if (!n || is_float(n->b->dtype)) return false;
  return (n->op == BinaryOp::div || n->op == BinaryOp::floordiv || n->op == BinaryOp::floormod) && has_load(n->b);
}

/// Whether it stores to the register buffer alone, of what is in registers and block memory.
bool computes_only(const Program& program, BufferId buffer, const Stmt& s) {
  bool only = true;
  for_each(
      s,
      [&](const Stmt& part) {
        const Store* store = std::get_if<Store>(&part->kind);
        const bool inner = std::holds_alternative<Loop>(part->kind) || std::holds_alternative<Let>(part->kind) ||
                           std::holds_alternative<If>(part->kind) || std::holds_alternative<Block>(part->kind);
        only = only && (store ? store->buffer == buffer && store->cross == 0 : inner);
      },
      [&](const Expr& e) {
        for_each(e, [&](const Expr& part) {
          only = only && !divides_integers(part);
          const Load* load = std::get_if<Load>(&part->kind);
          if (!load) return;
          const Scope scope = program.buffer(BufferId(load->source.value)).scope;
          only = only && (scope == Scope::registers || scope == Scope::block);
        });
      });
  return only;
}

/// The indices of all stores to the buffer inside.
std::vector<std::vector<Expr>> stored_elements(BufferId buffer, const Stmt& s) {
  std::vector<std::vector<Expr>> out;
  for_each(
      s,
      [&](const Stmt& part) {
        if (const Store* store = std::get_if<Store>(&part->kind); store && store->buffer == buffer)
          out.push_back(store->index);
      },
      nullptr);
  return out;
}

/// What the statement reads to compute the buffer may have gaps. The buffer itself has none: all its elements are computed.
void mark_gaps(Program& program, BufferId buffer, const Stmt& s) {
  for_each(s, nullptr, [&](const Expr& e) {
    for_each(e, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      if (load && BufferId(load->source.value) != buffer) program.buffers[load->source.index()].gaps = true;
    });
  });
}

/// The statement without the conditions that all accesses to the buffer have. What it then reads may have gaps.
Stmt unguarded(Program& program, const Conditions& conditions, BufferId buffer, const Stmt& s) {
  return rewrite(
      s,
      [&](const Stmt& part) -> Stmt {
        const If* n = std::get_if<If>(&part->kind);
        if (!n || n->else_body.defined() || !computes_only(program, buffer, n->then_body)) return {};
        const std::vector<std::vector<Expr>> elements = stored_elements(buffer, n->then_body);
        Stmt out = unguarded(program, conditions, buffer, n->then_body);
        for (const Expr& condition : conjuncts_of(n->condition)) {
          const auto is_common = [&](const auto& index) { return conditions.have(buffer, condition, index); };
          if (std::ranges::all_of(elements, is_common))
            mark_gaps(program, buffer, out);
          else
            out = make_stmt(If{condition, out, Stmt()});
        }
        return out;
      },
      nullptr);
}

/// Whether a store to the buffer has still a condition that all accesses to it had.
bool is_guarded(const Conditions& conditions, BufferId buffer, const Stmt& s) {
  bool guarded = false;
  for_each(
      s,
      [&](const Stmt& part) {
        const If* n = std::get_if<If>(&part->kind);
        if (!n) return;
        for (const std::vector<Expr>& index : stored_elements(buffer, n->then_body))
          for (const Expr& condition : conjuncts_of(n->condition))
            guarded = guarded || conditions.have(buffer, condition, index);
      },
      nullptr);
  return guarded;
}

}  // namespace

Program unguard_registers(Program program, const GpuLimits& limits) {
  std::vector<Stmt> parts = top_statements(program);
  for (Stmt& part : parts) {
    const std::optional<LaunchNest> launch = launch_nest(part);
    if (!launch) continue;
    const Conditions conditions(program, *launch);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const BufferId buffer(static_cast<std::int64_t>(b));
      if (conditions.of(buffer).empty()) continue;
      Program changed = program;
      changed.body = unguarded(changed, conditions, buffer, part);
      // Where an index needs a condition to be inside its buffer, all conditions stay.
      if (is_guarded(conditions, buffer, changed.body) || !verify(changed, {.launches = &limits}).ok()) continue;
      part = changed.body;
      program.buffers = std::move(changed.buffers);
    }
  }
  program.body = block(std::move(parts));
  return program;
}

}  // namespace whet
