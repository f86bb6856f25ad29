#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/import.h"

namespace whet {

/// The names of a model's inputs, as its file has them; a sequence is one.
Result<std::vector<std::string>> input_names(const std::string& path_or_zoo, const ImportOptions& options = {});

}  // namespace whet
