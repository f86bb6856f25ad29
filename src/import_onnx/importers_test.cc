#include "import_onnx/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/testing/checkout.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"
#include "tensor_files/file.h"

namespace whet {
namespace onnx_importers_test {

/// The graph's nodes as text (one a line, inputs and constants left out), a folded output's values, or the error.
std::string text_of(const Result<Graph>& graph) {
  if (!graph.ok()) return graph.error().message;
  std::string text;
  for (const Value& value : graph->values) {
    const bool output = value.name.starts_with("y");
    if (value.constant && output) text += value.name + " = " + values_text(*value.constant) + "\n";
  }
  const std::string whole = to_text(*graph);
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at);
    std::string line = whole.substr(at, end - at);
    at = end + 1;
    const bool node = line.find(" = ") != std::string::npos;
    if (node) text += line.substr(0, line.find("  # ")) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string imported(const std::string& op, int opset, const std::vector<In>& inputs, Attributes attributes = {},
                     int outputs = 1) {
  return text_of(import_onnx(one_node(op, opset, inputs, std::move(attributes), outputs), {}));
}

TEST(Importers, AreTheOnesThatTheDocumentLists) {
  std::map<std::string, std::string> listed;
  for (const OnnxRow& row : onnx_importers()) {
    std::string& sets = listed[(row.domain.empty() ? "" : std::string(row.domain) + ".") + std::string(row.op)];
    sets += (sets.empty() ? "" : ", ") + std::to_string(row.since);
  }
  std::string wanted;
  for (const auto& [op, sets] : listed) wanted += "| `" + op + "` | " + sets + " |\n";
  const Result<std::string> document = read_file(checkout_path("docs/operators/onnx.md"));
  ASSERT_TRUE(document.ok());
  std::string found;
  for (std::size_t at = 0; (at = document->find("\n| `", at)) != std::string::npos;) {
    const std::size_t second = document->find(" | ", at), third = document->find(" |", second + 3);
    found += document->substr(at + 1, third + 2 - at - 1) + "\n";
    at = third;
  }
  EXPECT_EQ(found, wanted) << "docs/operators/onnx.md";
}

TEST(Importers, GiveAGraphOrASentenceWithoutAttributes) {
  for (const OnnxRow& row : onnx_importers())
    for (const Shape& shape : {Shape{1, 2, 4, 4}, Shape{2, 3}})
      for (std::size_t count = 0; count <= 5; ++count) {
        const std::string op = (row.domain.empty() ? "" : std::string(row.domain) + ".") + std::string(row.op);
        const std::vector<In> inputs(count, f32(shape));
        const Result<Graph> graph = import_onnx(one_node(op, static_cast<int>(row.since), inputs, {}), {});
        EXPECT_TRUE(graph.ok() || !graph.error().message.empty()) << op;
      }
}

TEST(ImportConv, ResolvesPadsAndGroups) {
  EXPECT_EQ(imported("Conv", 13, {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}), "y: f32[1x4x6x6] = conv(a, b)");
  EXPECT_EQ(imported("Conv", 13, {f32({1, 4, 8, 8}), f32({4, 1, 3, 3}), f32({4})},
                     {set("group", 4), set("strides", Ints{2, 2}), set("pads", Ints{0, 1, 2, 1})}),
            "y: f32[1x4x4x4] = conv(a, b, c) strides=[2,2] pads_begin=[0,1] pads_end=[2,1] groups=4");
  EXPECT_EQ(imported("Conv", 13, {f32({1, 3, 8, 8}), f32({4, 3, 4, 4})}, {set("auto_pad", "SAME_UPPER")}),
            "y: f32[1x4x8x8] = conv(a, b) pads_begin=[1,1] pads_end=[2,2]");
  EXPECT_EQ(imported("Conv", 13, {f32({1, 3, 8, 9}), f32({4, 3, 3, 3})},
                     {set("auto_pad", "SAME_LOWER"), set("strides", Ints{2, 2})}),
            "y: f32[1x4x4x5] = conv(a, b) strides=[2,2] pads_begin=[1,1] pads_end=[0,1]");
  EXPECT_EQ(
      imported("Conv", 13, {f32({1, 3, 9}), f32({4, 3, 3})}, {set("auto_pad", "VALID"), set("dilations", Ints{2})}),
      "y: f32[1x4x5] = conv(a, b) dilations=[2]");
}
TEST(ImportConv, SaysWhatIsWrong) {
  const std::vector<In> inputs = {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})};
  EXPECT_EQ(imported("Conv", 13, inputs, {set("auto_pad", "SAME_FOO")}),
            "n: attribute \"auto_pad\" is \"SAME_FOO\"; expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  EXPECT_EQ(imported("Conv", 13, inputs, {set("strides", "2")}),
            "n: attribute \"strides\" is a text; expected a list of integers");
  EXPECT_EQ(imported("Conv", 13, inputs, {set("strides", Ints{2})}),
            "n: attribute \"strides\" has 1 entries; expected 2");
  EXPECT_EQ(imported("Conv", 13, inputs, {set("pads", Ints{0, 0, -1, 0})}),
            "n: attribute \"pads\" holds -1; expected 0 to 2147483647");
  EXPECT_EQ(imported("Conv", 13, inputs, {set("kernel_shape", Ints{5, 5})}),
            "n: attribute \"kernel_shape\" is 5x5; the weights are f32[4x3x3x3]");
  EXPECT_EQ(imported("Conv", 13, inputs, {set("stride", Ints{2, 2})}),
            "n: attribute \"stride\" is not one of Conv in operator set 13");
  EXPECT_EQ(imported("Conv", 13, {f32({1, 3, 8, 8})}), "n: has 1 input; Conv takes 2 to 3");
}
TEST(ImportPool, CountsWithCeilMode) {
  const std::vector<In> x = {f32({1, 2, 6, 6})};
  const OnnxAttribute kernel = set("kernel_shape", Ints{3, 3}), strides = set("strides", Ints{2, 2});
  EXPECT_EQ(imported("MaxPool", 12, x, {kernel, strides}), "y: f32[1x2x2x2] = maxpool(a) kernel=[3,3] strides=[2,2]");
  EXPECT_EQ(imported("MaxPool", 12, x, {kernel, strides, set("ceil_mode", 1)}),
            "y: f32[1x2x3x3] = maxpool(a) kernel=[3,3] strides=[2,2] pads_begin=[0,0] pads_end=[1,1]");
  // The last window would begin in the padding: it is not counted.
  EXPECT_EQ(imported("MaxPool", 12, {f32({1, 2, 4, 4})},
                     {set("kernel_shape", Ints{1, 1}), set("strides", Ints{2, 2}), set("ceil_mode", 1)}),
            "y: f32[1x2x2x2] = maxpool(a) kernel=[1,1] strides=[2,2]");
  EXPECT_EQ(
      imported("AveragePool", 11, x, {kernel, strides, set("count_include_pad", 1), set("pads", Ints{1, 1, 1, 1})}),
      "y: f32[1x2x3x3] = avgpool(a) kernel=[3,3] strides=[2,2] pads=[1,1] count_include_pad");
  // What the file pads is counted, what ceil_mode adds is not.
  EXPECT_EQ(
      imported("AveragePool", 11, x,
               {kernel, strides, set("count_include_pad", 1), set("ceil_mode", 1), set("pads", Ints{1, 1, 1, 1})}),
      "n/pad: f32[1x2x8x8] = pad(a) begin=[0,0,1,1] end=[0,0,1,1]\n"
      "y: f32[1x2x4x4] = avgpool(n/pad) kernel=[3,3] strides=[2,2] pads_begin=[0,0] pads_end=[1,1]");
  EXPECT_EQ(imported("GlobalAveragePool", 13, x), "y: f32[1x2x1x1] = reduce_mean(a) axes=[2,3]");
}
TEST(ImportMatrix, GemmScalesAndAdds) {
  EXPECT_EQ(imported("Gemm", 13, {f32({2, 3}), f32({4, 3}), f32({4})}, {set("transB", 1)}),
            "n/matmul: f32[2x4] = matmul(a, b) transpose_b\ny: f32[2x4] = add(n/matmul, c)");
  EXPECT_EQ(imported("Gemm", 13, {f32({3, 2}), f32({3, 4})}, {set("transA", 1)}),
            "y: f32[2x4] = matmul(a, b) transpose_a");
  EXPECT_EQ(imported("Gemm", 13, {f32({2, 3}), f32({3, 4}), f32({4})}, {set("alpha", 0.5), set("beta", 2.0)}),
            "n/matmul: f32[2x4] = matmul(a, b)\n"
            "n/alpha: f32[2x4] = mul(n/matmul, n/alpha_factor)\n"
            "n/beta: f32[4] = mul(c, n/beta_factor)\n"
            "y: f32[2x4] = add(n/alpha, n/beta)");
  EXPECT_EQ(imported("Gemm", 13, {f32({2, 3}), f32({3, 4}), f32({3})}),
            "n: adds f32[3] to f32[2x4]; expected a tensor that broadcasts to it");
}
TEST(ImportMatrix, VectorsBecomeRowsAndColumns) {
  EXPECT_EQ(imported("MatMul", 13, {f32({3}), f32({3})}),
            "n/row: f32[1x3] = reshape(a)\nn/column: f32[3x1] = reshape(b)\n"
            "n/matmul: f32[1x1] = matmul(n/row, n/column)\ny: f32[scalar] = reshape(n/matmul)");
  EXPECT_EQ(imported("MatMul", 13, {f32({3}), f32({5, 3, 4})}),
            "n/row: f32[1x3] = reshape(a)\nn/matmul: f32[5x1x4] = matmul(n/row, b)\ny: f32[5x4] = reshape(n/matmul)");
  EXPECT_EQ(imported("MatMul", 13, {f32({5, 2, 3}), f32({3})}),
            "n/column: f32[3x1] = reshape(b)\nn/matmul: f32[5x2x1] = matmul(a, n/column)\n"
            "y: f32[5x2] = reshape(n/matmul)");
}
TEST(ImportElementwise, ReadsAttributesAndInputs) {
  EXPECT_EQ(imported("Clip", 6, {f32({3})}, {set("min", 0.0), set("max", 6.0)}), "y: f32[3] = clip(a) low=0 high=6");
  EXPECT_EQ(imported("Clip", 13, {f32({3}), left_out(), scalar(6)}), "y: f32[3] = clip(a) high=6");
  EXPECT_EQ(imported("Clip", 13, {f32({3}), f32({}), f32({})}), "n/low: f32[3] = max(a, b)\ny: f32[3] = min(n/low, c)");
  EXPECT_EQ(imported("HardSigmoid", 6, {f32({3})}, {set("alpha", 0.25)}),
            "y: f32[3] = hard_sigmoid(a) alpha=0.25 beta=0.5");
  EXPECT_EQ(imported("Pow", 13, {f32({3}), ints({2})}), "y: f32[3] = pow(a, n/exponent)");
  EXPECT_EQ(imported("Sum", 13, {f32({3}), f32({1}), f32({})}),
            "n/step1: f32[3] = add(a, b)\ny: f32[3] = add(n/step1, c)");
  EXPECT_EQ(imported("Cast", 13, {TensorType{DType::i32, {3}}}, {set("to", 16)}), "y: f32[3] = cast(a) to=f32");
  EXPECT_EQ(imported("Cast", 13, {f32({3})}, {set("to", 14)}),
            "n: casts to COMPLEX64; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
}
TEST(ImportElementwise, ComposesActivations) {
  EXPECT_EQ(imported("Elu", 13, {f32({3})}, {set("alpha", 0.5)}),
            "n/positive: f32[3] = relu(a)\n"
            "n/negative: f32[3] = clip(a) high=0\n"
            "n/power: f32[3] = exp(n/negative)\n"
            "n/far: f32[3] = sub(n/power, n/far_by)\n"
            "n/times: f32[3] = mul(n/last, n/negative)\n"
            "n/term: f32[3] = add(n/times, n/term_by)\n"
            "n/times_1: f32[3] = mul(n/term, n/negative)\n"
            "n/term_1: f32[3] = add(n/times_1, n/term_by_1)\n"
            "n/times_2: f32[3] = mul(n/term_1, n/negative)\n"
            "n/term_2: f32[3] = add(n/times_2, n/term_by_2)\n"
            "n/times_3: f32[3] = mul(n/term_2, n/negative)\n"
            "n/term_3: f32[3] = add(n/times_3, n/term_by_3)\n"
            "n/near: f32[3] = mul(n/term_3, n/negative)\n"
            "n/is_near: bool[3] = greater(n/negative, n/is_near_by)\n"
            "n/lowered: f32[3] = where(n/is_near, n/near, n/far)\n"
            "n/scaled: f32[3] = mul(n/lowered, n/scaled_by)\n"
            "y: f32[3] = add(n/positive, n/scaled)");
  EXPECT_EQ(
      imported("Gelu", 20, {f32({3})}),
      "n/divided: f32[3] = div(a, n/divided_by)\nn/erf: f32[3] = erf(n/divided)\n"
      "n/gate: f32[3] = add(n/erf, n/gate_by)\nn/gated: f32[3] = mul(a, n/gate)\ny: f32[3] = mul(n/gated, n/half)");
  EXPECT_EQ(imported("Mish", 18, {f32({3})}),
            "n/softplus: f32[3] = softplus(a)\nn/tanh: f32[3] = tanh(n/softplus)\ny: f32[3] = mul(a, n/tanh)");
  EXPECT_EQ(imported("Gelu", 20, {i64({3})}), "n: the input is i64[3]; expected f32, f64 or f16");
}
TEST(ImportNormalize, ComposesLayerNorm) {
  EXPECT_EQ(
      imported("LayerNormalization", 17, {f32({2, 3, 4}), f32({4}), f32({4})}),
      "n/mean: f32[2x3x1] = reduce_mean(a) axes=[2]\nn/centred: f32[2x3x4] = sub(a, n/mean)\n"
      "n/square: f32[2x3x4] = mul(n/centred, n/centred)\nn/variance: f32[2x3x1] = reduce_mean(n/square) axes=[2]\n"
      "n/variance_epsilon: f32[2x3x1] = add(n/variance, n/epsilon)\n"
      "n/deviation: f32[2x3x1] = sqrt(n/variance_epsilon)\n"
      "n/normalized: f32[2x3x4] = div(n/centred, n/deviation)\nn/scaled: f32[2x3x4] = mul(n/normalized, b)\n"
      "y: f32[2x3x4] = add(n/scaled, c)");
}
TEST(ImportNormalize, GivesTheStatisticsOfHalvesInFloats) {
  const In x = TensorType{DType::f16, {2, 4}}, scale = TensorType{DType::f16, {4}};
  EXPECT_EQ(imported("LayerNormalization", 17, {x, scale}, {}, 3),
            "n/wide: f32[2x4] = cast(a) to=f32\ny1: f32[2x1] = reduce_mean(n/wide) axes=[1]\n"
            "n/centred: f32[2x4] = sub(n/wide, y1)\nn/square: f32[2x4] = mul(n/centred, n/centred)\n"
            "n/variance: f32[2x1] = reduce_mean(n/square) axes=[1]\n"
            "n/variance_epsilon: f32[2x1] = add(n/variance, n/epsilon)\n"
            "n/deviation: f32[2x1] = sqrt(n/variance_epsilon)\nn/normalized: f32[2x4] = div(n/centred, n/deviation)\n"
            "n/narrow: f16[2x4] = cast(n/normalized) to=f16\ny2: f32[2x1] = reciprocal(n/deviation)\n"
            "y: f16[2x4] = mul(n/narrow, b)");
}
TEST(ImportShape, MovesBlocksBetweenChannelsAndPixels) {
  EXPECT_EQ(imported("DepthToSpace", 13, {f32({1, 8, 2, 3})}, {set("blocksize", 2)}),
            "n/apart: f32[1x2x2x2x2x3] = reshape(a)\n"
            "n/turned: f32[1x2x2x2x3x2] = transpose(n/apart) perm=[0,3,4,1,5,2]\ny: f32[1x2x4x6] = reshape(n/turned)");
  EXPECT_EQ(imported("SpaceToDepth", 13, {f32({1, 2, 4, 6})}, {set("blocksize", 2)}),
            "n/apart: f32[1x2x2x2x3x2] = reshape(a)\n"
            "n/turned: f32[1x2x2x2x2x3] = transpose(n/apart) perm=[0,3,5,1,2,4]\ny: f32[1x8x2x3] = reshape(n/turned)");
  EXPECT_EQ(imported("DepthToSpace", 13, {f32({1, 6, 2, 3})}, {set("blocksize", 2)}),
            "n: makes blocks of 2 of f32[1x6x2x3]; expected an image whose channels its square divides");
}
TEST(ImportSoftmax, FlattensBeforeOperatorSet13) {
  EXPECT_EQ(imported("Softmax", 13, {f32({2, 3, 4})}), "y: f32[2x3x4] = softmax(a) axis=2");
  EXPECT_EQ(imported("Softmax", 11, {f32({2, 3, 4})}),
            "n/flat: f32[2x12] = reshape(a)\nn/softmax: f32[2x12] = softmax(n/flat) axis=1\n"
            "y: f32[2x3x4] = reshape(n/softmax)");
  EXPECT_EQ(imported("Softmax", 11, {f32({2, 3, 1})}), "y: f32[2x3x1] = softmax(a) axis=1");
}
TEST(ImportReduce, TakesAxesFromAttributeOrInput) {
  EXPECT_EQ(imported("ReduceMean", 13, {f32({2, 3, 4})}, {set("axes", Ints{-1, 0})}),
            "y: f32[1x3x1] = reduce_mean(a) axes=[0,2]");
  EXPECT_EQ(imported("ReduceMean", 18, {f32({2, 3, 4}), ints({1})}, {set("keepdims", 0)}),
            "y: f32[2x4] = reduce_mean(a) axes=[1] drop_dims");
  EXPECT_EQ(imported("ReduceSum", 13, {f32({2, 3})}), "y: f32[1x1] = reduce_sum(a) axes=[0,1]");
  EXPECT_EQ(imported("ReduceSum", 13, {f32({2, 3})}, {set("noop_with_empty_axes", 1)}), "y: f32[2x3] = reshape(a)");
  EXPECT_EQ(imported("ReduceMax", 13, {f32({2, 3})}, {set("axes", Ints{1, -1})}), "n: axis 1 is named twice");
}
TEST(ImportShape, ResolvesReshapes) {
  EXPECT_EQ(imported("Reshape", 13, {f32({2, 3, 4}), ints({0, -1})}), "y: f32[2x12] = reshape(a)");
  EXPECT_EQ(imported("Reshape", 13, {f32({2, 3, 4}), ints({5, -1})}),
            "n: the shape 5x-1 is not possible for f32[2x3x4]");
  EXPECT_EQ(imported("Reshape", 13, {f32({2, 3, 4}), ints({-1, -1})}), "n: the shape -1x-1 has -1 twice");
  EXPECT_EQ(imported("Flatten", 13, {f32({2, 3, 4})}, {set("axis", -1)}), "y: f32[6x4] = reshape(a)");
  EXPECT_EQ(imported("Squeeze", 11, {f32({1, 3, 1})}, {set("axes", Ints{-1})}), "y: f32[1x3] = reshape(a)");
  EXPECT_EQ(imported("Squeeze", 13, {f32({1, 3, 1})}), "y: f32[3] = reshape(a)");
  EXPECT_EQ(imported("Squeeze", 13, {f32({1, 3, 1}), ints({1})}),
            "n: drops dimension 1 of f32[1x3x1]; expected an extent of 1");
  EXPECT_EQ(imported("Unsqueeze", 13, {f32({3}), ints({0, -1})}), "y: f32[1x3x1] = reshape(a)");
  EXPECT_EQ(imported("Expand", 13, {f32({3, 1}), ints({2, 1, 4})}), "y: f32[2x3x4] = expand(a)");
  EXPECT_EQ(imported("Transpose", 13, {f32({2, 3, 4})}), "y: f32[4x3x2] = transpose(a) perm=[2,1,0]");
  EXPECT_EQ(
      imported("Tile", 13, {f32({2, 3}), ints({2, 1})}),
      "n/apart: f32[1x2x1x3] = reshape(a)\nn/copies: f32[2x2x1x3] = expand(n/apart)\ny: f32[4x3] = reshape(n/copies)");
}
TEST(ImportData, CutsAndPads) {
  EXPECT_EQ(imported("Slice", 13, {f32({8, 4}), ints({-3}), ints({1 << 30}), ints({0})}),
            "y: f32[3x4] = slice(a) starts=[5,0]");
  EXPECT_EQ(imported("Slice", 13, {f32({8}), ints({-1}), ints({-100}), ints({0}), ints({-2})}),
            "y: f32[4] = slice(a) starts=[7] steps=[-2]");
  EXPECT_EQ(imported("Slice", 9, {f32({8, 4})}, {set("starts", Ints{1}), set("ends", Ints{3}), set("axes", Ints{1})}),
            "y: f32[8x2] = slice(a) starts=[0,1]");
  EXPECT_EQ(imported("Slice", 13, {f32({8}), ints({0}), ints({4}), ints({0}), ints({0})}), "n: a step is 0");
  EXPECT_EQ(imported("Split", 13, {f32({6, 2}), ints({2, 4})}, {}, 2),
            "y: f32[2x2] = slice(a) starts=[0,0]\ny1: f32[4x2] = slice(a) starts=[2,0]");
  EXPECT_EQ(imported("Split", 11, {f32({6})}, {set("split", Ints{2, 5})}, 2),
            "n: splits an extent of 6 into parts 2x5");
  EXPECT_EQ(imported("Concat", 13, {f32({2, 3}), f32({2, 1})}, {set("axis", -1)}), "y: f32[2x4] = concat(a, b) axis=1");
  EXPECT_EQ(imported("Gather", 13, {f32({5, 3}), ints({-1, 0})}), "y: f32[2x3] = gather(a, n/indices) axis=0");
  EXPECT_EQ(imported("Gather", 13, {f32({5, 3}), ints({5})}), "n: takes element 5 of a dimension of extent 5");
  EXPECT_EQ(imported("Pad", 2, {f32({2, 3})}, {set("pads", Ints{0, 1, 0, 2}), set("value", 7.0)}),
            "y: f32[2x6] = pad(a) value=7 begin=[0,1] end=[0,2]");
  EXPECT_EQ(imported("Pad", 18, {f32({2, 3}), ints({1, 1}), left_out(), ints({-1})}, {set("mode", "reflect")}),
            "y: f32[2x5] = pad(a) mode=reflect begin=[0,1] end=[0,1]");
  EXPECT_EQ(imported("Pad", 19, {f32({2, 3}), ints({1, 1, 1, 1})}, {set("mode", "wrap")}),
            "y: f32[4x5] = pad(a) mode=wrap begin=[1,1] end=[1,1]");
  EXPECT_EQ(imported("Pad", 13, {floats({5}), ints({1, 2})}), "y = f32[4] {0, 5, 0, 0}");
  EXPECT_EQ(imported("Pad", 13, {floats({5}), ints({1, 5000}), left_out()}),
            "y: f32[5002] = pad(a) begin=[1] end=[5000]")
      << "constants are not folded into large ones";
}
TEST(ImportResize, KeepsTheScalesOfTheFile) {
  EXPECT_EQ(imported("Resize", 13, {f32({1, 1, 4, 4}), left_out(), floats({1, 1, 2, 2})}),
            "y: f32[1x1x8x8] = resize(a) mode=nearest coordinates=half_pixel nearest=round_prefer_floor");
  EXPECT_EQ(imported("Resize", 13, {f32({1, 1, 4, 4}), left_out(), left_out(), ints({1, 1, 3, 5})},
                     {set("mode", "linear"), set("coordinate_transformation_mode", "align_corners")}),
            "y: f32[1x1x3x5] = resize(a) mode=linear coordinates=align_corners");
  EXPECT_EQ(imported("Resize", 10, {f32({1, 1, 4, 4}), floats({1, 1, 2, 2})}),
            "y: f32[1x1x8x8] = resize(a) mode=nearest coordinates=asymmetric nearest=floor");
  EXPECT_EQ(imported("Upsample", 7, {f32({1, 1, 4, 4})},
                     {set("scales", std::vector<double>{1, 1, 2, 2}), set("mode", "linear")}),
            "y: f32[1x1x8x8] = resize(a) mode=linear coordinates=asymmetric");
  EXPECT_EQ(imported("Resize", 18, {f32({1, 1, 4, 4}), left_out(), left_out(), ints({8})}, {set("axes", Ints{-1})}),
            "y: f32[1x1x4x8] = resize(a) mode=nearest coordinates=half_pixel nearest=round_prefer_floor");
  EXPECT_EQ(imported("Resize", 13, {f32({1, 1, 4, 4})}), "n: needs either scales or sizes");
}
TEST(ImportConstant, FoldsWhatIsKnown) {
  EXPECT_EQ(imported("Shape", 13, {f32({2, 3, 4})}), "y = i64[3] {2, 3, 4}");
  EXPECT_EQ(imported("Shape", 15, {f32({2, 3, 4})}, {set("start", -2)}), "y = i64[2] {3, 4}");
  EXPECT_EQ(imported("Size", 13, {f32({2, 3, 4})}), "y = i64[scalar] {24}");
  EXPECT_EQ(imported("Range", 13, {scalar(1), scalar(2), scalar(0.25)}),
            "y = f32[4] {1, 1.250000, 1.500000, 1.750000}");
  EXPECT_EQ(imported("ConstantOfShape", 13, {ints({2, 2})}), "y = f32[2x2] {0, 0, 0, 0}");
  EXPECT_EQ(imported("ConstantOfShape", 13, {ints({1 << 30, 2})}),
            "n: the result has shape 1073741824x2; at most 2147483647 elements are supported");
  EXPECT_EQ(imported("ConstantOfShape", 13, {ints({1 << 30})}), "y: f32[1073741824] = expand(n/value)");
  EXPECT_EQ(imported("Constant", 13, {}, {set("value_ints", Ints{4, 5})}), "y = i64[2] {4, 5}");
  EXPECT_EQ(imported("Div", 13, {ints({7, -7}), ints({2})}), "y = i64[2] {3, -3}");
  EXPECT_EQ(imported("Div", 13, {ints({7}), ints({0})}), "n: divides an integer by zero");
  EXPECT_EQ(imported("Mod", 13, {ints({7, -7}), ints({3})}), "y = i64[2] {1, 2}");
  EXPECT_EQ(imported("Mod", 13, {ints({7}), ints({2, 0})}), "n: divides an integer by zero");
  EXPECT_EQ(imported("Pow", 13, {ints({2, -3}), ints({10, 3})}), "y = i64[2] {1024, -27}");
  EXPECT_EQ(imported("Floor", 13, {floats({2.5, -2.5})}), "y = f32[2] {2, -3}");
  EXPECT_EQ(imported("Where", 13, {Tensor::of<int>(DType::boolean, {2}, {1, 0}), ints({1, 2}), ints({9})}),
            "y = i64[2] {1, 9}");
  EXPECT_EQ(imported("Concat", 13, {ints({1}), ints({}), ints({2, 3})}, {set("axis", 0)}), "y = i64[3] {1, 2, 3}");
  EXPECT_EQ(imported("Gather", 13, {ints({4, 5, 6}), ints({-1, 0})}), "y = i64[2] {6, 4}");
  EXPECT_EQ(imported("Slice", 13, {ints({4, 5, 6}), ints({2}), ints({-9}), ints({0}), ints({-1})}),
            "y = i64[3] {6, 5, 4}");
  EXPECT_EQ(imported("ReduceProd", 13, {ints({4, 5, 6})}, {set("keepdims", 0)}), "y = i64[scalar] {120}");
  EXPECT_EQ(imported("Cast", 13, {floats({1.9, -1.9})}, {set("to", 7)}), "y = i64[2] {1, -1}");
  EXPECT_EQ(
      imported("ReduceMax", 13, {Tensor::of<int>(DType::i32, {2, 3}, {1, 5, 3, 9, 0, 2})}, {set("axes", Ints{1})}),
      "y = i32[2x1] {5, 9}");
  EXPECT_EQ(imported("Transpose", 13, {Tensor::of<int>(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6})}),
            "y = i32[3x2] {1, 4, 2, 5, 3, 6}");
  EXPECT_EQ(imported("Expand", 13, {ints({7}), ints({2, 2})}), "y = i64[2x2] {7, 7, 7, 7}");
}
TEST(ImportValues, AreFoldedWhereTheyDecideAShape) {
  const OnnxModel model = one_node("Reshape", 13, {f32({2, 6}), i64({2})}, {});
  EXPECT_EQ(text_of(import_onnx(model, {})),
            "n: its shape is computed from the values of input \"b\"; give its value (--input b=FILE.npy)");
  ImportOptions options;
  options.values.emplace("b", *ints({3, -1}).value);
  options.values.emplace("a", Tensor(DType::f32, {2, 6}));
  const auto graph = import_onnx(model, options);
  EXPECT_EQ(text_of(graph), "y: f32[3x4] = reshape(a)");
  EXPECT_EQ(graph->inputs.size(), 1u);
}
TEST(ImporterTable, IsOrderedAndNamesNothingTwice) {
  const auto rows = onnx_importers();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LT(std::tuple(rows[i - 1].domain, rows[i - 1].op, rows[i - 1].since),
              std::tuple(rows[i].domain, rows[i].op, rows[i].since));
  }
  EXPECT_EQ(find_importer("", "Clip", 10)->since, 1);
  EXPECT_EQ(find_importer("", "Clip", 13)->since, 11);
  EXPECT_EQ(find_importer("", "HardSwish", 13), nullptr);
  EXPECT_EQ(find_importer("", "FusedConv", 13), nullptr);
  EXPECT_NE(find_importer("com.microsoft", "FusedConv", 13), nullptr);
  EXPECT_EQ(find_importer("com.microsoft", "Conv", 13), nullptr);
}

