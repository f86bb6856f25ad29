#include "import/import.h"

#include "import/onnx/import_onnx.h"
#include "import/onnx/reader.h"

namespace whet {
namespace {

/// A damaged file's names may hold anything: the sentence stays one line, and short.
Result<Graph> with_one_line(Result<Graph> graph) {
  constexpr std::size_t kLongest = 1000;
  if (graph.ok()) return graph;
  std::string message = graph.error().message;
  if (message.size() > kLongest) message = message.substr(0, kLongest) + "...";
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return Error{message};
}

Result<Graph> import_read(Result<OnnxModel> onnx, const ImportOptions& options) {
  if (!onnx.ok()) return with_one_line(onnx.error());
  return with_one_line(import_onnx(std::move(onnx).value(), options));
}

}  // namespace

Result<Graph> import_onnx_bytes(std::string_view bytes, const std::string& what, const ImportOptions& options) {
  return import_read(parse_onnx(bytes, "", what), options);
}

Result<Graph> import_model(const std::string& path_or_zoo, const ImportOptions& options) {
  constexpr std::string_view kZoo = "zoo:";
  if (path_or_zoo.starts_with(kZoo) && !options.until.empty())
    return Error{"--until is for ONNX files; " + path_or_zoo + " is built in (`whet zoo export` makes it a file)"};
  if (path_or_zoo.starts_with(kZoo)) return zoo_model(path_or_zoo.substr(kZoo.size()), options.zoo);
  auto graph = import_read(read_onnx(path_or_zoo), options);
  if (graph.ok() && graph->name.empty()) graph->name = path_or_zoo;
  return graph;
}

}  // namespace whet
