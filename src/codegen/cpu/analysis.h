#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "codegen/cpu/tile.h"
#include "codegen/expr_table.h"
#include "codegen/register_slots.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// The slots and buffers that a statement changes.
struct Effects {
  std::vector<int> slots;         ///< sorted
  std::vector<BufferId> buffers;  ///< in memory; sorted
};

/// Facts about a whole program that code generation needs before it starts.
/// Lets of movable values and loops of one iteration become aliases in the table.
class Analysis {
 public:
  /// Errors: the program is not in the form that `compile_kernel` needs, or too long.
  static Result<Analysis> of(const Program&, const Target&);

  ExprTable& table() { return *table_; }
  const std::vector<Slot>& slots() const { return slots_->all(); }
  /// Whether the register buffer is kept in slots; else it lives in the worker's stack.
  bool in_slots(BufferId buffer) const { return slots_->holds(buffer); }
  SlotPlace place(BufferId buffer, const Linear& index, int lanes) const { return slots_->place(buffer, index, lanes); }
  /// The loop is to be computed by an intrinsic; else null.
  const IntrinsicTile* tile(const Stmt& loop) const {
    const auto found = tiles_.find(loop.operator->());
    return found == tiles_.end() ? nullptr : &found->second;
  }
  const Effects& effects(const Stmt& stmt) const { return effects_.at(stmt.operator->()); }
  std::int64_t instructions() const { return instructions_; }
  bool has_parallel_loop() const { return parallel_; }
  bool has_tile_products() const { return tile_products_; }

 private:
  struct Walk;
  std::shared_ptr<ExprTable> table_;
  std::shared_ptr<RegisterSlots> slots_;
  std::unordered_map<const StmtNode*, Effects> effects_;
  std::unordered_map<const StmtNode*, IntrinsicTile> tiles_;
  std::int64_t instructions_ = 0;
  bool parallel_ = false, tile_products_ = false;
};

}  // namespace whet