TEST(ImportIndex, ComposesWhatHasSeveralResults) {
  EXPECT_EQ(imported("TopK", 11, {f32({2, 5}), ints({2})}, {set("largest", 0)}, 2),
            "y1: i64[2x2] = top_k(a) axis=1 k=2 smallest\ny: f32[2x2] = gather_elements(a, y1) axis=1");
  EXPECT_EQ(imported("ArgMax", 13, {f32({2, 5})}, {set("axis", -1), set("keepdims", 0)}),
            "y: i64[2] = argmax(a) axis=1 drop_dims");
  EXPECT_EQ(imported("CumSum", 14, {f32({2, 5}), ints({-1})}, {set("reverse", 1)}),
            "y: f32[2x5] = cumsum(a) axis=1 reverse");
  EXPECT_EQ(imported("CumSum", 14, {f32({2, 5}), ints({2})}), "n: axis 2 does not exist; expected -2 to 1");
}
TEST(ImportEinsum, IsTransposesProductsAndSums) {
  const auto einsum = [](const char* equation, std::vector<In> inputs) {
    return imported("Einsum", 12, std::move(inputs), {set("equation", equation)});
  };
  EXPECT_EQ(einsum("bhqd,bhkd->bhqk", {f32({2, 3, 4, 5}), f32({2, 3, 6, 5})}),
            "y: f32[2x3x4x6] = matmul(a, b) transpose_b");
  EXPECT_EQ(einsum("ij->ji", {f32({2, 3})}), "y: f32[3x2] = transpose(a) perm=[1,0]");
  EXPECT_EQ(einsum("i,j->ij", {f32({2}), f32({3})}),
            "n/aligned: f32[2x1] = reshape(a)\nn/aligned_1: f32[1x3] = reshape(b)\n"
            "y: f32[2x3] = mul(n/aligned, n/aligned_1)");
  EXPECT_EQ(einsum("ij", {f32({2, 3, 4})}),
            "n: attribute \"equation\" names the dimensions of input 0 \"ij\"; the input is f32[2x3x4]");
  EXPECT_EQ(einsum("ij->ijk", {f32({2, 3})}),
            "n: attribute \"equation\" is \"ij->ijk\"; expected each label of the result once, and in an input");
}
TEST(ImportConvTranspose, IsAPlainConvolutionOfBlocks) {
  EXPECT_EQ(imported("ConvTranspose", 11, {f32({1, 2, 3, 3}), f32({2, 4, 3, 3})}, {set("pads", Ints{1, 1, 1, 1})}),
            "n/taps: f32[2x4x3x1x3x1] = reshape(b)\nn/dilated: f32[2x4x3x1x3x1] = pad(n/taps) begin=[0,0,0,0,0,0] "
            "end=[0,0,0,0,0,0]\nn/dense: f32[2x4x3x3] = reshape(n/dilated)\nn/filled: f32[2x4x3x3] = pad(n/dense) "
            "begin=[0,0,0,0] end=[0,0,0,0]\nn/split: f32[1x2x4x3x1x3x1] = reshape(n/filled)\n"
            "n/turned: f32[1x1x1x4x2x3x3] = transpose(n/split) perm=[0,4,6,2,1,3,5]\n"
            "n/plain: f32[4x2x3x3] = reshape(n/turned)\nn/flipped: f32[4x2x3x3] = slice(n/plain) starts=[0,0,2,2] "
            "steps=[1,1,-1,-1]\ny: f32[1x4x3x3] = conv(a, n/flipped) pads=[1,1]");
}

