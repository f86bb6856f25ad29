#include "lower/gpu/place_barriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lower/gpu/collective.h"
#include "lower/gpu/ownership.h"
#include "program/context.h"
#include "program/launch.h"

namespace whet {
namespace {

using Accesses = std::vector<BufferAccess>;

bool same_access(const BufferAccess& a, const BufferAccess& b) {
  const auto equal = [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Expr& p, const Expr& q) { return same(p, q); });
  };
  return a.buffer == b.buffer && a.store == b.store && equal(a.index, b.index) && equal(a.conditions, b.conditions);
}

void add(Accesses& list, const BufferAccess& access) {
  if (std::none_of(list.begin(), list.end(), [&](const BufferAccess& known) { return same_access(known, access); }))
    list.push_back(access);
}

class BarrierPlacer {
 public:
  BarrierPlacer(const Program& program, const Stmt& launch) : program_(program), nest_(*launch_nest(launch)) {
    context_.block = nest_.blocks->index, context_.thread = nest_.threads->index;
    context_.blocks = nest_.grid, context_.threads = nest_.size;
    ranges_[context_.block] = {0, nest_.grid - 1};
    ranges_[context_.thread] = {0, nest_.size - 1};
    context_.range = [this](VarId v) {
      const auto found = ranges_.find(v);
      return found == ranges_.end() ? Interval() : found->second;
    };
    stored_.assign(program.buffers.size(), false);
    for_each(
        launch,
        [&](const Stmt& s) {
          if (const Store* store = std::get_if<Store>(&s->kind)) stored_[store->buffer.index()] = true;
        },
        nullptr);
    learn(launch);
  }

  Result<Stmt> run(const Stmt& launch) {
    check_blocks(launch);
    Loop blocks = *nest_.blocks, threads = *nest_.threads;
    Accesses pending;
    threads.body = walk(threads.body, pending);
    blocks.body = make_stmt(std::move(threads));
    if (!error_.empty()) return Error{error_, ErrorKind::unsupported};
    return make_stmt(std::move(blocks));
  }

 private:
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  /// The values of Lets and the ranges of loops. Each variable is bound once.
  void learn(const Stmt& launch) {
    for_each(
        launch,
        [&](const Stmt& s) {
          if (const Let* let = std::get_if<Let>(&s->kind)) {
            if (let->value->dtype == DType::i64 && let->value->lanes == 1) lets_[let->var] = over_loops(let->value);
          } else if (const Loop* loop = std::get_if<Loop>(&s->kind); loop && !ranges_.count(loop->index)) {
            const Expr last = over_loops(loop->min + loop->extent - 1);
            ranges_[loop->index] = {bounds(over_loops(loop->min), context_.range).min,
                                    bounds(last, context_.range).max};
          }
        },
        nullptr);
  }

  Expr over_loops(const Expr& e) const {
    return substitute(e, [&](VarId v) {
      const auto found = lets_.find(v);
      return found == lets_.end() ? Expr() : found->second;
    });
  }

  /// Memory that other threads see and that the launch stores to.
  bool matters(std::size_t buffer) const { return stored_[buffer] && !is_private(program_.buffers[buffer]); }

  /// Adds the accesses of `s`. `conditions`: those around it.
  void collect(const Stmt& s, Accesses& out, const std::vector<Expr>& conditions = {}) const {
    if (!s.defined()) return;
    const auto add_access = [&](BufferId buffer, const std::vector<Expr>& index, bool store) {
      if (!matters(buffer.index())) return;
      BufferAccess access{buffer, store, {}, conditions};
      for (const Expr& i : index) access.index.push_back(over_loops(i));
      add(out, access);
    };
    const auto loads = [&](const Expr& e) {
      if (!e.defined()) return;
      for_each(e, [&](const Expr& part) {
        if (const Load* load = std::get_if<Load>(&part->kind))
          add_access(BufferId(load->source.value), load->index, false);
      });
    };
    std::visit(Match{
                   [&](const Loop& n) { loads(n.min), loads(n.extent), collect(n.body, out, conditions); },
                   [&](const Let& n) { loads(n.value), collect(n.body, out, conditions); },
                   [&](const Store& n) {
                     for (const Expr& i : n.index) loads(i);
                     loads(n.value), loads(n.mask);
                     add_access(n.buffer, n.index, true);
                   },
                   [&](const If& n) {
                     loads(n.condition);
                     std::vector<Expr> inside = conditions;
                     if (const Expr condition = over_loops(n.condition); !has_load(condition))
                       inside.push_back(condition);
                     collect(n.then_body, out, inside), collect(n.else_body, out, conditions);
                   },
                   [&](const Block& n) {
                     for (const Stmt& part : n.body) collect(part, out, conditions);
                   },
                   [&](const auto&) {},
               },
               s->kind);
  }

