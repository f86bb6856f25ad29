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

/// min(max(x, low), high) of f32, or the other way round, within the range of a byte.
bool is_clipped_to_byte(const Expr& e, DType to) {
  if (size_of(to) != 1 || to == DType::boolean || e->dtype != DType::f32) return false;
  const double low = to == DType::u8 ? 0 : -128, high = to == DType::u8 ? 255 : 127;
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

/// Loads that nothing in the kernel can change, and what is computed of them, are emitted before the outermost loop that does
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

Emitter::Value* Emitter::compute(ExprRef ref, const ExprInfo& info) {
  return std::visit(Match{
                        [&](const IntConst&) { return constant(*info.expr); },
                        [&](const FloatConst&) { return constant(*info.expr); },
                        [&](const Var&) { return emit(ref); },
                        [&](const Unary& n) { return unary(info, n); },
                        [&](const Binary& n) { return binary(info, n); },
                        [&](const Select&) { return select(info); },
                        [&](const Cast& cast) {
                          const ExprNode& from = *table_[info.children[0]].expr;
                          const bool clipped = is_clipped_to_byte(cast.a, info.expr->dtype);
                          if (Value* whole = clipped ? nearest_integers(cast.a) : nullptr)
                            return b_.CreateTrunc(whole, value_type(info.expr->dtype, info.expr->lanes));
                          if (clipped)
                            return clipped_to_byte(emit(info.children[0]), info.expr->dtype, info.expr->lanes);
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

Emitter::Value* Emitter::call(const ExprInfo& info, const Call& n) {
  return plain_call(n.fn, info.expr->dtype, info.expr->lanes, emit(info.children[0]));
}

}  // namespace whet