TEST(ImportConvTranspose, PadsItsResultByLessThanAStep) {
  const std::vector<In> inputs = {f32({1, 2, 3}), f32({2, 4, 3})};
  EXPECT_EQ(imported("ConvTranspose", 11, inputs, {set("strides", Ints{2}), set("output_padding", Ints{2})}),
            "n: attribute \"output_padding\" holds 2; expected less than the stride or the dilation, 2 and 1");
}
TEST(ImportElementwise, CastsIgnoreHowSmallFloatsRound) {
  EXPECT_EQ(imported("Cast", 24, {f32({3})}, {set("to", 10), set("round_mode", "up")}), "y: f16[3] = cast(a) to=f16");
  EXPECT_EQ(imported("Cast", 23, {f32({3})}, {set("to", 10), set("round_mode", "up")}),
            "n: attribute \"round_mode\" is not one of Cast in operator set 23");
}
TEST(ImportIndex, AScalarHasNoAxis) {
  EXPECT_EQ(imported("ArgMax", 13, {f32({})}), "n: axis 0 does not exist: a scalar has none");
}
TEST(ImportConstant, IsOfNumbers) {
  EXPECT_EQ(imported("Constant", 13, {}, {set("value_string", "text")}),
            "n: attribute \"value_string\" is not supported; expected a tensor of numbers");
}
TEST(ImportConstant, CountsFarNumbersExactly) {
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    const auto one = [](std::int64_t value) {
      Tensor t(DType::i64, {});
      t.set_integer(0, value);
      return In(t);
    };
    const auto graph = import_onnx(one_node("Range", 11, {one(start), one(limit), one(delta)}, {}), {});
    if (!graph.ok()) return graph.error().message;
    const Tensor& y = *graph->value(graph->outputs[0]).constant;
    std::string text;
    for (std::int64_t i = 0; i < y.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(y.integer(i));
    return text;
  };
  constexpr std::int64_t kFar = std::int64_t{1} << 53, kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(range(kFar, kFar + 3, 1), "9007199254740992, 9007199254740993, 9007199254740994");
  EXPECT_EQ(range(kFar + 1, kFar, -1), "9007199254740993");
  EXPECT_EQ(range(-kMost, kMost, kMost), "-9223372036854775807, 0");
  EXPECT_EQ(range(5, 5, -1), "");
  EXPECT_EQ(range(0, 7, 3), "0, 3, 6");
}
TEST(ImportReduce, TakesBooleansAndNothing) {
  EXPECT_EQ(imported("ReduceMax", 20, {In(TensorType{DType::boolean, {2, 3}}), ints({1})}),
            "n/numbers: u8[2x3] = cast(a) to=u8\nn/picked: u8[2x1] = reduce_max(n/numbers) axes=[1]\n"
            "y: bool[2x1] = cast(n/picked) to=bool");
  EXPECT_EQ(imported("ReduceProd", 18, {f32({2, 0}), ints({1})}, {set("keepdims", 0)}), "y = f32[2] {1, 1}");
}

