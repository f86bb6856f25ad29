#pragma once

// Internal to code generation; shows LLVM.

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/expr_table.h"
#include "codegen/llvm/value_emitter.h"
#include "codegen/register_slots.h"
#include "program/program.h"

namespace whet {

/// A place of the program that runs as a whole: the function, the body of a loop, a side of a condition.
struct EmittedLevel {
  llvm::BasicBlock* preheader = nullptr;                  ///< of a loop
  std::unordered_map<ExprRef, llvm::Value*> values = {};  ///< known throughout the level
};

/// What emitters of Programs share: where a value is computed, and under which conditions. Levels lie inside of each other.
/// A value that is movable (expr_table.h) is kept in a level, any other one in the frame of its statement or condition.
/// `Level` is an EmittedLevel.
template <typename Level>
class StructuredEmitter : protected ValueEmitter {
 protected:
  StructuredEmitter(const Program& program, ExprTable& table, llvm::LLVMContext& context, HalfConversions has)
      : ValueEmitter(context, has), program_(program), table_(table), versions_(program.buffers.size(), 0) {}
  ~StructuredEmitter() = default;

  // What a target does in its own way.
  virtual Value* emit_movable(ExprRef, const ExprInfo&) = 0;
  /// Of a value that is not movable, the same value outside of loops; null where it has to be computed here.
  virtual Value* hoisted(ExprRef, const ExprInfo&) { return nullptr; }
  /// An integer that was computed in any width, as wide as the target computes this expression.
  virtual Value* sized(ExprRef, Value* value) { return value; }
  virtual Value* binary(ExprRef, const ExprInfo&, const Binary&) = 0;
  virtual Value* select(ExprRef, const ExprInfo&) = 0;
  virtual Value* cast(ExprRef, const ExprInfo&, const Cast&) = 0;
  virtual Value* call(const ExprInfo&, const Call&) = 0;
  virtual Value* load(ExprRef, const ExprInfo&, const Load&) = 0;
  /// Nothing changes the buffer while the function runs.
  virtual bool is_fixed(BufferId) const = 0;

  // ---- Values

  /// Values of a statement, or under a condition, are found again while the frame exists.
  class Frame {
   public:
    explicit Frame(StructuredEmitter& emitter) : memo_(emitter.memo_) { memo_.emplace_back(); }
    ~Frame() { memo_.pop_back(); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    std::vector<std::unordered_map<ExprRef, Value*>>& memo_;
  };

  /// In a frame.
  Value* expr(const Expr& e) { return emit(table_.intern(e)); }
  /// In a frame of its own.
  Value* expr_alone(const Expr& e) {
    const Frame frame(*this);
    return expr(e);
  }

  Value* emit(ExprRef ref) {
    const ExprInfo& info = table_[ref];
    if (is_constant_kind(*info.expr)) return sized(ref, constant(*info.expr));
    if (const auto* var = std::get_if<Var>(&info.expr->kind)) return binding_of(var->id).value;
    if (info.movable()) return emit_movable(ref, info);
    for (auto frame = memo_.rbegin(); frame != memo_.rend(); ++frame)
      if (const auto found = frame->find(ref); found != frame->end()) return found->second;
    Value* value = hoisted(ref, info);
    if (value == nullptr) value = compute(ref, info);
    memo_.back()[ref] = value;
    return value;
  }

  Value* compute(ExprRef ref, const ExprInfo& info) {
    const auto child = [&] { return sized(ref, emit(info.children[0])); };
    return std::visit(Match{
                          [&](const IntConst&) { return emit(ref); },
                          [&](const FloatConst&) { return emit(ref); },
                          [&](const Var&) { return emit(ref); },
                          [&](const Unary& n) {
                            Value* a = child();
                            if (n.op == UnaryOp::logical_not) return b_.CreateNot(a);
                            return is_float(info.expr->dtype) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
                          },
                          [&](const Binary& n) { return binary(ref, info, n); },
                          [&](const Select&) { return select(ref, info); },
                          [&](const Cast& n) { return cast(ref, info, n); },
                          [&](const Call& n) { return call(info, n); },
                          [&](const Load& n) { return load(ref, info, n); },
                          [&](const Ramp& n) {
                            Value* base = splat(child(), info.expr->lanes);
                            return b_.CreateAdd(base,
                                                iota(base->getType()->getScalarType(), n.stride, info.expr->lanes));
                          },
                          [&](const Broadcast&) { return splat(child(), info.expr->lanes); },
                      },
                      info.expr->kind);
  }

  /// `side` where the condition holds, or where it does not.
  Value* guarded_side(ExprRef side, Value* condition, bool negate) {
    if (table_[side].movable()) return emit(side);
    if (negate) condition = b_.CreateNot(condition);
    Value*& guards = condition->getType()->isVectorTy() ? lane_mask_ : guard_;
    Value* const around = guards;
    guards = around == nullptr ? condition : b_.CreateAnd(around, condition);
    Value* value;
    {
      const Frame frame(*this);
      value = emit(side);
    }
    guards = around;
    return value;
  }

