#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/checkout.h"
#include "base/testing/random_cases.h"
#include "import/testing/imported.h"
#include "import_onnx/export.h"
#include "import_onnx/import_onnx.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"

/// What is imported computes what the model's authors computed: by the naive evaluation of the graph.
namespace whet {
namespace import_values_test {

std::string bundled(const std::string& file) { return checkout_path("tests/models/") + file; }

/// The largest error of the outputs, relative to the largest magnitude of each, against NAME.out.npy, NAME.out1.npy,
/// ...
double error_of(const std::string& name, const ImportOptions& options) {
  const Graph graph = imported_file(read_onnx_model, bundled(name + ".onnx"), options).value();
  const auto values = evaluate_graph(graph, {npy(bundled(name + ".in.npy"))}).value();
  double worst = 0;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string number = i == 0 ? "" : std::to_string(i);
    const Tensor want = npy(bundled(name + ".out" + number + ".npy"));
    worst = std::max(worst, compare(values[graph.outputs[i].index()], want).relative);
  }
  return worst;
}

TEST(ImportedModels, AnswerAsTheirReferences) {
  EXPECT_LT(error_of("blazeface_front", {}), 2e-5);
  ImportOptions options;
  options.shapes["x"] = {1, 3, 48, 192};
  EXPECT_LT(error_of("ppocr_cls", options), 2e-5);
}

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) sum += tensor.get(i) * tensor.get(i);
  return std::sqrt(sum / static_cast<double>(tensor.size()));
}

TEST(ZooValues, ActivationsStayInRange) {
  Rng rng(1);
  for (const std::string name : {"resnet-18", "resnet-50", "mlp"}) {
    if (testing::kSanitized && name == "resnet-50") continue;  // its blocks are computed slowly there
    ZooOptions options{.seed = 5};
    if (name != "mlp") options.image = 32;
    const Graph graph = zoo_model(name, options).value();
    const auto values = evaluate_graph(graph, {Tensor::random(graph.value(graph.inputs[0]).type, rng)}).value();
    for (const Node& node : graph.nodes) {
      if (node.name == "softmax") continue;  // sums to 1 over many
      const double size = root_mean_square(values[node.output.index()]);
      EXPECT_TRUE(size > 0.02 && size < 20) << name << " " << node.name << " " << size;
    }
  }
}
TEST(ZooValues, BothLayoutsAndTheExportedFileAnswerAlike) {
  if (testing::kSanitized) GTEST_SKIP() << "its blocks are computed slowly there";
  const Graph first = zoo_model("resnet-18", {1, 32, Layout::channels_first, 5}).value();
  const Graph last = zoo_model("resnet-18", {1, 32, Layout::channels_last, 5}).value();
  const Graph exported = imported(read_onnx_model, {"exported", "", onnx_bytes(last).value()}, {}).value();
  Rng rng(2);
  const Tensor nchw = Tensor::random({DType::f32, {1, 3, 32, 32}}, rng);
  Tensor nhwc(DType::f32, {1, 32, 32, 3});
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t i = 0; i < 32 * 32; ++i) nhwc.set(i * 3 + c, nchw.get(c * 32 * 32 + i));
  }
  const auto answer = [](const Graph& graph, const Tensor& input) {
    return evaluate_graph(graph, {input}).value()[graph.outputs[0].index()];
  };
  const Tensor want = answer(first, nchw);
  EXPECT_LT(compare(answer(last, nhwc), want).relative, 1e-6);
  EXPECT_LT(compare(answer(exported, nhwc), want).relative, 1e-6);
}

}  // namespace import_values_test
}  // namespace whet