/// Several nodes over the inputs "a", "b", ...: "y = Op(a, b)" as a list.
OnnxNode node(const char* output, const char* op, std::vector<std::string> inputs, Attributes attributes = {}) {
  return {output, op, "", std::move(inputs), {output}, std::move(attributes)};
}
std::string imported(const std::vector<In>& inputs, std::vector<OnnxNode> nodes) {
  OnnxModel model = one_node("", 13, inputs, {});
  model.nodes = std::move(nodes);
  return text_of(import_onnx(model, {}));
}
In known_i64(std::int64_t value) { return Tensor::of<std::int64_t>(DType::i64, {}, {value}); }

TEST(ImportSequence, IsAListWhileImporting) {
  EXPECT_EQ(imported({f32({2}), f32({3}), known_i64(-1)},
                     {node("e", "SequenceEmpty", {}), node("s", "SequenceInsert", {"e", "a"}),
                      node("t", "SequenceInsert", {"s", "b"}), node("u", "SequenceAt", {"t", "c"}),
                      node("y", "Relu", {"u"})}),
            "y: f32[3] = relu(b)");
  EXPECT_EQ(imported({f32({2}), f32({2}), known_i64(0)},
                     {node("s", "SequenceConstruct", {"a", "b"}), node("t", "SequenceInsert", {"s", "b", "c"}),
                      node("u", "SequenceErase", {"t"}), node("y", "ConcatFromSequence", {"u"}, {set("axis", 0)})}),
            "y: f32[4] = concat(b, a) axis=0");
  EXPECT_EQ(
      imported({f32({2}), f32({2})}, {node("s", "SequenceConstruct", {"a", "b"}),
                                      node("y", "ConcatFromSequence", {"s"}, {set("axis", -1), set("new_axis", 1)})}),
      "y/unsqueezed: f32[2x1] = reshape(a)\ny/unsqueezed_1: f32[2x1] = reshape(b)\n"
      "y: f32[2x2] = concat(y/unsqueezed, y/unsqueezed_1) axis=1");
  EXPECT_EQ(imported({f32({5, 2}), known_i64(2)},
                     {node("s", "SplitToSequence", {"a", "b"}), node("y", "SequenceLength", {"s"})}),
            "y = i64[scalar] {3}");
  EXPECT_EQ(
      imported({f32({2, 3}), known_i64(1)}, {node("s", "SplitToSequence", {"a"}, {set("axis", 1), set("keepdims", 0)}),
                                             node("t", "Identity", {"s"}), node("y", "SequenceAt", {"t", "b"})}),
      "s/part_1: f32[2x1] = slice(a) starts=[0,1]\ny: f32[2] = reshape(s/part_1)");
}

