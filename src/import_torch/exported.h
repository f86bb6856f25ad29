#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "import_torch/program.h"
#include "json/json.h"

namespace whet::torch {

/// A parameter, buffer or constant by its name in the module. None: an error's sentence.
using Weights = std::function<Result<Tensor>(const std::string& name, bool is_constant)>;

/// The program of an ExportedProgram's JSON, of all versions of its schema. `native_types`: dtype_of. `what` begins messages.
Result<TorchModel> parse_exported(const Json&, const Weights&, bool native_types, const std::string& what);

/// The type that a "tensor_meta" gives. Sizes that are no integers are open.
Result<SaidType> parse_tensor_meta(const Json&, const std::string& what);
/// An integer, or the expression of one that holds an integer: sizes, strides, offsets.
std::optional<std::int64_t> known_size(const Json&);

}  // namespace whet::torch
