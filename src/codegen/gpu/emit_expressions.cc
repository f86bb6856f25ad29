#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "codegen/gpu/emitter.h"

namespace whet {
namespace {

bool divides(BinaryOp op) { return op == BinaryOp::div || op == BinaryOp::floordiv || op == BinaryOp::floormod; }

}  // namespace

// ---- Where a value is computed

GpuEmitter::At GpuEmitter::before_loops(std::size_t home) {
  std::size_t outermost = home + 1;
  while (outermost <= depth_ && levels_[outermost]->preheader == nullptr) ++outermost;
  if (outermost > depth_) return At(*this, depth_, nullptr);
  return At(*this, outermost - 1, levels_[outermost]->preheader->getTerminator());
}

GpuEmitter::Value* GpuEmitter::emit_movable(ExprRef ref, const ExprInfo& info) {
  const std::size_t home = home_of(info.vars);
  for (std::size_t d = depth_ + 1; d-- > home;)
    if (const auto found = levels_[d]->values.find(ref); found != levels_[d]->values.end()) return found->second;
  const At at = before_loops(home);
  Value* const by_bits = border(ref, home);
  return current().values[ref] = by_bits != nullptr ? by_bits : compute(ref, info);
}

GpuEmitter::Value* GpuEmitter::cast(ExprRef ref, const ExprInfo& info, const Cast& n) {
  if (Value* const rounded = rounded_exp(info, n)) return rounded;
  return sized(ref, convert(emit(info.children[0]), n.a->dtype, info.expr->dtype, info.expr->lanes));
}

GpuEmitter::Value* GpuEmitter::resize(Value* value, bool narrow) {
  llvm::Type* const element = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  llvm::Type* type = element;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    type = widen(element, static_cast<int>(vector->getNumElements()));
  return b_.CreateSExtOrTrunc(value, type);
}

// ---- Operations

GpuEmitter::Value* GpuEmitter::binary(ExprRef ref, const ExprInfo& info, const Binary& n) {
  Value *a = emit(info.children[0]), *b = emit(info.children[1]);
  if (is_float(n.a->dtype)) {
    Value* const one = extreme(n, a, b);
    return one != nullptr ? one : float_binary(n.op, a, b);
  }
  if (n.a->dtype == DType::boolean)
    if (Value* bits = bits_binary(n.op, a, b)) return bits;
  const bool indices = n.a->dtype == DType::i64, gives_index = info.expr->dtype == DType::i64;
  if (indices) {
    const bool narrow = is_narrow(info.children[0]) && is_narrow(info.children[1]) && (!gives_index || is_narrow(ref));
    a = resize(a, narrow), b = resize(b, narrow);
  }
  if (info.traps && divides(n.op)) {
    // Where the quotient is not chosen, the divisor may be zero.
    if (Value* mask = effective_mask(nullptr, info.expr->lanes))
      b = b_.CreateSelect(mask, b, llvm::ConstantInt::get(b->getType(), 1));
  }
  const bool counts = indices && divides(n.op) && analysis_.range(info.children[0]).inside({0, {}}) &&
                      analysis_.range(info.children[1]).inside({1, {}});
  Value* const value = !counts                      ? integer_binary(n.op, n.a->dtype, a, b, n.b)
                       : n.op == BinaryOp::floormod ? b_.CreateURem(a, b)
                                                    : b_.CreateUDiv(a, b);
  return sized(ref, value);
}

/// max(x, number) is x where x is a NaN: so is one instruction that gives a NaN where either is one.
GpuEmitter::Value* GpuEmitter::extreme(const Binary& n, Value* a, Value* b) {
  if ((n.op != BinaryOp::max && n.op != BinaryOp::min) || !a->getType()->getScalarType()->isFloatTy()) return nullptr;
  const Broadcast* const same = std::get_if<Broadcast>(&n.b->kind);
  const auto* const number = std::get_if<FloatConst>(same != nullptr ? &same->a->kind : &n.b->kind);
  if (number == nullptr || std::isnan(number->value)) return nullptr;
  return hooks_.extreme(b_, n.op == BinaryOp::max, a, b);
}

/// As logic: NVPTX has no comparisons of bits. Null for other operations.
GpuEmitter::Value* GpuEmitter::bits_binary(BinaryOp op, Value* a, Value* b) {
  switch (op) {
    case BinaryOp::lt:
      return b_.CreateAnd(b_.CreateNot(a), b);
    case BinaryOp::le:
      return b_.CreateOr(b_.CreateNot(a), b);
    case BinaryOp::gt:
      return b_.CreateAnd(a, b_.CreateNot(b));
    case BinaryOp::ge:
      return b_.CreateOr(a, b_.CreateNot(b));
    case BinaryOp::eq:
      return b_.CreateNot(b_.CreateXor(a, b));
    case BinaryOp::ne:
      return b_.CreateXor(a, b);
    case BinaryOp::min:
      return b_.CreateAnd(a, b);
    case BinaryOp::max:
      return b_.CreateOr(a, b);
    default:
      return nullptr;
  }
}

/// A plain select computes both sides. When a side reads memory or divides, it does so only where it is chosen: lanes by a
/// mask, scalars through an address that is always legal.
GpuEmitter::Value* GpuEmitter::select(ExprRef ref, const ExprInfo& info) {
  const bool plain = table_[info.children[1]].movable() && table_[info.children[2]].movable();
  Value* const condition = emit(info.children[0]);
  Value* const same = splatted(condition);
  Value* const guard = same != nullptr ? same : condition;
  Value* a = plain ? emit(info.children[1]) : guarded_side(info.children[1], guard, false);
  Value* b = plain ? emit(info.children[2]) : guarded_side(info.children[2], guard, true);
  a = sized(ref, a), b = sized(ref, b);
  return b_.CreateSelect(condition, a, b);
}

GpuEmitter::Value* GpuEmitter::by_lane(Value* value, int lanes, llvm::function_ref<Value*(Value*)> one) {
  if (lanes == 1) return one(value);
  Value* all = nullptr;
  for (int i = 0; i < lanes; ++i) {
    Value* const lane = one(b_.CreateExtractElement(value, i64(i)));
    if (all == nullptr) all = llvm::PoisonValue::get(widen(lane->getType(), lanes));
    all = b_.CreateInsertElement(all, lane, i64(i));
  }
  return all;
}

GpuEmitter::Value* GpuEmitter::call(const ExprInfo& info, const Call& n) {
  Value* const a = emit(info.children[0]);
  const int lanes = info.expr->lanes;
  if (n.fn == MathFn::exp) return by_lane(a, lanes, [&](Value* x) { return exp(x); });
  if (n.fn == MathFn::rsqrt) return by_lane(a, lanes, [&](Value* x) { return hooks_.rsqrt(b_, x); });
  if (n.fn == MathFn::round_tf32)  // as tensor cores read it: they are what rounds
    return by_lane(a, lanes, [&](Value* x) { return b_.CreateBitCast(hooks_.tf32_bits(b_, x), x->getType()); });
  return plain_call(n.fn, info.expr->dtype, lanes, a);
}

/// e^x = 2^p + 2^p·r·ln 2, where p is x·log2(e) rounded and r what the rounding left out.
GpuEmitter::Value* GpuEmitter::exp(Value* x) {
  const auto number = [&](double value) { return llvm::ConstantFP::get(b_.getFloatTy(), value); };
  constexpr double kLog2E = 1.4426950216293335, kLog2ELow = 1.9259629911266175e-8, kLn2 = 0.6931471805599453;
  Value* const product = b_.CreateFMul(x, number(kLog2E));
  Value* rest = hooks_.fma(b_, x, number(kLog2E), b_.CreateFNeg(product));
  rest = hooks_.fma(b_, x, number(kLog2ELow), rest);
  Value* const power = hooks_.exp2(b_, product);
  Value* const exact = hooks_.fma(b_, power, b_.CreateFMul(rest, number(kLn2)), power);
  // Infinity is not corrected, nor is what is hardly above zero.
  Value* const corrected = b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, product), number(128));
  return b_.CreateSelect(corrected, exact, power);
}

}  // namespace whet
