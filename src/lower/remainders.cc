#include "lower/remainders.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "compute/affine.h"
#include "lower/guards.h"
#include "lower/rename.h"
#include "lower/tile_loops.h"
#include "program/context.h"

namespace whet {
namespace {

/// Tiles of `factor` iterations along `total`: a guard index*factor + (place in the tile) < total.
struct Tiling {
  VarId index;
  std::int64_t factor = 0;
  Expr total;
};

/// A guard that belongs to a tiling.
struct TileGuard {
  Tiling tiling;
  Expr place;             ///< in the tile
  bool expanded = false;  ///< some loop of the tile is to be unrolled or vectorized
  bool vector = false;    ///< one is vectorized
};

/// The guard `condition` as one of tiles that `index` counts; `body` is all that `index` binds, `inside` its tile loops.
std::optional<TileGuard> tile_guard(const Expr& condition, VarId index, const Stmt& body, const TileLoops& inside) {
  std::optional<Affine> sum = nonnegative_sum(condition);  // total - 1 - place - index*factor >= 0
  if (!sum) return std::nullopt;
  TileGuard guard{.tiling = {.index = index}};
  Affine place, total{{}, sum->constant + 1};
  std::int64_t most = 0;
  for (const auto& [atom, coefficient] : sum->terms) {
    const Var* v = std::get_if<Var>(&atom->kind);
    const auto loop = v ? inside.find(v->id) : inside.end();
    if (v && v->id == index) {
      guard.tiling.factor = -coefficient;
    } else if (loop != inside.end() && coefficient < 0) {
      place.terms.emplace_back(atom, -coefficient);
      most -= coefficient * (*as_int(loop->second->extent) - 1);
      guard.vector = guard.vector || loop->second->kind == LoopKind::vectorized;
      guard.expanded = guard.expanded || is_expanded(*loop->second);
    } else {
      total.terms.emplace_back(atom, coefficient);
    }
  }
  guard.tiling.total = to_expr(total), guard.place = to_expr(place);
  const bool fits = guard.tiling.factor > 1 && most < guard.tiling.factor && has_size(guard.tiling.total);
  if (!fits || uses(guard.tiling.total, index) || binds_any(body, guard.tiling.total)) return std::nullopt;
  return guard;
}

/// In a vector whose masks are free.
constexpr std::int64_t kMaskedFloats = 16;

/// Sizes that are tried one by one for what tiles of them leave.
constexpr std::int64_t kMostTried = 4096;

/// What whole tiles may leave of the total, 0 first: sizes with steps leave few remainders.
std::vector<std::int64_t> possible_remainders(const std::vector<SizeRange>& sizes, const Tiling& tiling) {
  const auto totals = is_of_sizes(tiling.total) ? all_values(tiling.total, sizes, kMostTried) : std::nullopt;
  std::vector<bool> seen(static_cast<std::size_t>(tiling.factor), !totals);
  seen[0] = true;
  if (totals)
    for (const std::int64_t total : *totals) seen[static_cast<std::size_t>(floor_mod(total, tiling.factor))] = true;
  std::vector<std::int64_t> possible;
  for (std::int64_t r = 0; r < tiling.factor; ++r)
    if (seen[static_cast<std::size_t>(r)]) possible.push_back(r);
  return possible;
}

bool same_tiling(const Tiling& a, const Tiling& b) {
  return a.index == b.index && a.factor == b.factor && same(a.total, b.total);
}

class RemainderPass {
 public:
  RemainderPass(Program& program, bool free_masks)
      : program_(program), free_masks_(free_masks), facts_(size_ranges(program.sizes)) {}

  Stmt visit(const Stmt& s) {
    if (!s.defined()) return s;
    const Facts::Mark mark = facts_.mark();
    const Stmt out = std::visit(Match{[&](const Loop& n) { return loop(n); }, [&](const Let& n) { return let(n); },
                                      [&](const If& n) { return branch(n); },
                                      [&](const Block& n) {
                                        std::vector<Stmt> body;
                                        for (const Stmt& part : n.body) body.push_back(visit(part));
                                        return block(std::move(body));
                                      },
                                      [&](const auto&) { return s; }},
                                s->kind);
    facts_.rewind(mark);
    return out;
  }

