#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/testing/define_one.h"

// Values against numbers worked out by hand, or loops written here.
namespace whet {
namespace {

using namespace testing;

/// Convolution by the textbook: x [N, C, H, W], w [O, C/groups, KH, KW].
Tensor plain_conv(const Tensor& x, const Tensor& w, const ConvOperator& op, const Shape& out) {
  Tensor y(DType::f32, out);
  const Shape &xs = x.shape(), &ws = w.shape();
  const std::int64_t per_group = ws[1], out_per_group = ws[0] / op.groups;
  for (std::int64_t n = 0, at = 0; n < out[0]; ++n) {
    for (std::int64_t o = 0; o < out[1]; ++o) {
      for (std::int64_t i = 0; i < out[2]; ++i) {
        for (std::int64_t j = 0; j < out[3]; ++j, ++at) {
          double sum = 0;
          for (std::int64_t c = 0; c < per_group; ++c) {
            for (std::int64_t p = 0; p < ws[2]; ++p) {
              for (std::int64_t q = 0; q < ws[3]; ++q) {
                const std::int64_t r = i * op.strides[0] + p * op.dilations[0] - op.pads_begin[0];
                const std::int64_t s = j * op.strides[1] + q * op.dilations[1] - op.pads_begin[1];
                if (r < 0 || r >= xs[2] || s < 0 || s >= xs[3]) continue;
                const std::int64_t channel = o / out_per_group * per_group + c;
                sum += x.get(((n * xs[1] + channel) * xs[2] + r) * xs[3] + s) *
                       w.get(((o * ws[1] + c) * ws[2] + p) * ws[3] + q);
              }
            }
          }
          y.set(at, sum);
        }
      }
    }
  }
  return y;
}

Tensor turned(const Tensor& x, const std::vector<std::int64_t>& perm) { return value_of(TransposeOperator{perm}, {x}); }

/// [N, C, H, W] in blocks of `block` channels: [N, C/block, H, W, block].
Tensor in_blocks(const Tensor& x, std::int64_t block) {
  const Shape& s = x.shape();
  return turned(x.reshaped({s[0], s[1] / block, block, s[2], s[3]}), {0, 1, 3, 4, 2});
}

TEST(Value, OfConvolutionsIsTheTextbooksInAllLayouts) {
  struct Case {
    ConvOperator op;
    Shape x, w;
  };
  const std::vector<Case> cases = {
      {{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {2, 3, 5, 4}, {4, 3, 3, 3}},
      {{{2, 1}, {1, 2}, {0, 2}, {1, 1}, 1}, {1, 2, 6, 7}, {3, 2, 2, 3}},
      {{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 4}, {1, 4, 4, 4}, {4, 1, 3, 3}},
      {{{1, 2}, {1, 1}, {0, 0}, {0, 0}, 2}, {1, 4, 3, 5}, {6, 2, 1, 2}},
      {{{1, 1}, {1, 1}, {1, 0}, {0, 1}, 2}, {1, 2, 4, 4}, {4, 1, 2, 2}},
  };
  Rng rng(7);
  for (const Case& c : cases) {
    const Tensor x = Tensor::random(f32(c.x), rng), w = Tensor::random(f32(c.w), rng);
    const auto type = infer_type("conv", c.op, {x.type(), w.type()});
    ASSERT_TRUE(type.ok()) << type.error().message;
    const Tensor want = plain_conv(x, w, c.op, type->shape);
    expect_near(value_of(c.op, {x, w}), want.shape(), elements(want));

    ConvOperator last = c.op;
    last.layout = Layout::channels_last;
    Tensor weights = turned(w, {2, 3, 1, 0});
    const bool depthwise = c.op.groups > 1 && c.op.groups == c.x[1] && c.op.groups == c.w[0];
    if (depthwise) weights = weights.reshaped({c.w[2], c.w[3], c.w[0]});
    const Tensor got = turned(value_of(last, {turned(x, {0, 2, 3, 1}), weights}), {0, 3, 1, 2});
    expect_near(got, want.shape(), elements(want));

    if (c.op.groups > 1 && !depthwise) continue;
    ConvOperator blocked = last;
    blocked.layout = Layout::channels_blocked;
    for (const std::int64_t block : {std::int64_t{1}, std::int64_t{2}, c.w[0]}) {
      const std::int64_t in = depthwise ? block : c.x[1];
      if (c.w[0] % block != 0) continue;
      blocked.block = block;
      expect_near(value_of(blocked, {in_blocks(x, in), weights}), in_blocks(want, block).shape(),
                  elements(in_blocks(want, block)));
    }
  }
}

TEST(Value, OfPoolsOfBlocksIsThatOfTheFilesOrder) {
  Rng rng(8);
  const Tensor x = Tensor::random(f32({2, 6, 5, 4}), rng);
  for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
    PoolOperator op{kind, {3, 2}, {2, 1}, {1, 1}, {1, 1}, {1, 0}, false, Layout::channels_first};
    const Tensor want = value_of(op, {x});
    op.layout = Layout::channels_blocked;
    expect_near(value_of(op, {in_blocks(x, 3)}), in_blocks(want, 3).shape(), elements(in_blocks(want, 3)));
  }
}

TEST(Value, OfAnAveragePoolDividesByTheTapsInside) {
  PoolOperator op{PoolKind::average, {3}, {2}, {1}, {1}, {1}, false, Layout::channels_first};
  const Tensor x = floats({1, 1, 5}, {1, 2, 3, 4, 5});
  expect_near(value_of(op, {x}), {1, 1, 3}, {1.5, 3, 4.5});
  op.count_include_pad = true;
  expect_near(value_of(op, {x}), {1, 1, 3}, {1, 3, 3});
}

TEST(Value, OfADilatedAveragePoolCountsItsOwnTaps) {
  const PoolOperator op{PoolKind::average, {2}, {1}, {2}, {1}, {1}, false, Layout::channels_first};
  expect_near(value_of(op, {floats({1, 1, 4}, {1, 2, 3, 4})}), {1, 1, 4}, {2, 2, 3, 3});
}

TEST(Value, OfAMaxPoolIgnoresItsPadding) {
  const PoolOperator op{PoolKind::max, {2}, {2}, {1}, {1}, {1}, false, Layout::channels_last};
  expect_near(value_of(op, {floats({1, 4, 1}, {-1, -2, -3, -4})}), {1, 3, 1}, {-1, -2, -4});
}

TEST(Value, OfReductions) {
  const Tensor x = floats({2, 3}, {1, -2, 3, 4, 0.5, -6});
  auto reduce = [&](ReduceKind kind) { return value_of(ReduceOperator{kind, {1}, false}, {x}); };
  expect_near(reduce(ReduceKind::sum), {2}, {2, -1.5});
  expect_near(reduce(ReduceKind::mean), {2}, {2.0 / 3, -0.5});
  expect_near(reduce(ReduceKind::max), {2}, {3, 4});
  expect_near(reduce(ReduceKind::min), {2}, {-2, -6});
  expect_near(reduce(ReduceKind::prod), {2}, {-6, -12});
  expect_near(reduce(ReduceKind::l1), {2}, {6, 10.5});
  expect_near(reduce(ReduceKind::l2), {2}, {std::sqrt(14.0), std::sqrt(52.25)});
  expect_near(reduce(ReduceKind::sum_square), {2}, {14, 52.25});
  expect_near(value_of(ReduceOperator{ReduceKind::log_sum, {1}, false}, {floats({1, 2}, {1, 3})}), {1},
              {std::log(4.0)});
  expect_near(reduce(ReduceKind::log_sum_exp), {2},
              {std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(3.0)),
               std::log(std::exp(4.0) + std::exp(0.5) + std::exp(-6.0))});
  expect_near(value_of(ReduceOperator{ReduceKind::max, {0, 1}, true}, {x}), {1, 1}, {4});
}

/// f16 ends at 65504.
TEST(Value, OfReductionsOfHalvesWhoseSumsAreNoHalves) {
  const auto halves = [](Shape shape, const std::vector<double>& values) {
    return Tensor::of<double>(DType::f16, std::move(shape), values);
  };
  const Tensor x = halves({1, 1, 4}, {40000, 40000, 20000, 60000});
  const auto reduce = [&](ReduceKind kind, const Tensor& of) {
    return value_of(ReduceOperator{kind, {2}, false}, {of});
  };
  const Tensor mean = reduce(ReduceKind::mean, x);
  EXPECT_EQ(mean.dtype(), DType::f16);
  expect_near(mean, {1, 1}, {40000});
  expect_near(reduce(ReduceKind::l2, halves({1, 1, 2}, {3000, 4000})), {1, 1}, {5000}, 4);
  expect_near(reduce(ReduceKind::sum, halves({1, 1, 3}, {60000, 60000, -60000})), {1, 1}, {60000}, 32);
  expect_near(reduce(ReduceKind::prod, halves({1, 1, 3}, {1000, 1000, 0.001})), {1, 1}, {1000}, 1);
  const PoolOperator pool{PoolKind::average, {4}, {1}, {1}, {0}, {0}, false, Layout::channels_first};
  expect_near(value_of(pool, {x}), {1, 1, 1}, {40000});

  const Tensor many(DType::f16, {70000});  // zeros
  expect_near(value_of(ReduceOperator{ReduceKind::log_sum_exp, {0}, true}, {many}), {1}, {std::log(70000)}, 4e-3);
  EXPECT_NEAR(value_of(SoftmaxOperator{0}, {many}).get(0), 1 / 70000.0, 1e-7);
  EXPECT_NEAR(value_of(SoftmaxOperator{0, true}, {many}).get(0), -std::log(70000), 4e-3);
}

/// Between 2048 and 4096 f16 holds even numbers alone: ones added up one by one would end at 2048.
TEST(Value, OfProductsOfHalvesIsSummedUpInSinglePrecision) {
  const auto ones = [](Shape shape) {
    Tensor tensor(DType::f16, std::move(shape));
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, 1);
    return tensor;
  };
  const Tensor product = value_of(MatMulOperator{}, {ones({1, 4096}), ones({4096, 2})});
  EXPECT_EQ(product.dtype(), DType::f16);
  expect_near(product, {1, 2}, {4096, 4096});