  /// A variable that the program does not have: a loop's in an iteration that nothing is known of.
  VarId elsewhere(VarId loop) {
    const VarId id(std::int64_t{program_.vars} + loop.value);
    ranges_[id] = ranges_[loop];
    return id;
  }

  /// Blocks never wait for each other: whoever meets in memory of the grid is of one block.
  void check_blocks(const Stmt& launch) {
    Accesses all;
    collect(launch, all);
    AccessContext context = context_;
    context.one_block = false;
    for (const BufferAccess& a : all) {
      if (!a.store || program_.buffer(a.buffer).scope == Scope::block) continue;
      for (const BufferAccess& b : all)
        if (b.buffer == a.buffer && &a != &b && !are_disjoint(a, b, context) &&
            who_meets(a, b, context) == Meeting::anybody)
          return fail(fmt::format("blocks would have to wait for each other: several of them access {}",
                                  program_.buffer(a.buffer).name));
    }
  }

  bool conflict(const BufferAccess& a, const BufferAccess& b) const {
    return a.buffer == b.buffer && (a.store || b.store) && !are_disjoint(a, b, context_) &&
           who_meets(a, b, context_) != Meeting::one_thread;
  }

  bool is_uniform(const Expr& e) const {
    const Expr value = over_loops(e);
    return !uses(value, context_.thread) && !has_load(value);
  }