 private:
  Stmt loop(const Loop& n) {
    const Facts::Mark outside = facts_.mark();
    const bool runs = facts_.bounds(n.extent).min >= 1;
    enter(facts_, n);
    const bool counts = (n.kind == LoopKind::serial || n.kind == LoopKind::parallel) && is_const(n.min, 0);
    const std::optional<Chosen> chosen = counts ? choose(n.index, n.name, n.body) : std::nullopt;
    // Where a loop may run not at all, its index tells that a whole tile is there.
    const bool is_one = counts && runs && is_only_zero(n.index, n.name);
    Loop made = n;
    if (!chosen) {
      made.body = visit(is_one ? at_zero(n.body, n.index) : n.body);
      return make_stmt(std::move(made));
    }
    facts_.rewind(outside);
    const Tiles tiles(*this, *chosen, n.name, n.body);
    if (is_one) {
      made.body = tiles.of_one();
      return visit(make_stmt(std::move(made)));
    }
    if (n.kind == LoopKind::parallel) {
      made.body = tiles.chosen_inside();
      return visit(tiles.counted(make_stmt(std::move(made))));
    }
    const Tiling& tiling = chosen->guard.tiling;
    const Expr all = floordiv(tiling.total + (tiling.factor - 1), tiling.factor);
    const bool ends_with_last = same(simplify(n.extent, facts_), simplify(all, facts_));
    made.extent = ends_with_last ? tiles.count() : min(tiles.count(), n.extent);
    made.body = tiles.whole();
    Stmt rest = tiles.rest();
    if (!ends_with_last && rest.defined())
      rest = make_stmt(If{tiles.count() >= int_const(0) && tiles.count() < n.extent, rest, Stmt()});
    return visit(tiles.counted(block({make_stmt(std::move(made)), rest})));
  }

  Stmt branch(const If& n) {
    const Facts::Mark mark = facts_.mark();
    enter_if(facts_, n.condition);
    const Stmt then_body = visit(n.then_body);
    facts_.rewind(mark);
    enter_else(facts_, n.condition);
    return make_stmt(If{n.condition, then_body, visit(n.else_body)});
  }

  Stmt let(const Let& n) {
    enter(facts_, n);
    if (counts_.contains(n.var)) return make_stmt(Let{n.var, n.name, n.value, visit(n.body)});
    const std::optional<Chosen> chosen = choose(n.var, n.name, n.body);
    const bool is_one = is_only_zero(n.var, n.name);
    if (!chosen) return make_stmt(Let{n.var, n.name, n.value, visit(is_one ? at_zero(n.body, n.var) : n.body)});
    const Tiles tiles(*this, *chosen, n.name, n.body);
    if (is_one) return make_stmt(Let{n.var, n.name, n.value, visit(tiles.of_one())});
    return make_stmt(Let{n.var, n.name, n.value, visit(tiles.counted(tiles.chosen_inside()))});
  }

  /// There is one tile (schedule/loop_tree.h, counts_tiles).
  bool is_only_zero(VarId index, const std::string& name) const {
    const Interval range = facts_.bounds(var(index, name));
    return range.min == 0 && range.max == 0;
  }

  /// `body` where the index is 0: places in the one tile's registers are constants.
  static Stmt at_zero(const Stmt& body, VarId index) {
    const std::pair<VarId, Expr> zero(index, int_const(0));
    return rewrite(body, nullptr, [&](const Expr& e) { return substitute(e, Substitution(&zero, 1)); });
  }

  // ---- Choosing tilings

  /// A tiling whose tiles can be computed apart.
  struct Chosen {
    TileGuard guard;
    bool exact = false;  ///< the index counts no tile that is empty
    bool edges = false;  ///< conditions beside the guards end where the total does, as those of paddings
  };

  /// The first tiling by `index` that is to be expanded, and behind whose end nothing happens.
  std::optional<Chosen> choose(VarId index, const std::string& name, const Stmt& body) const {
    for (TileGuard& guard : expanded_guards(index, body)) {
      if (guard.vector && is_only_zero(index, name)) continue;  // its lanes are masked where they are
      const bool exact = every_tile_begins(guard.tiling, name);
      if (!exact && !stores_under(guard.tiling, body)) continue;
      const bool copied = exact && !guard.vector && guard.tiling.factor <= kMostRemainders;
      const bool edges = copied && !is_only_zero(index, name) && has_edges(guard.tiling, name, body);
      return Chosen{std::move(guard), exact, edges};
    }
    return std::nullopt;
  }

  /// Those of statements that are done or left out.
  static std::vector<Expr> conditions_in(const Stmt& body) {
    std::vector<Expr> found;
    for_each(
        body,
        [&](const Stmt& part) {
          const If* choice = std::get_if<If>(&part->kind);
          if (!choice || choice->else_body.defined()) return;
          for (const Expr& condition : conjuncts_of(choice->condition)) found.push_back(condition);
        },
        nullptr);
    return found;
  }