  const ConvOperator conv{.strides = {1},
                          .dilations = {1},
                          .pads_begin = {0},
                          .pads_end = {0},
                          .groups = 1,
                          .layout = Layout::channels_first};
  expect_near(value_of(conv, {ones({1, 4096, 1}), ones({1, 4096, 1})}), {1, 1, 1}, {4096});
  expect_near(value_of(conv, {ones({1, 4096, 1}), ones({1, 4096, 1}), ones({1})}), {1, 1, 1}, {4096});
  const Tensor large = Tensor::of<double>(DType::f16, {1, 3, 1}, {60000, 60000, -60000});
  expect_near(value_of(conv, {large, ones({1, 3, 1})}), {1, 1, 1}, {60000}, 32);
}

TEST(Value, OfAReductionOfMuchToLittle) {
  Rng rng(3);
  const Tensor x = Tensor::random(f32({2, 64, 20, 40}), rng);
  for (const bool keep : {false, true}) {
    const Tensor y = value_of(ReduceOperator{.kind = ReduceKind::mean, .axes = {1, 2, 3}, .keep_dims = keep}, {x});
    for (std::int64_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (std::int64_t i = 0; i < 51200; ++i) sum += x.get(n * 51200 + i);
      EXPECT_NEAR(y.get(n), sum / 51200, 1e-6);
    }
  }
}
TEST(Value, OfALogSumExpDoesNotOverflow) {
  expect_near(value_of(ReduceOperator{ReduceKind::log_sum_exp, {0}, false}, {floats({2}, {1000, 1000})}), {},
              {1000 + std::log(2.0)}, 1e-3);
}

