#include "lower/gpu/spread_warps.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "compute/affine.h"
#include "lower/gpu/collective.h"
#include "lower/gpu/warp_layouts.h"

namespace whet {
namespace {

constexpr std::int64_t kGroup = kWarpGroup, kPair = kWarpPair;

const Loop* loop_in(const Stmt& s) { return s.defined() ? std::get_if<Loop>(&s->kind) : nullptr; }

template <typename Found>
bool any_inside(const Stmt& s, const Found& found) {
  bool any = false;
  for_each(s, [&](const Stmt& part) { any = any || found(part); }, nullptr);
  return any;
}

/// The body of one loop of warps.
class WarpSpreader {
 public:
  WarpSpreader(Program& program, const Collectives& collectives) : program_(program), collectives_(collectives) {}

  Result<Stmt> run(const Loop& warps) {
    WHET_TRY(sums_, find_warp_layouts(program_, warps.body, collectives_));
    check_memory(warps.body);
    lane_row_ = var(program_.fresh_var(), "row"), lane_column_ = var(program_.fresh_var(), "column");
    Stmt body = spread(warps.body);
    for (const auto& [buffer, sums] : sums_) {
      Shape& extents = program_.buffers[buffer].extents;
      extents[sums.rows] /= kGroup;
      if (sums.columns && !sums.quad) extents[*sums.columns] /= kGroup / kPair;
      program_.buffers[buffer].quad = sums.quad;
    }
    if (!error_.empty()) return Error{error_, ErrorKind::unsupported};
    body = make_stmt(Loop{id(lane_column_), "column", int_const(0), int_const(4), LoopKind::thread, body});
    body = make_stmt(Loop{id(lane_row_), "row", int_const(0), int_const(kGroup), LoopKind::thread, body});
    Loop out = warps;
    out.kind = LoopKind::thread, out.body = body;
    return make_stmt(std::move(out));
  }

 private:
  static VarId id(const Expr& e) { return std::get<Var>(e->kind).id; }

  void fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }
  const std::string& name(std::size_t buffer) const { return program_.buffers[buffer].name; }

  /// Whole warps have no other memory of their own, and nobody else has theirs.
  void check_memory(const Stmt& body) {
    const std::vector<int> inside = accesses_by_buffer(program_, body),
                           all = accesses_by_buffer(program_, program_.body);
    std::vector<int> apart(inside.size(), 0);
    for_each(
        body,
        [&](const Stmt& s) {
          if (!collectives_.is_one(s)) return;
          const std::vector<int> own = accesses_by_buffer(program_, s);
          for (std::size_t b = 0; b < own.size(); ++b) apart[b] += own[b];
        },
        nullptr);
    for (std::size_t b = 0; b < inside.size(); ++b) {
      if (!is_private(program_.buffers[b]) || inside[b] == apart[b]) continue;
      if (sums_.count(b) == 0) fail(fmt::format("{} is memory of a thread, and is used by whole warps", name(b)));
      if (inside[b] != all[b] || apart[b] > 0)
        fail(fmt::format("the sums of a warp in {} are used outside of the warp", name(b)));
    }
  }

  Stmt spread(const Stmt& s) {
    if (!s.defined() || !error_.empty() || collectives_.is_one(s)) return s;
    if (is_warp_tile(s)) return spread_tile(*warp_tile_nest(s));
    if (const auto* list = std::get_if<Block>(&s->kind)) {
      std::vector<Stmt> parts;
      for (const Stmt& part : list->body) parts.push_back(spread(part));
      return block(std::move(parts));
    }
    const bool shared =
        any_inside(s, [&](const Stmt& part) { return is_warp_tile(part) || collectives_.is_one(part); });
    if (!shared) return uses_sums(s) ? with_exchanges(s) : alone(s);
    if (const Loop* loop = loop_in(s)) {
      Loop out = *loop;
      out.body = spread(loop->body);
      return make_stmt(std::move(out));
    }
    if (const Let* let = std::get_if<Let>(&s->kind))
      return make_stmt(Let{let->var, let->name, let->value, spread(let->body)});
    const If& branch = std::get<If>(s->kind);
    return make_stmt(If{branch.condition, spread(branch.then_body), spread(branch.else_body)});
  }

  bool uses_sums(const Stmt& s) const {
    const std::vector<int> counts = accesses_by_buffer(program_, s);
    return std::any_of(sums_.begin(), sums_.end(), [&](const auto& known) { return counts[known.first] > 0; });
  }

  /// What has nothing to do with sums would be done by 32 threads at once.
  Stmt alone(const Stmt& s) {
    const bool stores = any_inside(s, [](const Stmt& part) { return std::holds_alternative<Store>(part->kind); });
    if (stores) fail("what is computed under a loop of warps reads none of their sums");
    return s;
  }

