#include "lower/gpu/map_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "lower/gpu/collective.h"
#include "lower/gpu/spread_registers.h"
#include "lower/gpu/thread_sums.h"
#include "program/launch.h"
#include "schedule/bind.h"
#include "target/gpu.h"

namespace whet {
namespace {

bool is_bound(const Stmt& s, LoopKind kind) {
  const Loop* loop = std::get_if<Loop>(&s->kind);
  return loop && loop->kind == kind;
}

bool holds_bound(const Stmt& s, LoopKind kind) {
  bool found = false;
  for_each(s, [&](const Stmt& part) { found = found || is_bound(part, kind); }, nullptr);
  return found;
}

std::int64_t constant_extent(const Loop& loop) {
  const std::int64_t* extent = as_int(loop.extent);
  WHET_CHECK(extent != nullptr, "a loop bound to blocks or threads has a constant extent");
  return *extent;
}

/// Lets and block loops from the outside in, and what is inside.
struct BlockNest {
  std::vector<Stmt> binders;
  Stmt body;
  std::int64_t blocks = 1;
};

BlockNest block_nest(const Stmt& root) {
  BlockNest nest{{}, root, 1};
  const auto leads_to_blocks = [](const Stmt& s) {
    return is_bound(s, LoopKind::block) || (std::holds_alternative<Let>(s->kind) && holds_bound(s, LoopKind::block));
  };
  while (nest.body.defined()) {
    const Stmt at = nest.body;
    if (const Loop* loop = std::get_if<Loop>(&at->kind); loop && loop->kind == LoopKind::block) {
      nest.blocks *= constant_extent(*loop);
      nest.body = loop->body;
    } else if (leads_to_blocks(at)) {
      nest.body = std::get<Let>(at->kind).body;
    } else {
      return nest;
    }
    nest.binders.push_back(at);
  }
  return nest;
}

/// Buffers of one thread whose accesses are inside different threads, as far as loops bound to threads tell.
class PrivateUse {
 public:
  PrivateUse(const Program& program, const Stmt& launch)
      : program_(program), collectives_(program, launch), sums_(program, launch) {
    visit(launch);
  }

  /// All such buffers.
  std::vector<std::size_t> shared() const {
    std::vector<std::size_t> found;
    for (const auto& [buffer, use] : uses_)
      if (use.stored_in_threads && use.common.size() < use.threads) found.push_back(buffer);
    return found;
  }

 private:
  struct Use {
    std::vector<VarId> common;       ///< loops bound to threads around all accesses
    std::size_t threads = 0;         ///< of those around one access, the most
    bool stored_in_threads = false;  ///< some store has loops around it that not all accesses have
    bool seen = false;
  };

  void access(std::size_t buffer, bool store) {
    if (!is_private(program_.buffers[buffer])) return;
    Use& use = uses_[buffer];
    if (!use.seen) use.common = around_;
    use.seen = true;
    const auto same = std::mismatch(use.common.begin(), use.common.end(), around_.begin(), around_.end());
    use.common.erase(same.first, use.common.end());
    use.threads = std::max(use.threads, around_.size());
    if (store) stores_[buffer] = std::max(stores_[buffer], around_.size());
    use.stored_in_threads = stores_[buffer] > use.common.size();
  }

  void expr(const Expr& e) {
    if (!e.defined()) return;
    for_each(e, [&](const Expr& part) {
      if (const Load* load = std::get_if<Load>(&part->kind)) access(load->source.index(), false);
    });
  }

  void visit(const Stmt& s) {
    if (!s.defined()) return;
    if (!collectives_.is_one(s)) return visit_inside(s);
    // Its threads have nothing to do with those around.
    const std::vector<VarId> around = std::exchange(around_, {VarId(--numbering_)});
    visit_inside(s);
    around_ = around;
  }

  void visit_inside(const Stmt& s) {
    std::visit(Match{
                   [&](const Loop& n) {
                     expr(n.min), expr(n.extent);
                     // What is summed across threads is of each thread, and its sum of all.
                     const bool apart = n.kind == LoopKind::thread && !sums_.is_across(n);
                     if (apart) around_.push_back(n.index);
                     visit(n.body);
                     if (apart) around_.pop_back();
                   },
                   [&](const Let& n) { expr(n.value), visit(n.body); },
                   [&](const Store& n) {
                     for (const Expr& i : n.index) expr(i);
                     expr(n.value), expr(n.mask);
                     access(n.buffer.index(), true);
                   },
                   [&](const If& n) { expr(n.condition), visit(n.then_body), visit(n.else_body); },
                   [&](const Block& n) {
                     for (const Stmt& part : n.body) visit(part);
                   },
                   [&](const auto&) {},
               },
               s->kind);
  }

  const Program& program_;
  const Collectives collectives_;
  const ThreadSums sums_;
  std::vector<VarId> around_;
  std::int64_t numbering_ = -1;  ///< stands for the threads of a collective
  std::map<std::size_t, Use> uses_;
  std::map<std::size_t, std::size_t> stores_;
};

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// Maps the body of one launch.
class ThreadMapper {
 public:
  ThreadMapper(Program& program, const Stmt& body)
      : program_(program),
        collectives_(program, body),
        sums_(program, body),
        body_(body),
        thread_(var(program.fresh_var(), "t")) {}

