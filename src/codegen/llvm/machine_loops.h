#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "codegen/machine_loops.h"
#include "target/target.h"

namespace whet {

/// The innermost loops of machine code for a CPU.
Result<std::vector<MachineLoop>> loops_of_code(std::string_view code, const Target&);

}  // namespace whet
