// Writes the ONNX twin of a model of any format, for a peer that reads ONNX alone: `write_onnx MODEL OUTPUT.onnx`. The graph passes have
// run, so that the peer gets folded constants and few transposes.
#include <fmt/format.h>

#include <string>

#include "formats/import_model.h"
#include "import_onnx/export.h"
#include "passes/optimize.h"

namespace whet {
namespace {

Status write_onnx(const std::string& model, const std::string& output) {
  WHET_TRY(Graph graph, import_model(model, {}));
  WHET_TRY(graph, run_passes(std::move(graph), {.channels_last = false}));
  return export_onnx(graph, output);
}

}  // namespace
}  // namespace whet

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: write_onnx MODEL OUTPUT.onnx\n");
    return 2;
  }
  const whet::Status status = whet::write_onnx(arguments[1], arguments[2]);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.error().message);
  return status.ok() ? 0 : 1;
}
