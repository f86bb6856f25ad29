#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/rng.h"
#include "import/parts/activation.h"
#include "import/parts/adaptive.h"
#include "import/parts/arithmetic.h"
#include "import/parts/attention.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/einsum.h"
#include "import/parts/elementary.h"
#include "import/parts/index.h"
#include "import/parts/index_lists.h"
#include "import/parts/matrix.h"
#include "import/parts/normalize.h"
#include "import/parts/quantize.h"
#include "import/parts/recurrent.h"
#include "import/parts/resize.h"
#include "import/parts/shape.h"
#include "import/parts/unfold.h"
#include "import/parts/window.h"
#include "ops/evaluate_graph.h"

/// Parts by themselves, against what they mean: what other formats ask of them and ONNX does not.
namespace whet {
namespace parts_parts_test {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<ValueId>;

/// What a part computes of inputs that are fed; `known` ones are constants.
Result<Tensor> computed(const std::vector<Tensor>& inputs,
                        const std::function<Result<ValueId>(NodeSite&, const Values&)>& part, bool known = false) {
  GrowingGraph graph;
  NodeSite site(graph, "n", {"y"});
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    values.push_back(known && i > 0 ? graph.graph.add_constant(name, inputs[i])
                                    : graph.add_input(name, inputs[i].type()));
  }
  WHET_TRY(const ValueId y, part(site, values));
  graph.graph.outputs = {y};
  WHET_TRY(const std::vector<Tensor> all, evaluate_graph(graph.graph, known ? std::vector{inputs[0]} : inputs));
  return all[y.index()];
}

std::string near_text(const Result<Tensor>& tensor) {
  if (!tensor.ok()) return tensor.error().message;
  std::string text = to_string(tensor->type());
  for (std::int64_t i = 0; i < tensor->size(); ++i) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, " %.4g", tensor->get(i));
    text += buffer;
  }
  return text;
}

Tensor f32(Shape shape, const std::vector<double>& values) { return Tensor::of(DType::f32, std::move(shape), values); }
Tensor i32(Shape shape, const std::vector<double>& values) { return Tensor::of(DType::i32, std::move(shape), values); }
Tensor random(Shape shape, Rng& rng) { return Tensor::random({DType::f32, std::move(shape)}, rng); }

/// `part` of one tensor of numbers is `formula` of each.
void expect_each(const std::function<Result<ValueId>(NodeSite&, ValueId)>& part,
                 const std::function<double(double)>& formula) {
  const Tensor x = f32({7}, {-3, -1.5, -0.5, 0, 0.25, 1, 2.5});
  const Tensor y = computed({x}, [&](NodeSite& s, const Values& in) { return part(s, in[0]); }).value();
  for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y.get(i), formula(x.get(i)), 1e-5) << x.get(i);
}

TEST(Activation, IsWhatItsFormulaSays) {
  expect_each([](NodeSite& s, ValueId x) { return elu(s, x, {.alpha = 2, .gamma = 3, .width = 0.5}); },
              [](double x) { return 3 * (x > 0 ? x : 2 * (std::exp(x / 0.5) - 1)); });
  expect_each([](NodeSite& s, ValueId x) { return swish(s, x, 2); },
              [](double x) { return x / (1 + std::exp(-2 * x)); });
  expect_each([](NodeSite& s, ValueId x) { return thresholded(s, x, 0.5, -7); },
              [](double x) { return x > 0.5 ? x : -7; });
  expect_each([](NodeSite& s, ValueId x) { return shrunk(s, x, 1, 0.25); },
              [](double x) { return x < -1  ? x + 0.25
                                    : x > 1 ? x - 0.25
                                            : 0; });
  expect_each([](NodeSite& s, ValueId x) { return gelu(s, x, Gelu::erf); },
              [](double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; });
  expect_each([](NodeSite& s, ValueId x) { return gelu(s, x, Gelu::tanh); },
              [](double x) { return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2; });
}
using Part = Result<ValueId> (*)(NodeSite&, ValueId);
/// The largest relative error over both signs of every size up to `most`, where the result is a normal number.
double worst_error(Part part, double (*truth)(double), DType dtype, double most) {
  std::vector<double> x;
  for (double size = 1e-30; size < most; size *= 1.37)
    for (const double number : {size, -size}) x.push_back(dtype == DType::f32 ? static_cast<float>(number) : number);
  const Tensor in = Tensor::of(dtype, {static_cast<std::int64_t>(x.size())}, x);
  const Tensor y = computed({in}, [&](NodeSite& s, const Values& v) { return part(s, v[0]); }).value();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = truth(x[i]), got = y.get(static_cast<std::int64_t>(i));
    EXPECT_EQ(std::isnan(want), std::isnan(got)) << x[i];
    if (!(std::abs(want) > (dtype == DType::f32 ? 1.2e-38 : 1e-300))) continue;
    if (std::abs(want) < (dtype == DType::f32 ? 3.4e38 : 1e308))
      worst = std::max(worst, std::abs(got - want) / std::abs(want));
    else
      EXPECT_TRUE(std::isinf(got)) << x[i];
  }
  return worst;
}

