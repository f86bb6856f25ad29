#include "codegen/llvm/value_emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>

#include <cmath>

namespace whet {
namespace {

bool is_unsigned(DType dtype) { return dtype == DType::u8 || dtype == DType::boolean; }

}  // namespace

ValueEmitter::ValueEmitter(llvm::LLVMContext& context, HalfConversions has) : b_(context), has_(has) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
}

// ---- Types and constants

llvm::Type* ValueEmitter::widen(llvm::Type* type, int lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
}

llvm::Type* ValueEmitter::value_type(DType dtype, int lanes) {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return widen(b_.getFloatTy(), lanes);
    case DType::f64:
      return widen(b_.getDoubleTy(), lanes);
    case DType::boolean:
      return widen(b_.getInt1Ty(), lanes);
    default:
      return widen(b_.getIntNTy(static_cast<unsigned>(8 * size_of(dtype))), lanes);
  }
}

llvm::Type* ValueEmitter::memory_type(DType dtype, int lanes) {
  if (is_half(dtype)) return widen(b_.getInt16Ty(), lanes);
  if (dtype == DType::boolean) return widen(b_.getInt8Ty(), lanes);
  return value_type(dtype, lanes);
}

ValueEmitter::Value* ValueEmitter::constant(const ExprNode& node) {
  llvm::Type* type = value_type(node.dtype, node.lanes);
  if (const auto* number = std::get_if<FloatConst>(&node.kind)) return llvm::ConstantFP::get(type, number->value);
  const std::int64_t value = std::get<IntConst>(node.kind).value;
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value), true);
}

// ---- Vectors

ValueEmitter::Value* ValueEmitter::splat(Value* value, int lanes) {
  return lanes == 1 ? value : b_.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

ValueEmitter::Value* ValueEmitter::iota(llvm::Type* element, std::int64_t stride, int lanes) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes; ++i)
    values.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(stride) * static_cast<unsigned>(i)));
  return llvm::ConstantVector::get(values);
}

ValueEmitter::Value* ValueEmitter::lanes_of(Value* vector, int first, int lanes) {
  std::vector<int> picked;
  for (int i = 0; i < lanes; ++i) picked.push_back(first + i);
  return b_.CreateShuffleVector(vector, picked);
}

ValueEmitter::Value* ValueEmitter::part_of(Value* whole, int first, int lanes) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(whole->getType());
  if (type == nullptr || static_cast<int>(type->getNumElements()) == lanes) return whole;
  return lanes == 1 ? b_.CreateExtractElement(whole, i64(first)) : lanes_of(whole, first, lanes);
}

ValueEmitter::Value* ValueEmitter::join(Value* whole, Value* part, int first, int lanes, int all) {
  if (lanes == all) return part;
  if (whole == nullptr) whole = llvm::PoisonValue::get(widen(part->getType()->getScalarType(), all));
  if (lanes == 1) return b_.CreateInsertElement(whole, part, i64(first));
  std::vector<int> wider(static_cast<std::size_t>(all), -1), blend(static_cast<std::size_t>(all));
  for (int i = 0; i < all; ++i) {
    const bool inside = i >= first && i < first + lanes;
    if (inside) wider[i] = i - first;
    blend[i] = inside ? all + i : i;
  }
  return b_.CreateShuffleVector(whole, b_.CreateShuffleVector(part, wider), blend);
}

// ---- Arithmetic

