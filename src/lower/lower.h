#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lower/passes.h"
#include "program/program.h"
#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// What a kernel's argument is. input: placeholder number `index` of the task's DAG (also constants that are not
/// packed); packed: output number `index` of the packing; output: number `index` of dag.outputs.
struct KernelArgument {
  enum class Kind { input, packed, output };
  Kind kind = Kind::input;
  int index = 0;
  TensorType type;
  friend bool operator==(const KernelArgument&, const KernelArgument&) = default;
};

struct Lowered {
  Program program;
  std::vector<KernelArgument> arguments;  ///< in the order of the Program's arguments
  /// Its placeholders are all constant placeholders of the task's DAG, in order; its outputs are the packed constants.
  /// No kernel contains it: whoever compiles or measures runs it once.
  ComputeDag packing;
};

/// LoopTree -> Program with explicit vectors and constant register indices, verified. A refusal says what cannot be
/// lowered and why.
///   within  the shape of the tensor that the only output is a part of, at an offset that the caller adds to its
///           pointer: the strides of the output's buffer are the whole's. Empty: the output is whole itself.
///   observer  sees the program after `generate` and after each pass of the target's table
Result<Lowered> lower(const LoopTree&, const Target&, const Shape& within = {}, const PassObserver& observer = {});
/// The same up to and including the pass of that name ("generate" for none), for tests and `explain`.
Result<Lowered> lower_until(const LoopTree&, const Target&, std::string_view pass, const PassObserver& observer = {});

}  // namespace whet
