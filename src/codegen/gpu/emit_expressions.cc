#include <llvm/IR/Intrinsics.h>

#include "codegen/gpu/emitter.h"

namespace whet {
namespace {

bool divides(BinaryOp op) { return op == BinaryOp::div || op == BinaryOp::floordiv || op == BinaryOp::floormod; }

}  // namespace

// ---- Where a value is computed

GpuEmitter::Value* GpuEmitter::emit(ExprRef ref) {
  const ExprInfo& info = table_[ref];
  if (is_constant_kind(*info.expr)) {
    Value* const value = constant(*info.expr);
    return info.expr->dtype == DType::i64 ? resize(value, is_narrow(ref)) : value;
  }
  if (const auto* var = std::get_if<Var>(&info.expr->kind)) {
    const auto found = bindings_.find(var->id);
    WHET_CHECK(found != bindings_.end(), "a variable is used outside its loop or let");
    return found->second.value;
  }
  if (info.movable()) return emit_movable(ref, info);
  for (auto frame = memo_.rbegin(); frame != memo_.rend(); ++frame)
    if (const auto found = frame->find(ref); found != frame->end()) return found->second;
  Value* value = compute(ref, info);
  memo_.back()[ref] = value;
  return value;
}

std::size_t GpuEmitter::home_of(const std::vector<VarId>& vars) const {
  std::size_t home = 0;
  for (VarId var : vars) {
    const auto found = bindings_.find(var);
    WHET_CHECK(found != bindings_.end(), "a variable is used outside its loop or let");
    home = std::max(home, found->second.depth);
  }
  return home;
}

/// Before the outermost loop that does not change it; where no loop is around, right here: what is needed behind a loop
/// alone shall not hold a register through it.
GpuEmitter::Value* GpuEmitter::emit_movable(ExprRef ref, const ExprInfo& info) {
  const std::size_t home = home_of(info.vars);
  for (std::size_t d = depth_ + 1; d-- > home;)
    if (const auto found = levels_[d]->values.find(ref); found != levels_[d]->values.end()) return found->second;
  std::size_t outermost = home + 1;
  while (outermost <= depth_ && levels_[outermost]->preheader == nullptr) ++outermost;
  if (outermost > depth_) return levels_[depth_]->values[ref] = compute(ref, info);
  At at(*this, outermost - 1, levels_[outermost]->preheader->getTerminator());
  return levels_[depth_]->values[ref] = compute(ref, info);
}

GpuEmitter::Value* GpuEmitter::compute(ExprRef ref, const ExprInfo& info) {
  const int lanes = info.expr->lanes;
  const bool narrow = is_narrow(ref);
  const auto child = [&](std::size_t i) {
    Value* const value = emit(info.children[i]);
    return info.expr->dtype == DType::i64 ? resize(value, narrow) : value;
  };
  return std::visit(Match{
                        [&](const IntConst&) { return emit(ref); },
                        [&](const FloatConst&) { return emit(ref); },
                        [&](const Var&) { return emit(ref); },
                        [&](const Unary& n) -> Value* {
                          Value* a = child(0);
                          if (n.op == UnaryOp::logical_not) return b_.CreateNot(a);
                          return is_float(info.expr->dtype) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
                        },
                        [&](const Binary& n) { return binary(ref, info, n); },
                        [&](const Select&) { return select(ref, info); },
                        [&](const Cast&) {
                          const DType from = table_[info.children[0]].expr->dtype;
                          Value* value = convert(emit(info.children[0]), from, info.expr->dtype, lanes);
                          return info.expr->dtype == DType::i64 ? resize(value, narrow) : value;
                        },
                        [&](const Call& n) { return call(info, n); },
                        [&](const Load& n) { return load(ref, info, n); },
                        [&](const Ramp& n) {
                          Value* base = splat(child(0), lanes);
                          return b_.CreateAdd(base, iota(base->getType()->getScalarType(), n.stride, lanes));
                        },
                        [&](const Broadcast&) { return splat(child(0), lanes); },
                    },
                    info.expr->kind);
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
  if (is_float(n.a->dtype)) return float_binary(n.op, a, b);
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
  return gives_index ? resize(value, is_narrow(ref)) : value;
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
  Value* a = plain ? emit(info.children[1]) : guarded_side(info.children[1], condition, false);
  Value* b = plain ? emit(info.children[2]) : guarded_side(info.children[2], condition, true);
  if (info.expr->dtype == DType::i64) a = resize(a, is_narrow(ref)), b = resize(b, is_narrow(ref));
  return b_.CreateSelect(condition, a, b);
}

GpuEmitter::Value* GpuEmitter::guarded_side(ExprRef side, Value* condition, bool negate) {
  if (table_[side].movable()) return emit(side);
  if (Value* same = splatted(condition)) condition = same;
  if (negate) condition = b_.CreateNot(condition);
  Value *const guard = guard_, *const mask = lane_mask_;
  if (condition->getType()->isVectorTy()) {
    lane_mask_ = mask == nullptr ? condition : b_.CreateAnd(mask, condition);
  } else {
    guard_ = guard == nullptr ? condition : b_.CreateAnd(guard, condition);
  }
  memo_.emplace_back();
  Value* value = emit(side);
  memo_.pop_back();
  guard_ = guard;
  lane_mask_ = mask;
  return value;
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
  if (n.fn == MathFn::round_tf32)
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
