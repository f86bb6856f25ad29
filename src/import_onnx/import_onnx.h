#pragma once

#include "base/result.h"
#include "import/file_model.h"
#include "import_onnx/reader.h"

namespace whet {

/// Reads an ONNX file; external data lies beside it.
Result<FileModel> read_onnx_model(ModelSource&&);
/// An ONNX file as the formats have it in common; its nodes are imported by the table of importers.h.
FileModel file_model(OnnxModel);
/// A model that is read, as a graph of static shapes: see `import_model`.
Result<Graph> import_onnx(OnnxModel, const ImportOptions&);

}  // namespace whet
