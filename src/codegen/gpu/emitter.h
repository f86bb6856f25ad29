#pragma once

// Internal to codegen/gpu; shows LLVM.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "codegen/gpu/analysis.h"
#include "codegen/gpu/hooks.h"
#include "codegen/llvm/structured_emitter.h"
#include "program/program.h"
#include "program/warp_tile.h"

namespace whet {

/// The first element of a tile's operand: its buffer, the part of its index that varies, and the constant.
using FragmentPlace = std::tuple<std::int32_t, Linear::Terms, std::int64_t>;

/// A number that is 0, or as many lanes of it.
bool is_zero(const Expr&);

/// Values are kept where they were computed, and hold for what follows in that level.
struct GpuLevel : EmittedLevel {
  std::map<std::pair<std::int32_t, Linear::Terms>, llvm::Value*> pointers;  ///< by buffer and varying part
  std::map<FragmentPlace, llvm::Value*> swizzled;  ///< offsets in bytes, by buffer, varying part and constant
  struct Loaded {
    llvm::Value* value;
    std::int64_t version;  ///< of the buffer
  };
  std::unordered_map<ExprRef, Loaded> loads;
  struct Fragment {
    GpuHooks::Words words;
    std::int64_t version;
  };
  std::map<FragmentPlace, Fragment> fragments;  ///< of operands of tiles
  std::int64_t iterations = 0;                  ///< of a loop that multiplies tiles; else 0
};

/// Turns the launches of a Program into functions of one LLVM module. What is not plain IR comes from the hooks, so that a
/// device and its emulation run the same code. Indices that fit are computed in 32 bits; what does not change in a loop
/// is before it; addresses are a pointer that changes with few loops and a constant. Registers are stack slots of a
/// constant address, which LLVM makes SSA values of.
class GpuEmitter final : StructuredEmitter<GpuLevel> {
 public:
  GpuEmitter(const Program&, GpuAnalysis&, GpuHooks&, llvm::Module&);
  /// One function a launch, of these names. Errors: an access that the device has no instruction for.
  Status emit_launches(const std::vector<std::string>& entries);
  std::int64_t workspace() const { return workspace_; }  ///< bytes

 private:
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
  void store_bits(SlotPlace, Value* value, Value* mask);  ///< of the slot's type
  bool copy(const Store&);
  Value* exchanged(Value*, int mask, int lanes);
  /// Runs `body` where the i1 is true.
  void when(Value* condition, llvm::function_ref<void()> body);
  void changed_by(const Stmt&);

  // emit_ahead.cc
  struct TileOperands {
    GpuHooks::Words left;
    std::array<Value*, 2> right;
  };
  /// The body of a loop that waits for a slab in block memory, copies a later one and multiplies the slab step by step.
  struct StepLoop {
    std::vector<const Let*> lets;      ///< around it all
    std::vector<Stmt> before, copies;  ///< the wait and a barrier; up to the commit
    std::vector<std::vector<WarpTile>> steps;
    std::vector<Stmt> behind;
    bool ahead = false;  ///< registers hold the operands of two steps
  };
  /// Nothing where the body has another form.
  std::optional<StepLoop> step_loop(const Stmt& body);
  /// Stack slots of a step's operands, by tile: of the left one, of the right one.
  using KeptOperands = std::vector<std::pair<std::vector<Value*>, std::vector<Value*>>>;
  KeptOperands make_kept(const std::vector<WarpTile>&);
  void keep(const KeptOperands&, const std::vector<TileOperands>&);
  std::vector<TileOperands> kept_operands(const KeptOperands&);
  std::vector<TileOperands> load_step(const std::vector<WarpTile>&);
  void multiply_step(const std::vector<WarpTile>&, const std::vector<TileOperands>&);
  /// `later`, an i1: it is not the first iteration, so that products of the one before are left.
  void steps(const StepLoop&, const KeptOperands&, Value* later);

