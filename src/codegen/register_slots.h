#pragma once

#include <cstdint>
#include <vector>

#include "codegen/expr_table.h"
#include "program/program.h"

namespace whet {

/// Elements of a register buffer that live together in one SSA value.
struct Slot {
  BufferId buffer;
  std::int64_t first = 0;  ///< element
  int lanes = 1;
  DType dtype = DType::f32;
};

/// The part of a slot that an access of a register buffer touches.
struct SlotPlace {
  int slot = 0;
  int first = 0;  ///< lane of the slot
  int lanes = 1;  ///< 1 and a wider access: every lane reads the same element
};

/// The register buffers of a program as slots. Accesses that overlap share one, and one of them must cover it. A buffer is
/// in slots where all its indices are constants (of four lanes that share a row except for the lane's place), its vectors are evenly spaced, and its accesses fit together.
class RegisterSlots {
 public:
  explicit RegisterSlots(const Program&);
  // First all accesses are noted; those of other buffers are passed over.
  /// `index`: null where it is not evenly spaced.
  void access(BufferId, const Linear* index, int lanes);
  void keep_in_memory(BufferId buffer) { irregular_[buffer.index()] = true; }
  void finish();

  // Then they can be asked for.
  const std::vector<Slot>& all() const { return slots_; }
  bool holds(BufferId buffer) const { return holds_[buffer.index()]; }
  /// Numbers of its slots, by their first element.
  const std::vector<int>& of(BufferId buffer) const { return of_[buffer.index()]; }
  SlotPlace place(BufferId, const Linear& index, int lanes) const;

 private:
  struct Access {
    std::int64_t first;
    int lanes;
  };
  static std::vector<Access> group(std::vector<Access>);
  /// The first element. Of a row that four lanes have together (Buffer::quad) each keeps its own, whatever their places in the row.
  std::int64_t first_of(BufferId, const Linear&) const;

  const Program& program_;
  std::vector<Slot> slots_;
  // By buffer.
  std::vector<std::vector<Access>> accesses_;
  std::vector<bool> irregular_, holds_;
  std::vector<std::vector<int>> of_;
};

}  // namespace whet