TEST(Value, OfALogSumExpOfInfinities) {
  const Tensor x = floats({3, 2}, {-INFINITY, -INFINITY, -INFINITY, 1, INFINITY, -INFINITY});
  EXPECT_EQ(elements(value_of(ReduceOperator{ReduceKind::log_sum_exp, {1}, false}, {x})),
            (std::vector<double>{-INFINITY, 1, INFINITY}));
}

TEST(Value, OfSoftmaxAlongAMiddleAxis) {
  const Tensor x = floats({1, 2, 2}, {0, 1, 2, 1});
  const double a = 1 / (1 + std::exp(2.0)), b = 1 - a;
  expect_near(value_of(SoftmaxOperator{1}, {x}), {1, 2, 2}, {a, 0.5, b, 0.5});
  expect_near(value_of(SoftmaxOperator{1, true}, {x}), {1, 2, 2},
              {std::log(a), std::log(0.5), std::log(b), std::log(0.5)});
  const Tensor halves = value_of(SoftmaxOperator{.axis = 1, .rounds = DType::f16}, {x});
  EXPECT_EQ(halves.dtype(), DType::f16);
  expect_near(halves, {1, 2, 2}, {a, 0.5, b, 0.5}, 1e-3);
}

TEST(Value, OfElementwiseFunctions) {
  const Tensor x = floats({3}, {-1.5, 0, 2.5});
  auto unary = [&](UnaryKind kind) { return value_of(UnaryOperator{kind}, {x}); };
  expect_near(unary(UnaryKind::relu), {3}, {0, 0, 2.5});
  expect_near(unary(UnaryKind::sigmoid), {3}, {1 / (1 + std::exp(1.5)), 0.5, 1 / (1 + std::exp(-2.5))});
  expect_near(unary(UnaryKind::sign), {3}, {-1, 0, 1});
  expect_near(unary(UnaryKind::round), {3}, {-2, 0, 2});
  expect_near(unary(UnaryKind::softplus), {3}, {std::log1p(std::exp(-1.5)), std::log(2.0), std::log1p(std::exp(2.5))});
  expect_near(unary(UnaryKind::softsign), {3}, {-0.6, 0, 2.5 / 3.5});
  expect_near(unary(UnaryKind::hard_swish), {3}, {-1.5 * 0.25, 0, 2.5 * (2.5 / 6 + 0.5)});
  expect_near(value_of(HardSigmoidOperator{0.2, 0.5}, {x}), {3}, {0.2, 0.5, 1});
  expect_near(value_of(LeakyReluOperator{0.1}, {x}), {3}, {-0.15, 0, 2.5});
  expect_near(value_of(ClipOperator{-INFINITY, 1}, {x}), {3}, {-1.5, 0, 1});
  expect_near(value_of(CastOperator{DType::i32}, {x}), {3}, {-1, 0, 2});
  expect_near(value_of(CastOperator{DType::boolean}, {x}), {3}, {1, 0, 1});
}