llvm::CmpInst::Predicate ValueEmitter::integer_predicate(BinaryOp op, bool is_unsigned) {
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

ValueEmitter::Value* ValueEmitter::float_binary(BinaryOp op, Value* a, Value* b) {
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

ValueEmitter::Value* ValueEmitter::integer_binary(BinaryOp op, DType dtype, Value* a, Value* b, const Expr& divisor) {
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

ValueEmitter::Value* ValueEmitter::floor_division(BinaryOp op, DType dtype, Value* a, Value* b, const Expr& divisor) {
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

// ---- Conversions and functions

ValueEmitter::Value* ValueEmitter::convert(Value* value, DType from, DType to, int lanes) {
  llvm::Type* type = value_type(to, lanes);
  if (to == DType::boolean) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return is_float(from) ? b_.CreateFCmpUNE(value, zero) : b_.CreateICmpNE(value, zero);
  }
  if (is_float(from) && is_float(to)) {
    value = b_.CreateFPCast(value, type);
    return is_half(to) ? rounded_to_half(value, to, lanes) : value;
  }
  if (is_float(from) && lanes > 1) return to_integers(value, to, lanes);
  if (is_float(from)) {  // what does not fit becomes the nearest that does
    const auto cast = is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(cast, {type, value->getType()}, {value});
  }
  if (is_float(to)) {
    value = is_unsigned(from) ? b_.CreateUIToFP(value, type) : b_.CreateSIToFP(value, type);
    return is_half(to) ? rounded_to_half(value, to, lanes) : value;
  }
  return b_.CreateIntCast(value, type, !is_unsigned(from));
}

ValueEmitter::Value* ValueEmitter::clipped_to(Value* value, DType to, int lanes) {
  return b_.CreateTrunc(b_.CreateFPToSI(value, value_type(DType::i32, lanes)), value_type(to, lanes));
}

/// What the saturating intrinsic does, which takes vectors apart.
ValueEmitter::Value* ValueEmitter::to_integers(Value* value, DType to, int lanes) {
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

ValueEmitter::Value* ValueEmitter::plain_call(MathFn fn, DType dtype, int lanes, Value* a) {
  const bool is_fp = a->getType()->isFPOrFPVectorTy();
  switch (fn) {
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
      return is_unsigned(dtype) ? a : b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
    case MathFn::bits_of:
    case MathFn::float_of_bits:
      return b_.CreateBitCast(a, value_type(dtype, lanes));
    default:
      WHET_CHECK(false, "the analysis lets no other function pass");
      return nullptr;
  }
}

ValueEmitter::Value* ValueEmitter::rounded_to_half(Value* value, DType dtype, int lanes) {
  return from_memory(to_memory(value, dtype, lanes), dtype, lanes);
}

ValueEmitter::Value* ValueEmitter::half_to_float(Value* bits, int lanes) {
  if (has_.f16)
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

ValueEmitter::Value* ValueEmitter::float_to_half(Value* value, int lanes) {
  llvm::Type* const short_word = widen(b_.getInt16Ty(), lanes);
  if (has_.f16) return b_.CreateBitCast(b_.CreateFPTrunc(value, widen(b_.getHalfTy(), lanes)), short_word);
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

ValueEmitter::Value* ValueEmitter::bf16_to_float(Value* bits, int lanes) {
  Value* const wide = b_.CreateZExt(bits, widen(b_.getInt32Ty(), lanes));
  return b_.CreateBitCast(b_.CreateShl(wide, 16), value_type(DType::f32, lanes));
}

/// Without the instruction by integers: LLVM would call a function of its library, which the loader refuses.
ValueEmitter::Value* ValueEmitter::float_to_bf16(Value* value, int lanes) {
  llvm::Type* const short_word = widen(b_.getInt16Ty(), lanes);
  if (has_.bf16) return b_.CreateBitCast(b_.CreateFPTrunc(value, widen(b_.getBFloatTy(), lanes)), short_word);
  llvm::Type* const word = widen(b_.getInt32Ty(), lanes);
  auto number = [&](std::uint32_t v) { return llvm::ConstantInt::get(word, v); };
  Value* const bits = b_.CreateBitCast(value, word);
  Value* const odd = b_.CreateAnd(b_.CreateLShr(bits, 16), number(1));
  Value* const rounded = b_.CreateAdd(b_.CreateAdd(bits, number(0x7fff)), odd);
  Value* const quiet = b_.CreateOr(bits, number(0x400000));
  Value* const is_nan = b_.CreateFCmpUNO(value, value);
  return b_.CreateTrunc(b_.CreateLShr(b_.CreateSelect(is_nan, quiet, rounded), 16), short_word);
}

// ---- Elements in memory

ValueEmitter::Value* ValueEmitter::from_memory(Value* value, DType dtype, int lanes) {
  if (dtype == DType::f16) return half_to_float(value, lanes);
  if (dtype == DType::bf16) return bf16_to_float(value, lanes);
  if (dtype == DType::boolean) return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  return value;
}

namespace {

/// The 16 bits that the f32 was widened from, which are moved then as they are; null for another number.
llvm::Value* widened_from(llvm::Value* value, DType dtype) {
  using namespace llvm::PatternMatch;
  llvm::Value* bits = nullptr;
  const bool found = dtype == DType::bf16 ? match(value, m_BitCast(m_Shl(m_ZExt(m_Value(bits)), m_SpecificInt(16))))
                                          : match(value, m_FPExt(m_BitCast(m_Value(bits))));
  return found && bits->getType()->getScalarType()->isIntegerTy(16) ? bits : nullptr;
}

}  // namespace

ValueEmitter::Value* ValueEmitter::to_memory(Value* value, DType dtype, int lanes) {
  if (is_half(dtype))
    if (Value* bits = widened_from(value, dtype)) return bits;
  if (dtype == DType::f16) return float_to_half(value, lanes);
  if (dtype == DType::bf16) return float_to_bf16(value, lanes);
  if (dtype == DType::boolean) return b_.CreateZExt(value, memory_type(dtype, lanes));
  return value;
}

}  // namespace whet
