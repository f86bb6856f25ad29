#pragma once

// Internal to codegen/gpu; shows LLVM.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "codegen/gpu/analysis.h"
#include "codegen/gpu/hooks.h"
#include "codegen/llvm/value_emitter.h"
#include "program/program.h"
#include "program/warp_tile.h"

namespace whet {

/// Turns the launches of a Program into functions of one LLVM module. What is not plain IR comes from the hooks, so that a
/// device and its emulation run the same code. Indices that fit are computed in 32 bits; what does not change in a loop
/// is before it; addresses are a pointer that changes with few loops and a constant. Registers are stack slots of a
/// constant address, which LLVM makes SSA values of.
class GpuEmitter : ValueEmitter {
 public:
  GpuEmitter(const Program&, GpuAnalysis&, GpuHooks&, llvm::Module&);
  /// One function a launch, of these names. Errors: an access that the device has no instruction for.
  Status emit(const std::vector<std::string>& entries);
  std::int64_t workspace() const { return workspace_; }  ///< bytes

 private:
  /// A part of the launch that runs as a whole: the function, the body of a loop, a side of a condition. Values are kept
  /// where they were computed, and hold for what follows in that part.
  struct Level {
    llvm::BasicBlock* preheader = nullptr;  ///< of a loop
    std::unordered_map<ExprRef, Value*> values;
    std::map<std::pair<std::int32_t, Linear::Terms>, Value*> pointers;  ///< by buffer and varying part
    struct Loaded {
      Value* value;
      std::int64_t version;  ///< of the buffer
    };
    std::unordered_map<ExprRef, Loaded> loads;
    struct Fragment {
      GpuHooks::Words words;
      std::int64_t version;
    };
    /// Of operands of tiles, by buffer and the index of the tile's first element.
    std::map<std::pair<std::int32_t, std::int32_t>, Fragment> fragments;
  };
  struct Binding {
    Value* value = nullptr;
    std::size_t depth = 0;  ///< of the level where it was bound
  };
  class At;

  // emit_statements.cc
  void lay_out_workspace();
  void launch(const GpuLaunch&, const std::string& entry);
  void stmt(const Stmt&);
  void loop(const Loop&);
  void do_while(const Loop&, Value* min, Value* end);
  void let(const Let&);
  void if_stmt(const If&);
  void store(const Store&);
  void store_slot(SlotPlace, Value* value, Value* mask);
  bool copy(const Store&);
  Value* exchanged(Value*, int mask, int lanes);
  /// Runs `body` where the i1 is true.
  void when(Value* condition, llvm::function_ref<void()> body);
  void forget(const Stmt& changed);
  void forget_shared();
  void bind(VarId var, Value* value) { bindings_[var] = {value, depth_}; }
  llvm::BasicBlock* make_block(const char* name);

  // emit_tile.cc
  void tile(const WarpTile&);
  /// False where words of an operand are not aligned: the loop is still to be emitted.
  bool dot(const ThreadDot&);
  /// The words of an operand, from where they were loaded before or from block memory.
  GpuHooks::Words fragment(const WarpTile&, bool left);
  GpuHooks::Words load_fragment(const WarpTile&, bool left);
  /// By how much the loop moves the load's place.
  std::int64_t factor_of(const Load&, VarId);
  /// By ldmatrix; false where rows are not aligned, or hold other elements than the tile takes.
  bool load_matrices(const WarpTile&, GpuHooks::Words&);
  /// The same of the right operand, of f16 with rows across the depth.
  bool load_turned(const WarpTile&, GpuHooks::Words&);
  /// A word of neighbours along the depth that the tile takes as they are; null where they are none.
  Value* load_word(const Load&, const Expr& index, std::int64_t step, int each);
  /// Elements of an operand of that dtype as the tile takes them.
  Value* word_of(const WarpTile&, bool left, DType, const std::vector<Value*>& elements);

  // emit_expressions.cc
  Value* expr(const Expr& e) { return emit(table_.intern(e)); }
  Value* emit(ExprRef);
  Value* emit_movable(ExprRef, const ExprInfo&);
  Value* compute(ExprRef, const ExprInfo&);
  Value* binary(ExprRef, const ExprInfo&, const Binary&);
  Value* bits_binary(BinaryOp, Value* a, Value* b);
  Value* select(ExprRef, const ExprInfo&);
  Value* guarded_side(ExprRef, Value* condition, bool negate);
  Value* call(const ExprInfo&, const Call&);
  Value* exp(Value*);
  /// Each lane alone.
  Value* by_lane(Value*, int lanes, llvm::function_ref<Value*(Value*)> one);
  /// The depth of the deepest level that one of them is bound in.
  std::size_t home_of(const std::vector<VarId>&) const;