  /// `s` with barriers, behind the accesses `pending`, which become those that no barrier is behind.
  Stmt walk(const Stmt& s, Accesses& pending) {
    if (!s.defined()) return s;
    const Block* list = std::get_if<Block>(&s->kind);
    const std::vector<Stmt> parts = list ? list->body : std::vector<Stmt>{s};
    std::vector<Stmt> out;
    const auto wait_here = [&] {
      out.push_back(make_stmt(Barrier{Barrier::Reach::block}));
      pending.clear();
      ++barriers_;
    };
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Stmt& part = parts[k];
      Accesses own;
      collect(part, own);
      const bool waits = !begins_with_barrier(part) && std::any_of(own.begin(), own.end(), [&](const BufferAccess& a) {
        return std::any_of(pending.begin(), pending.end(), [&](const BufferAccess& b) { return conflict(a, b); });
      });
      if (waits) wait_here();
      out.push_back(inside(part, own, pending));
      // What a thread has waited for, others see behind a barrier. The barrier is here, so that the copies that follow, into
      // the place that was read last, need none of their own.
      if (is_wait(part) && !(k + 1 < parts.size() && is_block_barrier(parts[k + 1]))) wait_here();
    }
    return block(std::move(out));
  }

  static bool is_wait(const Stmt& s) {
    const CopyGroup* group = std::get_if<CopyGroup>(&s->kind);
    return group && group->kind == CopyGroup::Kind::wait;
  }
  static bool is_block_barrier(const Stmt& s) {
    const Barrier* barrier = std::get_if<Barrier>(&s->kind);
    return barrier && barrier->reach == Barrier::Reach::block;
  }
  /// A loop of which each iteration begins with a barrier, behind a wait.
  static bool begins_with_barrier(const Stmt& s) {
    const Loop* loop = std::get_if<Loop>(&s->kind);
    const Block* list = loop ? std::get_if<Block>(&loop->body->kind) : nullptr;
    return list && is_wait(list->body.front());
  }

  /// A statement that conflicts with nothing pending as a whole. `own`: its accesses.
  Stmt inside(const Stmt& s, const Accesses& own, Accesses& pending) {
    if (const Let* n = std::get_if<Let>(&s->kind); n && !has_load(n->value))
      return make_stmt(Let{n->var, n->name, n->value, walk(n->body, pending)});
    if (const Loop* n = std::get_if<Loop>(&s->kind);
        n && n->kind != LoopKind::vectorized && is_uniform(n->min) && is_uniform(n->extent))
      return walk_loop(*n, pending);
    if (const If* n = std::get_if<If>(&s->kind); n && is_uniform(n->condition)) {
      Accesses otherwise = pending;
      const Stmt then_body = walk(n->then_body, pending), else_body = walk(n->else_body, otherwise);
      for (const BufferAccess& access : otherwise) add(pending, access);
      return make_stmt(If{n->condition, then_body, else_body});
    }
    if (is_block_barrier(s)) {
      pending.clear();
      return s;
    }
    for (const BufferAccess& a : own)
      for (const BufferAccess& b : own)
        if (&a != &b && conflict(a, b))
          fail(fmt::format("threads would have to wait for each other where not all of them come by: they share {}",
                           program_.buffer(a.buffer).name));
    for (const BufferAccess& access : own) add(pending, access);
    return s;
  }

  Stmt walk_loop(const Loop& n, Accesses& pending) {
    const Accesses before = pending;
    context_.common.push_back(n.index);
    Loop out = n;
    out.body = walk(n.body, pending);
    // Behind the last iteration comes the next. Once more until no barrier is added.
    for (int added = -1; added != 0;) {
      pending = of_earlier(n, always_waits(out.body), pending);
      const int known = barriers_;
      out.body = walk(out.body, pending);
      added = barriers_ - known;
    }
    context_.common.pop_back();
    if (!as_int(n.extent))  // it may run no iteration
      for (const BufferAccess& access : before) add(pending, access);
    return make_stmt(std::move(out));
  }

  /// Accesses of iterations before this one. Where each iteration has a barrier they are those of the last one.
  Accesses of_earlier(const Loop& n, bool last_alone, const Accesses& list) {
    const Expr value = last_alone ? var(n.index, n.name) - 1 : var(elsewhere(n.index), n.name);
    const std::pair<VarId, Expr> pair(n.index, value);
    Accesses shifted;
    for (const BufferAccess& access : list) {
      BufferAccess moved = access;
      for (Expr& i : moved.index) i = substitute(i, Substitution(&pair, 1));
      for (Expr& c : moved.conditions) c = substitute(c, Substitution(&pair, 1));
      add(shifted, moved);
    }
    return shifted;
  }

  /// Every run of `s` comes by a barrier.
  static bool always_waits(const Stmt& s) {
    if (!s.defined()) return false;
    if (const Block* n = std::get_if<Block>(&s->kind)) return std::any_of(n->body.begin(), n->body.end(), always_waits);
    if (const Let* n = std::get_if<Let>(&s->kind)) return always_waits(n->body);
    if (const Loop* n = std::get_if<Loop>(&s->kind)) {
      const std::int64_t* extent = as_int(n->extent);
      return extent && *extent > 0 && always_waits(n->body);
    }
    return is_block_barrier(s);
  }

  const Program& program_;
  const LaunchNest nest_;
  AccessContext context_;
  std::map<VarId, Interval> ranges_;
  std::map<VarId, Expr> lets_;
  std::vector<bool> stored_;
  int barriers_ = 0;
  std::string error_;
};

}  // namespace

Result<Program> place_barriers(Program program) {
  std::vector<Stmt> parts = top_statements(program);
  for (Stmt& part : parts)
    if (launch_nest(part)) {
      WHET_TRY(part, BarrierPlacer(program, part).run(part));
    }
  program.body = block(std::move(parts));
  return program;
}

}  // namespace whet
