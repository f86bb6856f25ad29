#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cmath>

#include "codegen/cpu/emitter.h"

namespace whet {
namespace {

bool is_unsigned(DType dtype) { return dtype == DType::u8 || dtype == DType::boolean; }

bool is_constant_kind(const ExprNode& node) {
  return std::holds_alternative<IntConst>(node.kind) || std::holds_alternative<FloatConst>(node.kind);
}

llvm::CmpInst::Predicate integer_predicate(BinaryOp op, bool is_unsigned) {
  using P = llvm::CmpInst::Predicate;
  switch (op) {
    case BinaryOp::lt:
      return is_unsigned ? P::ICMP_ULT : P::ICMP_SLT;
    case BinaryOp::le:
      return is_unsigned ? P::ICMP_ULE : P::ICMP_SLE;
    case BinaryOp::gt:
      return is_unsigned ? P::ICMP_UGT : P::ICMP_SGT;
    case BinaryOp::ge:
      return is_unsigned ? P::ICMP_UGE : P::ICMP_SGE;
    case BinaryOp::eq:
      return P::ICMP_EQ;
    default:
      return P::ICMP_NE;
  }
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::lt && op <= BinaryOp::ne; }

}  // namespace

// ---- Where a value is computed

Emitter::Value* Emitter::emit(ExprRef ref) {
  const ExprInfo& info = table_[ref];
  if (is_constant_kind(*info.expr)) return constant(*info.expr);
  if (const auto* var = std::get_if<Var>(&info.expr->kind)) {
    const auto found = bindings_.find(var->id);
    WHET_CHECK(found != bindings_.end(), "a variable is used outside its loop or let");
    return found->second.value;
  }
  if (info.movable()) return emit_movable(ref, info);
  for (auto frame = memo_.rbegin(); frame != memo_.rend(); ++frame)
    if (const auto found = frame->find(ref); found != frame->end()) return found->second;
  Value* value = hoist_fixed(ref, info);
  if (value == nullptr) value = compute(ref, info);
  memo_.back()[ref] = value;
  return value;
}

Emitter::Value* Emitter::emit_movable(ExprRef ref, const ExprInfo& info) {
  Level& level = level_of(info.vars);
  if (const auto found = level.values.find(ref); found != level.values.end()) return found->second;
  EmitAt at(b_, level.marker);
  Value* value = compute(ref, info);
  level.values[ref] = value;
  return value;
}

/// Loads that nothing in the kernel can change, and what is computed of them, stand before the outermost loop that does
/// not change their address; not under a condition, which may be what makes them legal. Null: no such loop, or not
/// known to be legal.
Emitter::Value* Emitter::hoist_fixed(ExprRef ref, const ExprInfo& info) {
  if (!info.fixed || info.traps || info.lazy || guard_ != nullptr || lane_mask_ != nullptr) return nullptr;
  const Level& natural = level_of(info.vars);
  int depth = current().depth;
  Level* outermost = nullptr;
  while (depth > natural.depth && !levels_[depth]->conditional) {
    if (levels_[depth]->preheader != nullptr) outermost = levels_[depth].get();
    --depth;
  }
  for (int d = current().depth; d >= depth; --d)
    if (const auto found = levels_[d]->hoisted.find(ref); found != levels_[d]->hoisted.end()) return found->second;
  if (outermost == nullptr) return nullptr;
  const bool wide = info.expr->lanes > 1;
  if (wide && outermost->hoisted_vectors >= target_.cpu().vector_registers / 2) return nullptr;
  outermost->hoisted_vectors += wide;
  // While computing, the place outside the loop is the current one.
  std::vector<std::unique_ptr<Level>> inside;
  while (levels_.size() > static_cast<std::size_t>(outermost->depth)) {
    inside.push_back(std::move(levels_.back()));
    levels_.pop_back();
  }
  std::vector<std::unordered_map<ExprRef, Value*>> memo(1);
  std::swap(memo, memo_);
  Value* value;
  {
    EmitAt at(b_, outermost->preheader->getTerminator());
    value = compute(ref, info);
  }
  std::swap(memo, memo_);
  current().hoisted[ref] = value;
  for (; !inside.empty(); inside.pop_back()) levels_.push_back(std::move(inside.back()));
  return value;
}

Emitter::Value* Emitter::compute(ExprRef ref, const ExprInfo& info) {
  return std::visit(Match{
                        [&](const IntConst&) { return constant(*info.expr); },
                        [&](const FloatConst&) { return constant(*info.expr); },
                        [&](const Var&) { return emit(ref); },
                        [&](const Unary& n) { return unary(info, n); },
                        [&](const Binary& n) { return binary(info, n); },
                        [&](const Select&) { return select(info); },
                        [&](const Cast&) {
                          const ExprNode& from = *table_[info.children[0]].expr;
                          return convert(emit(info.children[0]), from.dtype, info.expr->dtype, info.expr->lanes);
                        },
                        [&](const Call& n) { return call(info, n); },
                        [&](const Load& n) { return load(ref, info, n); },
                        [&](const Ramp& n) {
                          Value* base = splat(emit(info.children[0]), info.expr->lanes);
                          llvm::Type* element = value_type(info.expr->dtype);
                          return b_.CreateAdd(base, iota(element, n.stride, info.expr->lanes));
                        },
                        [&](const Broadcast&) { return splat(emit(info.children[0]), info.expr->lanes); },
                    },
                    info.expr->kind);
}

// ---- Types and constants

llvm::Type* Emitter::widen(llvm::Type* type, int lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
}

llvm::Type* Emitter::value_type(DType dtype, int lanes) {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
      return widen(b_.getFloatTy(), lanes);
    case DType::f64:
      return widen(b_.getDoubleTy(), lanes);
    case DType::boolean:
      return widen(b_.getInt1Ty(), lanes);
    default:
      return widen(b_.getIntNTy(static_cast<unsigned>(8 * size_of(dtype))), lanes);
  }
}