TEST(ImportSequence, SaysWhatIsWrong) {
  const OnnxNode both = node("s", "SequenceConstruct", {"a", "b"});
  EXPECT_EQ(imported({f32({2}), f32({2}), known_i64(2)}, {both, node("y", "SequenceAt", {"s", "c"})}),
            "y: position 2 does not exist in a sequence of 2");
  EXPECT_EQ(imported({f32({2}), f32({2}), i64({})}, {both, node("y", "SequenceAt", {"s", "c"})}),
            "y: its position is computed from the values of input \"c\"; give its value (--input c=FILE.npy)");
  EXPECT_EQ(imported({f32({2}), f32({2})}, {both, node("y", "Relu", {"s"})}),
            "y: input 0 of Relu is a sequence; expected a tensor");
  EXPECT_EQ(imported({f32({2}), f32({2})}, {node("y", "SequenceEmpty", {})}),
            "output \"y\" is an empty sequence; it has no elements to be outputs");
  EXPECT_EQ(imported({f32({2}), i64({2})}, {both, node("y", "SequenceLength", {"s"})}),
            "s: input 1 is i64[2] beside f32[2]");
  EXPECT_EQ(imported({f32({2}), known_i64(0)}, {node("y", "SequenceAt", {"a", "b"})}),
            "y: input 0 of SequenceAt is f32[2]; expected a sequence");
  EXPECT_EQ(imported({f32({2}), i64({2})}, {node("e", "SequenceEmpty", {}), node("s", "SequenceInsert", {"e", "b"}),
                                            node("y", "SequenceLength", {"s"})}),
            "s: inserts i64[2] into a sequence of f32");
  EXPECT_EQ(imported({f32({5}), ints({2, 2})},
                     {node("s", "SplitToSequence", {"a", "b"}), node("y", "SequenceLength", {"s"})}),
            "s: splits an extent of 5 into parts 2x2");
}

