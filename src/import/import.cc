#include "import/import.h"

#include "import/onnx/import_onnx.h"
#include "import/onnx/reader.h"

namespace whet {

Result<Graph> import_onnx_bytes(std::string_view bytes, const std::string& what, const ImportOptions& options) {
  WHET_TRY(OnnxModel onnx, parse_onnx(bytes, "", what));
  return import_onnx(std::move(onnx), options);
}

Result<Graph> import_model(const std::string& path_or_zoo, const ImportOptions& options) {
  constexpr std::string_view kZoo = "zoo:";
  if (path_or_zoo.starts_with(kZoo)) return zoo_model(path_or_zoo.substr(kZoo.size()), options.zoo);
  WHET_TRY(OnnxModel onnx, read_onnx(path_or_zoo));
  auto graph = import_onnx(std::move(onnx), options);
  if (graph.ok() && graph->name.empty()) graph->name = path_or_zoo;
  return graph;
}

}  // namespace whet
