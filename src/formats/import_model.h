#pragma once

#include <string>

#include "base/result.h"
#include "graph/graph.h"
#include "import/options.h"

namespace whet {

/// Reads a model file, whose content tells what it is (detect.h), or "zoo:resnet-18". Read are ONNX files (operator set 7 to
/// 21, and what of older and newer ones means the same), programs of torch.export (.pt2), TorchScript archives, TensorFlow Lite
/// models ("FILE:NAME.tflite" is one of a bundle), TensorFlow's SavedModels, GraphDefs and graph models of TensorFlow.js, and
/// symbols of MXNet. Shapes are static afterwards: a symbolic dimension is bound by
/// `shapes`, a leading one defaults to 1. Arithmetic on shapes is folded away; nodes that no output needs are gone.
/// Activations and weights are as in the file. Errors name the node or input at fault; operators that
/// are not supported are listed all at once; files of other formats are named.
Result<Graph> import_model(const std::string& path_or_zoo, const ImportOptions& options = {});
/// The same from the bytes of a file; `what` begins messages. Files beside it are not found.
Result<Graph> import_model_bytes(std::string_view bytes, const std::string& what, const ImportOptions& options = {});

}  // namespace whet