TEST(ImportNormalize, TrainsBatchNormByWhatItSees) {
  const In list = f32({3});
  const std::string text = imported("BatchNormalization", 15, {f32({2, 3, 4}), list, list, list, list},
                                    {set("training_mode", 1), set("momentum", 0.75)}, 3);
  EXPECT_NE(text.find("n/mean: f32[1x3x1] = reduce_mean(a) axes=[0,2]"), std::string::npos) << text;
  EXPECT_NE(text.find("y1: f32[3] = add(n/before, n/moved)"), std::string::npos) << text;
  EXPECT_NE(text.find("y2: f32[3] = add(n/before_1, n/moved_1)"), std::string::npos) << text;
}

TEST(ImportNormalize, FindsOldTrainingByItsResults) {
  const In list = f32({3});
  EXPECT_EQ(imported("BatchNormalization", 9, {f32({2, 3, 4}), list, list, list, list}),
            "y: f32[2x3x4] = batch_norm(a, b, c, d, e) epsilon=1e-05");
  const std::string text = imported("BatchNormalization", 9, {f32({2, 3, 4}), list, list, list, list}, {}, 5);
  EXPECT_NE(text.find("n/mean: f32[1x3x1] = reduce_mean(a) axes=[0,2]"), std::string::npos) << text;
}