llvm::Type* Emitter::memory_type(DType dtype, int lanes) {
  if (dtype == DType::f16) return widen(b_.getInt16Ty(), lanes);
  if (dtype == DType::boolean) return widen(b_.getInt8Ty(), lanes);
  return value_type(dtype, lanes);
}

Emitter::Value* Emitter::constant(const ExprNode& node) {
  llvm::Type* type = value_type(node.dtype, node.lanes);
  if (const auto* number = std::get_if<FloatConst>(&node.kind)) return llvm::ConstantFP::get(type, number->value);
  const std::int64_t value = std::get<IntConst>(node.kind).value;
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value), true);
}

Emitter::Value* Emitter::splat(Value* value, int lanes) {
  return lanes == 1 ? value : b_.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

Emitter::Value* Emitter::iota(llvm::Type* element, std::int64_t stride, int lanes) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes; ++i)
    values.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(stride) * static_cast<unsigned>(i)));
  return llvm::ConstantVector::get(values);
}

Emitter::Value* Emitter::lanes_of(Value* vector, int first, int lanes) {
  std::vector<int> picked;
  for (int i = 0; i < lanes; ++i) picked.push_back(first + i);
  return b_.CreateShuffleVector(vector, picked);
}

// ---- Arithmetic

Emitter::Value* Emitter::unary(const ExprInfo& info, const Unary& n) {
  Value* a = emit(info.children[0]);
  if (n.op == UnaryOp::logical_not) return b_.CreateNot(a);
  return is_float(info.expr->dtype) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
}

