#pragma once

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// A network of MXNet: NAME-symbol.json, and its parameters in NAME-EPOCH.params beside it; of several the last, unless
/// `entry` names one of the files.
Result<FileModel> read_mxnet_model(ModelSource&&);

}  // namespace whet
