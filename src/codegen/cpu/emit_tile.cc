#include <llvm/IR/Intrinsics.h>

#include "codegen/cpu/emitter.h"

namespace whet {
namespace {

/// The row of neighbours that begins `elements` elements behind the base.
Linear row_at(const Linear& base, std::int64_t elements) {
  Linear at = base;
  at.constant += elements, at.lane_stride = 1;
  return at;
}

}  // namespace

void Emitter::tile(const IntrinsicTile& tile) {
  const Frame frame(*this);
  switch (tile.intrinsic) {
    case Intrinsic::transpose8:
      transpose(tile, 8, false);
      break;
    case Intrinsic::transpose16:
      transpose(tile, 16, false);
      break;
    case Intrinsic::transpose16_pairs:
      transpose(tile, 16, true);
      break;
    case Intrinsic::interleave16:
      interleave(tile);
      break;
    case Intrinsic::dot4:
    case Intrinsic::dot4x8:
      dot4(tile);
      break;
    case Intrinsic::dot2:
    case Intrinsic::dot2x8:
      dot2(tile);
      break;
    case Intrinsic::dot2_i16:
    case Intrinsic::dot2_i16x8:
      dot2_i16(tile);
      break;
    case Intrinsic::tile_bf16:
    case Intrinsic::tile_u8:
      tile_product(tile);
      break;
    default:
      break;
  }
  changed(tile.operands[0].buffer);
}

Emitter::Value* Emitter::load_row(const TileOperand& operand, std::int64_t offset, int lanes) {
  const Linear at = row_at(operand.base, offset);
  if (program_.buffer(operand.buffer).scope == Scope::registers && analysis_.in_slots(operand.buffer))
    return load_slot(analysis_.place(operand.buffer, at, lanes), program_.buffer(operand.buffer).dtype, lanes);
  const DType dtype = program_.buffer(operand.buffer).dtype;
  return from_memory(load_contiguous(operand.buffer, address(operand.buffer, at), lanes, nullptr), dtype, lanes);
}

void Emitter::store_row(const TileOperand& operand, std::int64_t offset, Value* value, int lanes) {
  const Linear at = row_at(operand.base, offset);
  if (program_.buffer(operand.buffer).scope == Scope::registers && analysis_.in_slots(operand.buffer))
    return store_slot(analysis_.place(operand.buffer, at, lanes), value, nullptr);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(operand.buffer)));
  b_.CreateAlignedStore(value, address(operand.buffer, at), align);
}

Emitter::Value* Emitter::load_stored(const TileOperand& operand, std::int64_t offset, int lanes) {
  const Linear at = row_at(operand.base, offset);
  const Buffer& buffer = program_.buffer(operand.buffer);
  if (buffer.scope != Scope::registers || !analysis_.in_slots(operand.buffer))
    return load_contiguous(operand.buffer, address(operand.buffer, at), lanes, nullptr);
  return to_memory(load_slot(analysis_.place(operand.buffer, at, lanes), buffer.dtype, lanes), buffer.dtype, lanes);
}

Emitter::Value* Emitter::load_pairs(const TileOperand& operand, std::int64_t offset, int pairs) {
  return b_.CreateBitCast(load_stored(operand, offset, 2 * pairs), value_type(DType::f32, pairs));
}

void Emitter::store_pairs(const TileOperand& operand, std::int64_t offset, Value* value, int pairs) {
  const Linear at = row_at(operand.base, offset);
  const Buffer& buffer = program_.buffer(operand.buffer);
  Value* const halves = b_.CreateBitCast(value, memory_type(buffer.dtype, 2 * pairs));
  if (buffer.scope == Scope::registers && analysis_.in_slots(operand.buffer))
    return store_slot(analysis_.place(operand.buffer, at, 2 * pairs), from_memory(halves, buffer.dtype, 2 * pairs),
                      nullptr);
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(operand.buffer)));
  b_.CreateAlignedStore(halves, address(operand.buffer, at), align);
}