Emitter::Value* Emitter::binary(const ExprInfo& info, const Binary& n) {
  const ExprInfo &x = table_[info.children[0]], &y = table_[info.children[1]];
  if (is_comparison(n.op) && info.expr->lanes > 1 && x.is_linear && y.is_linear && x.movable() && y.movable())
    return compare_evenly_spaced(n.op, x, y, info.expr->lanes);
  Value *a = emit(info.children[0]), *b = emit(info.children[1]);
  if (is_float(n.a->dtype)) return float_binary(n.op, a, b);
  if (info.traps && (n.op == BinaryOp::div || n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod)) {
    // Where the quotient is not chosen, the divisor may be zero.
    if (Value* mask = effective_mask(nullptr, info.expr->lanes))
      b = b_.CreateSelect(mask, b, llvm::ConstantInt::get(b->getType(), 1));
  }
  return integer_binary(n.op, n.a->dtype, a, b, n.b);
}

Emitter::Value* Emitter::float_binary(BinaryOp op, Value* a, Value* b) {
  switch (op) {
    case BinaryOp::add:
      return b_.CreateFAdd(a, b);
    case BinaryOp::sub:
      return b_.CreateFSub(a, b);
    case BinaryOp::mul:
      return b_.CreateFMul(a, b);
    case BinaryOp::div:
      return b_.CreateFDiv(a, b);
    case BinaryOp::min:  // these two keep the meaning of x86's minps and maxps, and become them
      return b_.CreateSelect(b_.CreateFCmpOLT(b, a), b, a);
    case BinaryOp::max:
      return b_.CreateSelect(b_.CreateFCmpOLT(a, b), b, a);
    case BinaryOp::lt:
      return b_.CreateFCmpOLT(a, b);
    case BinaryOp::le:
      return b_.CreateFCmpOLE(a, b);
    case BinaryOp::gt:
      return b_.CreateFCmpOGT(a, b);
    case BinaryOp::ge:
      return b_.CreateFCmpOGE(a, b);
    case BinaryOp::eq:
      return b_.CreateFCmpOEQ(a, b);
    case BinaryOp::ne:
      return b_.CreateFCmpUNE(a, b);
    default:
      WHET_CHECK(false, "an operation of integers or booleans has float operands");
      return nullptr;
  }
}

Emitter::Value* Emitter::integer_binary(BinaryOp op, DType dtype, Value* a, Value* b, const Expr& divisor) {
  const bool no_sign = is_unsigned(dtype);
  switch (op) {
    case BinaryOp::add:
      return b_.CreateAdd(a, b);
    case BinaryOp::sub:
      return b_.CreateSub(a, b);
    case BinaryOp::mul:
      return b_.CreateMul(a, b);
    case BinaryOp::div:
      return no_sign ? b_.CreateUDiv(a, b) : b_.CreateSDiv(a, b);
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      return floor_division(op, dtype, a, b, divisor);
    case BinaryOp::min:
      return b_.CreateBinaryIntrinsic(no_sign ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, a, b);
    case BinaryOp::max:
      return b_.CreateBinaryIntrinsic(no_sign ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a, b);
    case BinaryOp::logical_and:
      return b_.CreateAnd(a, b);
    case BinaryOp::logical_or:
      return b_.CreateOr(a, b);
    default:
      return b_.CreateICmp(integer_predicate(op, no_sign), a, b);
  }
}

Emitter::Value* Emitter::floor_division(BinaryOp op, DType dtype, Value* a, Value* b, const Expr& divisor) {
  const bool quotient = op == BinaryOp::floordiv;
  if (is_unsigned(dtype)) return quotient ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
  if (const std::int64_t* value = as_int(divisor); value && *value > 0 && (*value & (*value - 1)) == 0) {
    const auto shift = static_cast<std::uint64_t>(__builtin_ctzll(static_cast<std::uint64_t>(*value)));
    if (quotient) return b_.CreateAShr(a, shift);
    return b_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), static_cast<std::uint64_t>(*value - 1)));
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(a->getType());
  Value* rest = b_.CreateSRem(a, b);
  Value* opposite = b_.CreateICmpSLT(b_.CreateXor(rest, b), zero);
  Value* too_far = b_.CreateAnd(b_.CreateICmpNE(rest, zero), opposite);
  if (!quotient) return b_.CreateAdd(rest, b_.CreateSelect(too_far, b, zero));
  return b_.CreateAdd(b_.CreateSDiv(a, b), b_.CreateSExt(too_far, a->getType()));
}

