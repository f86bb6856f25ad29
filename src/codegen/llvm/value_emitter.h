#pragma once

// Internal to code generation; shows LLVM.

#include <llvm/IR/IRBuilder.h>

#include "compute/expr.h"

namespace whet {

/// Which instructions a processor has between f32 and floats of 16 bits.
struct HalfConversions {
  bool f16 = false;   ///< both ways
  bool bf16 = false;  ///< from f32; the other way is a shift
};

/// What emitters for all processors share: whet's types and operations as LLVM's. Floats of 16 bits are computed as f32,
/// booleans are bits in registers and bytes in memory.
class ValueEmitter {
 protected:
  using Value = llvm::Value;

  ValueEmitter(llvm::LLVMContext&, HalfConversions);

  // Types.
  llvm::Type* widen(llvm::Type*, int lanes);
  llvm::Type* value_type(DType, int lanes = 1);
  llvm::Type* memory_type(DType, int lanes = 1);
  Value* i64(std::int64_t value) { return b_.getInt64(static_cast<std::uint64_t>(value)); }
  /// Of an IntConst or FloatConst.
  Value* constant(const ExprNode& node);

  // Vectors.
  Value* iota(llvm::Type* element, std::int64_t stride, int lanes);
  Value* splat(Value*, int lanes);  ///< one lane: the value itself
  Value* lanes_of(Value* vector, int first, int lanes);
  /// As `lanes_of`; of one lane a scalar, of all of them the value itself.
  Value* part_of(Value* whole, int first, int lanes);
  /// `whole`, or where it is null nothing yet, of `all` lanes, with `part` as the lanes from `first` on.
  Value* join(Value* whole, Value* part, int first, int lanes, int all);

  // Arithmetic.
  static llvm::CmpInst::Predicate integer_predicate(BinaryOp, bool is_unsigned);
  Value* integer_binary(BinaryOp, DType, Value* a, Value* b, const Expr& divisor);
  Value* float_binary(BinaryOp, Value* a, Value* b);
  Value* floor_division(BinaryOp, DType, Value* a, Value* b, const Expr& divisor);
  Value* convert(Value*, DType from, DType to, int lanes);
  /// f32 that is clipped to the range of a byte or of i16. NaN becomes 0, which processors have in the low bits of what they make of it.
  Value* clipped_to(Value*, DType to, int lanes);
  /// sqrt, floor, ceil, round, abs, bits_of and float_of_bits.
  Value* plain_call(MathFn, DType, int lanes, Value* a);
  Value* from_memory(Value*, DType, int lanes);
  Value* to_memory(Value*, DType, int lanes);

  llvm::IRBuilder<> b_;

 private:
  Value* to_integers(Value* value, DType to, int lanes);
  Value* rounded_to_half(Value* value, DType, int lanes);
  Value* half_to_float(Value* bits, int lanes);
  Value* float_to_half(Value* value, int lanes);
  Value* bf16_to_float(Value* bits, int lanes);
  Value* float_to_bf16(Value* value, int lanes);

  const HalfConversions has_;
};

}  // namespace whet