TEST(Elementary, FunctionsKeepTheirDigitsAtEverySize) {
  EXPECT_LE(worst_error(expm1, std::expm1, DType::f32, 1000), 6e-7);
  EXPECT_LE(worst_error(log1p, std::log1p, DType::f32, 1e30), 6e-7);
  EXPECT_LE(worst_error(erfc, std::erfc, DType::f32, 30), 6e-7);
  EXPECT_LE(worst_error(expm1, std::expm1, DType::f64, 1000), 2e-15);
  EXPECT_LE(worst_error(log1p, std::log1p, DType::f64, 1e30), 2e-15);
  EXPECT_LE(worst_error(erfc, std::erfc, DType::f64, 30), 5e-15);
}
TEST(Elementary, ErfinvIsWhatErfOfIsX) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<double> x;
    for (double rest = 1; rest > (dtype == DType::f32 ? 1e-7 : 1e-15); rest *= 0.83)
      for (const double number : {1 - rest, rest, -rest})
        x.push_back(dtype == DType::f32 ? static_cast<float>(number) : number);
    const Tensor in = Tensor::of(dtype, {static_cast<std::int64_t>(x.size())}, x);
    const Tensor y = computed({in}, [](NodeSite& s, const Values& v) { return erfinv(s, v[0]); }).value();
    for (std::int64_t i = 0; i < in.size(); ++i) {
      const double size = std::abs(in.get(i)), got = std::abs(y.get(i)), rest = 1 - size;
      if (size == 0 || size == 1) continue;
      const double far = size < 0.5 ? std::erf(got) - size : rest - std::erfc(got);
      EXPECT_LE(std::abs(far) * std::exp(got * got) * 0.886 / got, dtype == DType::f32 ? 6e-7 : 4e-15) << in.get(i);
      EXPECT_EQ(std::signbit(y.get(i)), in.get(i) < 0);
    }
  }
}
TEST(Elementary, LgammaIsExactAlsoNextToItsZeros) {
  const auto worst = [](DType dtype, double low, double high) {
    std::vector<double> x;
    for (double number = low; number < high; number += 0.0137)
      x.push_back(dtype == DType::f32 ? static_cast<float>(number) : number);
    const Tensor in = Tensor::of(dtype, {static_cast<std::int64_t>(x.size())}, x);
    const Tensor y = computed({in}, [](NodeSite& s, const Values& v) { return lgamma(s, v[0]); }).value();
    double most = 0;
    for (std::int64_t i = 0; i < in.size(); ++i) {
      const double want = std::lgamma(in.get(i));
      most = std::max(most, std::abs(y.get(i) - want) / (low < 0 ? std::max(std::abs(want), 1.0) : std::abs(want)));
    }
    return most;
  };
  EXPECT_LE(worst(DType::f32, 0.001, 12), 2e-6);
  EXPECT_LE(worst(DType::f64, 0.001, 12), 1e-14);
  EXPECT_LE(worst(DType::f32, -4.003, 0), 2e-5);
  EXPECT_LE(worst(DType::f64, -4.003, 0), 1e-13);
}
TEST(Activation, SmallResultsOfEluKeepTheirDigits) {
  const Tensor in = f32({4}, {-1e-7, -0.01, -0.0999, -0.101});
  const Tensor y = computed({in}, [&](NodeSite& s, const Values& v) { return elu(s, v[0], {}); }).value();
  for (std::int64_t i = 0; i < in.size(); ++i) EXPECT_NEAR(y.get(i) / std::expm1(in.get(i)), 1, 2e-6) << in.get(i);
}
TEST(Elementary, FunctionsOfHalvesAreComputedInFloats) {
  const double x = -0x1p-12;
  const Tensor in = Tensor::of<double>(DType::f16, {1}, {x});
  const auto of = [&](Part part) {
    return computed({in}, [&](NodeSite& s, const Values& v) { return part(s, v[0]); }).value().get(0);
  };
  EXPECT_NEAR(of(expm1) / x, 1, 1e-3);
  EXPECT_NEAR(of(log1p) / x, 1, 1e-3);
}
TEST(Elementary, EndsAreTheLimits) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Tensor in = f32({3}, {-kInfinite, -1, kInfinite});
  const auto of = [&](Part part) {
    return near_text(computed({in}, [&](NodeSite& s, const Values& v) { return part(s, v[0]); }));
  };
  EXPECT_EQ(of(expm1), "f32[3] -1 -0.6321 inf");
  EXPECT_EQ(of(log1p), "f32[3] -nan -inf inf");
  EXPECT_EQ(of(erfc), "f32[3] 2 1.843 0");
  EXPECT_EQ(of(erfinv), "f32[3] -nan -inf nan");
  EXPECT_EQ(of(lgamma), "f32[3] nan inf inf");
}
TEST(Activation, RefusesIntegers) {
  EXPECT_EQ(near_text(computed({i32({2}, {1, 2})}, [](NodeSite& s, const Values& in) { return mish(s, in[0]); })),
            "n: the input is i32[2]; expected f32, f64 or f16");
}
TEST(Activation, SlopesBroadcastAlsoBehindTheChannels) {
  // As channels last has it: one slope for each place of the last dimension.
  EXPECT_EQ(near_text(computed({f32({1, 2, 2}, {-1, -2, 3, -4}), f32({1, 1, 2}, {0.5, 0.25})},
                               [](NodeSite& s, const Values& in) { return prelu(s, in[0], in[1]); })),
            "f32[1x2x2] -0.5 -0.5 3 -1");
}

