#include "import/zoo/zoo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/testing/random_cases.h"

namespace whet {
namespace {

/// Distinct by shapes of input and weights, stride and padding.
std::size_t distinct_convolutions(const Graph& graph) {
  std::set<std::string> keys;
  for (const Node& node : graph.nodes) {
    const auto* conv = std::get_if<ConvOperator>(&node.op);
    if (conv == nullptr) continue;
    keys.insert(to_string(graph.value(node.inputs[0]).type) + to_string(graph.value(node.inputs[1]).type) +
                to_string(conv->strides) + "/" + to_string(conv->pads_begin));
  }
  return keys.size();
}

/// As torchvision counts them: a batch normalization's mean and variance are none.
std::int64_t parameters(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Node& node : graph.nodes) {
    const bool normalizes = std::holds_alternative<BatchNormOperator>(node.op);
    for (std::size_t i = 0; i < (normalizes ? 3 : node.inputs.size()); ++i) {
      const Value& value = graph.value(node.inputs[i]);
      if (value.constant && value.type.dtype == DType::f32 && !value.type.shape.empty())
        sum += num_elements(value.type.shape);
    }
  }
  return sum;
}

TEST(Zoo, NetworksOfTorchvisionHaveItsParameters) {
  const auto count = [](const char* name) { return parameters(zoo_model(name).value()); };
  EXPECT_EQ(count("mobilenet_v2"), 3504872);
  EXPECT_EQ(count("mobilenet_v3_small"), 2542856);
  EXPECT_EQ(count("mnasnet1_0"), 4383312);
  EXPECT_EQ(count("efficientnet_b0"), 5288548);
  EXPECT_EQ(count("googlenet"), 6624904);
}
TEST(Zoo, ResnetsHoldTheKnownNumbersOfConvolutionWorkloads) {
  for (Layout layout : {Layout::channels_first, Layout::channels_last}) {
    ZooOptions options;
    options.layout = layout;
    EXPECT_EQ(distinct_convolutions(zoo_model("resnet-18", options).value()), 12u);
    EXPECT_EQ(distinct_convolutions(zoo_model("resnet-50", options).value()), 20u);
  }
}
TEST(Zoo, EveryNetworkIsWellFormed) {
  for (const std::string& name : zoo_names()) {
    if (testing::kSanitized && name == "vgg-16") continue;  // 550 MB of weights
    const Result<Graph> small = zoo_model(name, {1, 80});   // refused by networks without pictures
    const Graph graph = small.ok() ? *small : zoo_model(name).value();
    EXPECT_TRUE(verify(graph).ok()) << name;
    EXPECT_EQ(graph.value(graph.inputs.at(0)).name, "data");
    const std::string output = name == "dcgan"             ? "image"
                               : name.starts_with("mxnet") ? "resnetv10_dense0_fwd"
                                                           : "softmax";
    EXPECT_EQ(graph.value(graph.outputs.at(0)).name, output);
  }
}
TEST(Zoo, ShapesFollowTheOptions) {
  const auto types = [](const Graph& g) {
    return to_string(g.value(g.inputs[0]).type) + " -> " + to_string(g.value(g.outputs[0]).type);
  };
  EXPECT_EQ(types(zoo_model("resnet-18", {4, 64, Layout::channels_last, 0}).value()), "f32[4x64x64x3] -> f32[4x1000]");
  EXPECT_EQ(types(zoo_model("mlp", {8}).value()), "f32[8x784] -> f32[8x10]");
  EXPECT_EQ(types(zoo_model("resnet-18").value()), "f32[1x3x224x224] -> f32[1x1000]");
}
TEST(Zoo, TheSeedDecidesTheWeights) {
  const auto first_weight = [](std::uint64_t seed) {
    const Graph g = zoo_model("mlp", {1, 224, Layout::channels_first, seed}).value();
    return g.value(g.nodes[0].inputs[1]).constant->get(0);
  };
  EXPECT_EQ(first_weight(3), first_weight(3));
  EXPECT_NE(first_weight(3), first_weight(4));
}
TEST(Zoo, BothLayoutsHaveTheSameWeights) {
  const Graph first = zoo_model("resnet-18", {1, 32, Layout::channels_first, 7}).value();
  const Graph last = zoo_model("resnet-18", {1, 32, Layout::channels_last, 7}).value();
  const Tensor& oihw = *first.value(first.nodes[1].inputs[1]).constant;  // conv0
  const Tensor& hwio = *last.value(last.nodes[1].inputs[1]).constant;
  EXPECT_EQ(to_string(oihw.shape()) + " " + to_string(hwio.shape()), "64x3x7x7 7x7x3x64");
  EXPECT_EQ(oihw.get(((5 * 3 + 2) * 7 + 1) * 7 + 6), hwio.get(((1 * 7 + 6) * 3 + 2) * 64 + 5));
}
TEST(Zoo, NamesWhatItHas) {
  EXPECT_EQ(
      zoo_model("resnet-19").error().message,
      "the zoo has no network \"resnet-19\"; it has resnet-18, resnet-34, resnet-50, resnet-101, resnet-152, mlp, "
      "mobilenet, mobilenet_v2, mobilenet_v3_small, mnasnet1_0, efficientnet_b0, squeezenet_v1.1, vgg-16, resnet3d-18, "
      "inception_v3, googlenet, dcgan, bert-mini, vit-small, lstm, mxnet-resnet18_v1; did you mean \"resnet-18\"?");
  EXPECT_EQ(zoo_model("inception_v3", {1, 64}).error().message, "the image size is 64; expected 75 to 1024");
  EXPECT_EQ(zoo_model("googlenet", {1, 224, Layout::channels_last}).error().message,
            "the zoo has \"googlenet\" with channels first only");
  EXPECT_EQ(zoo_model("lstm", {1, 64}).error().message, "--image is for networks of pictures; zoo:lstm takes none");
  EXPECT_EQ(zoo_model("mlp", {0}).error().message, "the batch is 0; expected 1 to 1024");
}

}  // namespace
}  // namespace whet