TEST(ImportReduce, DoesToEachElementWhatItDoesOverNoAxis) {
  const Attributes none = {set("noop_with_empty_axes", 1)};
  EXPECT_EQ(imported("ReduceL2", 18, {f32({2, 3})}, none), "y: f32[2x3] = abs(a)");
  EXPECT_EQ(imported("ReduceSumSquare", 18, {f32({2, 3})}, none), "y: f32[2x3] = mul(a, a)");
  EXPECT_EQ(imported("ReduceLogSum", 18, {f32({2, 3})}, none), "y: f32[2x3] = log(a)");
}

TEST(ImportAttention, IsProductsASoftmaxAndMoves) {
  EXPECT_EQ(imported("Attention", 23, {f32({1, 2, 3, 4}), f32({1, 2, 5, 4}), f32({1, 2, 5, 6})}, {set("scale", 0.5)}),
            "n/product: f32[1x2x3x5] = matmul(a, b) transpose_b\nn/scores: f32[1x2x3x5] = mul(n/product, n/scale)\n"
            "n/softmax: f32[1x2x3x5] = softmax(n/scores) axis=3\n"
            "y: f32[1x2x3x6] = matmul(n/softmax, c)");
  EXPECT_EQ(imported("Attention", 23, {f32({1, 2, 3, 4}), f32({1, 2, 5, 7}), f32({1, 2, 5, 6})}),
            "n: queries, keys and values are 1x2x3x4, 1x2x5x7 and 1x2x5x6 by heads; they do not fit each other");
  EXPECT_EQ(imported("Attention", 23, {f32({1, 3, 9}), f32({1, 5, 8}), f32({1, 5, 8})},
                     {set("q_num_heads", 2), set("kv_num_heads", 2)}),
            "n: input 0 is f32[1x3x9] with \"q_num_heads\" of 2; expected four dimensions, or three and a number of "
            "heads that divides the last");
}

TEST(ImportAttention, TurnsPairsOfNumbers) {
  EXPECT_EQ(imported("RotaryEmbedding", 23, {f32({1, 2, 3, 4}), f32({1, 3, 2}), f32({1, 3, 2})},
                     {set("rotary_embedding_dim", 3)}),
            "n: turns 3 of 4 numbers");
  EXPECT_EQ(imported("RotaryEmbedding", 23, {f32({1, 2, 3, 4}), f32({1, 5, 2}), f32({1, 5, 2})}),
            "n: the angles of its places are 1x5x2; expected 1x3x2");
}

TEST(ImportElementwise, AlignsFromAnAxisBeforeOperatorSet7) {
  const Attributes from_1 = {set("broadcast", 1), set("axis", 1)};
  EXPECT_EQ(imported("Add", 6, {f32({2, 3, 4}), f32({3})}, from_1),
            "n/aligned: f32[3x1] = reshape(b)\ny: f32[2x3x4] = add(a, n/aligned)");
  EXPECT_EQ(imported("Mul", 6, {f32({2, 3, 4}), f32({4})}, {set("broadcast", 1)}), "y: f32[2x3x4] = mul(a, b)");
  EXPECT_EQ(imported("Add", 6, {f32({2, 3, 4}), f32({4})}),
            "n: combines f32[2x3x4] and f32[4] without \"broadcast\"; expected equal shapes");
  EXPECT_EQ(imported("Add", 6, {f32({2, 3, 4}), f32({4})}, from_1),
            "n: combines f32[2x3x4] and f32[4] from axis 1 on; the second must fit into the first");
  EXPECT_EQ(imported("PRelu", 6, {f32({2, 3, 4}), f32({3})}).substr(0, 34), "n/slope: f32[3x1] = reshape(b)\nn/p");
  EXPECT_EQ(imported("PRelu", 6, {f32({2, 3, 4}), f32({4})}),
            "n: the slope is f32[4]; expected one a channel of f32[2x3x4]");
}

