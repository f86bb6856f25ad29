#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// The nodes that the outputs need, each after those that it reads, else in the file's order. Errors: a value that
/// nothing defines or two define, a cycle, no outputs.
Result<std::vector<std::size_t>> live_order(const FileModel&);

}  // namespace whet
