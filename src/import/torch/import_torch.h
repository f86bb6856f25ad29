#pragma once

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// Reads a program of torch.export (.pt2).
Result<FileModel> read_pt2_model(ModelSource);

}  // namespace whet
