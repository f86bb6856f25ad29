// Exponentials that become a left operand of tensor cores without leaving the registers of their lanes (schedule/online.h).

#include "codegen/gpu/emitter.h"

namespace whet {

/// As load_fragment has them: word r is of row g + 8 (r % 2) and of the half r / 2 of the terms. Lane 4g + q has the neighbours 2q and
/// 2q + 1 of eight terms, which is what a word of f16 or bf16 holds. Of the eight terms of a tile of tf32 the first half are those
/// with even numbers, which the right operand follows.
GpuHooks::Words GpuEmitter::own_words(const WarpTile& t) {
  const BufferId buffer(t.left->source.value);
  const DType dtype = program_.buffer(buffer).dtype;
  const std::vector<Expr> places = own_pairs(t);
  std::vector<Value*> pairs;
  for (const Expr& place : places)
    pairs.push_back(load_slot(analysis_.slots().place(buffer, table_[table_.keep(place)].linear, 2), dtype, 2));
  GpuHooks::Words words;
  for (std::size_t r = 0; r < words.size(); ++r) {
    Value* const pair = pairs[places.size() == words.size() ? r : r % 2];
    Value *const first = b_.CreateExtractElement(pair, i64(0)), *const second = b_.CreateExtractElement(pair, i64(1));
    if (places.size() < words.size())
      words[r] = word_of(t, true, dtype, {r / 2 == 0 ? first : second});
    else if (dtype == DType::f16)
      words[r] = b_.CreateBitCast(to_memory(pair, dtype, 2), b_.getInt32Ty());
    else
      words[r] = word_of(t, true, dtype, {first, second});
  }
  return words;
}

/// 2^(x log2(e)): what rounding the product leaves out is far below half a unit of f16 or bf16. Two of them are rounded by one
/// instruction, where there is one.
GpuEmitter::Value* GpuEmitter::rounded_exp(const ExprInfo& info, const Cast& n) {
  const Call* call = std::get_if<Call>(&n.a->kind);
  const DType half = info.expr->dtype;
  const bool rounds = is_half(half) && n.a->dtype == DType::f32;
  if (call == nullptr || call->fn != MathFn::exp || !rounds) return nullptr;
  constexpr double kLog2E = 1.4426950408889634;
  const int lanes = info.expr->lanes;
  Value* const exponents = emit(table_[info.children[0]].children[0]);
  Value* const powers = by_lane(exponents, lanes, [&](Value* x) {
    return hooks_.exp2(b_, b_.CreateFMul(x, llvm::ConstantFP::get(b_.getFloatTy(), kLog2E)));
  });
  const Intrinsic rounding = half == DType::f16 ? Intrinsic::mma_f16 : Intrinsic::mma_bf16;
  Value* const word = lanes != 2 ? nullptr
                                 : hooks_.pair_bits(b_, rounding, b_.CreateExtractElement(powers, i64(0)),
                                                    b_.CreateExtractElement(powers, i64(1)));
  if (word == nullptr) return convert(powers, DType::f32, half, lanes);
  if (half == DType::f16)
    return b_.CreateFPExt(b_.CreateBitCast(word, widen(b_.getHalfTy(), 2)), value_type(DType::f32, 2));
  return from_memory(b_.CreateBitCast(word, widen(b_.getInt16Ty(), 2)), half, 2);
}

}  // namespace whet