/// a + s·lane against b + t·lane, as the tail masks of vector loops are: one scalar difference, and a comparison of
/// 32-bit lanes with constants. (Differences out of the lanes' reach are clamped, which changes no answer.)
Emitter::Value* Emitter::compare_evenly_spaced(BinaryOp op, const ExprInfo& a, const ExprInfo& b, int lanes) {
  Linear difference;  // b - a
  difference.terms = b.linear.terms;
  for (const auto& [atom, coefficient] : a.linear.terms) {
    auto at = std::lower_bound(difference.terms.begin(), difference.terms.end(), std::make_pair(atom, INT64_MIN));
    if (at == difference.terms.end() || at->first != atom) at = difference.terms.insert(at, {atom, 0});
    at->second -= coefficient;
  }
  std::erase_if(difference.terms, [](const auto& term) { return term.second == 0; });
  difference.constant = b.linear.constant - a.linear.constant;
  const std::int64_t stride = a.linear.lane_stride - b.linear.lane_stride;
  Value* bound = b_.CreateAdd(sum(difference.terms), i64(difference.constant));
  const llvm::CmpInst::Predicate predicate = integer_predicate(op, false);
  if (stride == 0) return splat(b_.CreateICmp(predicate, i64(0), bound), lanes);
  constexpr std::int64_t kReach = 1 << 30;
  if (std::abs(stride) * lanes >= kReach)
    return b_.CreateICmp(predicate, iota(b_.getInt64Ty(), stride, lanes), splat(bound, lanes));
  bound = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, bound, i64(kReach));
  bound = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bound, i64(-kReach));
  bound = b_.CreateTrunc(bound, b_.getInt32Ty());
  return b_.CreateICmp(predicate, iota(b_.getInt32Ty(), stride, lanes), splat(bound, lanes));
}

Emitter::Value* Emitter::add_terms(Value* base, const Linear::Terms& terms, std::int64_t scale) {
  for (const auto& [atom, coefficient] : terms) {
    Value* value = emit(atom);
    if (coefficient * scale != 1) value = b_.CreateMul(value, i64(coefficient * scale));
    base = base == nullptr ? value : b_.CreateAdd(base, value);
  }
  return base;
}

Emitter::Value* Emitter::sum(const Linear::Terms& terms) {
  if (terms.empty()) return i64(0);
  Level* deepest = levels_.front().get();
  for (const auto& [atom, coefficient] : terms) {
    Level& level = level_of(table_[atom].vars);
    if (level.depth > deepest->depth) deepest = &level;
  }
  if (const auto found = deepest->sums.find(terms); found != deepest->sums.end()) return found->second;
  Linear::Terms outer, here;
  for (const auto& term : terms) (&level_of(table_[term.first].vars) == deepest ? here : outer).push_back(term);
  Value* base = outer.empty() ? nullptr : sum(outer);
  EmitAt at(b_, deepest->marker);
  return deepest->sums[terms] = add_terms(base, here, 1);
}

// ---- Select

/// A plain select computes both sides. When a side reads memory or divides, it does so only where it is chosen: lanes
/// by a mask, scalars through an address that is always legal, vectors on machines without masked loads behind a
/// branch.
Emitter::Value* Emitter::select(const ExprInfo& info) {
  const ExprInfo &if_true = table_[info.children[1]], &if_false = table_[info.children[2]];
  Value* condition = emit(info.children[0]);
  const bool plain = if_true.movable() && if_false.movable();
  if (plain) return b_.CreateSelect(condition, emit(info.children[1]), emit(info.children[2]));
  const bool by_lane = condition->getType()->isVectorTy();
  if (!by_lane && info.expr->lanes > 1 && !features_.masked_loads) return branching_select(info, condition);
  Value* a = guarded_side(info.children[1], condition, false);
  Value* b = guarded_side(info.children[2], condition, true);
  return b_.CreateSelect(condition, a, b);
}

