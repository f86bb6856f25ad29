#include "import/zoo/network_builder.h"

// Networks of inverted residuals, as torchvision has them: a pointwise convolution widens, a depthwise one filters, a pointwise one narrows.

namespace whet {
namespace {

enum class Activation : std::uint8_t { relu, relu6, hard_swish, silu };

/// Blocks of one form, one after another; the first has the stride.
struct Stage {
  std::int64_t widen, kernel, stride, out, count;
};

struct Inverted {
  std::int64_t wide, kernel, stride, out;
  Activation activation;
  std::int64_t squeezed = 0;  ///< channels between squeeze and excite; 0: none
};

struct MobileNetwork {
  NetworkBuilder& b;
  ValueId x;
  std::int64_t in;

  ValueId activated(ValueId v, Activation activation) const {
    if (activation == Activation::relu) return b.relu(v);
    if (activation == Activation::relu6) return b.clip(v, 0, 6);
    if (activation == Activation::hard_swish) return b.unary("HardSwish", UnaryKind::hard_swish, v);
    return b.mul(v, b.unary("Sigmoid", UnaryKind::sigmoid, v));
  }
  ValueId conv(ValueId from, const NetworkBuilder::Conv& c, Activation activation) const {
    return activated(b.batch_norm(b.conv(from, c), c.out), activation);
  }
  void stem(Activation activation, std::int64_t out) {
    x = conv(b.image(3), {3, out, {3, 3}, {2, 2}, {1, 1}}, activation);
    in = out;
  }
  ValueId depthwise(ValueId from, std::int64_t channels, const Inverted& block) const {
    const std::int64_t pad = block.kernel / 2;
    return conv(from,
                {channels, channels, {block.kernel, block.kernel}, {block.stride, block.stride}, {pad, pad}, channels},
                block.activation);
  }
  ValueId narrowed(ValueId from, std::int64_t channels, std::int64_t out) const {
    return b.batch_norm(b.conv(from, {channels, out, {1, 1}, {1, 1}, {0, 0}, 1, false, 1}), out);
  }
  /// Each channel times a number that the means of all channels decide.
  ValueId excited(ValueId v, const Inverted& block) const {
    const bool hard = block.activation != Activation::silu;
    const ValueId means = b.global_average_pool(v);
    ValueId gate = b.conv(means, {block.wide, block.squeezed, {1, 1}, {1, 1}, {0, 0}, 1, true});
    gate = activated(gate, hard ? Activation::relu : Activation::silu);
    gate = b.conv(gate, {block.squeezed, block.wide, {1, 1}, {1, 1}, {0, 0}, 1, true, 1});
    gate = hard ? b.mul(b.clip(b.add(gate, b.scalar(3)), 0, 6), b.scalar(1. / 6))
                : b.unary("Sigmoid", UnaryKind::sigmoid, gate);
    return b.mul(gate, v);
  }
  void block(const Inverted& block) {
    ValueId y = x;
    if (block.wide != in) y = conv(y, {in, block.wide, {1, 1}}, block.activation);
    y = depthwise(y, block.wide, block);
    if (block.squeezed > 0) y = excited(y, block);
    y = narrowed(y, block.wide, block.out);
    x = block.stride == 1 && in == block.out ? b.add(x, y) : y;
    in = block.out;
  }
  /// `squeezes`: squeezed channels are a quarter of the block's inputs.
  void stages(const std::vector<Stage>& all, Activation activation, bool squeezes = false) {
    for (const Stage& stage : all) {
      for (std::int64_t i = 0; i < stage.count; ++i) {
        block({.wide = in * stage.widen,
               .kernel = stage.kernel,
               .stride = i == 0 ? stage.stride : 1,
               .out = stage.out,
               .activation = activation,
               .squeezed = squeezes ? in / 4 : 0});
      }
    }
  }
  Graph classified(std::int64_t channels, Activation activation) {
    return b.finish(b.classify(conv(x, {in, channels, {1, 1}}, activation), channels, 1000), "softmax");
  }
};

}  // namespace

Graph make_mobilenet_v2(const ZooOptions& options) {
  NetworkBuilder b("mobilenet_v2", options);
  MobileNetwork net{b, {}, 3};
  net.stem(Activation::relu6, 32);
  net.stages({{1, 3, 1, 16, 1},
              {6, 3, 2, 24, 2},
              {6, 3, 2, 32, 3},
              {6, 3, 2, 64, 4},
              {6, 3, 1, 96, 3},
              {6, 3, 2, 160, 3},
              {6, 3, 1, 320, 1}},
             Activation::relu6);
  return net.classified(1280, Activation::relu6);
}

Graph make_mnasnet(const ZooOptions& options) {
  NetworkBuilder b("mnasnet1_0", options);
  MobileNetwork net{b, {}, 3};
  net.stem(Activation::relu, 32);
  net.stages({{1, 3, 1, 16, 1},
              {3, 3, 2, 24, 3},
              {3, 5, 2, 40, 3},
              {6, 5, 2, 80, 3},
              {6, 3, 1, 96, 2},
              {6, 5, 2, 192, 4},
              {6, 3, 1, 320, 1}},
             Activation::relu);
  return net.classified(1280, Activation::relu);
}

Graph make_efficientnet_b0(const ZooOptions& options) {
  NetworkBuilder b("efficientnet_b0", options);
  MobileNetwork net{b, {}, 3};
  net.stem(Activation::silu, 32);
  net.stages({{1, 3, 1, 16, 1},
              {6, 3, 2, 24, 2},
              {6, 5, 2, 40, 2},
              {6, 3, 2, 80, 3},
              {6, 5, 1, 112, 3},
              {6, 5, 2, 192, 4},
              {6, 3, 1, 320, 1}},
             Activation::silu, true);
  return net.classified(1280, Activation::silu);
}

Graph make_mobilenet_v3_small(const ZooOptions& options) {
  constexpr Activation relu = Activation::relu, swish = Activation::hard_swish;
  static constexpr Inverted kBlocks[] = {
      {16, 3, 2, 16, relu, 8},    {72, 3, 2, 24, relu},        {88, 3, 1, 24, relu},        {96, 5, 2, 40, swish, 24},
      {240, 5, 1, 40, swish, 64}, {240, 5, 1, 40, swish, 64},  {120, 5, 1, 48, swish, 32},  {144, 5, 1, 48, swish, 40},
      {288, 5, 2, 96, swish, 72}, {576, 5, 1, 96, swish, 144}, {576, 5, 1, 96, swish, 144},
  };
  NetworkBuilder b("mobilenet_v3_small", options);
  MobileNetwork net{b, {}, 3};
  net.stem(swish, 16);
  for (const Inverted& block : kBlocks) net.block(block);
  const ValueId wide = net.conv(net.x, {96, 576, {1, 1}}, swish);
  const ValueId hidden =
      b.gemm(b.flatten(b.global_average_pool(wide)), b.scaled({1024, 576}, 576, 2), b.weight({1024}, 0.1));
  const ValueId classes = b.gemm(net.activated(hidden, swish), b.scaled({1000, 1024}, 1024, 1), b.weight({1000}, 0.1));
  return b.finish(b.softmax(classes, 1), "softmax");
}

}  // namespace whet
