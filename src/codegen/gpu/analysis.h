#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "codegen/expr_table.h"
#include "codegen/register_slots.h"
#include "compute/interval.h"
#include "program/launch.h"
#include "target/gpu.h"

namespace whet {

// In bytes.
constexpr std::int64_t kBlockMemoryAlign = 128;  ///< of a block's memory
constexpr std::int64_t kBlockBufferAlign = 16;   ///< of the buffers in it
constexpr std::int64_t kArgumentAlign = 256;     ///< of arguments, the workspace and the buffers in it

/// One launch of a Program.
struct GpuLaunch {
  LaunchNest nest;
  std::vector<bool> stored;                ///< by buffer: the launch stores to it
  std::vector<std::int64_t> block_offset;  ///< by buffer: its place in block memory, in bytes
  std::int64_t block_memory = 0;           ///< bytes
};

/// Whether 32 bits hold all of them.
inline bool in_32_bits(const Interval& range) { return range.inside(Interval::of(DType::i32)); }

/// Facts about a Program for a GPU that code generation needs before it starts.
/// Lets of movable values and loops of one iteration become aliases in the table.
class GpuAnalysis {
 public:
  /// Errors: the program is not in the form that `compile_kernel` needs, or asks for what a GPU of these limits lacks.
  static Result<GpuAnalysis> of(const Program&, const GpuLimits&);

  ExprTable& table() { return *table_; }
  const RegisterSlots& slots() const { return *slots_; }
  const std::vector<GpuLaunch>& launches() const { return launches_; }
  /// A thread has memory of its own, which is as slow as the device's: for buffers of scope local, and registers whose
  /// indices are not all constants.
  bool has_local_memory() const { return local_memory_; }
  /// The values of an integer expression.
  Interval range(ExprRef);
  /// Those of a sum of terms.
  Interval range(const Linear::Terms&);

 private:
  struct Walk;
  Interval compute_range(ExprRef);

  std::shared_ptr<ExprTable> table_;
  std::shared_ptr<RegisterSlots> slots_;
  std::vector<GpuLaunch> launches_;
  bool local_memory_ = false;
  std::unordered_map<VarId, Interval> variables_;
  std::vector<std::optional<Interval>> ranges_;  ///< by ExprRef
};

}  // namespace whet