/// y(i, j) = x[j, i], of numbers or of pairs of bf16 in their place. Quarters of four rows that lie four rows apart make one
/// vector as they are loaded, which leaves the transposition of 4x4 blocks inside the vectors' 128-bit parts: two rounds of
/// shuffles that stay inside of them.
void Emitter::transpose(const IntrinsicTile& tile, int n, bool pairs) {
  const TileOperand &y = tile.operands[0], &x = tile.operands[1];
  const auto read = [&](std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * x.strides[1] + (pairs ? 2 : 1) * column;
    return pairs ? load_pairs(x, at, 4) : load_row(x, at, 4);
  };
  const auto store = [&](std::int64_t row, Value* value) {
    pairs ? store_pairs(y, row * y.strides[0], value, n) : store_row(y, row * y.strides[0], value, n);
  };
  const int parts = n / 4;
  for (int column = 0; column < n; column += 4) {
    Value* row[4];  // row[r], part p: x[r + 4p][column .. column + 3]
    for (int r = 0; r < 4; ++r) {
      row[r] = llvm::PoisonValue::get(value_type(DType::f32, n));
      for (int p = 0; p < parts; ++p) {
        Value* quarter = read(r + 4 * p, column);
        std::vector<int> spread(static_cast<std::size_t>(n), -1), blend(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) blend[i] = i / 4 == p ? n + i : i;
        for (int i = 0; i < 4; ++i) spread[4 * p + i] = i;
        row[r] = b_.CreateShuffleVector(row[r], b_.CreateShuffleVector(quarter, spread), blend);
      }
    }
    // Lanes of each part from two vectors, a and b: those of `from`, b's counted from 4.
    auto mix = [&](Value* a, Value* b, const int(&from)[4]) {
      std::vector<int> lanes;
      for (int p = 0; p < parts; ++p)
        for (int lane : from) lanes.push_back(lane < 4 ? 4 * p + lane : n + 4 * p + lane - 4);
      return b_.CreateShuffleVector(a, b, lanes);
    };
    static constexpr int kLow[4] = {0, 4, 1, 5}, kHigh[4] = {2, 6, 3, 7};
    static constexpr int kFirst[4] = {0, 1, 4, 5}, kLast[4] = {2, 3, 6, 7};
    Value *a = mix(row[0], row[1], kLow), *b = mix(row[0], row[1], kHigh);
    Value *c = mix(row[2], row[3], kLow), *d = mix(row[2], row[3], kHigh);
    Value* const turned[4] = {mix(a, c, kFirst), mix(a, c, kLast), mix(b, d, kFirst), mix(b, d, kLast)};
    for (int i = 0; i < 4; ++i) store(column + i, turned[i]);
  }
}

/// y(j, k) = x[k, j]: two rows of bf16, lane by lane.
void Emitter::interleave(const IntrinsicTile& tile) {
  constexpr int kRow = 16;
  const TileOperand &y = tile.operands[0], &x = tile.operands[1];
  std::vector<int> lanes;
  for (int j = 0; j < kRow; ++j) lanes.insert(lanes.end(), {j, kRow + j});
  Value* const first = load_stored(x, 0, kRow);
  Value* const second = load_stored(x, x.strides[1], kRow);
  store_pairs(y, 0, b_.CreateShuffleVector(first, second, lanes), kRow);
}

/// The factors of all sums, a word of them that is the same for each, and the word of weights of each.
std::pair<Emitter::Value*, Emitter::Value*> Emitter::words_of(const IntrinsicTile& tile) {
  const TileOperand &x = tile.operands[1], &w = tile.operands[2];
  const llvm::Align align(static_cast<std::uint64_t>(element_bytes(x.buffer)));
  Value* factors = mark(b_.CreateAlignedLoad(b_.getInt32Ty(), address(x.buffer, x.base), align), x.buffer);
  const int sums = sums_of(tile.intrinsic);
  llvm::Type* const words = widen(b_.getInt32Ty(), sums);
  return {splat(factors, sums), mark(b_.CreateAlignedLoad(words, address(w.buffer, w.base), align), w.buffer)};
}