Emitter::Value* Emitter::guarded_side(ExprRef side, Value* condition, bool negate) {
  if (table_[side].movable()) return emit(side);
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

Emitter::Value* Emitter::branching_select(const ExprInfo& info, Value* condition) {
  Value* sides[2];
  llvm::BasicBlock* ends[2];
  llvm::BasicBlock* const starts[2] = {make_block("chosen"), make_block("other")};
  llvm::BasicBlock* const join = make_block("selected");
  b_.CreateCondBr(condition, starts[0], starts[1]);
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(starts[i]);
    push_level(true);
    memo_.emplace_back();
    sides[i] = emit(info.children[1 + i]);
    memo_.pop_back();
    pop_level();
    ends[i] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  llvm::PHINode* phi = b_.CreatePHI(sides[0]->getType(), 2);
  for (int i = 0; i < 2; ++i) phi->addIncoming(sides[i], ends[i]);
  return phi;
}

// ---- Conversions and functions

Emitter::Value* Emitter::convert(Value* value, DType from, DType to, int lanes) {
  llvm::Type* type = value_type(to, lanes);
  if (to == DType::boolean) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return is_float(from) ? b_.CreateFCmpUNE(value, zero) : b_.CreateICmpNE(value, zero);
  }
  if (is_float(from) && is_float(to)) {
    value = b_.CreateFPCast(value, type);
    return to == DType::f16 ? round_through_half(value, lanes) : value;
  }
  if (is_float(from) && lanes > 1) return to_integers(value, to, lanes);
  if (is_float(from)) {  // what does not fit becomes the nearest that does
    const auto cast = is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(cast, {type, value->getType()}, {value});
  }
  if (is_float(to)) {
    value = is_unsigned(from) ? b_.CreateUIToFP(value, type) : b_.CreateSIToFP(value, type);
    return to == DType::f16 ? round_through_half(value, lanes) : value;
  }
  return b_.CreateIntCast(value, type, !is_unsigned(from));
}

/// What the saturating intrinsic does, which takes vectors apart.
Emitter::Value* Emitter::to_integers(Value* value, DType to, int lanes) {
  const int bits = static_cast<int>(size_of(to)) * 8 - (is_unsigned(to) ? 0 : 1);
  const double end = std::ldexp(1.0, bits), low = is_unsigned(to) ? 0 : -end;
  llvm::Type* const type = value_type(to, lanes);
  const auto limit = [&](double at) { return llvm::ConstantFP::get(value->getType(), at); };
  const auto integer = [&](std::uint64_t i) { return llvm::ConstantInt::get(type, i); };
  Value* const below = b_.CreateFCmpOLT(value, limit(low));
  Value* const above = b_.CreateFCmpOGE(value, limit(end));
  Value* const inside = b_.CreateAnd(b_.CreateFCmpOGE(value, limit(low)), b_.CreateFCmpOLT(value, limit(end)));
  Value* const fits = b_.CreateSelect(inside, value, limit(0));  // 0 of NaN
  Value* const whole = b_.CreateFPToSI(fits, value_type(to == DType::i64 ? DType::i64 : DType::i32, lanes));
  const std::uint64_t largest = (std::uint64_t{1} << bits) - 1;
  Value* const result = b_.CreateSelect(below, integer(is_unsigned(to) ? 0 : ~largest), b_.CreateTrunc(whole, type));
  return b_.CreateSelect(above, integer(largest), result);
}