  std::int64_t threads() {
    std::int64_t most = threads_of(body_, false);
    for_each(
        body_,
        [&](const Stmt& part) {
          if (collectives_.is_one(part)) most = std::max(most, threads_of(part, true));
        },
        nullptr);
    return rounded_up(most, std::lcm(kWarp, unit_of(body_)));
  }

  /// What thread `t` of `threads` runs.
  Stmt run(std::int64_t threads) {
    threads_ = threads;
    return map(body_, threads);
  }

  Expr thread() const { return thread_; }

 private:
  /// Threads that the loops bound inside `s` need; `inside`: of the collective `s` itself.
  std::int64_t threads_of(const Stmt& s, bool inside) const {
    if (!s.defined() || (!inside && collectives_.is_one(s))) return 1;
    return std::visit(
        Match{
            [&](const Loop& n) {
              if (n.kind != LoopKind::thread) return threads_of(n.body, false);
              if (sums_.is_across(n)) return threads_of_sum(constant_extent(n));
              return constant_extent(n) * threads_of(n.body, false);
            },
            [&](const Let& n) { return threads_of(n.body, false); },
            [&](const If& n) { return std::max(threads_of(n.then_body, false), threads_of(n.else_body, false)); },
            [&](const Block& n) {
              std::int64_t most = 1;
              for (const Stmt& part : n.body) most = std::max(most, threads_of(part, false));
              return rounded_up(most, unit_of(s));
            },
            [&](const auto&) { return std::int64_t{1}; },
        },
        s->kind);
  }

  /// The smallest group of threads that each sum inside `s` divides: threads are numbered in groups of this size.
  std::int64_t unit_of(const Stmt& s) const {
    std::int64_t unit = 1;
    if (!sums_.any()) return unit;
    for_each(
        s,
        [&](const Stmt& part) {
          const Loop* loop = std::get_if<Loop>(&part->kind);
          if (loop && sums_.is_sum(*loop)) unit = std::lcm(unit, threads_of_sum(constant_extent(*loop)));
        },
        nullptr);
    return unit;
  }

  /// `span`: the number of neighbouring threads that run `s`. The loops inside of `s` are the digits of their numbers.
  Stmt map(const Stmt& s, std::int64_t span) {
    if (!s.defined()) return s;
    return map_inside(s, collectives_.is_one(s) ? threads_ : span);
  }

  Stmt map_inside(const Stmt& s, std::int64_t span) {
    return std::visit(
        Match{
            [&](const Loop& n) { return map_loop(n, s, span); },
            [&](const Let& n) { return make_stmt(Let{n.var, n.name, n.value, map(n.body, span)}); },
            [&](const If& n) { return make_stmt(If{n.condition, map(n.then_body, span), map(n.else_body, span)}); },
            [&](const Block& n) {
              std::vector<Stmt> parts;
              for (const Stmt& part : n.body) parts.push_back(map(part, span));
              return block(std::move(parts));
            },
            [&](const Store& n) { return is_private(program_.buffer(n.buffer)) ? s : by_one_thread(s, span); },
            [&](const auto&) { return s; },
        },
        s->kind);
  }

  /// What all threads of the span would do alike, the first of them does.
  Stmt by_one_thread(const Stmt& s, std::int64_t span) const {
    return span == 1 ? s : make_stmt(If{equal(number_in(span), int_const(0)), s, Stmt()});
  }

  /// A thread's number among `span` neighbours.
  Expr number_in(std::int64_t span) const { return span == threads_ ? thread_ : floormod(thread_, span); }

  Stmt map_loop(const Loop& n, const Stmt& s, std::int64_t span) {
    if (n.kind == LoopKind::thread) {
      if (sums_.is_sum(n)) return s;
      return sums_.is_across(n) ? map_numbers(n) : map_thread_loop(n, span);
    }
    if (n.kind == LoopKind::vectorized) {
      bool once = true;
      for_each(
          n.body,
          [&](const Stmt& part) {
            const Store* store = std::get_if<Store>(&part->kind);
            if (store && is_private(program_.buffer(store->buffer))) once = false;
          },
          nullptr);
      return once ? by_one_thread(s, span) : s;
    }
    Loop out = n;
    out.body = map(n.body, span);
    return make_stmt(std::move(out));
  }

  /// The loop that numbers partial results: all groups of its threads do the same.
  Stmt map_numbers(const Loop& n) {
    const std::int64_t extent = constant_extent(n), threads = threads_of_sum(extent);
    Stmt body = map(n.body, 1);
    if (extent < threads) body = guarded(body, n.body, var(n.index, n.name) < int_const(extent));
    return make_stmt(Let{n.index, n.name, number_in(threads), body});
  }

