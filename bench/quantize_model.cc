// Writes a quantized twin of a model: `quantize_model MODEL OUTPUT.onnx [FLOATS.onnx]`. MODEL is a file or a network of the zoo; the ranges of its
// values are those of one random input (or of inputs in [0, 1) where they are images). FLOATS.onnx: the float model as it was
// quantized, normalization folded into its convolutions.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "formats/import_model.h"
#include "import_onnx/export.h"
#include "import_onnx/testing/quantize_file.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

Status quantize(const std::string& model, const std::string& output, const std::string& floats) {
  WHET_TRY(Graph graph, import_model(model, {}));
  WHET_TRY(graph, run_passes(std::move(graph), {.channels_last = false}));
  WHET_TRY(const std::string bytes, onnx_bytes(graph));
  if (!floats.empty()) WHET_RETURN_IF_ERROR(write_file(floats, bytes));
  Rng rng(1);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng, -1, 1));
  WHET_TRY(const std::vector<Tensor> values, evaluate_graph(graph, inputs));
  std::map<std::string, testing::TensorRange> ranges;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.constant || value.type.dtype != DType::f32 || value.type.shape.empty()) continue;
    testing::TensorRange range;
    for (float x : values[i].as<float>())
      range.low = std::min<double>(range.low, x), range.high = std::max<double>(range.high, x);
    ranges[value.name] = range;
  }
  WHET_TRY(const std::string quantized, testing::quantized_onnx(bytes, ranges));
  return write_file(output, quantized);
}

}  // namespace
}  // namespace whet

int main(int count, char** arguments) {
  if (count < 3 || count > 4) {
    fmt::print(stderr, "usage: quantize_model MODEL OUTPUT.onnx [FLOATS.onnx]\n");
    return 2;
  }
  const whet::Status status = whet::quantize(arguments[1], arguments[2], count > 3 ? arguments[3] : "");
  if (!status.ok()) fmt::print(stderr, "{}\n", status.error().message);
  return status.ok() ? 0 : 1;
}
