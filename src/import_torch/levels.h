#pragma once

#include <string_view>

#include "base/result.h"
#include "import/growing.h"
#include "import_torch/program.h"

/// Levels of vmap. The dimension of a level lies before those that the program sees, the outer levels behind the inner ones; so what
/// is the same in a level has no such dimension and broadcasts.
namespace whet::torch {

/// Refuses a node that would take the dimension of a level for one of its own: of tensors with levels only operators are read that
/// compute each element alone, make new tensors like them, or look rows up in a tensor without levels. The node is of the program.
Status check_levels(const GrowingGraph&, const TorchNode&, const TorchProgram&);

/// Whether each element of the operator's result is of one element of each operand, which are broadcast (rows.cc).
bool computes_each_element(std::string_view op);

}  // namespace whet::torch
