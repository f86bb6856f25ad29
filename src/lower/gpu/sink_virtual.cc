#include "lower/gpu/sink_virtual.h"

#include "lower/gpu/collective.h"

namespace whet {
namespace {

bool uses_anywhere(const Stmt& s, VarId v) {
  bool found = false;
  for_each(s, nullptr, [&](const Expr& e) { found = found || uses(e, v); });
  return found;
}

class Sinker {
 public:
  Sinker(Program& program, const Stmt& launch) : program_(program), collectives_(program, launch), launch_(launch) {}

  /// The launch without its first outermost loop of virtual threads. Undefined: it has none.
  Result<Stmt> run() {
    bool done = false;
    Stmt sunk = rewrite(
        launch_,
        [&](const Stmt& part) -> Stmt {
          const Loop* loop = std::get_if<Loop>(&part->kind);
          if (done || !loop || loop->kind != LoopKind::virtual_thread) return Stmt();
          done = true;
          return sink(*loop, with_dimension(*loop));
        },
        nullptr);
    if (!error_.empty()) return Error{error_, ErrorKind::unsupported};
    return done ? sunk : Stmt();
  }

 private:
  /// The body, where private buffers that it alone uses have a first dimension for the virtual threads.
  Stmt with_dimension(const Loop& loop) {
    const std::vector<int> inside = accesses_by_buffer(program_, loop.body);
    const std::vector<int> everywhere = accesses_by_buffer(program_, launch_);
    std::vector<bool> owned(program_.buffers.size(), false);
    for (std::size_t b = 0; b < owned.size(); ++b) {
      Buffer& buffer = program_.buffers[b];
      owned[b] = is_private(buffer) && inside[b] > 0 && inside[b] == everywhere[b];
      if (owned[b] && in_collective(loop.body, b)) {
        owned[b] = false;
        check_shared(loop, b);
      }
      if (owned[b]) buffer.extents.insert(buffer.extents.begin(), *as_int(loop.extent));
    }
    const Expr v = var(loop.index, loop.name);
    const auto longer = [&](std::vector<Expr> index) {
      index.insert(index.begin(), v);
      return index;
    };
    const std::function<Expr(const Expr&)> loads = [&](const Expr& e) {
      return rewrite(e, [&](const Expr& part) -> Expr {
        const Load* load = std::get_if<Load>(&part->kind);
        if (!load || !owned[load->source.index()]) return {};
        std::vector<Expr> index;
        for (const Expr& i : load->index) index.push_back(loads(i));
        return masked_load(part->dtype, load->source, longer(std::move(index)), load->mask);
      });
    };
    return rewrite(
        loop.body,
        [&](const Stmt& part) -> Stmt {
          if (collectives_.is_one(part)) return part;
          const Store* store = std::get_if<Store>(&part->kind);
          if (!store) return Stmt();
          std::vector<Expr> index;
          for (const Expr& i : store->index) index.push_back(loads(i));
          if (owned[store->buffer.index()]) index = longer(std::move(index));
          return make_stmt(store->with(std::move(index), loads(store->value), store->mask));
        },
        loads);
  }

  bool in_collective(const Stmt& body, std::size_t buffer) const {
    bool found = false;
    for_each(
        body,
        [&](const Stmt& part) {
          if (collectives_.is_one(part)) found = found || accesses_by_buffer(program_, part)[buffer] > 0;
        },
        nullptr);
    return found;
  }

  /// What a virtual thread keeps for itself is not what the threads of a block fill memory from.
  void check_shared(const Loop& v, std::size_t buffer) {
    bool stored = false;
    rewrite(
        v.body,
        [&](const Stmt& part) {
          const Store* store = std::get_if<Store>(&part->kind);
          stored = stored || (store && store->buffer.index() == buffer);
          return collectives_.is_one(part) ? part : Stmt();
        },
        nullptr);
    if (stored && error_.empty())
      error_ = "the threads of a block fill memory from " + program_.buffers[buffer].name +
               ", which each virtual thread of loop '" + v.name + "' has for itself";
  }