  /// The guards of tiles that `index` counts and that are to be expanded, one a tiling.
  static std::vector<TileGuard> expanded_guards(VarId index, const Stmt& body) {
    const TileLoops inside = loops_of_tiles(body);
    std::vector<TileGuard> found;
    for (const Expr& condition : conditions_in(body)) {
      std::optional<TileGuard> guard = tile_guard(condition, index, body, inside);
      const auto is_same = [&](const TileGuard& other) { return same_tiling(other.tiling, guard->tiling); };
      if (guard && guard->expanded && std::none_of(found.begin(), found.end(), is_same))
        found.push_back(*std::move(guard));
    }
    return found;
  }

  /// The first iteration of every tile is within the total: no tile is empty.
  bool every_tile_begins(const Tiling& tiling, const std::string& name) const {
    return facts_.proves(var(tiling.index, name) * tiling.factor < tiling.total);
  }

  /// Some condition beside the guards of the tiling ends with the total.
  static bool has_edges(const Tiling& tiling, const std::string& name, const Stmt& body) {
    const TileLoops inside = loops_of_tiles(body);
    return std::ranges::any_of(conditions_in(body), [&](const Expr& condition) {
      const std::optional<TileGuard> guard = tile_guard(condition, tiling.index, body, inside);
      const bool own = guard && same_tiling(guard->tiling, tiling);
      return !own && at_left(condition, tiling, name, 0).defined();
    });
  }

  /// The condition in a tile of which `left` iterations are within the total: a number takes the place of sizes and index.
  /// Undefined where some would stay.
  static Expr at_left(const Expr& condition, const Tiling& tiling, const std::string& name, std::int64_t left) {
    const std::optional<Affine> sum = nonnegative_sum(condition);
    const Expr index = var(tiling.index, name);
    const std::int64_t step = sum ? -sum->coefficient(index) : 0;
    if (step <= 0 || step % tiling.factor != 0) return {};
    const std::int64_t times = step / tiling.factor;
    const Affine within = sub(to_affine(tiling.total), Affine{{{index, tiling.factor}}, 0});
    const Expr rest = to_expr(add(sub(*sum, scale(within, times)), Affine{{}, times * left}));
    return has_size(rest) || uses(rest, tiling.index) ? Expr() : rest >= int_const(0);
  }

  /// Everything that `body` stores is under guards of the tiling: tiles behind the total do nothing.
  static bool stores_under(const Tiling& tiling, const Stmt& body) {
    const TileLoops inside = loops_of_tiles(body);
    bool under = true;
    (void)rewrite(
        body,
        [&](const Stmt& part) -> Stmt {
          if (std::holds_alternative<Store>(part->kind)) under = false;
          const If* choice = std::get_if<If>(&part->kind);
          if (!choice || choice->else_body.defined()) return {};
          for (const Expr& condition : conjuncts_of(choice->condition)) {
            const std::optional<TileGuard> guard = tile_guard(condition, tiling.index, body, inside);
            if (guard && same_tiling(guard->tiling, tiling)) return part;
          }
          return {};
        },
        nullptr);
    return under;
  }

  // ---- Making copies

  /// Whether copies may add these stores, which they do then.
  bool has_room(std::int64_t stores) {
    if (added_stores_ + stores > kMostRemainderStores) return false;
    added_stores_ += stores;
    return true;
  }

  /// The copies of one tiling's body.
  class Tiles {
   public:
    Tiles(RemainderPass& pass, const Chosen& chosen, const std::string& name, const Stmt& body)
        : pass_(pass),
          guard_(chosen.guard),
          name_(name),
          body_(body),
          inside_(loops_of_tiles(body)),
          exact_(chosen.exact),
          edges_(chosen.edges && pass.has_room(unrolled_stores(body) * (chosen.guard.tiling.factor + 1) / 2)),
          whole_tiles_(floordiv(edges_ ? guard_.tiling.total - 1 : guard_.tiling.total, guard_.tiling.factor)),
          count_(number_or_var(pass, whole_tiles_, name)) {
      if (const Var* count = std::get_if<Var>(&count_->kind)) pass.counts_.insert(count->id);
    }

    /// How many tiles are whole; the last one is left with what is behind it where there are edges.
    const Expr& count() const { return count_; }
    Stmt counted(Stmt body) const {
      const Var* count = std::get_if<Var>(&count_->kind);
      return count ? make_stmt(Let{count->id, count->name, whole_tiles_, std::move(body)}) : body;
    }

    Stmt whole() const { return with_limit(body_, Expr()); }

