// Tiles that the threads of a warp compute together. Fragments: "Matrix fragments" of mma in NVIDIA's PTX ISA.

#include <algorithm>

#include "codegen/gpu/emitter.h"
#include "target/gpu.h"

namespace whet {
namespace {

constexpr std::int64_t kColumns = 4, kRows = kWarp / kColumns;  ///< of lanes: lane = 4 * row + column
constexpr std::int64_t kRowBytes = 16, kWordBytes = 4;  ///< of a matrix that ldmatrix loads; of what a lane gets
constexpr std::int64_t kTileColumns = 8;

/// Elements along the depth in a word of an operand: a tile has 16 bytes of them, twice.
int in_word(const WarpTile& tile) {
  return static_cast<int>(op_of(tile.intrinsic).element().reduce_axes.front().extent / 8);
}

Expr at(const Load& load, VarId across, const Expr& place, const Loop& depth, const Expr& step) {
  const std::pair<VarId, Expr> values[] = {{across, place}, {depth.index, step}};
  return substitute(load.index[0], values);
}

}  // namespace

void GpuEmitter::tile(const WarpTile& t) {
  const Frame frame(*this);
  const GpuHooks::Words left = fragment(t, true), right = fragment(t, false);
  multiply(t, {left, {right[0], right[1]}});
}

std::array<SlotPlace, 4> GpuEmitter::places_of_sums(const WarpTile& t) {
  std::array<SlotPlace, 4> places;
  for (std::int64_t r = 0; r < 4; ++r) {
    const std::pair<VarId, Expr> own[] = {{t.rows->index, int_const(r / 2)}, {t.columns->index, int_const(r % 2)}};
    places[static_cast<std::size_t>(r)] =
        analysis_.slots().place(t.store->buffer, table_[table_.keep(substitute(t.store->index[0], own))].linear, 1);
  }
  return places;
}

void GpuEmitter::multiply(const WarpTile& t, const TileOperands& operands) {
  const std::array<SlotPlace, 4> places = places_of_sums(t);
  GpuHooks::Words sums;
  for (std::size_t k = 0; k < sums.size(); ++k)
    sums[k] = load_slot(places[k], program_.buffer(t.store->buffer).dtype, 1);
  sums = hooks_.multiply(b_, t.intrinsic, operands.left, operands.right, sums);
  for (std::size_t k = 0; k < sums.size(); ++k) store_slot(places[k], sums[k], nullptr);
}

void GpuEmitter::expect_tiles(const Block& block) {
  for (const Stmt& s : block.body) {
    if (const Block* inner = std::get_if<Block>(&s->kind)) expect_tiles(*inner);
    if (const std::optional<WarpTile> tile = tile_of(s))
      expected_.insert(place_of(*tile->right, tile->columns->index, *tile->depth));
  }
}

std::optional<WarpTile> GpuEmitter::tile_of(const Stmt& s) const {
  const Stmt* inner = &s;
  for (const Let* let = std::get_if<Let>(&s->kind); let != nullptr && table_.is_alias(let->var);
       let = std::get_if<Let>(&(*inner)->kind))
    inner = &let->body;
  const Loop* loop = std::get_if<Loop>(&(*inner)->kind);
  return loop != nullptr && is_warp_wide(loop->intrinsic) ? warp_tile(*loop) : std::nullopt;
}

FragmentPlace GpuEmitter::place_of(const Load& load, VarId across, const Loop& depth) {
  const ExprRef first = table_.keep(at(load, across, int_const(0), depth, int_const(0)));
  const ExprInfo& index = table_[first];
  const auto buffer = static_cast<std::int32_t>(load.source.value);
  if (!index.is_linear) return FragmentPlace(buffer, Linear::Terms{{first, 1}}, 0);
  return FragmentPlace(buffer, index.linear.terms, index.linear.constant);
}

GpuHooks::Words GpuEmitter::fragment(const WarpTile& t, bool left) {
  const Load& load = left ? *t.left : *t.right;
  if (program_.buffer(BufferId(load.source.value)).quad) return own_words(t);
  const FragmentPlace key = place_of(load, left ? t.rows->index : t.columns->index, *t.depth);
  const std::int64_t version = versions_[load.source.index()];
  for (std::size_t d = depth_ + 1; d-- > 0;) {
    const auto found = levels_[d]->fragments.find(key);
    if (found != levels_[d]->fragments.end() && found->second.version == version) return found->second.words;
  }
  const GpuHooks::Words words = load_fragment(t, left);
  current().fragments[key] = {words, version};
  return words;
}

/// Word r of a lane has row g + 8 (r % 2) of the left operand and column g of the right one, where lane = 4g + q, and its
/// elements from e·q on in the half r / 2, or r, of the depth. Indices are those of the lane's own sums: row g, columns 2q
/// and 2q + 1.
GpuHooks::Words GpuEmitter::load_fragment(const WarpTile& t, bool left) {
  GpuHooks::Words words = {};
  if (left ? load_left(t, words) : load_right(t, words)) return words;
  const Load& load = left ? *t.left : *t.right;
  const DType dtype = program_.buffer(BufferId(load.source.value)).dtype;
  const int each = in_word(t);
  const Expr thread = var(launch_->nest.threads->index, "t");
  const Expr column = floormod(thread, kColumns), row = floordiv(floormod(thread, kWarp), kColumns);
  for (std::int64_t r = 0; r < (left ? 4 : 2); ++r) {
    const Expr across = left ? int_const(r % 2) : row - column * 2;
    // Of eight terms the left operand's lanes have neighbours (program/warp_tile.h).
    const bool neighbours = each == 1 && program_.buffer(BufferId(t.left->source.value)).quad;
    const Expr step = neighbours ? column * 2 + r : column * each + (left ? r / 2 : r) * kColumns * each;
    const VarId moved = left ? t.rows->index : t.columns->index;
    Value*& word = words[static_cast<std::size_t>(r)];
    word = load_word(load, at(load, moved, across, *t.depth, step), factor_of(load, t.depth->index), each);
    if (word != nullptr) continue;
    std::vector<Value*> elements;
    for (int part = 0; part < each; ++part)
      elements.push_back(
          emit(table_.keep(whet::load(dtype, load.source, {at(load, moved, across, *t.depth, step + part)}))));
    word = word_of(t, left, dtype, elements);
  }
  return words;
}

std::int64_t GpuEmitter::factor_of(const Load& load, VarId v) {
  const ExprInfo& index = table_[table_.intern(load.index[0])];
  if (!index.is_linear) return 0;
  for (const auto& [atom, factor] : index.linear.terms) {
    const auto* found = std::get_if<Var>(&table_[atom].expr->kind);
    if (found && found->id == v) return factor;
  }
  return 0;
}

GpuEmitter::Value* GpuEmitter::load_word(const Load& load, const Expr& index, std::int64_t step, int each) {
  const BufferId buffer(load.source.value);
  const ExprInfo& place = table_[table_.keep(index)];
  if (element_bytes(buffer) * each != kWordBytes || each == 1 || step != 1 || !place.is_linear) return nullptr;
  const std::int64_t align = alignment(buffer, place.linear);  // by which LLVM joins neighbouring words
  if (align < kWordBytes) return nullptr;
  return load_at(buffer, b_.getInt32Ty(), address(buffer, place.linear), align, nullptr);
}

bool GpuEmitter::load_left(const WarpTile& t, GpuHooks::Words& words) {
  const BufferId buffer(t.left->source.value);
  const std::int64_t bytes = element_bytes(buffer), each = in_word(t);
  if (bytes * each != kWordBytes) return false;  // elements are rounded to narrower ones
  const std::int64_t row_length = factor_of(*t.left, t.rows->index) / kRows;
  if (factor_of(*t.left, t.depth->index) != 1 || row_length == 0) return false;
  // Thread 8m + r gives row r of the matrix m: below or above, then of the first or second half of the depth.
  const Expr thread = var(launch_->nest.threads->index, "t");
  const Expr own = floordiv(floormod(thread, kWarp), kColumns), row = floormod(thread, kRows);
  const Expr half = floordiv(floormod(thread, kWarp), 2 * kRows), below = floordiv(floormod(thread, 2 * kRows), kRows);
  const Expr index = at(*t.left, t.rows->index, below, *t.depth, half * (kRowBytes / bytes)) + (row - own) * row_length;
  const ExprInfo& place = table_[table_.keep(index)];
  if (!place.is_linear || alignment(buffer, place.linear) < kRowBytes) return false;
  words = hooks_.load_rows(b_, address(buffer, place.linear));
  for (Value*& word : words)
    if (t.intrinsic == Intrinsic::mma_tf32 && t.rounds_left)
      word = hooks_.tf32_bits(b_, b_.CreateBitCast(word, b_.getFloatTy()));
  return true;
}

bool GpuEmitter::load_right(const WarpTile& t, GpuHooks::Words& words) {
  const Load& load = *t.right;
  const BufferId buffer(load.source.value);
  const std::int64_t bytes = element_bytes(buffer);
  if (bytes * in_word(t) != kWordBytes) return false;
  // A left operand in registers wants another order of eight terms than matrices have (program/warp_tile.h).
  if (in_word(t) == 1 && program_.buffer(BufferId(t.left->source.value)).quad) return false;
  const std::int64_t across = factor_of(load, t.columns->index), along = factor_of(load, t.depth->index);
  const bool turned = across == 1 && is_half(program_.buffer(buffer).dtype);
  if (!turned && (along != 1 || across == 0)) return false;
  // Thread 8m + r gives row r of the matrix m: of the first or second half of the depth, then of the next tile. Rows are terms or, as
  // they lie along the depth, columns; the lane's own columns are 2q and 2q + 1.
  const Expr thread = var(launch_->nest.threads->index, "t");
  const Expr own = floormod(thread, kColumns) * 2;
  const Expr step =
      turned ? floormod(thread, 2 * kRows) : floordiv(floormod(thread, 2 * kRows), kRows) * (kRowBytes / bytes);
  Expr column = turned ? own * -1 : floormod(thread, kRows) - own;
  FragmentPlace next = place_of(load, t.columns->index, *t.depth);
  std::get<2>(next) += kTileColumns * across;
  const bool both = expected_.contains(next);
  if (both) column = column + floordiv(floormod(thread, kWarp), 2 * kRows) * kTileColumns;
  const ExprInfo& place = table_[table_.keep(at(load, t.columns->index, column, *t.depth, step))];
  if (!place.is_linear || alignment(buffer, place.linear) < kRowBytes) return false;
  Value* const row = address(buffer, place.linear);
  GpuHooks::Words loaded = turned ? both ? hooks_.load_turned_rows(b_, row) : hooks_.load_two_turned_rows(b_, row)
                           : both ? hooks_.load_rows(b_, row)
                                  : hooks_.load_two_rows(b_, row);
  for (Value*& word : loaded)
    if (word != nullptr && t.intrinsic == Intrinsic::mma_tf32 && t.rounds_right)
      word = hooks_.tf32_bits(b_, b_.CreateBitCast(word, b_.getFloatTy()));
  words = {loaded[0], loaded[1], nullptr, nullptr};
  if (both) current().fragments[next] = {{loaded[2], loaded[3], nullptr, nullptr}, versions_[buffer.index()]};
  return true;
}

GpuEmitter::Value* GpuEmitter::word_of(const WarpTile& t, bool left, DType dtype, const std::vector<Value*>& elements) {
  const Intrinsic intrinsic = t.intrinsic;
  if (intrinsic == Intrinsic::mma_tf32)
    return (left ? t.rounds_left : t.rounds_right) ? hooks_.tf32_bits(b_, elements[0])
                                                   : b_.CreateBitCast(elements[0], b_.getInt32Ty());
  const bool rounds = multiplies_bf16(intrinsic) || (intrinsic == Intrinsic::mma_f16 && dtype != DType::f16);
  if (Value* const pair = rounds ? hooks_.pair_bits(b_, intrinsic, elements[0], elements[1]) : nullptr) return pair;
  Value* word = b_.getInt32(0);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const bool halves = multiplies_halves(intrinsic) || multiplies_bf16(intrinsic);
    const DType half = multiplies_bf16(intrinsic) ? DType::bf16 : DType::f16;
    Value* const bits = halves ? b_.CreateBitCast(to_memory(elements[k], half, 1), b_.getInt16Ty()) : elements[k];
    word = b_.CreateOr(word, b_.CreateShl(b_.CreateZExt(bits, b_.getInt32Ty()), 32 / elements.size() * k));
  }
  return word;
}

bool GpuEmitter::dot(const ThreadDot& t) {
  const Frame frame(*this);
  const auto word_at = [&](const Load& load) {
    const std::pair<VarId, Expr> first[] = {{t.depth->index, int_const(0)}};
    return load_word(load, substitute(load.index[0], first), factor_of(load, t.depth->index), 4);
  };
  Value* const left = word_at(*t.left);
  Value* const right = left != nullptr ? word_at(*t.right) : nullptr;
  if (right != nullptr) {
    const BufferId sums = t.store->buffer;
    const ExprRef place = table_.intern(t.store->index[0]);
    Value* const old = emit(table_.keep(whet::load(program_.buffer(sums).dtype, SourceId(sums.value), t.store->index)));
    Value* const sum = hooks_.dot(b_, t.depth->intrinsic, left, right, old);
    if (analysis_.slots().holds(sums)) {
      store_slot(analysis_.slots().place(sums, table_[place].linear, 1), sum, nullptr);
    } else {
      store_memory(sums, place, sum, nullptr, 1);
      changed(sums);
    }
  }
  return right != nullptr;
}

}  // namespace whet