TEST(Value, OfWhatIsNoNumberIsNone) {
  const Tensor x = floats({3}, {NAN, 1, NAN}), y = floats({3}, {2, NAN, NAN}), zero = floats({}, {0});
  const auto expect_nan = [](const Tensor& value, const std::vector<bool>& want) {
    for (std::int64_t i = 0; i < value.size(); ++i)
      EXPECT_EQ(std::isnan(value.get(i)), want[static_cast<std::size_t>(i)]) << "element " << i;
  };
  for (const BinaryKind kind : {BinaryKind::min, BinaryKind::max}) {
    expect_nan(value_of(BinaryOperator{kind}, {x, y}), {true, true, true});
    expect_nan(value_of(BinaryOperator{kind}, {x, zero}), {true, false, true});
    expect_nan(value_of(BinaryOperator{kind}, {zero, x}), {true, false, true});
  }
  expect_nan(value_of(UnaryOperator{UnaryKind::sign}, {x}), {true, false, true});
  expect_nan(value_of(UnaryOperator{UnaryKind::relu}, {x}), {true, false, true});
  expect_nan(value_of(ClipOperator{-1, 1}, {x}), {true, false, true});
  expect_nan(value_of(UnaryOperator{UnaryKind::acosh}, {floats({4}, {-1e30, -3, 0.5, 1})}), {true, true, true, false});
}

TEST(Value, OfMagnitudesOfEveryType) {
  const auto abs = [](DType dtype, const std::vector<double>& x) {
    return elements(value_of(UnaryOperator{UnaryKind::abs}, {Tensor::of(dtype, {3}, x)}));
  };
  EXPECT_EQ(abs(DType::u8, {0, 1, 255}), (std::vector<double>{0, 1, 255}));
  EXPECT_EQ(abs(DType::i8, {-127, 0, 5}), (std::vector<double>{127, 0, 5}));
  EXPECT_EQ(abs(DType::f16, {-2, 0, -INFINITY}), (std::vector<double>{2, 0, INFINITY}));
  const Tensor bytes = Tensor::of<double>(DType::u8, {2}, {100, 50});
  expect_near(value_of(ReduceOperator{ReduceKind::l1, {0}, true}, {bytes}), {1}, {150});
}

