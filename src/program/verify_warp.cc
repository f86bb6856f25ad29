#include "program/verify_warp.h"

#include <algorithm>

#include "compute/affine.h"
#include "program/warp_tile.h"

namespace whet {
namespace {

constexpr std::int64_t kRowBytes = 16;  ///< of what tensor cores read from block memory: a unit of a row

bool same_in_warp_by_values(VerifyState& state, const Expr& e) {
  const auto value = [&](std::int64_t thread) {
    const std::pair<VarId, Expr> pair(state.launch->threads->index, int_const(thread));
    return substitute(e, Substitution(&pair, 1));
  };
  for (std::int64_t first = 0; first < state.launch->size; first += kWarp) {
    const Expr of_first = value(first);
    if (!as_int(of_first)) return false;
    for (std::int64_t t = first + 1; t < first + kWarp; ++t)
      if (!same(value(t), of_first)) return false;
  }
  return true;
}

/// With the thread's index as warp * 32 + lane, the lane does not matter.
bool same_in_warp_by_terms(VerifyState& state, const Expr& e) {
  const VarId warp(state.program.vars), lane(state.program.vars + 1);
  const std::pair<VarId, Expr> pair(state.launch->threads->index, var(warp, "warp") * kWarp + var(lane, "lane"));
  const auto mark = state.facts.mark();
  state.facts.bind(warp, Interval{0, state.launch->size / kWarp - 1});
  state.facts.bind(lane, Interval{0, kWarp - 1});
  const bool without_lane = !uses(simplify(substitute(e, Substitution(&pair, 1)), state.facts), lane);
  state.facts.rewind(mark);
  return without_lane;
}

/// Whether it is proven that the threads of a warp have one value.
bool same_in_warp(VerifyState& state, const Expr& e) {
  for (const Expr& part : conjuncts_of(state.over_indices(e))) {
    if (!state.varies(part)) continue;
    bool of_thread = true, of_others = false;
    for_each(part, [&](const Expr& x) {
      const auto* v = std::get_if<Var>(&x->kind);
      const bool is_thread = v && v->id == state.launch->threads->index;
      of_thread =
          of_thread && !std::holds_alternative<Load>(x->kind) && (!v || is_thread || !state.vars[v->id.index()].varies);
      of_others = of_others || (v && !is_thread);
    });
    if (!of_thread || !(of_others ? same_in_warp_by_terms(state, part) : same_in_warp_by_values(state, part)))
      return false;
  }
  return true;
}

/// A thread's number as warp * 32 + row * 4 + column, while it lives.
class Lanes {
 public:
  explicit Lanes(VerifyState& state) : state_(state), mark_(state.facts.mark()), first_(state.program.vars) {
    constexpr std::int64_t kRows = kWarp / kQuadLanes;
    thread_.emplace_back(state.launch->threads->index,
                         var(warp(), "warp") * kWarp + var(row(), "row") * kQuadLanes + var(column(), "column"));
    state.facts.bind(warp(), Interval{0, state.launch->size / kWarp - 1});
    state.facts.bind(row(), Interval{0, kRows - 1});
    state.facts.bind(column(), Interval{0, kQuadLanes - 1});
  }
  ~Lanes() { state_.facts.rewind(mark_); }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  VarId warp() const { return VarId(first_); }
  VarId row() const { return VarId(first_ + 1); }
  VarId column() const { return VarId(first_ + 2); }
  Affine sum_of(const Expr& index) const {
    return to_affine(simplify(substitute(state_.over_indices(index), Substitution(thread_)), state_.facts));
  }