TEST(Arithmetic, RemaindersHaveTheSignOfTheDividend) {
  const auto part = [](NodeSite& s, const Values& in) { return truncated_remainder(s, in[0], in[1]); };
  EXPECT_EQ(near_text(computed({i32({4}, {7, -7, 7, -7}), i32({4}, {3, 3, -3, -3})}, part)), "i32[4] 1 -1 1 -1");
  EXPECT_EQ(near_text(computed({f32({2}, {7.5, -7.5}), f32({2}, {2, 2})}, part)), "f32[2] 1.5 -1.5");
}
TEST(Arithmetic, BoundsMayBeComputedOrOpen) {
  const Tensor x = f32({3}, {-5, 1, 5}), low = f32({}, {-1}), high = f32({}, {2});
  const auto both = [](NodeSite& s, const Values& in) { return clipped(s, in[0], in[1], in[2]); };
  EXPECT_EQ(near_text(computed({x, low, high}, both)), "f32[3] -1 1 2");
  EXPECT_EQ(near_text(computed({x, low, high}, both, true)), "f32[3] -1 1 2");
  EXPECT_EQ(near_text(computed({x, high},
                               [](NodeSite& s, const Values& in) { return clipped(s, in[0], std::nullopt, in[1]); })),
            "f32[3] -5 1 2");
  EXPECT_EQ(near_text(computed({x, low},
                               [](NodeSite& s, const Values& in) { return clipped(s, in[0], in[1], std::nullopt); })),
            "f32[3] -1 1 5");
}
TEST(Arithmetic, MeansAndChainsBroadcast) {
  const std::vector<Tensor> x = {f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30}), f32({}, {4})};
  EXPECT_EQ(near_text(computed(x, mean_of)), "f32[2x3] 5 8.333 11.67 5.333 8.667 12");
  EXPECT_EQ(near_text(computed(x, [](NodeSite& s, const Values& in) { return chained(s, BinaryKind::max, in); })),
            "f32[2x3] 10 20 30 10 20 30");
}

TEST(Matrix, GemmScalesAndTransposes) {
  const Tensor a = f32({2, 1}, {1, 2}), b = f32({3, 2}, {1, 2, 3, 4, 5, 6}), c = f32({1, 1}, {10});
  EXPECT_EQ(
      near_text(computed(
          {a, b, c}, [](NodeSite& s, const Values& in) { return gemm(s, in[0], in[1], in[2], {true, true, 2, 0.5}); })),
      "f32[1x3] 15 27 39");
}