  // ---- Tiles

  Stmt spread_tile(const WarpTileNest& tile) {
    const VarId rows = program_.fresh_var(), columns = program_.fresh_var();
    pairs_.insert(columns);
    const Expr row = var(rows, tile.rows->name) * kGroup + lane_row_;
    const Expr column = lane_column_ * kPair + var(columns, tile.columns->name);
    const std::pair<VarId, Expr> pairs[] = {{tile.rows->index, row}, {tile.columns->index, column}};
    Loop depth = *tile.depth;
    depth.body = placed(substituted(tile.depth->body, pairs));
    const Stmt inner = make_stmt(
        Loop{columns, tile.columns->name, int_const(0), int_const(kPair), LoopKind::serial, make_stmt(depth)});
    Loop out{rows, tile.rows->name, int_const(0), int_const(kPair), LoopKind::serial, inner};
    out.intrinsic = tile.rows->intrinsic;
    return make_stmt(std::move(out));
  }

  static Stmt substituted(const Stmt& s, Substitution pairs) {
    return rewrite(s, nullptr, [&](const Expr& e) { return substitute(e, pairs); });
  }

  // ---- Element by element

  /// A nest over tiles of sums: the loops over rows and over columns are divided among the lanes. Sums are registers, so that
  /// what moves through them is unrolled.
  Stmt spread_nest(const Stmt& s) {
    if (const Loop* loop = loop_in(s)) return spread_loop(*loop);
    return std::visit(Match{
                          [&](const Let& n) { return make_stmt(Let{n.var, n.name, n.value, spread_nest(n.body)}); },
                          [&](const If& n) {
                            const Stmt otherwise = n.else_body.defined() ? spread_nest(n.else_body) : Stmt();
                            return make_stmt(If{n.condition, spread_nest(n.then_body), otherwise});
                          },
                          [&](const Block& n) {
                            std::vector<Stmt> parts;
                            for (const Stmt& part : n.body) parts.push_back(spread_nest(part));
                            return block(std::move(parts));
                          },
                          [&](const auto&) { return placed(s); },
                      },
                      s->kind);
  }

  /// How the index of a loop counts in the rows and columns of the sums inside; -1: differently from place to place.
  struct Factors {
    std::int64_t rows = 0, columns = 0;
  };
  Factors factors_of(const Loop& loop) const {
    std::optional<std::int64_t> rows, columns;
    const auto meet = [](std::optional<std::int64_t>& known, std::int64_t here) {
      known = known && *known != here ? -1 : here;
    };
    const auto access = [&](std::size_t buffer, const std::vector<Expr>& index) {
      const auto sums = sums_.find(buffer);
      if (sums == sums_.end()) return;
      meet(rows, factor_in(index[sums->second.rows], loop.index));
      if (sums->second.columns) meet(columns, factor_in(index[*sums->second.columns], loop.index));
    };
    for_each(
        loop.body,
        [&](const Stmt& s) {
          if (const Store* store = std::get_if<Store>(&s->kind)) access(store->buffer.index(), store->index);
        },
        [&](const Expr& e) {
          for_each(e, [&](const Expr& part) {
            if (const Load* load = std::get_if<Load>(&part->kind)) access(load->source.index(), load->index);
          });
        });
    return {rows.value_or(0), columns.value_or(0)};
  }

  Stmt spread_loop(const Loop& loop) {
    const Factors factors = factors_of(loop);
    const std::int64_t* extent = as_int(loop.extent);
    const bool whole = extent && is_const(loop.min, 0);
    if (factors.rows == 1 && factors.columns == 0 && whole && *extent % kGroup == 0)
      return divided(loop, *extent / kGroup, kGroup, lane_row_);
    if (factors.columns == 1 && factors.rows == 0 && whole && *extent % kGroup == 0) return with_pairs(loop, *extent);
    if (factors.columns == 2 && factors.rows == 0 && whole && *extent % (kGroup / kPair) == 0)
      return divided(loop, *extent / (kGroup / kPair), kGroup / kPair, lane_column_);
    const bool pair = factors.columns == 1 && factors.rows == 0 && whole && *extent == kPair;
    if (pair) pairs_.insert(loop.index);
    if (!pair && (factors.rows % kGroup != 0 || factors.columns % kGroup != 0))
      fail(fmt::format("the loop {} in {} runs over a part of the sums that the lanes of a warp cannot share",
                       loop.name, extent ? std::to_string(*extent) : "several"));
    Loop out = loop;
    const bool moves = factors.rows != 0 || factors.columns != 0;
    if (moves && loop.kind != LoopKind::vectorized) out.kind = LoopKind::unrolled;
    out.body = spread_nest(loop.body);
    return make_stmt(std::move(out));
  }

