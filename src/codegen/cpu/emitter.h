#pragma once

// Internal to codegen/cpu: the only header here that shows LLVM, shared by the files that emit statements, expressions
// and memory accesses.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/cpu/analysis.h"
#include "codegen/cpu/byte_sums.h"
#include "codegen/cpu/byte_words.h"
#include "codegen/cpu/quads.h"
#include "codegen/cpu/tile_sums.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/structured_emitter.h"
#include "program/program.h"

namespace whet {

/// A pointer into a buffer: `terms` elements and `far` bytes behind its beginning.
struct PointerKey {
  BufferId buffer;
  Linear::Terms terms;
  std::int64_t far = 0;
  friend auto operator<=>(const PointerKey&, const PointerKey&) = default;
};

/// Code that depends on nothing inside a level is put at its beginning, before `marker`, and found again here. What follows a
/// let is a level too.
struct Level : EmittedLevel {
  llvm::Instruction* marker = nullptr;
  bool conditional = false;  ///< may be skipped while the level around it runs

  // Loops.
  VarId loop_var;
  llvm::Value* loop_min = nullptr;
  std::vector<std::pair<llvm::PHINode*, std::int64_t>>
      bumped;               ///< pointers, and the bytes that each moves an iteration
  int hoisted_vectors = 0;  ///< loads kept in registers through this loop

  // Values that are known throughout the level.
  std::map<PointerKey, llvm::Value*> pointers;
  std::map<Linear::Terms, llvm::Value*> sums;
  struct Loaded {
    llvm::Value* value;
    std::int64_t version;       ///< of the buffer
    std::int64_t last_use = 0;  ///< how many loads had been emitted then
    int copy = 0;               ///< how often the same place has been loaded before
  };
  std::unordered_map<ExprRef, Loaded> loads;
  std::unordered_map<ExprRef, llvm::Value*> hoisted;  ///< out of the loops in this level, emitted before them
};

/// Turns one Program into one LLVM function. Nothing is left to LLVM's IR optimiser: registers are SSA values from the
/// start, addresses are pointers bumped once a loop level plus constants, and loop invariants are computed before their loops.
class Emitter final : StructuredEmitter<Level> {
 public:
  Emitter(const Program&, Analysis&, const Backend&, llvm::Module&);
  /// The function; its verifier has been run.
  void emit_function(const std::string& symbol);

  std::int64_t worker_workspace() const { return worker_workspace_; }
  std::int64_t workspace() const { return workspace_; }

 private:
  using SlotValues = std::vector<Value*>;  ///< null: not written yet

  // emit_statements.cc
  void lay_out_workspaces();
  void begin_function(const std::string& symbol);
  void load_sizes();
  void top_level(const Stmt&);
  void flush_serial(std::vector<Stmt>&);
  void parallel_loop(const Stmt&);
  void barrier();
  void stmt(const Stmt&);
  void statements(const Block&);
  ByteSums sums_of_bytes(const std::vector<const Store*>& run);
  void loop(const Stmt&);
  void let(const Let&);
  void if_stmt(const Stmt&);
  void store(const Store&);
  void prefetch(const Prefetch&);

  // emit_tile_products.cc
  void with_tile_sums(const Stmt&, TileSums, bool from_zero);
  void tile_product(const IntrinsicTile&);
  int tile_of_factor(const TileOperand&, bool left);
  /// What tiles of factors hold is not known where a level begins or ends.
  void forget_tiles();

  // emit_tile.cc
  void tile(const IntrinsicTile&);
  void transpose(const IntrinsicTile&, int n, bool pairs);
  void interleave(const IntrinsicTile&);
  void dot4(const IntrinsicTile&);
  void dot2(const IntrinsicTile&);
  void dot2_i16(const IntrinsicTile&);
  std::pair<Value*, Value*> words_of(const IntrinsicTile&);
  Value* load_row(const TileOperand&, std::int64_t offset, int lanes);
  void store_row(const TileOperand&, std::int64_t offset, Value* value, int lanes);
  /// Of 16 bits as they lie in memory; pairs of neighbours as words of f32.
  Value* load_stored(const TileOperand&, std::int64_t offset, int lanes);
  Value* load_pairs(const TileOperand&, std::int64_t offset, int pairs);
  void store_pairs(const TileOperand&, std::int64_t offset, Value* value, int pairs);
  /// A store whose product is added up with others: the last one stores the sums.
  void byte_sum(const Store&, const ByteSum&);
  Value* joined_bytes(const std::vector<ExprRef>& loads);
  Value* joined_pairs(const std::vector<ExprRef>& loads, bool has_sign);
  Value* halves(ExprRef load, bool has_sign);
  /// A store that others make whole words with: the last one stores them.
  void byte_word(const Store&, const ByteWords::Part&);
  /// The mask may be null.
  void store_slot(SlotPlace, Value* value, Value* mask);
  /// Runs `body` for min <= index < end; `never_empty`: min < end is known.
  void counted_loop(const Loop&, const Effects&, Value* min, Value* end, bool never_empty);
  void do_while(const Loop&, const Effects&, Value* min, Value* end);
  void finish_slot_phis(const std::vector<std::pair<int, llvm::PHINode*>>&, const SlotValues& before,
                        llvm::BasicBlock* latch);
  /// Runs `then` (and `otherwise`) under a condition, and joins the slots.
  void branch(Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);