TEST(Value, OfBinaryOperatorsBroadcasts) {
  const Tensor a = floats({2, 1}, {7, -7}), b = floats({2}, {2, -3});
  auto binary = [&](BinaryKind kind) { return value_of(BinaryOperator{kind}, {a, b}); };
  expect_near(binary(BinaryKind::sub), {2, 2}, {5, 10, -9, -4});
  expect_near(binary(BinaryKind::mod), {2, 2}, {1, 1, -1, -1});
  expect_near(binary(BinaryKind::less), {2, 2}, {0, 0, 1, 1});
  // A quotient that rounds up to a whole number is none.
  const Tensor almost = Tensor::of<float>(DType::f32, {1}, {std::nextafter(3e7f, 0.0f)}), tenth = floats({1}, {0.1f});
  const Tensor by_infinity =
      value_of(BinaryOperator{BinaryKind::mod}, {floats({2}, {-3, 4}), floats({2}, {INFINITY, -INFINITY})});
  expect_near(by_infinity, {2}, {-3, 4});
  const double rest = value_of(BinaryOperator{BinaryKind::mod}, {almost, tenth}).get(0);
  EXPECT_TRUE(rest >= 0 && rest < 0.1f) << rest;
  const Tensor i = Tensor::of<int>(DType::i32, {2, 1}, {7, -7}), j = Tensor::of<int>(DType::i32, {2}, {2, -3});
  expect_near(value_of(BinaryOperator{BinaryKind::mod}, {i, j}), {2, 2}, {1, -2, 1, -1});
  expect_near(value_of(BinaryOperator{BinaryKind::div}, {i, j}), {2, 2}, {3, -2, -3, 2});
  const Tensor condition = Tensor::of<int>(DType::boolean, {2, 1}, {1, 0});
  expect_near(value_of(WhereOperator{}, {condition, b, a}), {2, 2}, {2, -3, -7, -7});
}

TEST(Value, OfABatchNormalization) {
  const BatchNormOperator op{.epsilon = 0, .layout = Layout::channels_last};
  const auto p = [](double a, double b) { return floats({2}, {a, b}); };
  expect_near(value_of(op, {floats({1, 1, 2}, {3, 5}), p(2, 1), p(1, 0), p(1, 2), p(4, 9)}), {1, 1, 2}, {3, 1});
}

TEST(Value, OfDataMovement) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_near(value_of(TransposeOperator{{1, 0}}, {x}), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_near(value_of(SliceOperator{{1, 2}, {1, -2}, {1, 2}}, {x}), {1, 2}, {5, 3});
  expect_near(value_of(ConcatOperator{0}, {x, floats({1, 3}, {6, 7, 8})}), {3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  expect_near(value_of(ExpandOperator{{2, 2, 1}}, {floats({2, 1}, {1, 2})}), {2, 2, 1}, {1, 2, 1, 2});
  expect_near(value_of(PadOperator{PadMode::constant, 9, {0, -1}, {1, 1}}, {x}), {3, 3}, {1, 2, 9, 4, 5, 9, 9, 9, 9});
  expect_near(value_of(PadOperator{PadMode::reflect, 0, {0, 2}, {0, 1}}, {x}), {2, 6},
              {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4});
  expect_near(value_of(PadOperator{PadMode::edge, 0, {1, 0}, {0, 2}}, {x}), {3, 5},
              {0, 1, 2, 2, 2, 0, 1, 2, 2, 2, 3, 4, 5, 5, 5});
  const Tensor indices = Tensor::of<int>(DType::i64, {2, 1}, {-1, 0});
  expect_near(value_of(GatherOperator{1}, {x, indices}), {2, 2, 1}, {2, 0, 5, 3});
}

TEST(Value, OfEveryReshapeKeepsTheOrderOfElements) {
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{2, 3, 4}, {6, 4}},     {{2, 3, 4}, {2, 12}}, {{2, 3, 4}, {4, 3, 2}},     {{24}, {1, 2, 1, 12, 1}},
      {{1, 24, 1}, {2, 3, 4}}, {{4, 6}, {6, 4}},     {{2, 2, 3, 10}, {4, 6, 5}}, {{1, 1}, {}}};
  for (const auto& [from, to] : cases) {
    ComputeDag dag = define_one(ReshapeOperator{to}, {f32(from)});
    Tensor x(DType::f32, from);
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i));
    const auto y = evaluate(dag, {x});
    ASSERT_TRUE(y.ok()) << y.error().message;
    expect_near((*y)[0], to, elements(x));
  }
}

ResizeOperator resize(ResizeMode mode, CoordinateMode coordinates, Shape shape, double scale) {
  return {.mode = mode, .coordinates = coordinates, .scales = {1, scale}, .shape = std::move(shape)};
}