    /// What is left behind the whole tiles.
    Stmt rest() const {
      const std::int64_t factor = guard_.tiling.factor;
      const Expr left = guard_.tiling.total - count_ * factor;
      if (factor > kMostTried) return guarded_rest(left);
      std::vector<std::int64_t> possible = possible_remainders(pass_.program_.sizes, guard_.tiling);
      if (edges_) {
        possible.erase(possible.begin());
        possible.push_back(factor);
        const Stmt all = remainders(left, possible, count_);
        return possible.front() == 1 ? all : make_stmt(If{left >= int_const(possible.front()), all, Stmt()});
      }
      if (possible.size() == 1) return {};
      if (guard_.vector && pass_.free_masks_) return masked_rest(left, possible);
      const auto copies = static_cast<std::int64_t>(possible.size() - 1);
      if (factor > kMostRemainders || !pass_.has_room(unrolled_stores(body_) * copies / 2)) return guarded_rest(left);
      return remainders(left, possible, count_);
    }

    /// The body where the index counts one tile: it is whole, or the remainder is all.
    Stmt of_one() const {
      const Tiling& tiling = guard_.tiling;
      const Stmt body = at_zero(body_, tiling.index);
      Stmt part = body;
      const std::vector<std::int64_t> possible = possible_remainders(pass_.program_.sizes, tiling);
      const auto copies = static_cast<std::int64_t>(possible.size() - 1);
      if (tiling.factor <= kMostRemainders && pass_.has_room(unrolled_stores(body) * copies / 2))
        part = remainders(tiling.total, possible, int_const(0));
      const Expr factor = int_const(tiling.factor);
      if (pass_.facts_.proves(tiling.total < factor)) return part;
      const bool most = pass_.facts_.proves(tiling.total <= factor);
      const Stmt whole_one = most ? tile_of(body_, factor, int_const(0)) : at_zero(whole(), tiling.index);
      return make_stmt(If{tiling.total >= factor, whole_one, part});
    }

    /// The body as it is inside of its loop or let.
    Stmt chosen_inside() const {
      const Expr index = var(guard_.tiling.index, name_);
      Stmt last = rest();
      if (exact_ && !last.defined()) return whole();
      if (!exact_ && last.defined()) last = make_stmt(If{index <= count_ && count_ >= int_const(0), last, Stmt()});
      return make_stmt(If{index < count_, whole(), last});
    }

   private:
    /// A number where all sizes have as many: with a variable, conditions of the tile behind would be found true from others that go with it.
    static Expr number_or_var(RemainderPass& pass, const Expr& tiles, const std::string& name) {
      const Interval range = pass.facts_.bounds(tiles);
      return range.min && range.min == range.max ? int_const(*range.min)
                                                 : var(pass.program_.fresh_var(), name + ".whole");
    }
    /// One copy for all remainders.
    Stmt guarded_rest(const Expr& left) const {
      return make_stmt(If{left >= int_const(1), last_tile(body_, left), Stmt()});
    }

    /// A copy for each number of vectors that has a remainder. (A mask costs nothing, but a vector of nothing else does.)
    Stmt masked_rest(const Expr& left, std::span<const std::int64_t> possible) const {
      const std::int64_t vectors = guard_.tiling.factor / kMaskedFloats;
      const bool whole =
          std::holds_alternative<Var>(guard_.place->kind) && vectors * kMaskedFloats == guard_.tiling.factor;
      std::set<std::int64_t> numbers;  // of vectors, the last one perhaps in part
      for (const std::int64_t r : possible)
        if (r > 0) numbers.insert((r + kMaskedFloats - 1) / kMaskedFloats);
      const std::int64_t all = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
      const std::int64_t more = std::max<std::int64_t>(all - vectors, 0);  // than those of one guarded copy
      if (!whole || vectors < 2 || !pass_.has_room(unrolled_stores(body_) * more / vectors)) return guarded_rest(left);
      std::vector<Stmt> copies;  // without else: what guards all of them can be moved outwards
      for (const std::int64_t v : numbers)
        copies.push_back(make_stmt(If{left > int_const((v - 1) * kMaskedFloats) && left <= int_const(v * kMaskedFloats),
                                      last_tile(of_lanes(v * kMaskedFloats), left), Stmt()}));
      return block(std::move(copies));
    }

    /// The body whose vectors along the tile are of as many lanes: the others would do nothing.
    Stmt of_lanes(std::int64_t lanes) const {
      return rewrite(
          body_,
          [&](const Stmt& part) -> Stmt {
            const Loop* loop = std::get_if<Loop>(&part->kind);
            if (!loop || loop->kind != LoopKind::vectorized || !is_along_tile(*loop)) return {};
            Loop made = *loop;
            made.extent = int_const(lanes);
            return make_stmt(std::move(made));
          },
          nullptr);
    }

