#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/import_model.h"
#include "import/file_model.h"

namespace whet {

/// A model's inputs, as its file has them: names, types, and dimensions, of which some may be open. Those of a built-in network are fixed.
Result<std::vector<FileInput>> model_inputs(const std::string& path_or_zoo, const ImportOptions& options = {});
/// Their names; a sequence is one.
Result<std::vector<std::string>> input_names(const std::string& path_or_zoo, const ImportOptions& options = {});

}  // namespace whet
