#include "lower/gpu/reduce_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "compute/dag.h"
#include "lower/gpu/thread_sums.h"
#include "program/launch.h"
#include "schedule/bind.h"
#include "target/gpu.h"

namespace whet {
namespace {

Expr both(const Expr& a, const Expr& b) { return a.defined() ? a && b : b; }

/// `s` where the condition holds; undefined: always.
Stmt when(const Expr& condition, const Stmt& s) {
  return condition.defined() && s.defined() ? make_stmt(If{condition, s, Stmt()}) : s;
}

/// `total ∘ partial`, as `generate` writes it.
struct Sum {
  BufferId total;
  std::vector<Expr> index;  ///< of the total
  BinaryOp op;
  Expr so_far, partial, identity;
};

Sum sum_of(const Store& store) {
  const Binary* sum = std::get_if<Binary>(&store.value->kind);
  WHET_CHECK(sum != nullptr, "a sum across threads combines the total with a partial result");
  Expr identity;
  for (const Reducer reducer : {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min})
    if (binary_of(reducer) == sum->op) identity = identity_of(reducer, store.value->dtype);
  return {store.buffer, store.index, sum->op, sum->a, sum->b, identity};
}

class ThreadReducer {
 public:
  ThreadReducer(Program& program, const LaunchNest& nest)
      : program_(program),
        nest_(nest),
        sums_(program, nest.body),
        thread_(var(nest.threads->index, nest.threads->name)),
        varying_{nest.threads->index} {}

  Result<Stmt> run() {
    const Stmt body = walk(nest_.body, Expr());
    if (!error_.empty()) return Error{error_, ErrorKind::unsupported};
    Loop blocks = *nest_.blocks, threads = *nest_.threads;
    threads.body = body;
    blocks.body = make_stmt(std::move(threads));
    return make_stmt(std::move(blocks));
  }

 private:
  bool varies(const Expr& e) const {
    bool found = false;
    for_each(e, [&](const Expr& part) {
      const Var* v = std::get_if<Var>(&part->kind);
      found = found || std::holds_alternative<Load>(part->kind) || (v && varying_.count(v->id) != 0);
    });
    return found;
  }

  /// `s` where `condition` holds; sums are met by all threads.
  Stmt walk(const Stmt& s, const Expr& condition) {
    if (!sums_.holds(s)) return when(condition, s);
    return std::visit(Match{
                          [&](const Loop& n) { return walk_loop(n, condition); },
                          [&](const Let& n) {
                            if (varies(n.value)) varying_.insert(n.var);
                            return make_stmt(Let{n.var, n.name, n.value, walk(n.body, condition)});
                          },
                          [&](const If& n) { return walk_if(n, condition); },
                          [&](const Block& n) { return walk_block(n, condition); },
                          [&](const auto&) { return s; },
                      },
                      s->kind);
  }

  Stmt walk_loop(const Loop& n, const Expr& condition) {
    if (sums_.is_sum(n)) return summed(n, condition);
    if ((varies(n.min) || varies(n.extent)) && error_.empty())
      error_ = fmt::format("a sum across threads is inside loop {}, whose bounds differ between threads", n.name);
    Loop out = n;
    out.body = walk(n.body, condition);
    return make_stmt(std::move(out));
  }

  Stmt walk_if(const If& n, const Expr& condition) {
    if (!varies(n.condition))
      return make_stmt(If{n.condition, walk(n.then_body, condition), walk(n.else_body, condition)});
    const Stmt then_body = walk(n.then_body, both(condition, n.condition));
    return block({then_body, walk(n.else_body, both(condition, unary(UnaryOp::logical_not, n.condition)))});
  }

  /// What is between two sums stays together.
  Stmt walk_block(const Block& n, const Expr& condition) {
    std::vector<Stmt> out, between;
    const auto flush = [&] { out.push_back(when(condition, block(std::exchange(between, {})))); };
    for (const Stmt& part : n.body) {
      if (!sums_.holds(part)) {
        between.push_back(part);
        continue;
      }
      flush();
      out.push_back(walk(part, condition));
    }
    flush();
    return block(std::move(out));
  }

  /// The loop's one store, and loops around it.
  Stmt summed(const Loop& n, Expr condition) {
    const std::int64_t partials = *as_int(n.extent), threads = threads_of_sum(partials);
    if (partials < threads) condition = both(condition, floormod(thread_, threads) < int_const(partials));
    return rewrite(
        n.body,
        [&](const Stmt& part) {
          const Store* store = std::get_if<Store>(&part->kind);
          return store ? exchanges(sum_of(*store), threads, condition) : Stmt();
        },
        nullptr);
  }

