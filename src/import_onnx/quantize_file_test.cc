#include "import_onnx/testing/quantize_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "import/testing/imported.h"
#include "import_onnx/export.h"
#include "import_onnx/import_onnx.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"

namespace whet {
namespace quantize_file_test {

using testing::TensorRange;

Tensor result(const std::string& bytes, const Tensor& x) {
  const Result<Graph> graph = imported(read_onnx_model, {"twin", "", bytes}, {});
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return x;
  return evaluate_graph(*graph, {x}).value()[graph->outputs[0].index()];
}

/// y = x * w + bias by a convolution of single pixels, and z = y + a constant. Names that the twin's own would have are the model's.
TEST(QuantizedFile, GivesWhatItAddsNamesThatTheModelDoesNotHave) {
  Rng rng(3);
  Graph graph;
  const ValueId x = graph.add_value("bn_data", {DType::f32, {1, 4, 3, 3}});
  graph.inputs = {x};
  const ValueId w = graph.add_constant("bn_data_scale", Tensor::random({DType::f32, {4, 4, 1, 1}}, rng, -1, 1));
  const ValueId bias = graph.add_constant("bn_data_zero_point", Tensor::random({DType::f32, {4}}, rng, -1, 1));
  const ValueId y =
      graph.add_node("conv", ConvOperator{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, Layout::channels_first}, {x, w, bias})
          .value();
  graph.value(y).name = "bn_data_scale_scale";
  const ValueId shift =
      graph.add_constant("bn_data_DequantizeLinear_Output", Tensor::random({DType::f32, {1, 4, 3, 3}}, rng, -1, 1));
  const ValueId z = graph.add_node("add", BinaryOperator{BinaryKind::add}, {y, shift}).value();
  graph.value(z).name = "bn_data_QuantizeLinear_Output";
  graph.outputs = {z};

  const std::string floats = onnx_bytes(graph).value();
  const Result<std::string> twin =
      testing::quantized_onnx(floats, {{"bn_data", TensorRange{-1, 1}},
                                       {"bn_data_scale_scale", TensorRange{-5, 5}},
                                       {"bn_data_QuantizeLinear_Output", TensorRange{-6, 6}}});
  ASSERT_TRUE(twin.ok()) << twin.error().message;
  const Tensor input = Tensor::random({DType::f32, {1, 4, 3, 3}}, rng, -1, 1);
  EXPECT_LT(compare(result(*twin, input), result(floats, input)).relative, 0.05);
}

}  // namespace quantize_file_test
}  // namespace whet