  /// index = outer * unit + lane
  Stmt divided(const Loop& loop, std::int64_t times, std::int64_t unit, const Expr& lane) {
    const VarId outer = program_.fresh_var();
    const std::pair<VarId, Expr> pair(loop.index, var(outer, loop.name) * unit + lane);
    Loop out = loop;
    out.index = outer, out.extent = int_const(times), out.kind = LoopKind::unrolled;
    out.body = spread_nest(substituted(loop.body, Substitution(&pair, 1)));
    return make_stmt(std::move(out));
  }

  /// index = outer * 8 + 2 * lane + 0 .. 1
  Stmt with_pairs(const Loop& loop, std::int64_t extent) {
    const VarId outer = program_.fresh_var(), inner = program_.fresh_var();
    pairs_.insert(inner);
    const std::pair<VarId, Expr> pair(loop.index,
                                      var(outer, loop.name) * kGroup + lane_column_ * kPair + var(inner, loop.name));
    const LoopKind kind = loop.kind == LoopKind::vectorized ? LoopKind::vectorized : LoopKind::unrolled;
    const Stmt body = spread_nest(substituted(loop.body, Substitution(&pair, 1)));
    Loop out = loop;
    out.index = outer, out.extent = int_const(extent / kGroup), out.kind = LoopKind::unrolled;
    out.body = make_stmt(Loop{inner, loop.name, int_const(0), int_const(kPair), kind, body});
    return make_stmt(std::move(out));
  }

  // ---- Values of rows

  /// The nest, behind which what it has added up along the columns is that of all four lanes of a row.
  Stmt with_exchanges(const Stmt& s) {
    std::map<std::size_t, BinaryOp> along;
    for_each(
        s,
        [&](const Stmt& part) {
          const Store* store = std::get_if<Store>(&part->kind);
          if (store && reads_along(*store)) along.emplace(store->buffer.index(), operation_of(*store));
        },
        nullptr);
    std::vector<Stmt> parts{spread_nest(s)};
    for (const auto& [buffer, operation] : along)
      append_exchanges(BufferId(static_cast<std::int64_t>(buffer)), operation, parts);
    return block(std::move(parts));
  }

  /// A value of a row that is computed of the row's elements.
  bool reads_along(const Store& store) const {
    const auto layout = sums_.find(store.buffer.index());
    if (layout == sums_.end() || layout->second.columns) return false;
    bool along = false;
    for_each(store.value, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      const auto from = load ? sums_.find(load->source.index()) : sums_.end();
      along = along || (from != sums_.end() && from->second.columns);
    });
    return along;
  }

  BinaryOp operation_of(const Store& store) {
    const Binary* both = std::get_if<Binary>(&store.value->kind);
    const Load* so_far = both ? std::get_if<Load>(&both->a->kind) : nullptr;
    const bool adds_up = so_far && so_far->source.value == store.buffer.value &&
                         (both->op == BinaryOp::add || both->op == BinaryOp::max || both->op == BinaryOp::min);
    if (!adds_up)
      fail(fmt::format("{} is computed of some elements of a row, which the lanes of a warp share",
                       name(store.buffer.index())));
    return adds_up ? both->op : BinaryOp::add;
  }

  /// Lanes 4g to 4g + 3 have the row's parts: by thread ^ 1, then ^ 2.
  void append_exchanges(BufferId buffer, BinaryOp operation, std::vector<Stmt>& out) {
    const WarpLayout layout = sums_.at(buffer.index());
    const Buffer held = program_.buffer(buffer);
    for (std::size_t d = 0; d < held.extents.size(); ++d)
      if (d != layout.rows && held.extents[d] != 1)
        return fail(fmt::format("{} has more than one value a row", held.name));
    Buffer other = held;
    other.name += ".other", other.extents[layout.rows] /= kGroup;
    const BufferId there = program_.add(std::move(other));
    const auto nest = [&](const std::function<Stmt(const std::vector<Expr>&)>& store) {
      const VarId row = program_.fresh_var();
      std::vector<Expr> index(held.extents.size(), int_const(0));
      index[layout.rows] = var(row, "row");
      out.push_back(make_stmt(Loop{row, "row", int_const(0), int_const(held.extents[layout.rows] / kGroup),
                                   LoopKind::unrolled, store(index)}));
    };
    for (const int lanes : {1, 2}) {
      nest([&](const std::vector<Expr>& index) {
        Store given{there, index, load(held.dtype, SourceId(buffer.value), index), Expr()};
        given.cross = lanes;
        return make_stmt(std::move(given));
      });
      nest([&](const std::vector<Expr>& index) {
        return make_stmt(Store{buffer, index,
                               binary(operation, load(held.dtype, SourceId(buffer.value), index),
                                      load(held.dtype, SourceId(there.value), index)),
                               Expr()});
      });
    }
  }

