#pragma once

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// Reads a TensorFlow Lite model.
Result<FileModel> read_tflite_model(ModelSource&&);

}  // namespace whet
