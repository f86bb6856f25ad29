#include "codegen/cpu/tile_sums.h"

#include <algorithm>
#include <set>

namespace whet {
namespace {

/// Rows of the same distance in one buffer that lie `distance` elements apart at their beginnings share none.
bool are_apart(std::int64_t distance, std::int64_t row_stride, std::int64_t rows, std::int64_t columns) {
  if (row_stride <= 0) return false;
  const std::int64_t column = floor_mod(distance, row_stride), row = (distance - column) / row_stride;
  const bool columns_meet = column < columns || column > row_stride - columns;
  return !columns_meet || row >= rows || row < -rows;
}

class TileSumFinder {
 public:
  explicit TileSumFinder(Analysis& analysis) : analysis_(analysis) {}

  std::optional<TileSums> find(const Stmt& s) {
    if (!walk(s) || sums_.distinct.empty()) return std::nullopt;
    return stays() ? std::optional(std::move(sums_)) : std::nullopt;
  }

 private:
  bool walk(const Stmt& s) {
    if (!s.defined()) return true;
    return std::visit(
        Match{
            [&](const Loop& n) { return loop(s, n); },
            [&](const Let& n) { return bound_.insert(n.var), walk(n.body); },
            [&](const Block& n) { return std::ranges::all_of(n.body, [&](const Stmt& part) { return walk(part); }); },
            [&](const Prefetch&) { return true; },
            [&](const auto&) { return false; },
        },
        s->kind);
  }

  bool loop(const Stmt& s, const Loop& n) {
    if (const IntrinsicTile* tile = analysis_.tile(s)) return is_tile_product(tile->intrinsic) && product(*tile);
    if (n.kind != LoopKind::serial) return false;
    bound_.insert(n.index);
    return walk(n.body);
  }

  bool product(const IntrinsicTile& tile) {
    if (sums_.distinct.empty()) sums_.extents = tile.extents;
    if (tile.extents != sums_.extents || tile.intrinsic != first(tile).intrinsic) return false;
    const TileOperand& sum = tile.operands[0];
    const auto is_known = [&](const IntrinsicTile* other) { return same_place(sum, other->operands[0]); };
    if (std::ranges::any_of(sums_.distinct, is_known)) return true;
    for (const IntrinsicTile* other : sums_.distinct)
      if (!is_apart(sum, other->operands[0])) return false;
    sums_.distinct.push_back(&tile);
    return sums_.distinct.size() <= kMostTileSums;
  }

  const IntrinsicTile& first(const IntrinsicTile& otherwise) const {
    return sums_.distinct.empty() ? otherwise : *sums_.distinct.front();
  }

  bool is_apart(const TileOperand& a, const TileOperand& b) const {
    return a.buffer != b.buffer ||
           (a.base.terms == b.base.terms && a.strides == b.strides &&
            are_apart(a.base.constant - b.base.constant, a.strides[0], sums_.extents[0], sums_.extents[1]));
  }

  /// No sum's place depends on what the statement binds.
  bool stays() const {
    for (const IntrinsicTile* tile : sums_.distinct)
      for (const auto& [atom, coefficient] : tile->operands[0].base.terms)
        for (const VarId v : analysis_.table()[atom].vars)
          if (bound_.contains(v)) return false;
    return true;
  }

