#pragma once

#include <vector>

#include "base/result.h"
#include "import/file_model.h"
#include "import/import.h"

namespace whet {

/// The static types of the model's inputs, in order: `options.shapes` and the shapes of `options.values` bind symbolic
/// dimensions (one symbol everywhere to one extent), a leading dimension that is left is 1, any other is an error that
/// says which option to give.
Result<std::vector<TensorType>> bind_inputs(const FileModel&, const ImportOptions& options);

}  // namespace whet
