#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cmath>

#include "codegen/cpu/emitter.h"

namespace whet {
namespace {

bool is_comparison(BinaryOp op) { return op >= BinaryOp::lt && op <= BinaryOp::ne; }

/// The only number of a constant of one lane or many.
std::optional<double> number_of(const Expr& e) {
  if (const auto* lanes = std::get_if<Broadcast>(&e->kind)) return number_of(lanes->a);
  const auto* value = std::get_if<FloatConst>(&e->kind);
  return value ? std::optional(value->value) : std::nullopt;
}

/// min(max(x, low), high) of f32, or the other way round, within the range of a byte or of i16.
bool is_clipped_to(const Expr& e, DType to) {
  if ((size_of(to) != 1 && to != DType::i16) || to == DType::boolean || e->dtype != DType::f32) return false;
  const double low = to == DType::u8 ? 0 : to == DType::i8 ? -128 : -32768;
  const double high = to == DType::u8 ? 255 : to == DType::i8 ? 127 : 32767;
  const auto inside = [&](const Expr& bound) {
    const std::optional<double> value = number_of(bound);
    return value && *value >= low && *value <= high;
  };
  const auto* outer = std::get_if<Binary>(&e->kind);
  const auto* inner = outer ? std::get_if<Binary>(&outer->a->kind) : nullptr;
  if (!inner || !inside(outer->b) || !inside(inner->b)) return false;
  return (outer->op == BinaryOp::min && inner->op == BinaryOp::max) ||
         (outer->op == BinaryOp::max && inner->op == BinaryOp::min);
}

}  // namespace

// ---- Where a value is computed

Emitter::Value* Emitter::emit_movable(ExprRef ref, const ExprInfo& info) {
  const std::size_t home = home_of(info.vars);
  auto& values = levels_[home]->values;
  if (const auto found = values.find(ref); found != values.end()) return found->second;
  const At at = at_start_of(home);
  Value* value = compute(ref, info);
  return values[ref] = value;
}

/// Loads that nothing in the kernel can change, and what is computed of them, are emitted before the outermost loop that does
/// not change their address; not under a condition, which may be what makes them legal. Null: no such loop, or not
/// known to be legal.
Emitter::Value* Emitter::hoisted(ExprRef ref, const ExprInfo& info) {
  if (!info.fixed || info.traps || info.lazy || guard_ != nullptr || lane_mask_ != nullptr) return nullptr;
  const std::size_t natural = home_of(info.vars);
  std::size_t end = depth_, outermost = 0;
  for (; end > natural && !levels_[end]->conditional; --end)
    if (levels_[end]->preheader != nullptr) outermost = end;
  for (std::size_t d = depth_ + 1; d-- > end;)
    if (const auto found = levels_[d]->hoisted.find(ref); found != levels_[d]->hoisted.end()) return found->second;
  if (outermost == 0) return nullptr;
  Level& loop = *levels_[outermost];
  const bool wide = info.expr->lanes > 1;
  if (wide && loop.hoisted_vectors >= target_.cpu().vector_registers / 2) return nullptr;
  loop.hoisted_vectors += wide;
  std::vector<std::unordered_map<ExprRef, Value*>> memo(1);
  std::swap(memo, memo_);
  Value* value;
  {
    const At at(*this, outermost - 1, loop.preheader->getTerminator());
    value = current().hoisted[ref] = compute(ref, info);
  }
  std::swap(memo, memo_);
  return value;
}

/// Of `clipped`, min(max(round(x), low), high) with whole bounds: clipped before it is rounded, so that one instruction rounds
/// and converts. Null where that is not what it is, or where there is no such instruction.
Emitter::Value* Emitter::nearest_integers(const Expr& clipped) {
  const Binary &outer = std::get<Binary>(clipped->kind), &inner = std::get<Binary>(outer.a->kind);
  const Call* round = std::get_if<Call>(&inner.a->kind);
  const auto is_whole = [](const Expr& bound) { return *number_of(bound) == std::floor(*number_of(bound)); };
  const bool fits = round && round->fn == MathFn::round && is_whole(outer.b) && is_whole(inner.b);
  if (!fits || architecture_.nearest_integers == nullptr) return nullptr;
  Value* value = float_binary(inner.op, expr(round->args[0]), expr(inner.b));
  return architecture_.nearest_integers(b_, features_, float_binary(outer.op, value, expr(outer.b)));
}

Emitter::Value* Emitter::cast(ExprRef, const ExprInfo& info, const Cast& n) {
  const DType from = n.a->dtype, to = info.expr->dtype;
  const int lanes = info.expr->lanes;
  const bool clipped = is_clipped_to(n.a, to);
  if (Value* whole = clipped ? nearest_integers(n.a) : nullptr) return b_.CreateTrunc(whole, value_type(to, lanes));
  Value* const value = emit(info.children[0]);
  return clipped ? clipped_to(value, to, lanes) : convert(value, from, to, lanes);
}

// ---- Arithmetic

Emitter::Value* Emitter::binary(ExprRef, const ExprInfo& info, const Binary& n) {
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
  const std::size_t home = home_of(terms);
  auto& sums = levels_[home]->sums;
  if (const auto found = sums.find(terms); found != sums.end()) return found->second;
  Linear::Terms outer, here;
  for (const auto& term : terms) (home_of(table_[term.first].vars) == home ? here : outer).push_back(term);
  Value* base = outer.empty() ? nullptr : sum(outer);
  const At at = at_start_of(home);
  return sums[terms] = add_terms(base, here, 1);
}

// ---- Select

/// A plain select computes both sides. When a side reads memory or divides, it does so only where it is chosen: lanes
/// by a mask, scalars through an address that is always legal, vectors on machines without masked loads behind a
/// branch.
Emitter::Value* Emitter::select(ExprRef, const ExprInfo& info) {
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

Emitter::Value* Emitter::branching_select(const ExprInfo& info, Value* condition) {
  Value* sides[2];
  llvm::BasicBlock* ends[2];
  llvm::BasicBlock* const starts[2] = {make_block("chosen"), make_block("other")};
  llvm::BasicBlock* const join = make_block("selected");
  b_.CreateCondBr(condition, starts[0], starts[1]);
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(starts[i]);
    begin_level(true);
    {
      const Frame frame(*this);
      sides[i] = emit(info.children[1 + i]);
    }
    end_level();
    ends[i] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  llvm::PHINode* phi = b_.CreatePHI(sides[0]->getType(), 2);
  for (int i = 0; i < 2; ++i) phi->addIncoming(sides[i], ends[i]);
  return phi;
}

// ---- Conversions and functions

Emitter::Value* Emitter::call(const ExprInfo& info, const Call& n) {
  return plain_call(n.fn, info.expr->dtype, info.expr->lanes, emit(info.children[0]));
}

}  // namespace whet