Emitter::Value* Emitter::call(const ExprInfo& info, const Call& n) {
  Value* a = emit(info.children[0]);
  const bool is_fp = a->getType()->isFPOrFPVectorTy();
  switch (n.fn) {
    case MathFn::sqrt:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case MathFn::floor:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
    case MathFn::ceil:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
    case MathFn::round:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a);
    case MathFn::abs:
      if (is_fp) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      return is_unsigned(info.expr->dtype) ? a : b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
    case MathFn::bits_of:
    case MathFn::float_of_bits:
      return b_.CreateBitCast(a, value_type(info.expr->dtype, info.expr->lanes));
    default:
      WHET_CHECK(false, "the analysis lets no other function pass");
      return nullptr;
  }
}

Emitter::Value* Emitter::round_through_half(Value* value, int lanes) {
  return half_to_float(float_to_half(value, lanes), lanes);
}

Emitter::Value* Emitter::half_to_float(Value* bits, int lanes) {
  if (features_.half)
    return b_.CreateFPExt(b_.CreateBitCast(bits, widen(b_.getHalfTy(), lanes)), value_type(DType::f32, lanes));
  llvm::Type* const word = widen(b_.getInt32Ty(), lanes);
  llvm::Type* const f32 = value_type(DType::f32, lanes);
  auto number = [&](std::uint32_t value) { return llvm::ConstantInt::get(word, value); };
  Value* wide = b_.CreateZExt(bits, word);
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, number(0x8000)), 16);
  Value* magnitude = b_.CreateShl(b_.CreateAnd(wide, number(0x7fff)), 13);
  // As a float of the wrong exponent; multiplying sets it right, and normalizes what was subnormal.
  Value* scaled = b_.CreateFMul(b_.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0x1p112));
  Value* special = b_.CreateOr(magnitude, number(0x7f800000));  // infinity and nan
  Value* is_special = b_.CreateICmpUGE(magnitude, number(0x0f800000));
  Value* result = b_.CreateSelect(is_special, special, b_.CreateBitCast(scaled, word));
  return b_.CreateBitCast(b_.CreateOr(result, sign), f32);
}

Emitter::Value* Emitter::float_to_half(Value* value, int lanes) {
  llvm::Type* const short_word = widen(b_.getInt16Ty(), lanes);
  if (features_.half) return b_.CreateBitCast(b_.CreateFPTrunc(value, widen(b_.getHalfTy(), lanes)), short_word);
  llvm::Type* const word = widen(b_.getInt32Ty(), lanes);
  llvm::Type* const f32 = value_type(DType::f32, lanes);
  auto number = [&](std::uint32_t v) { return llvm::ConstantInt::get(word, v); };
  Value* bits = b_.CreateBitCast(value, word);
  Value* sign = b_.CreateLShr(b_.CreateAnd(bits, number(0x80000000)), 16);
  Value* magnitude = b_.CreateAnd(bits, number(0x7fffffff));
  // Normal: round the 13 bits that go, half to even, and rebias the exponent.
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), number(1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(magnitude, number(0xfff)), odd);
  Value* normal = b_.CreateSub(b_.CreateLShr(rounded, 13), number(112u << 10));
  // Subnormal: adding 0.5 leaves the count of 2^-24 in the last bits, rounded by the addition.
  Value* shifted = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0.5));
  Value* subnormal = b_.CreateSub(b_.CreateBitCast(shifted, word), number(0x3f000000));
  Value* small = b_.CreateICmpULT(magnitude, number(0x38800000));  // 2^-14
  Value* large = b_.CreateICmpUGE(magnitude, number(0x477ff000));  // 65520
  Value* is_nan = b_.CreateICmpUGT(magnitude, number(0x7f800000));
  Value* result = b_.CreateSelect(small, subnormal, normal);
  result = b_.CreateSelect(large, number(0x7c00), result);
  result = b_.CreateSelect(is_nan, number(0x7e00), result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), short_word);
}

}  // namespace whet
