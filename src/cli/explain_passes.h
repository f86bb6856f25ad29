#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "schedule/loop_tree.h"
#include "target/target.h"
#include "tensor/shape.h"

namespace whet {

/// The Program that a lowering pass left.
struct LoweringStep {
  std::string pass;  ///< "generate" of the first
  std::string text;
  double seconds = 0;  ///< of the pass
};

/// Every pass of a schedule's lowering, and the error that ended it.
struct LoweringTrace {
  std::vector<LoweringStep> steps;
  std::optional<Error> error;

  const LoweringStep* find(const std::string& pass) const;
};

/// Lowers the schedule as compiling does (`within` as in `lower`).
LoweringTrace trace_lowering(const LoopTree&, const Target&, const Shape& within);
/// The first Program, then the lines that each pass changed; one line for a pass that changed nothing.
std::string to_text(const LoweringTrace&);

}  // namespace whet
