#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "import/zoo/zoo.h"

namespace whet {

struct ImportOptions {
  /// Binds the dimensions of inputs: `--shape name=1x3x224x224`. Fixed dimensions of the file must agree.
  std::map<std::string, Shape> shapes;
  /// Known values of inputs. One that decides a shape (of Reshape, Slice, Expand, ...) is folded into the graph as a
  /// constant and is no input any more; the others change nothing but bind their input's dimensions.
  std::map<std::string, Tensor> values;
  /// Values of a file that are the outputs instead of its own: `--until boxes --until scores`. Empty: its own.
  std::vector<std::string> until;
  /// Which of several functions or programs of a file: `--entry NAME`. Empty: the only one, or the usual one.
  std::string entry;
  /// For "zoo:NAME".
  ZooOptions zoo;
};

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
/// The same from bytes that are those of an ONNX file, whatever they look like.
Result<Graph> import_onnx_bytes(std::string_view bytes, const std::string& what, const ImportOptions& options = {});

}  // namespace whet