  Stmt map_thread_loop(const Loop& n, std::int64_t span) {
    const std::int64_t extent = constant_extent(n), inner = threads_of(n.body, false);
    const Expr digit = floordiv(number_in(span), inner);
    Stmt body = map(n.body, inner);
    if (extent * inner < span) {
      const Expr active = var(n.index, n.name) < int_const(extent);
      body = guarded(body, n.body, active);
    }
    return make_stmt(Let{n.index, n.name, is_const(n.min, 0) ? digit : n.min + digit, body});
  }

  /// `condition` around everything in `mapped` that is not collective. `original` tells what is.
  Stmt guarded(const Stmt& mapped, const Stmt& original, const Expr& condition) const {
    if (!mapped.defined() || collectives_.is_one(original)) return mapped;
    if (!collectives_.holds(original)) return make_stmt(If{condition, mapped, Stmt()});
    return std::visit(
        Match{
            [&](const Block& n) {
              // `map` keeps the statements of a block, except undefined ones, in their order.
              const Block& parts = std::get<Block>(original->kind);
              std::vector<Stmt> out;
              for (std::size_t i = 0; i < n.body.size(); ++i)
                out.push_back(guarded(n.body[i], parts.body[i], condition));
              return block(std::move(out));
            },
            [&](const Loop& n) {
              Loop out = n;
              out.body = guarded(n.body, std::get<Loop>(original->kind).body, condition);
              return make_stmt(std::move(out));
            },
            [&](const Let& n) {
              const Let* let = std::get_if<Let>(&original->kind);
              return make_stmt(Let{n.var, n.name, n.value,
                                   guarded(n.body, let ? let->body : std::get<Loop>(original->kind).body, condition)});
            },
            [&](const If& n) {
              const If& parts = std::get<If>(original->kind);
              return make_stmt(If{n.condition, guarded(n.then_body, parts.then_body, condition),
                                  guarded(n.else_body, parts.else_body, condition)});
            },
            [&](const auto&) { return mapped; },
        },
        mapped->kind);
  }

  Program& program_;
  const Collectives collectives_;
  const ThreadSums sums_;
  const Stmt& body_;
  const Expr thread_;
  std::int64_t threads_ = 0;
};

Result<Stmt> launch_of(Program& program, const Stmt& root) {
  const BlockNest nest = block_nest(root);
  Stmt misplaced;
  for_each(
      nest.body, [&](const Stmt& part) { misplaced = is_bound(part, LoopKind::block) ? part : misplaced; }, nullptr);
  if (misplaced.defined())
    return Error{fmt::format("the block loop {} is not directly inside the blocks around it",
                             std::get<Loop>(misplaced->kind).name),
                 ErrorKind::unsupported};
  const std::vector<std::size_t> shared = PrivateUse(program, nest.body).shared();
  ThreadMapper mapper(program, nest.body);
  const std::int64_t threads = mapper.threads();
  if (threads > kMaxBlockThreads)
    return Error{fmt::format("a block has {} threads; at most {} are possible", threads, kMaxBlockThreads),
                 ErrorKind::unsupported};
  const Expr b = var(program.fresh_var(), "b");
  Stmt body = mapper.run(threads);
  std::int64_t inner = 1;
  for (std::size_t i = nest.binders.size(); i-- > 0;) {
    if (const Let* let = std::get_if<Let>(&nest.binders[i]->kind)) {
      body = make_stmt(Let{let->var, let->name, let->value, body});
      continue;
    }
    const Loop& loop = std::get<Loop>(nest.binders[i]->kind);
    Expr digit = floordiv(b, inner);
    inner *= constant_extent(loop);
    if (inner < nest.blocks) digit = floormod(digit, constant_extent(loop));
    body = make_stmt(Let{loop.index, loop.name, is_const(loop.min, 0) ? digit : loop.min + digit, body});
  }
  const auto id = [](const Expr& e) { return std::get<Var>(e->kind).id; };
  body = make_stmt(Loop{id(mapper.thread()), "t", int_const(0), int_const(threads), LoopKind::thread, body});
  Loop launch{id(b), "b", int_const(0), int_const(nest.blocks), LoopKind::block, body};
  for (const Stmt& binder : nest.binders)
    if (const Loop* loop = std::get_if<Loop>(&binder->kind))
      launch.min_blocks = std::max(launch.min_blocks, loop->min_blocks);
  return spread_registers(program, make_stmt(std::move(launch)), shared);
}

}  // namespace

Result<Program> map_threads(Program program) {
  // What is bound to no blocks is one launch of one block, together with its neighbours of the same kind.
  std::vector<Stmt> grouped;
  bool open = false;
  for (const Stmt& root : top_statements(program)) {
    if (std::holds_alternative<Barrier>(root->kind)) continue;
    const bool plain = !holds_bound(root, LoopKind::block);
    if (plain && open)
      grouped.back() = block({grouped.back(), root});
    else
      grouped.push_back(root);
    open = plain;
  }
  std::vector<Stmt> launches;
  for (const Stmt& root : grouped) {
    WHET_TRY(const Stmt launch, launch_of(program, root));
    if (!launches.empty()) launches.push_back(make_stmt(Barrier{}));
    launches.push_back(launch);
  }
  program.body = block(std::move(launches));
  return program;
}

}  // namespace whet