/// y(j) += x[0..3] * w[j, 0..3]: one instruction where the processor has it, else byte by byte of the words.
void Emitter::dot4(const IntrinsicTile& tile) {
  const TileOperand& y = tile.operands[0];
  const int sums = sums_of(tile.intrinsic);
  llvm::Type* const words = widen(b_.getInt32Ty(), sums);
  const auto [factors, weights] = words_of(tile);
  Value* sum = load_row(y, 0, sums);
  if (features_.dot_products && target_.cpu().vector_bytes >= architecture_.dot_product_vector_bytes) {
    sum = architecture_.dot_product(b_, features_, sum, factors, weights);
  } else if (architecture_.pair_product != nullptr) {
    // Every other byte of a word becomes an i16, and the others another one.
    auto* const halves = widen(b_.getInt16Ty(), 2 * sums);
    auto by = [&](int bits) { return llvm::ConstantInt::get(halves, static_cast<std::uint64_t>(bits)); };
    Value *x_pairs = b_.CreateBitCast(factors, halves), *w_pairs = b_.CreateBitCast(weights, halves);
    auto add = [&](Value* p, Value* q) {
      sum = architecture_.pair_product(b_, features_, sum, b_.CreateBitCast(p, words), b_.CreateBitCast(q, words));
    };
    add(b_.CreateAnd(x_pairs, by(255)), b_.CreateAShr(b_.CreateShl(w_pairs, by(8)), by(8)));
    add(b_.CreateLShr(x_pairs, by(8)), b_.CreateAShr(w_pairs, by(8)));
  } else {
    auto count = [&](int bits) { return llvm::ConstantInt::get(words, static_cast<std::uint64_t>(bits)); };
    for (int k = 0; k < 4; ++k) {
      Value* factor = b_.CreateAnd(b_.CreateLShr(factors, count(8 * k)), count(255));
      Value* weight = b_.CreateAShr(b_.CreateShl(weights, count(24 - 8 * k)), count(24));
      sum = b_.CreateAdd(sum, b_.CreateMul(factor, weight));
    }
  }
  store_row(y, 0, sum, sums);
}

/// y(j) += x[0..1] * w[j, 0..1]: one instruction where the processor has it, else the halves of the words as f32.
void Emitter::dot2(const IntrinsicTile& tile) {
  const TileOperand& y = tile.operands[0];
  const int sums = sums_of(tile.intrinsic);
  const auto [factors, weights] = words_of(tile);
  Value* sum = load_row(y, 0, sums);
  if (features_.bf16_products && target_.cpu().bf16_products) {
    sum = architecture_.bf16_product(b_, features_, sum, factors, weights);
  } else {
    llvm::Type* const f32 = value_type(DType::f32, sums);
    const auto first = [&](Value* words) { return b_.CreateBitCast(b_.CreateShl(words, 16), f32); };
    const auto second = [&](Value* words) {
      return b_.CreateBitCast(b_.CreateAnd(words, llvm::ConstantInt::get(words->getType(), 0xffff0000u)), f32);
    };
    sum = b_.CreateFAdd(sum, b_.CreateFMul(first(factors), first(weights)));
    sum = b_.CreateFAdd(sum, b_.CreateFMul(second(factors), second(weights)));
  }
  store_row(y, 0, sum, sums);
}

/// y(j) += x[0..1] * w[j, 0..1] of i16, modulo 2^32.
void Emitter::dot2_i16(const IntrinsicTile& tile) {
  const TileOperand& y = tile.operands[0];
  const int sums = sums_of(tile.intrinsic);
  const auto [factors, weights] = words_of(tile);
  Value* sum = load_row(y, 0, sums);
  if (architecture_.pair_product != nullptr) {
    sum = architecture_.pair_product(b_, features_, sum, factors, weights);
  } else {
    const auto first = [&](Value* words) { return b_.CreateAShr(b_.CreateShl(words, 16), 16); };
    const auto second = [&](Value* words) { return b_.CreateAShr(words, 16); };
    sum = b_.CreateAdd(sum, b_.CreateMul(first(factors), first(weights)));
    sum = b_.CreateAdd(sum, b_.CreateMul(second(factors), second(weights)));
  }
  store_row(y, 0, sum, sums);
}