TEST(Window, SamePaddingPutsTheOddPixelWhereItIsTold) {
  Window window{{2}, {1}, {}, {}};
  pad_to_same(window, {6}, {3}, SamePadding::upper);
  EXPECT_EQ(to_string(window.pads_begin) + " " + to_string(window.pads_end), "0 1");
  pad_to_same(window, {6}, {3}, SamePadding::lower);
  EXPECT_EQ(to_string(window.pads_begin) + " " + to_string(window.pads_end), "1 0");
  for (const std::int64_t extent : {5, 6, 7, 16}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t dilation : {1, 2}) {
        Window w{{stride}, {dilation}, {}, {}};
        pad_to_same(w, {extent}, {3}, SamePadding::upper);
        const std::int64_t positions = (extent + w.pads_begin[0] + w.pads_end[0] - (2 * dilation + 1)) / stride + 1;
        EXPECT_EQ(positions, (extent + stride - 1) / stride) << extent << " " << stride << " " << dilation;
      }
    }
  }
}
TEST(Window, WindowsThatDoNotFitAreRefused) {
  EXPECT_EQ(
      near_text(computed({f32({2, 2}, {1, 2, 3, 4})},
                         [](NodeSite& s, const Values& in) {
                           return pooled(s, in[0], {.kernel = {2}, .window = {{1}, {1}, {0}, {0}}});
                         })),
      "n: the input is f32[2x2] and the window has 1 dimensions; expected a batch, channels and as many dimensions "
      "(one to three)");
}

