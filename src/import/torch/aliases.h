#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "import/torch/program.h"

namespace whet::torch {

/// Whether an operator writes into its first argument: "aten.relu_.default".
bool is_in_place(const std::string& op);

/// The same program without in-place operators. What wrote into a tensor computes a new one; what wrote into a view (a slice,
/// a transpose, ...) is put back into what it is a view of, and views of that which are read later are taken anew. `written`
/// gets the inputs that the program writes into. Errors name the node that writes into a view that cannot be put back.
Result<TorchProgram> without_writes(TorchProgram, std::set<std::string>& written);

}  // namespace whet::torch