  /// `threads`: how many neighbours have partial results, those without work included.
  Stmt exchanges(const Sum& sum, std::int64_t threads, const Expr& condition) {
    std::vector<Stmt> out;
    set(sum, condition.defined() ? select(condition, sum.partial, sum.identity) : sum.partial, out);
    butterfly(sum, std::min<std::int64_t>(threads, kWarp), out);
    if (threads > kWarp) across_warps(sum, threads / kWarp, out);
    return block(std::move(out));
  }

  void set(const Sum& sum, const Expr& value, std::vector<Stmt>& out) const {
    out.push_back(make_stmt(Store{sum.total, sum.index, value, Expr()}));
  }

  /// Among `threads` neighbours of a warp, a power of two.
  void butterfly(const Sum& sum, std::int64_t threads, std::vector<Stmt>& out) {
    const DType dtype = sum.so_far->dtype;
    const BufferId other = program_.add({.name = name_of(sum) + ".other", .dtype = dtype, .scope = Scope::registers});
    for (std::int64_t distance = threads / 2; distance > 0; distance /= 2) {
      out.push_back(make_stmt(Store{other, {}, sum.so_far, Expr(), false, static_cast<int>(distance)}));
      set(sum, binary(sum.op, sum.so_far, load(dtype, SourceId(other.value), {})), out);
    }
  }

  /// Each warp has its sum; `warps` neighbours exchange theirs.
  void across_warps(const Sum& sum, std::int64_t warps, std::vector<Stmt>& out) {
    const DType dtype = sum.so_far->dtype;
    const BufferId shared = program_.add(
        {.name = name_of(sum) + ".warps", .dtype = dtype, .extents = {nest_.size / kWarp}, .scope = Scope::block});
    out.push_back(when(equal(floormod(thread_, kWarp), int_const(0)),
                       make_stmt(Store{shared, {floordiv(thread_, kWarp)}, sum.so_far, Expr()})));
    // The lanes of a warp take the sums of all warps, again and again.
    const auto lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(warps)));
    const Expr lane = floormod(thread_, lanes), first = floordiv(thread_, warps * kWarp) * warps;
    Expr value = load(dtype, SourceId(shared.value), {first + lane});
    if (lanes != warps) value = select(lane < int_const(warps), value, sum.identity);
    set(sum, value, out);
    butterfly(sum, lanes, out);
  }

  std::string name_of(const Sum& sum) const { return program_.buffer(sum.total).name; }

  Program& program_;
  const LaunchNest nest_;
  const ThreadSums sums_;
  const Expr thread_;
  std::set<VarId> varying_;  ///< variables that may differ between threads
  std::string error_;
};

/// Each thread has one partial result where there was one for each number.
void drop_numbers(Program& program) {
  const auto shorter = [](std::vector<Expr> index) {
    index.pop_back();
    return index;
  };
  const auto is_partial = [&](std::size_t buffer) { return program.buffers[buffer].partial; };
  const auto loads = [&](const Expr& e) {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const Load* n = std::get_if<Load>(&part->kind);
      if (!n || !is_partial(n->source.index())) return {};
      return load(part->dtype, n->source, shorter(n->index));
    });
  };
  program.body = rewrite(
      program.body,
      [&](const Stmt& part) -> Stmt {
        const Store* n = std::get_if<Store>(&part->kind);
        if (!n || !is_partial(n->buffer.index())) return {};
        return make_stmt(n->with(shorter(n->index), loads(n->value), n->mask));
      },
      loads);
  for (Buffer& buffer : program.buffers) {
    if (!buffer.partial) continue;
    buffer.extents.pop_back();
    buffer.partial = false;
  }
}

}  // namespace

Result<Program> reduce_threads(Program program) {
  if (std::none_of(program.buffers.begin(), program.buffers.end(), [](const Buffer& b) { return b.partial; }))
    return program;
  std::vector<Stmt> parts = top_statements(program);
  for (Stmt& part : parts)
    if (const std::optional<LaunchNest> nest = launch_nest(part)) {
      WHET_TRY(part, ThreadReducer(program, *nest).run());
    }
  program.body = block(std::move(parts));
  drop_numbers(program);
  return program;
}

}  // namespace whet