TEST(Window, ConvolutionsTakeWeightsInAnyOrder) {
  const auto whole = [](const Shape& shape) {
    Tensor numbers(DType::f32, shape);
    for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, static_cast<double>(i * i % 7 - 3));
    return numbers;
  };
  const Tensor x = whole({1, 4, 3, 2}), w = whole({2, 2, 2, 3});  // [N, rows, columns, C] by [rows, columns, I, O]
  const auto answer = [&](Layout layout, WeightOrder order, const Ints& perm) {
    return near_text(computed({x, w}, [&](NodeSite& s, const Values& in) -> Result<ValueId> {
      const bool last = layout == Layout::channels_last;
      const ConvForm form{{{1, 2}, {1, 1}, {}, {}}, true, layout, order};
      WHET_TRY(const ValueId weights, s.add("w", TransposeOperator{perm}, {in[1]}));
      WHET_TRY(const ValueId image,
               last ? Result<ValueId>(in[0]) : s.add("x", TransposeOperator{{0, 3, 1, 2}}, {in[0]}));
      WHET_TRY(const ValueId y, convolution(s, "conv", image, weights, std::nullopt, form));
      return last ? Result<ValueId>(y) : s.add("y", TransposeOperator{{0, 2, 3, 1}}, {y});
    }));
  };
  const std::string wanted = answer(Layout::channels_last, WeightOrder::kIO, {0, 1, 2, 3});
  EXPECT_EQ(wanted.substr(0, 12), "f32[1x4x2x3]");
  EXPECT_EQ(answer(Layout::channels_last, WeightOrder::OkI, {3, 0, 1, 2}), wanted);
  EXPECT_EQ(answer(Layout::channels_first, WeightOrder::kIO, {0, 1, 2, 3}), wanted);
  EXPECT_EQ(answer(Layout::channels_first, WeightOrder::OIk, {3, 2, 0, 1}), wanted);
}
TEST(Window, DepthwiseWeightsAreOfOneChannelEach) {
  const auto answer = [](Shape shape, WeightOrder order) {
    const Tensor x = f32({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Tensor w = f32(std::move(shape), {1, 10, 2, 20, 3, 30, 4, 40});
    return near_text(computed({x, w}, [&](NodeSite& s, const Values& in) {
      const ConvForm form{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, false, Layout::channels_last, order};
      return convolution(s, "conv", in[0], in[1], std::nullopt, form);
    }));
  };
  EXPECT_EQ(answer({1, 2, 2, 2}, WeightOrder::one_kO), "f32[1x1x1x2] 50 600");
  EXPECT_EQ(answer({2, 2, 1, 2}, WeightOrder::kIO), "f32[1x1x1x2] 50 600");
  EXPECT_NE(answer({2, 2, 2, 1}, WeightOrder::one_kO).find("[1, kernel..., a multiple of the channels]"),
            std::string::npos);
}

TEST(ConvTranspose, IsTheScatteredSum) {
  Rng rng(3);
  const Tensor x = random({1, 2, 4}, rng), w = random({2, 3, 3}, rng);
  for (const std::int64_t stride : {1, 2, 3}) {
    const std::int64_t whole = 3 * stride + 3, pad = 1, extent = whole - 2 * pad;
    std::vector<double> y(static_cast<std::size_t>(3 * extent), 0);
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t o = 0; o < 3; ++o)
        for (std::int64_t i = 0; i < 4; ++i)
          for (std::int64_t k = 0; k < 3; ++k) {
            const std::int64_t at = i * stride + k - pad;
            if (at >= 0 && at < extent)
              y[static_cast<std::size_t>(o * extent + at)] += x.get(c * 4 + i) * w.get((c * 3 + o) * 3 + k);
          }
    ConvTranspose form{.window = {{stride}, {1}, {pad}, {pad}}, .output_padding = {0}};
    for (const bool by_extent : {false, true}) {
      if (by_extent) form.output_extents = {extent};
      const Tensor found = computed({x, w}, [&](NodeSite& s, const Values& in) {
                             return conv_transposed(s, in[0], in[1], std::nullopt, form);
                           }).value();
      ASSERT_EQ(to_string(found.shape()), to_string(Shape{1, 3, extent}));
      for (std::int64_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found.get(i), y[static_cast<std::size_t>(i)], 1e-5);
    }
  }
}

TEST(Normalize, ScaleAndBiasMayBeLeftOut) {
  const Tensor x = f32({2, 2}, {1, 3, 2, 6});
  LayerNorm form{.axes = {1}, .epsilon = 0};
  EXPECT_EQ(near_text(computed({x}, [&](NodeSite& s, const Values& in) { return layer_norm(s, in[0], form); })),
            "f32[2x2] -1 1 -1 1");
  EXPECT_EQ(near_text(computed({x, f32({2}, {10, 20})},
                               [&](NodeSite& s, const Values& in) {
                                 form.scale.reset();
                                 form.bias = in[1];
                                 return layer_norm(s, in[0], form);
                               })),
            "f32[2x2] 9 21 9 21");
}

TEST(Attention, SharedKeysMasksAndCausality) {
  Rng rng(5);
  const Tensor q = random({1, 2, 3, 4}, rng), k = random({1, 1, 3, 4}, rng), v = random({1, 1, 3, 2}, rng);
  const Tensor y =
      computed({q, k, v}, [](NodeSite& s, const Values& in) -> Result<ValueId> {
        WHET_TRY(const Attended result, attention(s, in[0], in[1], in[2], {.scale = 0.5, .is_causal = true}));
        return result.y;
      }).value();
  for (std::int64_t h = 0; h < 2; ++h)
    for (std::int64_t row = 0; row < 3; ++row) {
      std::vector<double> weights;
      double total = 0;
      for (std::int64_t c = 0; c <= row; ++c) {
        double score = 0;
        for (std::int64_t e = 0; e < 4; ++e) score += q.get((h * 3 + row) * 4 + e) * k.get(c * 4 + e);
        weights.push_back(std::exp(0.5 * score));
        total += weights.back();
      }
      for (std::int64_t e = 0; e < 2; ++e) {
        double sum = 0;
        for (std::int64_t c = 0; c <= row; ++c) sum += weights[static_cast<std::size_t>(c)] / total * v.get(c * 2 + e);
        EXPECT_NEAR(y.get((h * 3 + row) * 2 + e), sum, 1e-5);
      }
    }
}

/// `clip`: of the cell; 0 is none.
void expect_lstm(double clip) {
  Rng rng(9);
  const std::int64_t steps = 3, features = 2, hidden = 2;
  const Tensor x = random({steps, 1, features}, rng), w = random({1, 4 * hidden, features}, rng),
               r = random({1, 4 * hidden, hidden}, rng), b = random({1, 8 * hidden}, rng);
  Recurrent form{.hidden = hidden};
  form.cell_clip = clip;
  for (const std::string& name : usual_activations(CellKind::lstm)) form.activations.push_back({name});
  const Tensor y = computed({x, w, r, b}, [&](NodeSite& s, const Values& in) -> Result<ValueId> {
                     form.x = in[0];
                     form.weights = in[1];
                     form.state_weights = in[2];
                     form.bias = in[3];
                     WHET_TRY(const RecurrentResult result, recurrent(s, form));
                     return *result.rows;
                   }).value();
  std::vector<double> h(2, 0), c(2, 0);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (std::int64_t t = 0; t < steps; ++t) {
    std::vector<double> gates;
    for (std::int64_t g = 0; g < 4 * hidden; ++g) {
      double sum = b.get(g) + b.get(4 * hidden + g);
      for (std::int64_t i = 0; i < features; ++i) sum += w.get(g * features + i) * x.get(t * features + i);
      for (std::int64_t i = 0; i < hidden; ++i) sum += r.get(g * hidden + i) * h[static_cast<std::size_t>(i)];
      gates.push_back(sum);
    }
    for (std::size_t k = 0; k < 2; ++k) {
      c[k] = sigmoid(gates[4 + k]) * c[k] + sigmoid(gates[k]) * std::tanh(gates[6 + k]);
      if (clip > 0) c[k] = std::clamp(c[k], -clip, clip);
      h[k] = sigmoid(gates[2 + k]) * std::tanh(c[k]);
      EXPECT_NEAR(y.get(t * hidden + static_cast<std::int64_t>(k)), h[k], 1e-5);
    }
  }
}
TEST(Recurrent, AnLstmIsItsFormula) {
  expect_lstm(0);
  expect_lstm(0.05);
}
TEST(Recurrent, SaysWhatDoesNotFit) {
  const Tensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 3}, {1, 2, 3}), r = f32({1, 1, 1}, {1});
  EXPECT_EQ(near_text(computed(
                {x, w, r},
                [](NodeSite& s, const Values& in) -> Result<ValueId> {
                  Recurrent form{
                      .kind = CellKind::rnn, .x = in[0], .weights = in[1], .state_weights = in[2], .hidden = 1};
                  form.activations = {{"Tanh"}};
                  WHET_TRY(const RecurrentResult result, recurrent(s, form));
                  return result.state;
                })),
            "n: the input's weights are f32[1x1x3]; expected 1x1x2");
}