  // ---- Sums in registers of a lane

  /// The statement with its sums where the lane keeps them.
  Stmt placed(const Stmt& s) {
    const auto index_of = [&](std::size_t buffer, std::vector<Expr> index) {
      const auto sums = sums_.find(buffer);
      if (sums == sums_.end()) return index;
      index[sums->second.rows] = own_row(index[sums->second.rows], buffer);
      const std::optional<std::size_t> columns = sums->second.columns;
      if (columns && !sums->second.quad) index[*columns] = own_column(index[*columns], buffer);
      return index;
    };
    const auto loads = [&](const Expr& e) {
      return rewrite(e, [&](const Expr& part) -> Expr {
        const Load* load = std::get_if<Load>(&part->kind);
        if (!load || sums_.count(load->source.index()) == 0) return {};
        return masked_load(part->dtype, load->source, index_of(load->source.index(), load->index), load->mask);
      });
    };
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          const Store* store = std::get_if<Store>(&part->kind);
          if (!store) return {};
          return make_stmt(
              store->with(index_of(store->buffer.index(), store->index), loads(store->value), store->mask));
        },
        loads);
  }

  /// The index without the lane's part, whose factor it must have, and without `group` where that divides the rest.
  Affine without_lane(const Expr& index, const Expr& lane, std::int64_t factor, std::size_t buffer) {
    Affine rest = sub(to_affine(index), scale(to_affine(lane), factor));
    if (rest.coefficient(lane) != 0)
      fail(fmt::format("{} holds sums of a warp, and is read otherwise than element by element", name(buffer)));
    return rest;
  }

  Expr own_row(const Expr& index, std::size_t buffer) {
    Affine rest = without_lane(index, lane_row_, 1, buffer);
    if (!divides(rest, kGroup))
      fail(fmt::format("{} holds sums of a warp, and is not read by whole tiles", name(buffer)));
    return to_expr(divided_by(rest, kGroup));
  }

  Expr own_column(const Expr& index, std::size_t buffer) {
    Affine rest = without_lane(index, lane_column_, kPair, buffer);
    Affine pair;
    for (const auto& [atom, factor] : rest.terms) {
      const Var* v = std::get_if<Var>(&atom->kind);
      if (v && factor == 1 && pairs_.count(v->id) != 0) pair = to_affine(atom);
    }
    rest = sub(rest, pair);
    if (pair.terms.empty() || !divides(rest, kGroup))
      fail(fmt::format("{} holds sums of a warp, and is not read by whole tiles", name(buffer)));
    return to_expr(add(scale(divided_by(rest, kGroup), kPair), pair));
  }

  static bool divides(const Affine& sum, std::int64_t unit) {
    return sum.constant % unit == 0 &&
           std::all_of(sum.terms.begin(), sum.terms.end(), [&](const auto& term) { return term.second % unit == 0; });
  }
  static Affine divided_by(Affine sum, std::int64_t unit) {
    sum.constant /= unit;
    for (auto& [atom, factor] : sum.terms) factor /= unit;
    return sum;
  }

  Program& program_;
  const Collectives& collectives_;
  WarpLayouts sums_;
  std::set<VarId> pairs_;  ///< loops over the two neighbours of a lane
  Expr lane_row_, lane_column_;
  std::string error_;
};

bool is_of_warps(const Stmt& s) {
  const Loop* loop = loop_in(s);
  return loop && loop->kind == LoopKind::warp;
}

}  // namespace

Result<Program> spread_warps(Program program) {
  const Stmt before = program.body;
  if (!any_inside(before, is_of_warps)) return program;
  const Collectives collectives(program, before);
  std::optional<Error> error;
  const std::function<Stmt(const Stmt&)> spread = [&](const Stmt& s) -> Stmt {
    if (error || !is_of_warps(s)) return {};
    const Loop& loop = *loop_in(s);
    if (any_inside(loop.body, is_of_warps)) {
      Loop out = loop;
      out.kind = LoopKind::thread, out.body = rewrite(loop.body, spread, nullptr);
      return make_stmt(std::move(out));
    }
    Result<Stmt> body = WarpSpreader(program, collectives).run(loop);
    if (!body.ok()) error = body.error();
    return body.ok() ? *body : s;
  };
  program.body = rewrite(before, spread, nullptr);
  if (error) return *error;
  return program;
}

}  // namespace whet