  // emit_tile.cc
  void tile(const WarpTile&);
  std::array<SlotPlace, 4> places_of_sums(const WarpTile&);
  void multiply(const WarpTile&, const TileOperands&);
  /// Notes the right operands of the tiles of a block of statements: two neighbours are loaded together.
  void expect_tiles(const Block&);
  /// Also behind names that are aliases.
  std::optional<WarpTile> tile_of(const Stmt&) const;
  FragmentPlace place_of(const Load&, VarId across, const Loop& depth);
  /// False where words of an operand are not aligned: the loop is still to be emitted.
  bool dot(const ThreadDot&);
  /// The words of an operand, from where they were loaded before or from block memory.
  GpuHooks::Words fragment(const WarpTile&, bool left);
  GpuHooks::Words load_fragment(const WarpTile&, bool left);
  // emit_online.cc
  /// The words of a left operand that the row's four lanes have in registers.
  GpuHooks::Words own_words(const WarpTile&);
  /// An exponential that is rounded to f16; null where the cast is of something else.
  Value* rounded_exp(const ExprInfo&, const Cast&);

  // emit_borders.cc
  /// A comparison of which one term alone changes in a loop: fixed + factor · changing + constant is below 0, or is not.
  struct BorderTest {
    bool below = false;
    std::int64_t factor = 0, constant = 0;
    ExprRef changing = {};
    Linear::Terms fixed = {};
  };
  /// Where the fixed terms of a test are below a number, or are not below it, the bit is set.
  struct BorderLimit {
    const BorderTest* test;
    std::int64_t value;
    std::uint32_t bit;
  };
  /// The conjuncts of a condition, and the word that stands for those which are tests.
  struct Border {
    std::vector<BorderTest> tests;
    std::vector<ExprRef> fixed, others;         ///< what does not change in the loop; what the word does not hold
    std::map<ExprRef, std::int64_t> first_bit;  ///< value v of a changing term has the bit first_bit + v
    std::vector<BorderLimit> limits;
    std::uint32_t always = 0;  ///< bits that no pixel decides
  };
  static std::int64_t iterations_of_tiles(const Loop&);
  std::optional<BorderTest> border_test(const ExprInfo& condition, std::size_t loop);
  void split_border(ExprRef condition, std::size_t loop, Border&);
  bool lay_out_border(Border&, std::int64_t iterations);
  Value* border_word(const Border&);
  /// The condition, which changes in the loop of that level, by a word that is made in front of it. Null where it is computed as it stands:
  /// it is no conjunction of such tests, or the loop has no tiles or too few iterations.
  Value* border(ExprRef condition, std::size_t loop);

  // emit_tile.cc
  /// By how much the loop moves the load's place.
  std::int64_t factor_of(const Load&, VarId);
  /// By ldmatrix; false where rows are not aligned, or hold other elements than the tile takes.
  bool load_left(const WarpTile&, GpuHooks::Words&);
  /// The same of the right operand, whose rows lie along the depth, or across it if they are of f16. The next tile's operand is loaded
  /// with it where that is expected.
  bool load_right(const WarpTile&, GpuHooks::Words&);
  /// A word of neighbours along the depth that the tile takes as they are; null where they are none.
  Value* load_word(const Load&, const Expr& index, std::int64_t step, int each);
  /// Elements of an operand of that dtype as the tile takes them.
  Value* word_of(const WarpTile&, bool left, DType, const std::vector<Value*>& elements);

  // emit_expressions.cc
  Value* emit_movable(ExprRef, const ExprInfo&) override;
  /// Before the outermost loop that does not change what changes in the level `home`; where no loop is around, right here: what is
  /// needed behind a loop alone shall not hold a register through it.
  At before_loops(std::size_t home);
  Value* cast(ExprRef, const ExprInfo&, const Cast&) override;
  Value* binary(ExprRef, const ExprInfo&, const Binary&) override;
  Value* bits_binary(BinaryOp, Value* a, Value* b);
  Value* select(ExprRef, const ExprInfo&) override;
  Value* call(const ExprInfo&, const Call&) override;
  Value* exp(Value*);
  /// Of a value and a number; null where no instruction is as `float_binary`.
  Value* extreme(const Binary&, Value* a, Value* b);
  /// Each lane alone.
  Value* by_lane(Value*, int lanes, llvm::function_ref<Value*(Value*)> one);