void Emitter::byte_sum(const Store& store, const ByteSum& sum) {
  if (&store != sum.last) return;
  const Frame frame(*this);
  const Linear& at = table_[table_.intern(store.index[0])].linear;
  const SlotPlace place = analysis_.place(store.buffer, at, store.value->lanes);
  Value* sums = load_slot(place, DType::i32, store.value->lanes);
  if (features_.dot_lanes > 0)
    sums = architecture_.dot_product(b_, features_, sums, joined_bytes(sum.x), joined_bytes(sum.w));
  else if (features_.pair_lanes > 0)
    sums = architecture_.pair_product(b_, features_, sums, joined_pairs(sum.x, false), joined_pairs(sum.w, true));
  else
    sums = architecture_.product(b_, sums, halves(sum.x[0], false), halves(sum.w[0], true));
  store_slot(place, sums, nullptr);
}

void Emitter::byte_word(const Store& store, const ByteWords::Part& part) {
  const ByteWord& word = byte_words_.all[part.word];
  std::array<Value*, 4>& bytes = bytes_of_words_[part.word];
  const Frame frame(*this);
  Value* value = expr(store.value);
  if (store.value->lanes != word.lanes) value = splat(value, word.lanes);
  bytes[static_cast<std::size_t>(part.byte)] = to_memory(value, program_.buffer(store.buffer).dtype, word.lanes);
  if (&store == word.last) {
    llvm::Type* const type = word.lanes == 1 ? b_.getInt32Ty() : widen(b_.getInt32Ty(), word.lanes);
    Value* words = b_.CreateZExt(bytes[0], type);
    for (std::uint64_t k = 1; k < 4; ++k)
      words = b_.CreateOr(words, b_.CreateShl(b_.CreateZExt(bytes[k], type), llvm::ConstantInt::get(type, 8 * k)));
    b_.CreateAlignedStore(words, address(store.buffer, word.first), llvm::Align(1));
    changed(store.buffer);
  }
}

Emitter::Value* Emitter::joined_bytes(const std::vector<ExprRef>& loads) {
  Value*& words = joined_[loads];
  if (words != nullptr) return words;
  std::vector<Value*> rows;
  for (const ExprRef load : loads) rows.push_back(emit(load));
  if (byte_order_ == nullptr) {
    const At at = at_start_of(0);
    byte_order_ = architecture_.byte_order(b_, features_);
  }
  return words = architecture_.join_bytes(b_, features_, byte_order_, rows);
}

/// A row as i16.
Emitter::Value* Emitter::halves(ExprRef load, bool has_sign) {
  Value*& wide = joined_[{load}];
  if (wide != nullptr) return wide;
  llvm::Type* const type = widen(b_.getInt16Ty(), table_[load].expr->lanes);
  return wide = has_sign ? b_.CreateSExt(emit(load), type) : b_.CreateZExt(emit(load), type);
}

/// One i16 or two of each word.
Emitter::Value* Emitter::joined_pairs(const std::vector<ExprRef>& loads, bool has_sign) {
  Value*& words = joined_[loads];
  if (words != nullptr) return words;
  llvm::Type* const type = widen(b_.getInt32Ty(), table_[loads[0]].expr->lanes);
  auto count = [&](int bits) { return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(bits)); };
  const auto wide = [&](ExprRef load) {
    return has_sign ? b_.CreateSExt(emit(load), type) : b_.CreateZExt(emit(load), type);
  };
  Value* const low = b_.CreateAnd(wide(loads[0]), count(0xffff));
  return words = loads.size() < 2 ? low : b_.CreateOr(low, b_.CreateShl(wide(loads[1]), count(16)));
}

}  // namespace whet