TEST(Quantize, ThereAndBack) {
  const Tensor x = f32({4}, {-1, 0.26, 0.5, 100}), scale = f32({}, {0.5});
  const Tensor zero = Tensor::of<double>(DType::u8, {}, {10});
  EXPECT_EQ(
      near_text(computed({x, scale, zero},
                         [](NodeSite& s, const Values& in) { return quantized(s, in[0], in[1], in[2], DType::u8); })),
      "u8[4] 8 11 11 210");
  EXPECT_EQ(near_text(computed(
                {Tensor::of<double>(DType::u8, {3}, {8, 10, 255}), scale, zero},
                [](NodeSite& s, const Values& in) { return dequantized(s, in[0], in[1], in[2], DType::f32); })),
            "f32[3] -1 0 122.5");
  EXPECT_EQ(near_text(computed({x, f32({2}, {1, 2})},
                               [](NodeSite& s, const Values& in) { return of_all(s, "scale", {in[1], "the scale"}); })),
            "n: the scale is f32[2]; expected one value");
}

TEST(Einsum, MessagesCallTheEquationAsTheFormatDoes) {
  EXPECT_EQ(near_text(computed({f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 10})},
                               [](NodeSite& s, const Values& in) { return einsum(s, in, {.equation = "ij,j->i"}); })),
            "f32[2] 21 43");
  EXPECT_EQ(near_text(computed({f32({2}, {1, 2})},
                               [](NodeSite& s, const Values& in) { return einsum(s, in, {.equation = "i->ij"}); })),
            "n: the equation is \"i->ij\"; expected each label of the result once, and in an input");
}