  // Integers: an i64 expression whose values fit is an i32.
  bool is_narrow(ExprRef ref) { return table_[ref].expr->dtype == DType::i64 && in_32_bits(analysis_.range(ref)); }
  Value* resize(Value*, bool narrow);  ///< to 32 or 64 bits a lane
  Value* sized(ExprRef ref, Value* value) override {
    return table_[ref].expr->dtype == DType::i64 ? resize(value, is_narrow(ref)) : value;
  }

  // emit_memory.cc
  Value* load(ExprRef, const ExprInfo&, const Load&) override;
  Value* load_slot(SlotPlace, DType, int lanes);
  /// Registers hold elements of 16 bits as memory has them. Those of a row that four lanes have are computed with at once.
  bool is_packed(const Slot&) const;
  llvm::Type* slot_type(const Slot&);
  /// The element that a store moves to such registers, which nothing converts on the way; null where it is computed.
  Value* moved_bits(const Store&);
  Value* load_memory(BufferId, ExprRef index, int lanes, Value* mask);
  Value* load_at(BufferId, llvm::Type*, Value* pointer, std::int64_t align, Value* mask);
  void store_memory(BufferId, ExprRef index, Value* value, Value* mask, int lanes);
  /// Stores of sums of a warp's neighbouring tiles as one. Gives how many of the first statements these are; none where not all threads come
  /// by.
  std::size_t store_together(std::span<const Stmt>);
  bool store_tiles(std::span<const Stmt>);
  void turn_words(std::vector<Value*>&, const Expr& thread);
  /// Elements as memory has them.
  Value* stored_as(DType, Value*, int lanes);
  /// The addresses of `lanes` elements, cut into parts that lie together and are aligned: called with the first lane, the
  /// number of lanes, the address and its alignment.
  using Part = llvm::function_ref<void(int first, int lanes, Value* pointer, std::int64_t align)>;
  void each_part(BufferId, ExprRef index, int lanes, bool by_lane, Part);
  std::int64_t alignment(BufferId, const Linear&);
  Value* address(BufferId, const Linear&);
  Value* pointer(BufferId, const Linear::Terms&);
  /// As `address`, of block memory whose rows are swizzled.
  Value* swizzled_address(BufferId, const Linear&);
  /// An offset in bytes, i32, as the i64 of where it lies.
  Value* swizzled(BufferId, Value* bytes);
  Value* offset(const Linear::Terms&);
  Value* base_pointer(BufferId);
  Value* effective_mask(Value* own, int lanes);
  /// The lanes of a mask from `first` on; one bit where all lanes are the same.
  Value* mask_of(Value* mask, int first, int lanes);
  static Value* splatted(Value* mask);  ///< the bit that all lanes are, else null
  /// Both of two masks, of which either may be one bit for all lanes, or null: true.
  Value* both(Value* a, Value* b, int lanes);

  bool is_fixed(BufferId) const override;  ///< nothing changes it from this launch's start to its end
  void fail(const std::string& message);

  GpuAnalysis& analysis_;
  GpuHooks& hooks_;
  llvm::Module& module_;
  std::vector<std::int64_t> workspace_offset_;  // by buffer
  std::int64_t workspace_ = 0;
  int arguments_ = 0;
  std::optional<Error> error_;

  // Of the launch that is emitted.
  const GpuLaunch* launch_ = nullptr;
  std::vector<Value*> slots_;         // stack slots, by slot
  std::vector<Value*> bases_;         // by buffer
  int branches_ = 0;                  // around the statement: some threads may not come by
  std::set<FragmentPlace> expected_;  // right operands of tiles that come
};

}  // namespace whet