TEST(ImportElementwise, SwishIsAGate) {
  EXPECT_EQ(imported("Swish", 24, {f32({2})}), "n/gate: f32[2] = sigmoid(a)\ny: f32[2] = mul(a, n/gate)");
}

TEST(ImportGridSample, SaysWhatIsWrong) {
  EXPECT_EQ(imported("GridSample", 16, {f32({1, 2, 3, 4}), f32({1, 5, 6, 3})}),
            "n: samples f32[1x2x3x4] at f32[1x5x6x3]; expected images [N, C, ...] and a grid [N, ..., 2]");
  EXPECT_EQ(imported("GridSample", 16, {f32({1, 2, 3, 4}), f32({1, 5, 6, 2})}, {set("mode", "linear")}),
            "n: attribute \"mode\" is \"linear\"; expected nearest, bilinear or bicubic");
}

TEST(ImportQuantized, IsASumInI32) {
  const In x = TensorType{DType::u8, {1, 3, 8, 8}}, w = TensorType{DType::i8, {4, 3, 3, 3}};
  const In point = TensorType{DType::u8, {}}, points = TensorType{DType::i8, {4}};
  EXPECT_EQ(imported("ConvInteger", 10, {x, w, point, points}, {set("pads", Ints{1, 1, 1, 1})}),
            "n/zero: u8[scalar] = reshape(c)\nn/wide: i32[1x3x8x8] = cast(a) to=i32\n"
            "n/zero_wide: i32[scalar] = cast(n/zero) to=i32\nn/shifted: i32[1x3x8x8] = sub(n/wide, n/zero_wide)\n"
            "n/zero_1: i8[4x1x1x1] = reshape(d)\nn/wide_1: i32[4x3x3x3] = cast(b) to=i32\n"
            "n/zero_wide_1: i32[4x1x1x1] = cast(n/zero_1) to=i32\n"
            "n/shifted_1: i32[4x3x3x3] = sub(n/wide_1, n/zero_wide_1)\n"
            "y: i32[1x4x8x8] = conv(n/shifted, n/shifted_1) pads=[1,1]");
  EXPECT_EQ(imported("MatMulInteger", 10, {TensorType{DType::u8, {2, 3}}, TensorType{DType::u8, {3, 4}}}),
            "n/wide: i32[2x3] = cast(a) to=i32\nn/wide_1: i32[3x4] = cast(b) to=i32\n"
            "y: i32[2x4] = matmul(n/wide, n/wide_1)");
}

TEST(ImportSignal, TransformsByAMatrixOrAConvolution) {
  const In length = known_i64(8), step = known_i64(4), axis = known_i64(0);
  EXPECT_EQ(imported("DFT", 20, {f32({6, 5, 1}), length, axis}, {set("onesided", 1)}),
            "n/moved: f32[5x6x1] = transpose(a) perm=[1,0,2]\nn/signals: f32[5x6] = reshape(n/moved)\n"
            "n/matmul: f32[5x10] = matmul(n/signals, n/matrix)\nn/spectra: f32[5x5x2] = reshape(n/matmul)\n"
            "y: f32[5x5x2] = transpose(n/spectra) perm=[1,0,2]");
  EXPECT_EQ(imported("STFT", 17, {f32({2, 20, 1}), step, f32({8})}),
            "n/windowed: f32[10x1x8] = mul(n/transform, c)\nn/signal: f32[2x20x1] = reshape(a)\n"
            "n/channels_first: f32[2x1x20] = transpose(n/signal) perm=[0,2,1]\n"
            "n/frames: f32[2x10x4] = conv(n/channels_first, n/windowed) strides=[4]\n"
            "n/spectra: f32[2x4x10] = transpose(n/frames) perm=[0,2,1]\ny: f32[2x4x5x2] = reshape(n/spectra)");
}

TEST(ImportPool, PutsBackByAScatter) {
  EXPECT_EQ(imported("MaxUnpool", 11, {f32({1, 2, 3, 3}), i64({1, 2, 3, 3})},
                     {set("kernel_shape", Ints{3, 2}), set("strides", Ints{2, 2}), set("pads", Ints{1, 0, 0, 0})}),
            "n/place: i64[1x2x3x3] = mod(b, n/plane)\nn/places: i64[2x9] = reshape(n/place)\n"
            "n/elements: f32[2x9] = reshape(a)\n"
            "n/put: f32[2x36] = scatter_elements(n/zeros, n/places, n/elements) axis=1\n"
            "y: f32[1x2x6x6] = reshape(n/put)");
}

TEST(ImportConstant, FoldsIndicesThatDecideAShape) {
  const In updates = ints({7}), places = ints({1}), target = ints({2, 1});
  EXPECT_EQ(imported({f32({1}), target, places, updates},
                     {node("s", "ScatterElements", {"b", "c", "d"}), node("y", "Expand", {"a", "s"})}),
            "y: f32[2x7] = expand(a)");
  EXPECT_EQ(imported({f32({1}), target, ints({2}), updates},
                     {node("s", "ScatterElements", {"b", "c", "d"}), node("y", "Expand", {"a", "s"})}),
            "s: takes element 2 of a dimension of extent 2");
}

TEST(ImportConstant, FoldsTheLargestOfSomeFloats) {
  EXPECT_EQ(
      imported({f32({1}), floats({2, 5})}, {node("m", "ReduceMax", {"b"}), node("i", "Cast", {"m"}, {set("to", 7)}),
                                            node("y", "Expand", {"a", "i"})}),
      "y: f32[5] = expand(a)");
}

TEST(ImportControl, NamesWhatABranchWouldHaveNeeded) {
  const auto branch = [](const char* op) {
    OnnxSubgraph body;
    body.nodes.push_back(node("z", op, {"a"}));
    body.outputs = {"z"};
    return std::make_shared<const OnnxSubgraph>(body);
  };
  const OnnxNode choice =
      node("y", "If", {"b"}, {set("then_branch", branch("StringNormalizer")), set("else_branch", branch("Relu"))});
  const In condition = TensorType{DType::boolean, {}};
  EXPECT_EQ(imported({f32({2}), condition}, {choice}),
            "y: its condition is computed from the values of input \"b\"; give its value (--input b=FILE.npy) (its "
            "branches and loops also use StringNormalizer, not supported)");
}

TEST(ImportResize, RoundsExtentsInSinglePrecision) {
  // The nearest number to 5/3 is below it; exporters mean 5.
  const std::string text = imported("Upsample", 9, {f32({1, 1, 3}), floats({1, 1, double(float(5.0 / 3))})});
  EXPECT_NE(text.find("f32[1x1x5]"), std::string::npos) << text;
}

}  // namespace onnx_importers_test
}  // namespace whet