  Analysis& analysis_;
  TileSums sums_;
  std::set<VarId> bound_;
};

bool is_zero(const Expr& e) {
  const auto* all = std::get_if<Broadcast>(&e->kind);
  return is_const(all ? all->a : e, 0);
}

/// How many elements of the buffer the nest of stores sets to zero, each once; nothing where it does anything else.
std::optional<std::int64_t> zeros_of(const Stmt& s, BufferId buffer) {
  if (const auto* loop = std::get_if<Loop>(&s->kind)) {
    const std::int64_t* const extent = as_int(loop->extent);
    if (extent == nullptr || loop->kind != LoopKind::serial || !loop->body.defined()) return std::nullopt;
    const std::optional<std::int64_t> inside = zeros_of(loop->body, buffer);
    return inside ? std::optional(*extent * *inside) : std::nullopt;
  }
  const auto* store = std::get_if<Store>(&s->kind);
  const bool fits = store != nullptr && store->buffer == buffer && !store->mask.defined() && is_zero(store->value);
  return fits ? std::optional<std::int64_t>(store->index[0]->lanes) : std::nullopt;
}

/// The buffer that the nest of stores sets.
std::optional<BufferId> set_by(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s->kind)) return loop->body.defined() ? set_by(loop->body) : std::nullopt;
  const auto* store = std::get_if<Store>(&s->kind);
  return store != nullptr ? std::optional(store->buffer) : std::nullopt;
}

}  // namespace

std::optional<ZeroedSums> find_zeroed_sums(std::span<const Stmt* const> list, std::size_t first, const Program& program,
                                           Analysis& analysis) {
  const std::optional<BufferId> buffer = set_by(*list[first]);
  if (!buffer) return std::nullopt;
  std::int64_t zeros = 0;
  std::size_t at = first;
  for (; at < list.size(); ++at) {
    const std::optional<std::int64_t> count = zeros_of(*list[at], *buffer);
    if (!count) break;
    zeros += *count;
  }
  if (at == first || at == list.size() || zeros != num_elements(program.buffer(*buffer).extents)) return std::nullopt;
  std::optional<TileSums> sums = find_tile_sums(*list[at], analysis);
  if (!sums) return std::nullopt;
  const auto of_buffer = [&](const IntrinsicTile* tile) { return tile->operands[0].buffer == *buffer; };
  const std::int64_t each = sums->extents[0] * sums->extents[1];
  if (!std::ranges::all_of(sums->distinct, of_buffer) || each * std::ssize(sums->distinct) != zeros)
    return std::nullopt;
  return ZeroedSums{at, *std::move(sums)};
}

bool same_place(const TileOperand& a, const TileOperand& b) {
  return a.buffer == b.buffer && a.base.terms == b.base.terms && a.base.constant == b.base.constant &&
         a.strides == b.strides;
}

std::optional<TileSums> find_tile_sums(const Stmt& s, Analysis& analysis) { return TileSumFinder(analysis).find(s); }

TilesInUse::TilesInUse(TileSums sums) : sums_(std::move(sums)) {}

int TilesInUse::sum_of(const IntrinsicTile& tile) const {
  const auto found = std::ranges::find_if(
      sums_.distinct, [&](const IntrinsicTile* known) { return same_place(known->operands[0], tile.operands[0]); });
  return static_cast<int>(found - sums_.distinct.begin());
}

std::pair<int, bool> TilesInUse::tile_of(const TileOperand& factor, bool left) {
  int oldest = first_of(left);
  for (int t = oldest; t < end_of(left); ++t) {
    Held& held = held_[static_cast<std::size_t>(t)];
    if (held.factor != nullptr && same_place(*held.factor, factor)) {
      held.used = ++uses_;
      return {t, true};
    }
    if (held.used < held_[static_cast<std::size_t>(oldest)].used) oldest = t;
  }
  held_[static_cast<std::size_t>(oldest)] = {&factor, ++uses_};
  return {oldest, false};
}

std::vector<TileShape> TilesInUse::shapes() const {
  constexpr int kWordBytes = 4;  // of a sum, and of the factors that one step of it multiplies
  const int m = static_cast<int>(sums_.extents[0]), n = static_cast<int>(sums_.extents[1]),
            k = static_cast<int>(sums_.extents[2]);
  std::vector<TileShape> all(sums_.distinct.size(), {m, n * kWordBytes});
  all.resize(static_cast<std::size_t>(end_of(true)), {m, k * kWordBytes});
  all.resize(kTiles, {k, n * kWordBytes});
  return all;
}

}  // namespace whet