    /// The loop's index is the place in the tile, and all that the loop does is guarded by it.
    bool is_along_tile(const Loop& loop) const {
      for (const If* choice = std::get_if<If>(&loop.body->kind); choice && !choice->else_body.defined();
           choice = std::get_if<If>(&choice->then_body->kind))
        for (const Expr& condition : conjuncts_of(choice->condition)) {
          const std::optional<TileGuard> guard = tile_guard(condition, guard_.tiling.index, body_, inside_);
          const Var* place = guard ? std::get_if<Var>(&guard->place->kind) : nullptr;
          if (place && place->id == loop.index && same_tiling(guard->tiling, guard_.tiling)) return true;
        }
      return false;
    }

    /// The copies for these remainders, of the tile of this number.
    Stmt remainders(const Expr& left, std::span<const std::int64_t> possible, const Expr& number) const {
      if (possible.size() == 1) return possible[0] == 0 ? Stmt() : tile_of(body_, int_const(possible[0]), number);
      const std::size_t half = possible.size() / 2;
      const Stmt low = remainders(left, possible.first(half), number),
                 high = remainders(left, possible.subspan(half), number);
      const Expr limit = int_const(possible[half]);
      return low.defined() ? make_stmt(If{left < limit, low, high}) : make_stmt(If{left >= limit, high, Stmt()});
    }

    /// `body` as that of the tile behind the whole ones, of as many iterations.
    Stmt last_tile(const Stmt& body, const Expr& iterations) const { return tile_of(body, iterations, count_); }

    Stmt tile_of(const Stmt& body, const Expr& iterations, const Expr& number) const {
      const std::pair<VarId, Expr> last(guard_.tiling.index, number);
      return rewrite(with_limit(body, iterations, as_int(iterations)), nullptr,
                     [&](const Expr& e) { return substitute(e, Substitution(&last, 1)); });
    }

    /// `body` with guards of the tiling as `place < limit`; without them where the limit is undefined.
    ///   left  the iterations within the total, which decide other conditions that end there; null: a whole tile, or not known
    Stmt with_limit(const Stmt& body, const Expr& limit, const std::int64_t* left = nullptr) const {
      return with_conditions(body, [&](const Expr& condition) -> Expr {
        const std::optional<TileGuard> guard = tile_guard(condition, guard_.tiling.index, body_, inside_);
        if (guard && same_tiling(guard->tiling, guard_.tiling))
          return limit.defined() ? guard->place < limit : bool_const(true);
        if (left != nullptr) return at_left(condition, guard_.tiling, name_, *left);
        return edges_ && !limit.defined() && holds_before_last(condition) ? bool_const(true) : Expr();
      });
    }

    /// Another condition that holds in all of a whole tile behind which the last one begins.
    bool holds_before_last(const Expr& condition) const {
      const Expr decided = at_left(condition, guard_.tiling, name_, guard_.tiling.factor + 1);
      if (!decided.defined() || is_const(decided, 1)) return decided.defined();
      const std::optional<Affine> sum = nonnegative_sum(decided);
      std::int64_t least = sum ? sum->constant : -1;
      for (std::size_t k = 0; sum && k < sum->terms.size(); ++k) {
        const auto& [atom, coefficient] = sum->terms[k];
        const Var* v = std::get_if<Var>(&atom->kind);
        const auto loop = v ? inside_.find(v->id) : inside_.end();
        if (loop == inside_.end()) return false;
        least += std::min<std::int64_t>(coefficient, 0) * (*as_int(loop->second->extent) - 1);
      }
      return least >= 0;
    }

    RemainderPass& pass_;
    const TileGuard& guard_;
    const std::string& name_;
    const Stmt& body_;
    const TileLoops inside_;
    const bool exact_, edges_;
    const Expr whole_tiles_;
    const Expr count_;  ///< the same, as a number or a variable
  };

  Program& program_;
  const bool free_masks_;
  Facts facts_;
  std::set<VarId> counts_;  ///< lets of how many tiles are whole
  std::int64_t added_stores_ = 0;
};

}  // namespace

Result<Program> exact_remainders(Program program, bool free_masks) {
  if (program.sizes.empty() || !program.body.defined()) return program;
  program.body = RemainderPass(program, free_masks).visit(program.body);
  return rename_apart(std::move(program));
}

}  // namespace whet