TEST(Value, OfResizesByEveryCoordinateMode) {
  const Tensor x = floats({1, 4}, {1, 2, 3, 4});
  using C = CoordinateMode;
  auto linear = [&](C mode, std::int64_t n, double s) {
    return value_of(resize(ResizeMode::linear, mode, {1, n}, s), {x});
  };
  expect_near(linear(C::half_pixel, 8, 2), {1, 8}, {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  expect_near(linear(C::asymmetric, 8, 2), {1, 8}, {1, 1.5, 2, 2.5, 3, 3.5, 4, 4});
  expect_near(linear(C::align_corners, 7, 1.75), {1, 7}, {1, 1.5, 2, 2.5, 3, 3.5, 4});
  expect_near(linear(C::pytorch_half_pixel, 1, 0.25), {1, 1}, {1});
  expect_near(linear(C::half_pixel, 1, 0.25), {1, 1}, {2.5});
  expect_near(linear(C::half_pixel, 2, 0.6), {1, 2}, {1 + 1.0 / 3, 3});
  expect_near(linear(C::half_pixel_symmetric, 2, 0.6), {1, 2}, {1.5 + 1.0 / 6, 3.5 - 1.0 / 6});
}

TEST(Value, OfNearestResizesByEveryRounding) {
  const Tensor x = floats({1, 2}, {1, 2});
  auto nearest = [&](NearestMode rounding) {
    ResizeOperator op = resize(ResizeMode::nearest, CoordinateMode::asymmetric, {1, 4}, 2);
    op.nearest = rounding;
    return value_of(op, {x});
  };
  expect_near(nearest(NearestMode::floor), {1, 4}, {1, 1, 2, 2});
  expect_near(nearest(NearestMode::ceil), {1, 4}, {1, 2, 2, 2});
  expect_near(nearest(NearestMode::round_prefer_floor), {1, 4}, {1, 1, 2, 2});
  expect_near(nearest(NearestMode::round_prefer_ceil), {1, 4}, {1, 2, 2, 2});
}

TEST(Value, OfACubicResizeReproducesALine) {
  ResizeOperator op = resize(ResizeMode::cubic, CoordinateMode::asymmetric, {1, 12}, 2);
  op.cubic_a = -0.5;
  const Tensor x = floats({1, 6}, {0, 1, 2, 3, 4, 5});
  const Tensor y = value_of(op, {x});
  for (std::int64_t i = 2; i < 8; ++i) EXPECT_NEAR(y.get(i), static_cast<double>(i) / 2, 1e-6);
  op.exclude_outside = true;
  const Tensor z = value_of(op, {floats({1, 6}, {3, 3, 3, 3, 3, 3})});
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_NEAR(z.get(i), 3, 1e-5);
}

/// `x` and the value's elements as f16 hold no position of the picture and no numerator of a fraction.
TEST(Value, OfAResizeOfHalvesIsThatOfFloats) {
  Rng rng(5);
  const Tensor x = Tensor::random({DType::f16, {1, 3000}}, rng), wide = value_of(CastOperator{DType::f32}, {x});
  for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic}) {
    for (const CoordinateMode coordinates : {CoordinateMode::half_pixel, CoordinateMode::align_corners}) {
      const ResizeOperator op = resize(mode, coordinates, {1, 7000}, 7.0 / 3);
      const Tensor want = value_of(op, {wide}), got = value_of(op, {x});
      EXPECT_EQ(got.dtype(), DType::f16);
      expect_near(got, want.shape(), elements(want), 1e-3);
    }
  }
}

/// ONNX Runtime and PyTorch divide by the whole size, and not by that of the scale.
TEST(Value, OfAResizeWithAlignedCornersEndsAtTheLastPixelWhateverTheScale) {
  const Tensor x = floats({1, 4}, {1, 2, 3, 4});
  const auto aligned = [&](ResizeMode mode, std::int64_t n, double scale) {
    return value_of(resize(mode, CoordinateMode::align_corners, {1, n}, scale), {x});
  };
  expect_near(aligned(ResizeMode::linear, 3, 0.9), {1, 3}, {1, 2.5, 4});
  expect_near(aligned(ResizeMode::linear, 7, 1.9), {1, 7}, {1, 1.5, 2, 2.5, 3, 3.5, 4});
  expect_near(aligned(ResizeMode::nearest, 2, 0.6), {1, 2}, {1, 4});
  expect_near(aligned(ResizeMode::cubic, 2, 0.7), {1, 2}, {1, 4});
  expect_near(aligned(ResizeMode::linear, 1, 0.45), {1, 1}, {1});
}