  /// The first index of a loop, and how many there are.
  std::pair<Value*, Value*> range_of(const Loop& n) {
    const Frame frame(*this);
    Value* const min = expr(n.min);
    return {min, expr(n.extent)};
  }

  // ---- Levels

  Level& current() { return *levels_[depth_]; }
  Level& push_level() {
    WHET_CHECK(levels_.empty() || depth_ + 1 == levels_.size(), "a level begins in the innermost one");
    levels_.push_back(std::make_unique<Level>());
    depth_ = levels_.size() - 1;
    return current();
  }
  void pop_level() {
    levels_.pop_back();
    --depth_;
  }

  /// Emits at another place for a while: in the level of `depth`, before the instruction; null: where it is.
  class At {
   public:
    At(StructuredEmitter& emitter, std::size_t depth, llvm::Instruction* before)
        : emitter_(emitter), guard_(emitter.b_), depth_(std::exchange(emitter.depth_, depth)) {
      if (before != nullptr) emitter.b_.SetInsertPoint(before);
    }
    ~At() { emitter_.depth_ = depth_; }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    StructuredEmitter& emitter_;
    llvm::IRBuilderBase::InsertPointGuard guard_;
    std::size_t depth_;
  };

  struct Binding {
    Value* value = nullptr;
    std::size_t depth = 0;  ///< of the level where it was bound
  };
  void bind(VarId var, Value* value) { bindings_[var] = {value, depth_}; }
  const Binding& binding_of(VarId var) const {
    const auto found = bindings_.find(var);
    WHET_CHECK(found != bindings_.end(), "a variable is used outside its loop or let");
    return found->second;
  }
  /// The depth of the deepest level that one of the variables is bound in.
  std::size_t home_of(const std::vector<VarId>& vars) const {
    std::size_t home = 0;
    for (VarId var : vars) home = std::max(home, binding_of(var).depth);
    return home;
  }
  std::size_t home_of(const Linear::Terms& terms) const {
    std::size_t home = 0;
    for (const auto& [atom, coefficient] : terms) home = std::max(home, home_of(table_[atom].vars));
    return home;
  }

  // ---- Memory

  /// What was loaded from it is not what it holds.
  void changed(BufferId buffer) { versions_[buffer.index()] = ++last_version_; }
  /// Others may have changed it.
  void forget_shared() {
    for (std::size_t b = 0; b < versions_.size(); ++b)
      if (const BufferId buffer(static_cast<std::int64_t>(b)); !is_fixed(buffer)) changed(buffer);
  }
  std::int64_t element_bytes(BufferId buffer) const { return size_of(program_.buffer(buffer).dtype); }

  struct Stored {
    Value* value;
    int lanes;
  };
  /// What a store writes of `value`: where all lanes go to one element and no mask chooses among them, the last lane.
  Stored stored(const Store& n, const ExprInfo& index, Value* value) {
    const int lanes = std::max(n.index[0]->lanes, n.value->lanes);
    if (lanes > 1 && index.is_linear && index.linear.lane_stride == 0 && !n.mask.defined())
      return {value->getType()->isVectorTy() ? b_.CreateExtractElement(value, i64(lanes - 1)) : value, 1};
    return {n.value->lanes == lanes ? value : splat(value, lanes), lanes};
  }

  /// The elements at `place` of a slot that holds `whole`, for `lanes` lanes.
  Value* lanes_at(SlotPlace place, const Slot& slot, Value* whole, int lanes) {
    if (place.lanes == slot.lanes) return place.lanes == lanes ? whole : splat(whole, lanes);
    if (place.lanes > 1) return lanes_of(whole, place.first, place.lanes);
    return splat(b_.CreateExtractElement(whole, i64(place.first)), lanes);
  }

  // ---- The function

  llvm::BasicBlock* make_block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  void check_function() const {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    WHET_CHECK(!llvm::verifyFunction(*function_, &stream), problem.c_str());
  }

  const Program& program_;
  ExprTable& table_;
  llvm::Function* function_ = nullptr;
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t depth_ = 0;  ///< of the level where code is emitted
  std::unordered_map<VarId, Binding> bindings_;
  std::vector<std::int64_t> versions_;  ///< by buffer: raised by each change
  std::int64_t last_version_ = 0;

  // While an expression is emitted: values of this statement, innermost condition last; the conditions around it.
  std::vector<std::unordered_map<ExprRef, Value*>> memo_;
  Value* guard_ = nullptr;      // i1
  Value* lane_mask_ = nullptr;  // <n x i1>
};

}  // namespace whet
