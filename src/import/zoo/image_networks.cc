#include "import/zoo/network_builder.h"

// Networks of images, as papers and torchvision have them.

namespace whet {

using Ints = NetworkBuilder::Ints;

Graph make_mobilenet(const ZooOptions& options) {
  struct Block {
    std::int64_t out, stride;
  };
  static constexpr Block kBlocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                                      {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  NetworkBuilder b("mobilenet", options);
  ValueId x = b.conv_bn_relu(b.image(3), {3, 32, {3, 3}, {2, 2}, {1, 1}});
  std::int64_t in = 32;
  for (const Block& block : kBlocks) {
    x = b.conv_bn_relu(x, {in, in, {3, 3}, {block.stride, block.stride}, {1, 1}, in});
    x = b.conv_bn_relu(x, {in, block.out, {1, 1}});
    in = block.out;
  }
  return b.finish(b.classify(x, 1024, 1000), "softmax");
}

Graph make_squeezenet(const ZooOptions& options) {
  NetworkBuilder b("squeezenet_v1.1", options);
  std::int64_t in = 64;
  ValueId x = b.relu(b.conv(b.image(3), {3, 64, {3, 3}, {2, 2}, {0, 0}, 1, true}));
  const auto fire = [&](std::int64_t squeezed, std::int64_t out) {
    const ValueId s = b.relu(b.conv(x, {in, squeezed, {1, 1}, {1, 1}, {0, 0}, 1, true}));
    const ValueId left = b.relu(b.conv(s, {squeezed, out, {1, 1}, {1, 1}, {0, 0}, 1, true}));
    const ValueId right = b.relu(b.conv(s, {squeezed, out, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = b.concat({left, right});
    in = 2 * out;
  };
  x = b.max_pool(x, 3, 2, true);
  fire(16, 64);
  fire(16, 64);
  x = b.max_pool(x, 3, 2, true);
  fire(32, 128);
  fire(32, 128);
  x = b.max_pool(x, 3, 2, true);
  fire(48, 192);
  fire(48, 192);
  fire(64, 256);
  fire(64, 256);
  x = b.relu(b.conv(x, {in, 1000, {1, 1}, {1, 1}, {0, 0}, 1, true}));
  x = b.flatten(b.global_average_pool(x));
  return b.finish(b.softmax(x, 1), "softmax");
}

Graph make_vgg16(const ZooOptions& options) {
  NetworkBuilder b("vgg-16", options);
  ValueId x = b.image(3);
  std::int64_t in = 3, extent = options.image;
  for (const auto& [out, count] : {std::pair{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < count; ++i, in = out) {
      x = b.relu(b.conv(x, {in, out, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    }
    x = b.max_pool(x, 2, 2);
    extent /= 2;
  }
  x = b.flatten(x);
  std::int64_t width = in * extent * extent;
  for (const std::int64_t out : {4096, 4096, 1000}) {
    const ValueId weights = b.scaled({out, width}, width, out == 1000 ? 1 : 2);
    x = b.gemm(x, weights, b.weight({out}, 0.1));
    if (out != 1000) x = b.relu(x);
    width = out;
  }
  return b.finish(b.softmax(x, 1), "softmax");
}

/// 16 frames of half the image's extent: 112 pixels by default.
Graph make_resnet3d(const ZooOptions& options) {
  NetworkBuilder b("resnet3d-18", options);
  const std::int64_t extent = options.image / 2;
  ValueId x = b.input("data", DType::f32, {options.batch, 3, 16, extent, extent});
  x = b.conv_bn_relu(x, {3, 64, {3, 7, 7}, {1, 2, 2}, {1, 3, 3}});
  std::int64_t in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t out = 64 << stage;
    for (int unit = 0; unit < 2; ++unit, in = out) {
      const std::int64_t s = stage > 0 && unit == 0 ? 2 : 1;
      ValueId y = b.conv_bn_relu(x, {in, out, {3, 3, 3}, {s, s, s}, {1, 1, 1}});
      y = b.batch_norm(b.conv(y, {out, out, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, 1, false, 0.25}), out);
      const ValueId shortcut = in == out ? x : b.batch_norm(b.conv(x, {in, out, {1, 1, 1}, {s, s, s}, {0, 0, 0}}), out);
      x = b.relu(b.add(y, shortcut));
    }
  }
  return b.finish(b.classify(x, 512, 400), "softmax");
}

namespace {

/// The mixed blocks of Inception v3; each keeps the number of its channels.
struct Inception {
  NetworkBuilder& b;
  ValueId x;
  std::int64_t in;

  ValueId conv(ValueId from, std::int64_t channels, std::int64_t out, Ints kernel, Ints stride = {1, 1},
               Ints pad = {0, 0}) const {
    return b.conv_bn_relu(from, {channels, out, std::move(kernel), std::move(stride), std::move(pad)});
  }
  ValueId pooled(std::int64_t out) const { return conv(b.average_pool(x, 3, 1, 1), in, out, {1, 1}); }
  void join(const std::vector<ValueId>& parts, std::int64_t out) {
    x = b.concat(parts);
    in = out;
  }

  void a(std::int64_t pool) {
    const ValueId one = conv(x, in, 64, {1, 1});
    const ValueId five = conv(conv(x, in, 48, {1, 1}), 48, 64, {5, 5}, {1, 1}, {2, 2});
    ValueId three = conv(conv(x, in, 64, {1, 1}), 64, 96, {3, 3}, {1, 1}, {1, 1});
    three = conv(three, 96, 96, {3, 3}, {1, 1}, {1, 1});
    join({one, five, three, pooled(pool)}, 224 + pool);
  }
  void shrink_b() {
    const ValueId three = conv(x, in, 384, {3, 3}, {2, 2});
    const ValueId twice = conv(conv(x, in, 64, {1, 1}), 64, 96, {3, 3}, {1, 1}, {1, 1});
    join({three, conv(twice, 96, 96, {3, 3}, {2, 2}), b.max_pool(x, 3, 2)}, 480 + in);
  }
  void c(std::int64_t mid) {
    const ValueId one = conv(x, in, 192, {1, 1});
    ValueId seven = conv(conv(x, in, mid, {1, 1}), mid, mid, {1, 7}, {1, 1}, {0, 3});
    seven = conv(seven, mid, 192, {7, 1}, {1, 1}, {3, 0});
    ValueId twice = conv(conv(x, in, mid, {1, 1}), mid, mid, {7, 1}, {1, 1}, {3, 0});
    twice = conv(twice, mid, mid, {1, 7}, {1, 1}, {0, 3});
    twice = conv(twice, mid, mid, {7, 1}, {1, 1}, {3, 0});
    twice = conv(twice, mid, 192, {1, 7}, {1, 1}, {0, 3});
    join({one, seven, twice, pooled(192)}, 768);
  }
  void shrink_d() {
    const ValueId three = conv(conv(x, in, 192, {1, 1}), 192, 320, {3, 3}, {2, 2});
    ValueId seven = conv(conv(x, in, 192, {1, 1}), 192, 192, {1, 7}, {1, 1}, {0, 3});
    seven = conv(conv(seven, 192, 192, {7, 1}, {1, 1}, {3, 0}), 192, 192, {3, 3}, {2, 2});
    join({three, seven, b.max_pool(x, 3, 2)}, 512 + in);
  }
  void e() {
    const ValueId one = conv(x, in, 320, {1, 1});
    const auto crossed = [&](ValueId from, std::int64_t channels) {
      return b.concat(
          {conv(from, channels, 384, {1, 3}, {1, 1}, {0, 1}), conv(from, channels, 384, {3, 1}, {1, 1}, {1, 0})});
    };
    const ValueId three = crossed(conv(x, in, 384, {1, 1}), 384);
    const ValueId twice = crossed(conv(conv(x, in, 448, {1, 1}), 448, 384, {3, 3}, {1, 1}, {1, 1}), 384);
    join({one, three, twice, pooled(192)}, 2048);
  }
};

}  // namespace

/// At least 75 pixels.
Graph make_inception_v3(const ZooOptions& options) {
  NetworkBuilder b("inception_v3", options);
  Inception net{b, b.image(3), 3};
  net.x = net.conv(net.x, 3, 32, {3, 3}, {2, 2});
  net.x = net.conv(net.x, 32, 32, {3, 3});
  net.x = b.max_pool(net.conv(net.x, 32, 64, {3, 3}, {1, 1}, {1, 1}), 3, 2);
  net.x = net.conv(net.x, 64, 80, {1, 1});
  net.x = b.max_pool(net.conv(net.x, 80, 192, {3, 3}), 3, 2);
  net.in = 192;
  for (const std::int64_t pool : {32, 64, 64}) net.a(pool);
  net.shrink_b();
  for (const std::int64_t mid : {128, 160, 160, 192}) net.c(mid);
  net.shrink_d();
  net.e();
  net.e();
  return b.finish(b.classify(net.x, 2048, 1000), "softmax");
}

Graph make_googlenet(const ZooOptions& options) {
  struct Mixed {
    std::int64_t one, three_in, three, five_in, five, pool;
  };
  static constexpr Mixed kMixed[] = {
      {64, 96, 128, 16, 32, 32},     {128, 128, 192, 32, 96, 64},   {192, 96, 208, 16, 48, 64},
      {160, 112, 224, 24, 64, 64},   {128, 128, 256, 24, 64, 64},   {112, 144, 288, 32, 64, 64},
      {256, 160, 320, 32, 128, 128}, {256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}};
  NetworkBuilder b("googlenet", options);
  ValueId x = b.conv_bn_relu(b.image(3), {3, 64, {7, 7}, {2, 2}, {3, 3}});
  x = b.conv_bn_relu(b.max_pool(x, 3, 2, true), {64, 64, {1, 1}});
  x = b.max_pool(b.conv_bn_relu(x, {64, 192, {3, 3}, {1, 1}, {1, 1}}), 3, 2, true);
  std::int64_t in = 192;
  for (std::size_t i = 0; i < std::size(kMixed); ++i) {
    const Mixed& m = kMixed[i];
    if (i == 2) x = b.max_pool(x, 3, 2, true);
    if (i == 7) x = b.max_pool(x, 2, 2, true);
    const ValueId one = b.conv_bn_relu(x, {in, m.one, {1, 1}});
    const ValueId three_in = b.conv_bn_relu(x, {in, m.three_in, {1, 1}});
    const ValueId three = b.conv_bn_relu(three_in, {m.three_in, m.three, {3, 3}, {1, 1}, {1, 1}});
    const ValueId five_in = b.conv_bn_relu(x, {in, m.five_in, {1, 1}});
    // torchvision's "5x5" has three taps a side.
    const ValueId five = b.conv_bn_relu(five_in, {m.five_in, m.five, {3, 3}, {1, 1}, {1, 1}});
    const ValueId pool = b.conv_bn_relu(b.max_pool(x, 3, 1, true, 1), {in, m.pool, {1, 1}});
    x = b.concat({one, three, five, pool});
    in = m.one + m.three + m.five + m.pool;
  }
  return b.finish(b.classify(x, in, 1000), "softmax");
}

/// The generator: a code of 100 numbers to an image of 64 x 64.
Graph make_dcgan(const ZooOptions& options) {
  NetworkBuilder b("dcgan", options);
  ValueId x = b.input("data", DType::f32, {options.batch, 100, 1, 1});
  std::int64_t in = 100;
  for (const std::int64_t out : {1024, 512, 256, 128, 3}) {
    const std::int64_t stride = in == 100 ? 1 : 2, pad = stride - 1, taps = 16 / (stride * stride);
    const ValueId weights = b.scaled({in, out, 4, 4}, in * taps, out == 3 ? 1 : 2);
    x = b.conv_transpose(x, weights, stride, pad);
    if (out != 3) x = b.relu(b.batch_norm(x, out));
    in = out;
  }
  return b.finish(b.tanh(x), "image");
}

}  // namespace whet
