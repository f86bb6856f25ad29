#pragma once

#include <string>

#include "import_torch/program.h"

namespace whet::torch {

/// Whether the tensor `name` of a program is all of its memory, row by row, as far as the program shows: views that turn, cut or
/// repeat are not, and of other operators only those are that are known to be. `inputs_do`: the program's inputs and weights are.
bool lies_row_by_row(const TorchProgram&, const std::string& name, bool inputs_do);

}  // namespace whet::torch