  // Integers: an i64 expression whose values fit is an i32.
  bool is_narrow(ExprRef ref) { return table_[ref].expr->dtype == DType::i64 && in_32_bits(analysis_.range(ref)); }
  Value* resize(Value*, bool narrow);  ///< to 32 or 64 bits a lane

  // emit_memory.cc
  Value* load(ExprRef, const ExprInfo&, const Load&);
  Value* load_slot(SlotPlace, DType, int lanes);
  Value* load_memory(BufferId, ExprRef index, int lanes, Value* mask);
  Value* load_at(BufferId, llvm::Type*, Value* pointer, std::int64_t align, Value* mask);
  void store_memory(BufferId, ExprRef index, Value* value, Value* mask, int lanes);
  /// Elements as memory has them.
  Value* stored_as(DType, Value*, int lanes);
  /// The addresses of `lanes` elements, cut into parts that lie together and are aligned: called with the first lane, the
  /// number of lanes, the address and its alignment.
  using Part = llvm::function_ref<void(int first, int lanes, Value* pointer, std::int64_t align)>;
  void each_part(BufferId, ExprRef index, int lanes, bool by_lane, Part);
  std::int64_t alignment(BufferId, const Linear&);
  Value* address(BufferId, const Linear&);
  Value* pointer(BufferId, const Linear::Terms&);
  Value* offset(const Linear::Terms&);
  Value* base_pointer(BufferId);
  Value* effective_mask(Value* own, int lanes);
  /// The lanes of a mask from `first` on; one bit where all lanes are the same.
  Value* mask_of(Value* mask, int first, int lanes);
  static Value* splatted(Value* mask);  ///< the bit that all lanes are, else null
  /// Both of two masks, of which either may be one bit for all lanes, or null: true.
  Value* both(Value* a, Value* b, int lanes);
  Value* join(Value* whole, Value* part, int first, int lanes, int all);
  Value* part_of(Value* whole, int first, int lanes);

  bool is_fixed(BufferId) const;  ///< nothing changes it from this launch's start to its end
  std::int64_t element_bytes(BufferId buffer) const { return size_of(program_.buffer(buffer).dtype); }
  void fail(const std::string& message);

  const Program& program_;
  GpuAnalysis& analysis_;
  ExprTable& table_;
  GpuHooks& hooks_;
  llvm::Module& module_;
  std::vector<std::int64_t> workspace_offset_;  // by buffer
  std::int64_t workspace_ = 0;
  int arguments_ = 0;
  std::optional<Error> error_;

  // Of the launch that is emitted.
  const GpuLaunch* launch_ = nullptr;
  llvm::Function* function_ = nullptr;
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t depth_ = 0;  ///< of the level where code is emitted
  std::unordered_map<VarId, Binding> bindings_;
  std::vector<Value*> slots_;           // stack slots, by slot
  std::vector<Value*> bases_;           // by buffer
  std::vector<std::int64_t> versions_;  // by buffer: raised by every change
  std::int64_t last_version_ = 0;

  // While an expression is emitted: values of this statement, innermost condition last; the conditions around it.
  std::vector<std::unordered_map<ExprRef, Value*>> memo_;
  Value* guard_ = nullptr;      // i1
  Value* lane_mask_ = nullptr;  // <n x i1>
};

/// Emits at another place for a while: in the level of `depth`, before the instruction.
class GpuEmitter::At {
 public:
  At(GpuEmitter& emitter, std::size_t depth, llvm::Instruction* before)
      : emitter_(emitter), guard_(emitter.b_), depth_(std::exchange(emitter.depth_, depth)) {
    if (before != nullptr) emitter.b_.SetInsertPoint(before);
  }
  ~At() { emitter_.depth_ = depth_; }

 private:
  GpuEmitter& emitter_;
  llvm::IRBuilderBase::InsertPointGuard guard_;
  std::size_t depth_;
};

}  // namespace whet
