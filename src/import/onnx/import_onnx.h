#pragma once

#include "base/result.h"
#include "import/import.h"
#include "import/onnx/reader.h"

namespace whet {

/// A model that is read, as a graph of static shapes: see `import_model`.
Result<Graph> import_onnx(OnnxModel, const ImportOptions&);

}  // namespace whet