  // Levels.
  Level& begin_level(bool conditional);
  void end_level();
  At at_start_of(std::size_t depth) { return At(*this, depth, levels_[depth]->marker); }
  void changed_by(const Effects&);

  // emit_expressions.cc
  Value* emit_movable(ExprRef, const ExprInfo&) override;
  Value* hoisted(ExprRef, const ExprInfo&) override;
  Value* nearest_integers(const Expr& clipped);
  Value* cast(ExprRef, const ExprInfo&, const Cast&) override;
  Value* binary(ExprRef, const ExprInfo&, const Binary&) override;
  Value* compare_evenly_spaced(BinaryOp, const ExprInfo& a, const ExprInfo& b, int lanes);
  Value* select(ExprRef, const ExprInfo&) override;
  Value* branching_select(const ExprInfo&, Value* condition);
  Value* call(const ExprInfo&, const Call&) override;
  /// Σ terms, without a constant: an i64 known at the deepest level of its atoms.
  Value* sum(const Linear::Terms&);
  Value* add_terms(Value* base, const Linear::Terms&, std::int64_t scale);

  // emit_memory.cc
  Value* load(ExprRef, const ExprInfo&, const Load&) override;
  /// The lane of a quad of this run of stores that the load is; null: none.
  Value* lane_of_quad(ExprRef load);
  Value* load_slot(SlotPlace, DType, int lanes);
  Value* load_memory(const ExprInfo&, const Load&, const Linear*, Value* mask);
  Value* load_contiguous(BufferId, Value* pointer, int lanes, Value* mask);
  bool permutes(BufferId, std::int64_t stride, int lanes) const;
  Value* load_every(BufferId, Value* pointer, int stride, int lanes);
  Value* load_lanes(BufferId, Value* pointer, std::int64_t stride, int lanes);
  Value* load_one(BufferId, Value* pointer, Value* mask);
  Value* load_gather(BufferId, ExprRef index, int lanes, Value* mask);
  /// Lanes whose distances are constant and small, by one load and a permutation; nothing for others.
  Value* load_permuted(BufferId, ExprRef index, int lanes);
  /// Bytes of a table of 256 by indices that are bytes; nothing for another load.
  Value* load_from_table(BufferId, ExprRef index, int lanes);
  void store_memory(const Store&, ExprRef index, Value* value, Value* mask, int lanes);
  void store_every(BufferId, const Linear& index, Value* value, int lanes);
  /// The address of the element at `index` (its first lane).
  Value* address(BufferId, const Linear& index);
  Value* pointer(const PointerKey&);
  Value* bumped_pointer(const PointerKey&, std::size_t home);
  Value* base_pointer(BufferId);
  Value* allocate(BufferId);
  /// The lanes that may be read: the load's own mask and the conditions around it. Null: all.
  Value* effective_mask(Value* own, int lanes);
  llvm::Instruction* mark(llvm::Instruction* load, BufferId);

  bool is_fixed(BufferId id) const override {
    const Buffer& buffer = program_.buffer(id);
    return buffer.scope == Scope::argument && !buffer.written;
  }

  Analysis& analysis_;
  const Architecture& architecture_;
  const CpuFeatures features_;
  const Target target_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  std::string processor_, feature_string_;

  Value *args_ = nullptr, *worker_ = nullptr, *workers_ = nullptr;
  std::vector<std::int64_t> workspace_offset_;  // by buffer
  std::int64_t worker_workspace_ = 0, workspace_ = 0;

  SlotValues slots_;
  std::vector<Value*> allocas_;  // by buffer; register buffers that are not in slots
  std::int64_t loads_ = 0;       // emitted so far
  int copy_ = 0;                 // of the load that is being emitted

  std::optional<TilesInUse> tiles_;  ///< while a statement runs whose sums are in the unit of tiles

  // While a run of stores is emitted that reads some scalars by four.
  Quads quads_;
  std::vector<Value*> quad_values_;  // by quad; null: not loaded yet
  std::size_t quad_depth_ = 0;       // levels around the run

  // While a run of stores is emitted that multiply bytes.
  ByteSums byte_sums_;
  std::map<std::vector<ExprRef>, Value*> joined_;  ///< the words of rows of bytes
  Value* byte_order_ = nullptr;                    ///< what the processor joins bytes by; null: not needed yet

  // While a run of stores is emitted that write every fourth byte.
  ByteWords byte_words_;
  std::vector<std::array<Value*, 4>> bytes_of_words_;
};

}  // namespace whet
