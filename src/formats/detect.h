#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// The format of a model file, told by its content; its name decides nothing.
enum class FileKind : std::uint8_t {
  onnx,
  pt2,             ///< torch.export, 2.8 and newer, or older
  torch_compiled,  ///< AOTInductor: machine code in a .pt2
  torchscript,
  torch_weights,  ///< torch.save: pickled tensors, no graph
  executorch,
  tflite,
  tflite_bundle,  ///< a zip of .tflite files (MediaPipe's .task)
  saved_model,    ///< a TensorFlow SavedModel: its folder, or the saved_model.pb in it
  graph_def,      ///< a frozen TensorFlow graph
  tfjs_graph,     ///< model.json of a graph model
  tfjs_layers,    ///< model.json of a layers model
  keras,          ///< .keras: layers by their Python classes
  hdf5,
  mxnet_symbol,
  mxnet_params,
  safetensors,
  gguf,
  pickle,
  numpy,           ///< .npy or .npz
  operator_text,   ///< an operator by its definition (docs/formats/dag.md)
  compiled_model,  ///< what `whet compile` writes
  library,         ///< an ELF file that is none of ours
  unknown
};

/// The kind of a file. Bytes may be cut off or damaged anywhere: then a likely kind, or `unknown`.
FileKind detect(std::string_view bytes);
/// The kind of a folder by the files in it.
FileKind detect_folder(const std::string& path);

/// The refusal of a file of a kind without a reader: it names the format and a way to a file that is read, and begins with
/// `what`. `detail` is what the file holds: " (244 tensors)".
Error refusal(FileKind, const std::string& what, const std::string& detail = "");

}  // namespace whet
