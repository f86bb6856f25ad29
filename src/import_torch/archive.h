#pragma once

#include "base/result.h"
#include "import/file_model.h"
#include "import_torch/program.h"

namespace whet::torch {

/// Reads an archive of torch.export.save, of torch 2.8 and newer or of torch 2.1 to 2.7. `entry`: which of its programs, where there are several.
/// Errors name the file and the member.
Result<TorchModel> read_archive(const ModelSource&, const std::string& entry);

}  // namespace whet::torch