TEST(Shape, SlicesAreThoseOfNumpy) {
  const Tensor x = f32({6}, {0, 1, 2, 3, 4, 5});
  const auto part = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    return near_text(computed(
        {x}, [&](NodeSite& s, const Values& in) { return sliced(s, in[0], {start}, {end}, std::nullopt, {step}); }));
  };
  EXPECT_EQ(part(1, 100, 2), "f32[3] 1 3 5");
  EXPECT_EQ(part(-2, 100, 1), "f32[2] 4 5");
  EXPECT_EQ(part(100, -100, -2), "f32[3] 5 3 1");
  EXPECT_EQ(part(0, 6, 1), "f32[6] 0 1 2 3 4 5");
}
TEST(Shape, BlocksOfChannelsBecomeBlocksOfPixels) {
  Tensor x(DType::f32, {1, 8, 1, 2});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i));
  for (const DepthOrder order : {DepthOrder::depth_column_row, DepthOrder::column_row_depth}) {
    const Tensor y =
        computed({x}, [&](NodeSite& s, const Values& in) { return depth_to_space(s, in[0], 2, order); }).value();
    ASSERT_EQ(to_string(y.shape()), "1x2x2x4");
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t row = 0; row < 2; ++row)
        for (std::int64_t column = 0; column < 4; ++column) {
          const std::int64_t block = row % 2 * 2 + column % 2;
          const std::int64_t channel = order == DepthOrder::depth_column_row ? block * 2 + c : c * 4 + block;
          EXPECT_EQ(y.get((c * 2 + row) * 4 + column), x.get(channel * 2 + column / 2));
        }
  }
  EXPECT_EQ(near_text(computed({x},
                               [](NodeSite& s, const Values& in) -> Result<ValueId> {
                                 WHET_TRY(const ValueId y, depth_to_space(s, in[0], 2, DepthOrder::depth_column_row));
                                 return space_to_depth(s, y, 2);
                               })),
            near_text(x));
}
TEST(Shape, PartsAreOneBehindTheOther) {
  EXPECT_EQ(near_text(computed({f32({2, 3}, {1, 2, 3, 4, 5, 6})},
                               [](NodeSite& s, const Values& in) -> Result<ValueId> {
                                 WHET_TRY(const Values parts, split(s, in[0], 1, {1, 2}));
                                 return parts[1];
                               })),
            "f32[2x2] 2 3 5 6");
}

TEST(Index, KnownIndicesAreCheckedAndCountedFromTheBeginning) {
  const Tensor x = f32({3}, {10, 20, 30});
  const auto part = [](NodeSite& s, const Values& in) { return gather(s, in[0], in[1], 0); };
  EXPECT_EQ(near_text(computed({x, i32({2}, {-1, 0})}, part, true)), "f32[2] 30 10");
  EXPECT_EQ(near_text(computed({x, i32({1}, {3})}, part, true)), "n: takes element 3 of a dimension of extent 3");
}
TEST(Index, OnesOnADiagonal) {
  EXPECT_EQ(near_text(eye(DType::f32, 2, 3, 1)), "f32[2x3] 0 1 0 0 0 1");
  EXPECT_EQ(near_text(non_zero(f32({2, 2}, {0, 1, 2, 0}))), "i64[2x2] 0 1 1 0");
}

TEST(Resize, SizesAndFactorsFillTheOperator) {
  const Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto part = [](NodeSite& s, const Values& in) -> Result<ValueId> {
    ResizeOperator op{ResizeMode::nearest, CoordinateMode::asymmetric, NearestMode::floor};
    WHET_RETURN_IF_ERROR(scale_to(s, in[0], {1, 1, 2, 4}, op));
    return s.add("resized", op, {in[0]});
  };
  EXPECT_EQ(near_text(computed({x}, part)), "f32[1x1x2x4] 1 1 2 2 3 3 4 4");
  EXPECT_EQ(near_text(computed({x},
                               [](NodeSite& s, const Values& in) -> Result<ValueId> {
                                 ResizeOperator op;
                                 WHET_RETURN_IF_ERROR(scale_by(s, in[0], {1, 1, 0.1, 1}, op));
                                 return in[0];
                               })),
            "n: scales dimension 2 of extent 2 by 0.100000");
}