  Stmt sink(const Loop& v, const Stmt& s) {
    if (!s.defined()) return s;
    if (collectives_.is_one(s)) {
      check_alone(s, v.index, v.name);
      return s;
    }
    return std::visit(Match{
                          [&](const Block& n) {
                            std::vector<Stmt> parts;
                            for (const Stmt& part : n.body) parts.push_back(sink(v, part));
                            return block(std::move(parts));
                          },
                          [&](const Loop& n) {
                            const bool whole = n.kind == LoopKind::vectorized || is_dp4a(n.intrinsic);
                            if (whole || uses(n.min, v.index) || uses(n.extent, v.index)) return wrapped(v, s);
                            Loop out = n;
                            out.body = sink(v, n.body);
                            return make_stmt(std::move(out));
                          },
                          [&](const If& n) {
                            if (uses(n.condition, v.index)) return wrapped(v, s);
                            return make_stmt(If{n.condition, sink(v, n.then_body), sink(v, n.else_body)});
                          },
                          [&](const Let& n) {
                            if (uses(n.value, v.index)) return sink(v, substituted(n.body, n.var, n.name, n.value));
                            return make_stmt(Let{n.var, n.name, n.value, sink(v, n.body)});
                          },
                          [&](const auto&) { return wrapped(v, s); },
                      },
                      s->kind);
  }

  void check_alone(const Stmt& collective, VarId v, const std::string& name) {
    if (uses_anywhere(collective, v) && error_.empty())
      error_ = "what the threads of a block fill together depends on the virtual threads of loop '" + name + "'";
  }

  /// Collectives are found by their nodes, which stay.
  Stmt substituted(const Stmt& s, VarId v, const std::string& name, const Expr& value) {
    const std::pair<VarId, Expr> pair(v, value);
    return rewrite(
        s,
        [&](const Stmt& part) {
          if (!collectives_.is_one(part)) return Stmt();
          check_alone(part, v, name);
          return part;
        },
        [&](const Expr& e) { return substitute(e, Substitution(&pair, 1)); });
  }

  Stmt wrapped(const Loop& v, const Stmt& s) {
    if (collectives_.holds(s) && error_.empty())
      error_ =
          "a condition or bound around what the threads of a block fill together depends on the virtual threads of "
          "loop '" +
          v.name + "'";
    check_sums(v, s);
    const VarId copy = program_.fresh_var();
    return make_stmt(
        Loop{copy, v.name, v.min, v.extent, LoopKind::unrolled, substituted(s, v.index, v.name, var(copy, v.name))});
  }

  /// Two virtual threads that meet in an element would both add to it, now that neither is done before the other begins: at
  /// once, or in registers that are loaded from it.
  void check_sums(const Loop& v, const Stmt& s) {
    const auto overlaps = [&](const Expr& index) {
      bool found = false;
      for_each(index, [&](const Expr& part) {
        const Binary* binary = std::get_if<Binary>(&part->kind);
        found =
            found || (binary && (binary->op == BinaryOp::min || binary->op == BinaryOp::max) && uses(part, v.index));
      });
      return found;
    };
    for_each(
        s,
        [&](const Stmt& part) {
          const Store* store = std::get_if<Store>(&part->kind);
          if (!store || !reads(v.body, store->buffer)) return;
          for (const Expr& index : store->index)
            if (overlaps(index) && error_.empty())
              error_ = "the virtual threads of loop '" + v.name + "' overlap in sums that are not in registers";
        },
        nullptr);
  }

  static bool reads(const Stmt& s, BufferId buffer) {
    bool found = false;
    for_each(s, nullptr, [&](const Expr& e) {
      for_each(e, [&](const Expr& part) {
        const Load* load = std::get_if<Load>(&part->kind);
        found = found || (load && load->source.index() == buffer.index());
      });
    });
    return found;
  }

  Program& program_;
  const Collectives collectives_;
  const Stmt& launch_;
  std::string error_;
};

}  // namespace

Result<Program> sink_virtual(Program program) {
  while (true) {
    const Stmt body = program.body;
    WHET_TRY(const Stmt sunk, Sinker(program, body).run());
    if (!sunk.defined()) return program;
    program.body = sunk;
  }
}

}  // namespace whet
