#pragma once

#include <optional>
#include <string>

#include "import_torch/script_run.h"

namespace whet::torch {

/// A function of the language on numbers, lists and texts, and what is asked of tensors while the program is followed:
/// "torch.len", "torch.size", "prim.NumToTensor". None: it is an operator of the table, or nothing.
Result<std::optional<ScriptValue>> call_builtin(ScriptRun&, const std::string& name, const ScriptArguments&);

/// The overload of an operator that arguments like these choose: "aten.sum" -> "aten.sum.dim_IntList". An operator
/// without a row is itself.
std::string with_overload(const std::string& op, const ScriptArguments&);

/// The conversions int(x), float(x), bool(x) and str(x).
Result<ScriptValue> converted(ScriptRun&, const std::string& type, const ScriptValue&);

}  // namespace whet::torch