/// 5 pixels become 2, at half their number: the second one is at the end of the region.
TEST(Value, OfACroppedResizeEndsWhereTheRegionDoes) {
  ResizeOperator op = resize(ResizeMode::linear, CoordinateMode::tf_crop_and_resize, {1, 2}, 0.5);
  op.roi_begin = {0, 0.25}, op.roi_end = {1, 1};
  expect_near(value_of(op, {floats({1, 5}, {0, 1, 2, 3, 4})}), {1, 2}, {1, 4});
}

/// Numbers of both signs and of every size up to `most`.
std::vector<double> of_every_size(double most, DType dtype) {
  std::vector<double> numbers;
  for (double size = 1e-30; size < most; size *= 1.37)
    for (const double x : {size, -size}) numbers.push_back(dtype == DType::f32 ? static_cast<float>(x) : x);
  return numbers;
}
/// The largest relative error where the result is a normal number of the type; infinities must be the same.
double worst_error(UnaryKind kind, const std::function<double(double)>& truth, DType dtype, double most) {
  const std::vector<double> x = of_every_size(most, dtype);
  const Tensor y = value_of(UnaryOperator{kind}, {Tensor::of(dtype, {static_cast<std::int64_t>(x.size())}, x)});
  const double least = dtype == DType::f32 ? 1.2e-38 : 1e-300, largest = dtype == DType::f32 ? 3.4e38 : 1e308;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = truth(x[i]), got = y.get(static_cast<std::int64_t>(i));
    EXPECT_EQ(std::isnan(want), std::isnan(got)) << x[i];
    if (std::isnan(want) || std::abs(want) < least) continue;
    if (std::abs(want) > largest) {
      EXPECT_TRUE(std::isinf(got)) << x[i];
      continue;
    }
    worst = std::max(worst, std::abs(got - want) / std::abs(want));
  }
  return worst;
}

TEST(Value, OfElementaryFunctionsHasAllDigitsAtEverySize) {
  struct Function {
    UnaryKind kind;
    double (*truth)(double);
    double most;
  };
  const auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  const auto sigmoid = [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); };
  for (const Function& f : {Function{UnaryKind::erf, std::erf, 30},
                            {UnaryKind::sinh, std::sinh, 1000},
                            {UnaryKind::asinh, std::asinh, 1e30},
                            {UnaryKind::atanh, std::atanh, 0.999},
                            {UnaryKind::tanh, std::tanh, 1000},
                            {UnaryKind::asin, std::asin, 0.999},
                            {UnaryKind::atan, std::atan, 1e30},
                            {UnaryKind::sin, std::sin, 3},
                            {UnaryKind::tan, std::tan, 1.5},
                            {UnaryKind::softplus, softplus, 80},
                            {UnaryKind::sigmoid, sigmoid, 80}}) {
    EXPECT_LE(worst_error(f.kind, f.truth, DType::f32, f.most), 6e-7) << name_of(UnaryOperator{f.kind});
    EXPECT_LE(worst_error(f.kind, f.truth, DType::f64, f.most), 1e-14) << name_of(UnaryOperator{f.kind});
  }
}

TEST(Value, OfRunningSumsOfEveryLength) {
  for (std::int64_t length : {1, 2, 3, 9, 16, 17, 31, 64, 100, 131}) {
    for (const auto& [exclusive, reverse] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
      for (std::int64_t behind : {1, 5}) {
        Tensor x(DType::f32, {2, length, behind}), want(DType::f32, {2, length, behind});
        for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i * 7 % 11));  // sums are exact
        for (std::int64_t row = 0; row < 2 * behind; ++row) {
          double sum = 0;
          for (std::int64_t k = 0; k < length; ++k) {
            const std::int64_t place = row / behind * length + (reverse ? length - 1 - k : k);
            const std::int64_t at = place * behind + row % behind;
            want.set(at, exclusive ? sum : sum + x.get(at));
            sum += x.get(at);
          }
        }
        EXPECT_EQ(elements(value_of(CumSumOperator{1, exclusive, reverse}, {x})), elements(want))
            << length << " by " << behind << (exclusive ? " exclusive" : "") << (reverse ? " reverse" : "");
      }
    }
  }
}