 private:
  VerifyState& state_;
  const Facts::Mark mark_;
  const std::int32_t first_;
  std::vector<std::pair<VarId, Expr>> thread_;
};

/// Lane 4g + q has row 8i + g of the left operand, where it is in block memory, and column 2q + j of the right one.
void lanes_fit(VerifyState& state, const WarpTile& tile, const std::string& what) {
  constexpr std::int64_t kRows = kWarp / kQuadLanes, kPair = 2;
  bool fits = true;
  {
    const Lanes lanes(state);
    const auto moves = [&](const std::vector<Expr>& index, std::optional<VarId> loop, VarId lane, std::int64_t each) {
      return std::all_of(index.begin(), index.end(), [&](const Expr& i) {
        std::int64_t of_loop = 0, of_lane = 0;
        for (const auto& [atom, factor] : lanes.sum_of(i).terms) {
          const auto* v = std::get_if<Var>(&atom->kind);
          if (v && loop && v->id == *loop) of_loop = factor;
          if (v && loop && v->id == lane) {
            of_lane = factor;
          } else if (uses(atom, lanes.row()) || uses(atom, lanes.column())) {
            return false;
          }
        }
        return of_lane * kRows == of_loop * each;
      });
    };
    const bool held = state.buffer(tile.left->source).quad;
    fits = (held ? moves(tile.left->index, std::nullopt, lanes.row(), 0)
                 : moves(tile.left->index, tile.rows->index, lanes.row(), 1)) &&
           moves(tile.right->index, tile.columns->index, lanes.column(), kRows * kPair) &&
           moves(tile.store->index, std::nullopt, lanes.row(), 0);
  }
  state.need(fits, [&] { return what + " is not shared by the lanes as a warp's is"; });
}

/// A left operand that a row's four lanes have together: the tile begins at one of the row's groups of eight.
void held_operand(VerifyState& state, const WarpTile& tile, const std::string& what) {
  const Buffer& b = state.buffer(tile.left->source);
  if (multiplies_bytes(tile.intrinsic))
    return state.fail(what + " reads '" + b.name + "' from registers, and tiles of bytes lie otherwise",
                      ErrorKind::unsupported);
  const Affine first = to_affine(simplify(state.over_indices(tile.left->index.back()), state.facts));
  bool whole = first.constant % 8 == 0, along = false;
  for (const auto& [atom, factor] : first.terms) {
    const auto* v = std::get_if<Var>(&atom->kind);
    if (v && v->id == tile.depth->index)
      along = factor == 1;
    else
      whole = whole && factor % 8 == 0;
  }
  state.need(whole && along, [&] { return what + " reads '" + b.name + "' otherwise than in groups of eight"; });
}

}  // namespace

void verify_exchange(VerifyState& state, const Store& n, const std::string& what) {
  if (state.failed()) return;
  const Buffer& b = state.program.buffer(n.buffer);
  state.need(n.cross > 0 && n.cross < kWarp,
             [&] { return what + " takes the value of thread ^ " + std::to_string(n.cross) + ", of another warp"; });
  state.need(!n.async && (b.scope == Scope::registers || b.scope == Scope::local),
             [&] { return what + " takes another thread's value, but is not into registers or local memory"; });
  state.need(!n.mask.defined() || n.mask->lanes == 1,
             [&] { return what + " takes another thread's value under a mask of lanes"; });
  if (state.failed()) return;
  const auto whole_warp = [&](const Expr& e) {
    state.need(same_in_warp(state, e), [&] {
      return what + " takes another thread's value where not the whole warp may be: " + state.text(e);
    });
  };
  for (const Expr& e : state.varying) whole_warp(e);
  if (n.mask.defined()) whole_warp(n.mask);
}

void verify_own_column(VerifyState& state, const Expr& column, const std::string& what) {
  bool own = true;
  {
    const Lanes lanes(state);
    const Affine sum = lanes.sum_of(column);
    std::int64_t of_lane = 0, pairs = floor_mod(sum.constant, 8);
    for (const auto& [atom, factor] : sum.terms) {
      const auto* v = std::get_if<Var>(&atom->kind);
      const Interval range = state.facts.bounds(atom);
      if (v && v->id == lanes.column())
        of_lane = factor;
      else if (factor == 1 && range.min == 0 && range.max && *range.max <= 1)
        ++pairs;  // one of two neighbours
      else
        own = own && factor % 8 == 0;
    }
    own = own && of_lane == 2 && pairs <= 1;
  }
  state.need(own,
             [&] { return what + " at column " + state.text(column) + ", which another lane of the row may have"; });
}

void verify_tile(VerifyState& state, const Loop& n) {
  const std::string what = "a tile of " + std::string(name_of(n.intrinsic));
  const std::optional<WarpTile> tile = warp_tile(n);
  if (!tile) return state.fail(what + " has loops that compute something else", ErrorKind::unsupported);
  if (!state.options.launches->mma && !multiplies_bytes(n.intrinsic))  // all have one of bytes
    return state.fail(
        what + " needs instructions that compute capability " + std::to_string(state.options.launches->arch) + " lacks",
        ErrorKind::unsupported);
  for (const Load* operand : {tile->left, tile->right}) {
    if (!state.known(operand->source)) return state.fail("a load names no buffer");
    const Buffer& b = state.buffer(operand->source);
    if (b.quad && operand == tile->left) {
      held_operand(state, *tile, what);
      continue;
    }
    if (b.scope != Scope::block || b.extents.empty() || b.extents.back() * size_of(b.dtype) % kRowBytes != 0)
      return state.fail(what + " reads '" + b.name + "', which is no block memory with rows of whole " +
                            std::to_string(kRowBytes) + " bytes",
                        ErrorKind::unsupported);
  }
  if (state.program.buffer(tile->store->buffer).scope != Scope::registers)
    return state.fail(
        what + " adds to '" + state.program.buffer(tile->store->buffer).name + "', which is not in registers",
        ErrorKind::unsupported);
  for (const Expr& e : state.varying)
    state.need(same_in_warp(state, e),
               [&] { return what + " is computed where not the whole warp may be: " + state.text(e); });
  if (!state.failed()) lanes_fit(state, *tile, what);
}

}  // namespace whet