TEST(Bits, OfTwoIntegersAreCombinedOneByOne) {
  Rng rng(21);
  for (const DType dtype : {DType::u8, DType::i8, DType::i32, DType::i64}) {
    Tensor a(dtype, {40}), b(dtype, {40});
    const auto any = [&] {
      const std::int64_t half = std::int64_t{1} << 31;
      const std::int64_t whole = rng.between(-half, half - 1) * half * 2 + rng.between(0, half * 2 - 1);
      switch (dtype) {
        case DType::u8:
          return static_cast<std::int64_t>(static_cast<std::uint8_t>(whole));
        case DType::i8:
          return static_cast<std::int64_t>(static_cast<std::int8_t>(whole));
        case DType::i32:
          return static_cast<std::int64_t>(static_cast<std::int32_t>(whole));
        default:
          return whole;
      }
    };
    for (std::int64_t i = 0; i < 40; ++i) {
      a.set_integer(i, i == 0 ? -(dtype != DType::u8) : any());
      b.set_integer(i, any());
    }
    for (const BinaryKind kind : {BinaryKind::logical_and, BinaryKind::logical_or, BinaryKind::logical_xor}) {
      const Tensor y =
          computed({a, b}, [&](NodeSite& s, const Values& in) { return bitwise(s, kind, in[0], in[1]); }).value();
      for (std::int64_t i = 0; i < 40; ++i) {
        const std::int64_t left = a.integer(i), right = b.integer(i);
        const std::int64_t want = kind == BinaryKind::logical_and  ? left & right
                                  : kind == BinaryKind::logical_or ? left | right
                                                                   : left ^ right;
        EXPECT_EQ(y.integer(i), want) << name_of(dtype) << " " << left << " " << right;
      }
    }
  }
}
TEST(Angle, IsThatOfThePoint) {
  const std::vector<double> ends = {-2, -1, -0.0, 0.0, 3};
  std::vector<double> xs, ys;
  for (const double y : ends)
    for (const double x : ends) {
      xs.push_back(x);
      ys.push_back(y);
    }
  const Tensor angle = computed({f32({25}, ys), f32({25}, xs)}, [](NodeSite& s, const Values& in) {
                         return angle_of(s, in[0], in[1]);
                       }).value();
  for (std::size_t i = 0; i < 25; ++i)
    EXPECT_NEAR(angle.get(static_cast<std::int64_t>(i)), std::atan2(ys[i], xs[i]), 1e-6) << xs[i] << " " << ys[i];
}
TEST(AdaptivePools, HaveWindowsOfTheRightSizes) {
  const Tensor x = f32({1, 1, 5}, {1, 2, 3, 4, 10});
  const auto pooled = [&](bool average, std::int64_t windows) {
    return near_text(computed({x}, [&](NodeSite& s, const Values& in) {
      return average ? adaptive_average(s, in[0], {windows}) : adaptive_maximum(s, in[0], {windows});
    }));
  };
  EXPECT_EQ(pooled(true, 3), "f32[1x1x3] 1.5 3 7");
  EXPECT_EQ(pooled(false, 3), "f32[1x1x3] 2 4 10");
  EXPECT_EQ(pooled(true, 1), "f32[1x1x1] 4");
  EXPECT_EQ(pooled(true, 5), "f32[1x1x5] 1 2 3 4 10");
}
TEST(PlaceLists, StandWhereTheyStoodOrInFront) {
  Tensor x(DType::f32, {2, 3, 4});
  for (std::int64_t i = 0; i < 24; ++i) x.set(i, static_cast<double>(i));
  const Tensor rows = i32({2}, {1, -2}), columns = i32({2}, {3, 0});
  const auto gather = [&](bool first) {
    return near_text(computed({x, rows, columns}, [&](NodeSite& s, const Values& in) {
      return gather_by_lists(s, in[0],
                             first ? PlaceLists{std::nullopt, in[1], in[2]} : PlaceLists{in[1], std::nullopt, in[2]});
    }));
  };
  EXPECT_EQ(gather(true), "f32[2x2] 7 4 19 16");
  EXPECT_EQ(gather(false), "f32[2x3] 15 19 23 0 4 8");
  const auto put = near_text(computed({x, rows, columns, f32({}, {-1})}, [&](NodeSite& s, const Values& in) {
    return scatter_by_lists(s, in[0], {std::nullopt, in[1], in[2]}, in[3], ScatterKind::replace);
  }));
  EXPECT_EQ(put, "f32[2x3x4] 0 1 2 3 -1 5 6 -1 8 9 10 11 12 13 14 15 -1 17 18 -1 20 21 22 23");
}
TEST(Unfold, TheWayThereAndBackCountsEachPixelAsOftenAsItIsInABlock) {
  const Tensor x = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Window window{{1, 1}, {1, 1}, {0, 0}, {0, 0}};
  const auto back = near_text(computed({x}, [&](NodeSite& s, const Values& in) -> Result<ValueId> {
    WHET_TRY(const ValueId columns, unfold(s, in[0], {{2, 2}, window}));
    return fold(s, columns, {{3, 3}, {2, 2}, window});
  }));
  EXPECT_EQ(back, "f32[1x1x3x3] 1 4 3 8 20 12 7 16 9");
}

}  // namespace parts_parts_test
}  // namespace whet