TEST(Value, OfTopKIsThatOfASortWhereTheLowerIndexWinsTies) {
  for (const auto& [length, k] : {std::pair(1, 1),
                                  {5, 5},
                                  {9, 2},
                                  {40, 1},
                                  {70, 3},
                                  {100, 6},
                                  {333, 2},
                                  {700, 3},
                                  {2500, 9},
                                  {3000, 1},
                                  {2000, 150},
                                  {7000, 70}}) {
    for (const bool largest : {false, true}) {
      const DType dtype = length % 3 == 0 ? DType::f64 : length % 2 == 0 ? DType::f32 : DType::f16;
      Tensor x(dtype, {2, length, 2});
      Rng rng(static_cast<std::uint64_t>(length));
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t value = rng.between(-length / 8 - 1, length / 8 + 1);  // many are equal
        x.set(i, std::abs(value) > length / 8 ? std::copysign(INFINITY, value) : static_cast<double>(value));
      }
      Tensor want(DType::i64, {2, k, 2});
      for (std::int64_t row = 0; row < 4; ++row) {
        const auto value = [&](std::int64_t i) { return x.get((row / 2 * length + i) * 2 + row % 2); };
        std::vector<std::int64_t> order(static_cast<std::size_t>(length));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          return largest ? value(a) > value(b) : value(a) < value(b);
        });
        for (std::int64_t i = 0; i < k; ++i)
          want.set_integer((row / 2 * k + i) * 2 + row % 2, order[static_cast<std::size_t>(i)]);
      }
      EXPECT_EQ(elements(value_of(TopKOperator{1, k, largest}, {x})), elements(want)) << k << " of " << length;
    }
  }
}

TEST(Value, OfTopKCountsIntegersAndTakesNanForTheGreatest) {
  const auto best = [](const Tensor& x, std::int64_t k, bool largest) {
    return elements(value_of(TopKOperator{0, k, largest}, {x}));
  };
  const double lowest = std::numeric_limits<std::int32_t>::lowest();
  const Tensor numbers = Tensor::of(DType::i32, {4}, std::vector<double>{3, lowest, 2147483647, -1});
  EXPECT_EQ(best(numbers, 4, true), elements(Tensor::of(DType::i64, {4}, std::vector<int>{2, 0, 3, 1})));
  EXPECT_EQ(best(numbers, 4, false), elements(Tensor::of(DType::i64, {4}, std::vector<int>{1, 3, 0, 2})));
  const Tensor bytes = Tensor::of(DType::u8, {3}, std::vector<int>{7, 255, 0});
  EXPECT_EQ(best(bytes, 2, true), elements(Tensor::of(DType::i64, {2}, std::vector<int>{1, 0})));
  const Tensor odd = floats({6}, {1, NAN, -0.0, 0, -INFINITY, INFINITY});
  EXPECT_EQ(best(odd, 6, true), elements(Tensor::of(DType::i64, {6}, std::vector<int>{1, 5, 0, 2, 3, 4})));
  EXPECT_EQ(best(odd, 6, false), elements(Tensor::of(DType::i64, {6}, std::vector<int>{4, 2, 3, 0, 5, 1})));
}

TEST(EvaluateGraph, GivesEveryValue) {
  Graph graph;
  const ValueId x = graph.add_value("x", f32({2}));
  graph.inputs = {x};
  const ValueId one = graph.add_constant("one", floats({}, {1}));
  const ValueId sum = *graph.add_node("sum", BinaryOperator{BinaryKind::add}, {x, one});
  const ValueId y = *graph.add_node("y", UnaryOperator{UnaryKind::neg}, {sum});
  graph.outputs = {y};
  const auto values = evaluate_graph(graph, {floats({2}, {1, 2})});
  ASSERT_TRUE(values.ok());
  expect_near((*values)[sum.index()], {2}, {2, 3});
  expect_near((*values)[y.index()], {2}, {-2, -3});
  EXPECT_EQ(evaluate_graph(graph, {}).error().message, "the graph has 1 inputs; 0 were given");
  EXPECT_EQ(evaluate_graph(graph, {floats({3}, {1, 2, 3})}).error().message, "input \"x\" is f32[2]; f32[3] was given");
}

}  // namespace
}  // namespace whet
