#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lower/passes.h"
#include "program/program.h"
#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// The tensor that an argument of a kernel holds. input: placeholder number `index` of the task's DAG (also constants that are not
/// packed); packed: output number `index` of the packing; output: number `index` of dag.outputs; sizes: the values of the DAG's
/// sizes, the first argument where it has some. Types are those of the largest sizes.
struct KernelArgument {
  enum class Kind { input, packed, output, sizes };
  Kind kind = Kind::input;
  int index = 0;
  TensorType type;
  friend bool operator==(const KernelArgument&, const KernelArgument&) = default;
};

struct Lowered {
  /// Its sizes are those of the schedule, which may have less than the DAG's: overlapping tiles need a tile's iterations.
  Program program;
  std::vector<KernelArgument> arguments;  ///< in the order of the Program's arguments
  /// Computes the packed constants. Its placeholders are all constant placeholders of the task's DAG, in order; its outputs
  /// are the packed constants. It is part of no kernel: the caller runs it once, when it compiles or measures.
  ComputeDag packing;
};

/// LoopTree -> Program without loops to be expanded, with every access proven to be inside its buffer.
///   within    the shape of the tensor that the only output is a part of: the output's buffer has this tensor's strides,
///             and the caller adds the offset to the pointer. Empty: the output is a tensor of its own.
///   sizes     a DAG with sizes becomes one program for all of them, on CPUs alone; of `within` the last extent counts, at all sizes
///   observer  sees the program after `generate` and after each pass of the target's table
///   Errors    name the loop or access that cannot be lowered, and the reason
Result<Lowered> lower(const LoopTree&, const Target&, const Shape& within = {}, const PassObserver& observer = {});
/// The same up to and including the pass of that name ("generate" for none), for tests and `explain`.
Result<Lowered> lower_until(const LoopTree&, const Target&, std::string_view pass, const PassObserver& observer = {});

}  // namespace whet
