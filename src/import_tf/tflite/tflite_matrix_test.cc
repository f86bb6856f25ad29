#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "import_tf/tflite/testing/answers.h"
#include "import_tf/tflite/testing/flat_writer.h"

/// Spectra, parts of matrices and numbers of 16 bits, against their definitions.
namespace whet::tflite {
namespace tflite_matrix_test {

enum Code {
  kAdd = 0,
  kConv = 3,
  kFullyConnected = 9,
  kCast = 53,
  kTransposeConv = 67,
  kFakeQuant = 80,
  kMatrixDiag = 113,
  kQuantize = 114,
  kMatrixSetDiag = 115,
  kBroadcastTo = 130,
  kRfft2d = 131,
  kImag = 133,
  kReal = 134,
  kComplexAbs = 135,
  kTransposeConv3d = 141,
  kBroadcastArgs = 145,
  kDynamicUpdateSlice = 151
};
constexpr int kI32 = 2, kI64 = 4, kI16 = 7, kComplex = 8, kI8 = 9;

void expect_near(const Numbers& got, const Numbers& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
}

// ---- Spectra.

using Spectrum = std::vector<std::complex<double>>;

/// Half of the spectrum of x [rows, columns] as an image of `height` and `width`.
Spectrum half_spectrum(const Numbers& x, int rows, int columns, int height, int width) {
  Spectrum found;
  for (int u = 0; u < height; ++u)
    for (int v = 0; v <= width / 2; ++v) {
      std::complex<double> sum = 0;
      for (int r = 0; r < std::min(rows, height); ++r)
        for (int c = 0; c < std::min(columns, width); ++c)
          sum += x[static_cast<std::size_t>(r * columns + c)] *
                 std::polar(1.0, -2 * std::numbers::pi * (double(u * r) / height + double(v * c) / width));
      found.push_back(sum);
    }
  return found;
}
/// The magnitudes, real and imaginary parts of x [2, 4] as an image of `height` and `width`.
std::vector<Numbers> spectrum(std::int32_t height, std::int32_t width, const Numbers& x) {
  ModelWriter m;
  const std::vector<std::int32_t> half = {height, width / 2 + 1};
  const int in = m.tensor("x", {2, 4}), sizes = m.constant<std::int32_t>("sizes", {2}, kI32, {height, width});
  const int c = m.tensor("c", half, kComplex);
  const int a = m.tensor("a", half), r = m.tensor("r", half), i = m.tensor("i", half);
  m.operation(kRfft2d, {in, sizes}, {c});
  m.operation(kComplexAbs, {c}, {a});
  m.operation(kReal, {c}, {r});
  m.operation(kImag, {c}, {i});
  return answers(m.bytes({in}, {a, r, i}), {x});
}
TEST(TfliteSpectrum, OfImagesIsHalfOfTheirTransform) {
  const Numbers x = {1, -2, 0.5, 3, 4, 0, -1, 2};
  for (const auto& [height, width] : {std::pair(2, 4), std::pair(4, 8), std::pair(1, 2)}) {
    const std::vector<Numbers> found = spectrum(height, width, x);
    ASSERT_EQ(found.size(), 3u);
    Numbers magnitudes, reals, imaginary;
    for (const std::complex<double>& each : half_spectrum(x, 2, 4, height, width)) {
      magnitudes.push_back(std::abs(each));
      reals.push_back(each.real());
      imaginary.push_back(each.imag());
    }
    expect_near(found[0], magnitudes);
    expect_near(found[1], reals);
    expect_near(found[2], imaginary);
  }
}
TEST(TfliteSpectrum, IsOfImagesAlone) {
  ModelWriter m;
  const int x = m.tensor("x", {4}), sizes = m.constant<std::int32_t>("sizes", {2}, kI32, {1, 4});
  const int c = m.tensor("c", {3}, kComplex), y = m.tensor("y", {3});
  m.operation(kRfft2d, {x, sizes}, {c});
  m.operation(kComplexAbs, {c}, {y});
  EXPECT_EQ(said(m.bytes({x}, {y})),
            "c (RFFT2D): transforms f32[4] by a list of 2 lengths; expected one for each of 2 dimensions");
  ModelWriter real;
  const int a = real.tensor("a", {4}), b = real.tensor("b", {4});
  real.operation(kComplexAbs, {a}, {b});
  EXPECT_EQ(said(real.bytes({a}, {b})), "b (COMPLEX_ABS): the input is f32[4]; expected complex numbers of an RFFT");
}

// ---- Parts of matrices.

/// x = 0 .. 11 as [3, 4] with a part [2, 2] of 100 .. 103 from `starts` on.
Numbers updated(const Numbers& starts) {
  ModelWriter m;
  const int x = m.tensor("x", {3, 4}), part = m.tensor("part", {2, 2}), at = m.tensor("at", {2}, kI32);
  const int y = m.tensor("y", {3, 4});
  m.operation(kDynamicUpdateSlice, {x, part, at}, {y});
  Numbers whole(12);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<double>(i);
  return answers(m.bytes({x, part, at}, {y}), {whole, {100, 101, 102, 103}, starts})[0];
}
TEST(TfliteDynamicUpdateSlice, PutsThePartWhereItFits) {
  EXPECT_EQ(updated({1, 1}), (Numbers{0, 1, 2, 3, 4, 100, 101, 7, 8, 102, 103, 11}));
  EXPECT_EQ(updated({0, 2}), (Numbers{0, 1, 100, 101, 4, 5, 102, 103, 8, 9, 10, 11}));
  EXPECT_EQ(updated({7, -3}), (Numbers{0, 1, 2, 3, 100, 101, 6, 7, 102, 103, 10, 11}));
}
TEST(TfliteDynamicUpdateSlice, RefusesALargerPart) {
  ModelWriter m;
  const int x = m.tensor("x", {3}), part = m.tensor("part", {4}), at = m.tensor("at", {1}, kI32),
            y = m.tensor("y", {3});
  m.operation(kDynamicUpdateSlice, {x, part, at}, {y});
  EXPECT_EQ(said(m.bytes({x, part, at}, {y})), "y (DYNAMIC_UPDATE_SLICE): puts f32[4] into f32[3] from i32[1] on");
}
TEST(TfliteMatrixDiag, IsZeroBesideTheDiagonal) {
  ModelWriter m;
  const int x = m.tensor("x", {2, 2}), y = m.tensor("y", {2, 2, 2});
  m.operation(kMatrixDiag, {x}, {y});
  EXPECT_EQ(answers(m.bytes({x}, {y}), {{1, 2, 3, 4}})[0], (Numbers{1, 0, 0, 2, 3, 0, 0, 4}));
}
TEST(TfliteMatrixSetDiag, LeavesTheOthers) {
  const auto set = [](std::int32_t rows, std::int32_t columns) {
    ModelWriter m;
    const int x = m.tensor("x", {rows, columns}), d = m.tensor("d", {2}), y = m.tensor("y", {rows, columns});
    m.operation(kMatrixSetDiag, {x, d}, {y});
    return answers(m.bytes({x, d}, {y}), {{1, 2, 3, 4, 5, 6}, {10, 20}})[0];
  };
  EXPECT_EQ(set(2, 3), (Numbers{10, 2, 3, 4, 20, 6}));
  EXPECT_EQ(set(3, 2), (Numbers{10, 2, 3, 20, 5, 6}));
}
TEST(TfliteBroadcastArgs, IsTheShapeOfBoth) {
  ModelWriter m;
  const int x = m.tensor("x", {2, 1}), y = m.tensor("y", {3, 2, 2}), shape = m.tensor("shape", {3}, kI32);
  const int a = m.constant<std::int32_t>("a", {3}, kI32, {3, 1, 2}),
            b = m.constant<std::int32_t>("b", {2}, kI32, {2, 1});
  m.operation(kBroadcastArgs, {a, b}, {shape});
  m.operation(kBroadcastTo, {x, shape}, {y});
  EXPECT_EQ(answers(m.bytes({x}, {y}), {{5, 7}})[0], (Numbers{5, 5, 7, 7, 5, 5, 7, 7, 5, 5, 7, 7}));
}

// ---- Numbers of few bits.

TEST(TfliteFakeQuant, RoundsToNumbersOfFewBits) {
  ModelWriter m;
  const int x = m.tensor("x", {4}), y = m.tensor("y", {4});
  FlatRecord options;
  options.number<float>(0, -1).number<float>(1, 2).number<std::int32_t>(2, 2);
  m.operation(kFakeQuant, {x}, {y}, options);
  // Steps of 1 from -1 to 2.
  expect_near(answers(m.bytes({x}, {y}), {{-3, 0.4, 0.6, 9}})[0], {-1, 0, 1, 2});
  ModelWriter wrong;
  const int a = wrong.tensor("a", {4}), b = wrong.tensor("b", {4});
  options.number<std::int32_t>(2, 40);
  wrong.operation(kFakeQuant, {a}, {b}, options);
  EXPECT_EQ(
      said(wrong.bytes({a}, {b})),
      "b (FAKE_QUANT): rounds numbers from -1.000000 to 2.000000 to 40 bits; expected numbers in order, and 2 to 16 "
      "bits");
}

double kept(double value) { return std::clamp(std::nearbyint(value), -32768.0, 32767.0); }

TEST(Tflite16Bits, ConvolutionsHaveTheirBiasInStepsOfBothScales) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 1, 3, 2}, kI16), y = m.tensor("y", {1, 1, 3, 2}, kI16);
  const std::vector<std::int8_t> weights = {3, -2, 5, 7};
  const std::vector<std::int64_t> biases = {30, -45};
  const int w = m.constant<std::int8_t>("w", {2, 1, 1, 2}, kI8, weights);
  const int b = m.constant<std::int64_t>("b", {2}, kI64, biases);
  m.quantize(x, {0.5F}, {0});
  m.quantize(w, {0.25F, 0.125F}, {0, 0});
  m.quantize(y, {0.0625F}, {0});
  FlatRecord options;
  options.number<std::int8_t>(0, 1).number<std::int32_t>(1, 1).number<std::int32_t>(2, 1);
  m.operation(kConv, {x, w, b}, {y}, options);
  const Numbers given = {100, -50, 32767, 32767, -7, 3};
  Numbers want;
  for (std::size_t pixel = 0; pixel < 3; ++pixel)
    for (std::size_t o = 0; o < 2; ++o) {
      const double sum = given[2 * pixel] * weights[2 * o] + given[2 * pixel + 1] * weights[2 * o + 1];
      want.push_back(kept((sum + double(biases[o])) * 0.5 * (o == 0 ? 0.25 : 0.125) / 0.0625));
    }
  EXPECT_EQ(answers(m.bytes({x}, {y}), {given})[0], want);
}
TEST(Tflite16Bits, ProductsAndSumsAreOfWhatTheNumbersStandFor) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 2}, kI16), p = m.tensor("p", {1, 2}, kI16), y = m.tensor("y", {1, 2}, kI16);
  const int w = m.constant<std::int8_t>("w", {2, 2}, kI8, {1, 2, -3, 4});
  const int c = m.constant<std::int16_t>("c", {2}, kI16, {1000, -2000});
  m.quantize(x, {0.5F}, {0});
  m.quantize(w, {0.5F}, {0});
  m.quantize(p, {0.25F}, {0});
  m.quantize(c, {0.125F}, {0});
  m.quantize(y, {0.5F}, {0});
  m.operation(kFullyConnected, {x, w, -1}, {p});
  m.operation(kAdd, {p, c}, {y});
  // p = (40 + 2 * 10, -3 * 40 + 4 * 10) in steps of 0.25; y = p / 2 + 1000 / 4 or - 2000 / 4
  EXPECT_EQ(answers(m.bytes({x}, {p, y}), {{40, 10}}), (std::vector<Numbers>{{60, -80}, {280, -540}}));
}
TEST(Tflite16Bits, ComeFromNumbersOf8Bits) {
  ModelWriter m;
  const int x = m.tensor("x", {3}, kI8), y = m.tensor("y", {3}, kI16);
  m.quantize(x, {1}, {-128});
  m.quantize(y, {0.5F}, {0});
  m.operation(kQuantize, {x}, {y});
  EXPECT_EQ(answers(m.bytes({x}, {y}), {{-128, 0, 127}})[0], (Numbers{0, 256, 510}));
}
TEST(Tflite16Bits, WithoutAScaleWrap) {
  ModelWriter m;
  const int x = m.tensor("x", {3}, kI16), y = m.tensor("y", {3}, kI16);
  const int n = m.tensor("n", {2}, kI32), short_n = m.tensor("short_n", {2}, kI16);
  m.operation(kAdd, {x, x}, {y});
  m.operation(kCast, {n}, {short_n});
  EXPECT_EQ(answers(m.bytes({x, n}, {y, short_n}), {{30000, -30000, 7}, {40000, -1}}),
            (std::vector<Numbers>{{-5536, 5536, 14}, {-25536, -1}}));
}

/// A transposed convolution of one pixel by a kernel of 1x2, of numbers of 8 bits.
TEST(TfliteTransposeConv, OfNumbersOf8BitsHasItsBiasInStepsOfBothScales) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 1, 1, 1}, kI8), y = m.tensor("y", {1, 1, 2, 1}, kI8);
  const int shape = m.constant<std::int32_t>("shape", {4}, kI32, {1, 1, 2, 1});
  const int w = m.constant<std::int8_t>("w", {1, 1, 2, 1}, kI8, {4, -6});
  const int b = m.constant<std::int32_t>("b", {1}, kI32, {8});
  m.quantize(x, {0.5F}, {1});
  m.quantize(w, {0.25F}, {0});
  m.quantize(y, {0.25F}, {-3});
  FlatRecord options;
  options.number<std::int8_t>(0, 1).number<std::int32_t>(1, 2).number<std::int32_t>(2, 2);
  m.operation(kTransposeConv, {shape, w, x, b}, {y}, options);
  // ((11 - 1) * w + 8) * 0.125 / 0.25 - 3
  EXPECT_EQ(answers(m.bytes({x}, {y}), {{11}})[0], (Numbers{21, -29}));
}

/// An image [1, 2, 1, 2, 2] to [1, 4, 1, 3, 2] by strides of 2, 1 and 2: each pixel adds its kernel of 4x1x2 to the result.
struct Volume {
  std::int32_t dilation = 1, depth = 4;
  std::int8_t padding = 0;
  std::string bytes() const {
    ModelWriter m;
    const int x = m.tensor("x", {1, 2, 1, 2, 2}), y = m.tensor("y", {1, depth, 1, 3, 2});
    const int shape = m.constant<std::int32_t>("shape", {5}, kI32, {1, depth, 1, 3, 2});
    std::vector<float> weights;
    for (int i = 0; i < 32; ++i) weights.push_back(weight(i));
    const int w = m.constant<float>("w", {4, 1, 2, 2, 2}, 0, weights);  // [D, H, W, O, I]
    const int b = m.constant<float>("b", {2}, 0, {100, 200});
    FlatRecord options;
    options.number<std::int8_t>(0, padding)
        .number<std::int32_t>(1, 2)
        .number<std::int32_t>(2, 2)
        .number<std::int32_t>(3, 1);
    options.number<std::int32_t>(5, dilation);
    m.operation(kTransposeConv3d, {shape, w, x, b}, {y}, options);
    return m.bytes({x}, {y});
  }
  static float weight(int i) { return static_cast<float>(i % 7 - 3); }
};
TEST(TfliteTransposeConv, OfVolumesAddsAKernelForEachPixel) {
  const Numbers x = {1, -2, 3, 4, 5, -6, 7, 8};
  Numbers want;
  for (int i = 0; i < 4 * 3; ++i) want.insert(want.end(), {100, 200});
  for (int d = 0; d < 2; ++d) {
    for (int c = 0; c < 2; ++c) {
      for (int k = 0; k < 4 * 2; ++k) {
        // The same convolution from 4 to 2 pads 1 before and 1 behind; that from 3 to 2 pads 1 behind.
        const int row = 2 * d + k / 2 - 1, column = 2 * c + k % 2;
        if (row < 0 || row >= 4 || column >= 3) continue;
        for (int o = 0; o < 2; ++o) {
          for (int i = 0; i < 2; ++i) {
            want[static_cast<std::size_t>((row * 3 + column) * 2 + o)] +=
                x[static_cast<std::size_t>((d * 2 + c) * 2 + i)] * Volume::weight((k * 2 + o) * 2 + i);
          }
        }
      }
    }
  }
  EXPECT_EQ(answers(Volume().bytes(), {x})[0], want);
}
/// An image [1, 2, 1, 3, 1] by a kernel of 3x1x2 and strides of 3, 2 and 1, without padding and bias, negative sums as 0.
TEST(TfliteTransposeConv, OfVolumesTakesNoPaddingAndAnActivation) {
  const Numbers x = {1, -2, 3, 4, 5, -6}, kernel = {1, -1, 2, 3, -2, 1};
  ModelWriter m;
  const int image = m.tensor("x", {1, 2, 1, 3, 1}), y = m.tensor("y", {1, 6, 1, 4, 1});
  const int shape = m.constant<std::int32_t>("shape", {5}, kI32, {1, 6, 1, 4, 1});
  const int w = m.constant<float>("w", {3, 1, 2, 1, 1}, 0, std::vector<float>(kernel.begin(), kernel.end()));
  FlatRecord options;
  options.number<std::int8_t>(0, 1).number<std::int32_t>(1, 3).number<std::int32_t>(2, 1).number<std::int32_t>(3, 2);
  options.number<std::int8_t>(4, 1);
  m.operation(kTransposeConv3d, {shape, w, image}, {y}, options);
  Numbers want(24, 0);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < 6; ++k) want[(3 * (i / 3) + k / 2) * 4 + i % 3 + k % 2] += x[i] * kernel[k];
  }
  for (double& sum : want) sum = std::max(sum, 0.0);
  EXPECT_EQ(answers(m.bytes({image}, {y}), {x})[0], want);
}

/// A volume of one pixel to [1, 1, 1, 1, depth], in a shape of i64.
TEST(TfliteTransposeConv, ExtentsThatNoImageHasAreRefused) {
  for (const std::int64_t depth :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    for (const std::int8_t padding : std::vector<std::int8_t>{0, 1}) {
      ModelWriter m;
      const int x = m.tensor("x", {1, 1, 1, 1, 1}), y = m.tensor("y", {1, 1, 1, 1, 1});
      const int shape = m.constant<std::int64_t>("shape", {5}, kI64, {1, depth, 1, 1, 1});
      const int w = m.constant<float>("w", {1, 1, 1, 1, 1}, 0, {1});
      FlatRecord options;
      options.number<std::int8_t>(0, padding);
      for (const int field : {1, 2, 3}) options.number<std::int32_t>(field, 1);
      m.operation(kTransposeConv3d, {shape, w, x}, {y}, options);
      EXPECT_EQ(said(m.bytes({x}, {y})), "y (CONV_3D_TRANSPOSE): makes an image of " + std::to_string(depth) + "x1x1");
    }
  }
}

/// Channels [O, I] of one weight, strides of 4096: each weight becomes one of 4096 in each dimension.
std::string far_apart(bool volume, std::int32_t out, std::int32_t in) {
  ModelWriter m;
  const std::vector<std::int32_t> ones(volume ? 3 : 2, 1);
  const auto with = [&](std::vector<std::int32_t> first, const std::vector<std::int32_t>& last) {
    first.insert(first.end(), ones.begin(), ones.end());
    first.insert(first.end(), last.begin(), last.end());
    return first;
  };
  const std::vector<std::int32_t> result = with({1}, {out});
  const int x = m.tensor("x", with({1}, {in})), y = m.tensor("y", result);
  const int shape = m.constant<std::int32_t>("shape", {static_cast<std::int32_t>(result.size())}, kI32, result);
  const int w = m.constant<float>("w", volume ? with({}, {out, in}) : with({out}, {in}), 0,
                                  std::vector<float>(static_cast<std::size_t>(out * in), 1));
  FlatRecord options;
  options.number<std::int8_t>(0, 1).number<std::int32_t>(1, 4096).number<std::int32_t>(2, 4096);
  if (volume) options.number<std::int32_t>(3, 4096);
  m.operation(volume ? kTransposeConv3d : kTransposeConv, {shape, w, x}, {y}, options);
  return m.bytes({x}, {y});
}
TEST(TfliteTransposeConv, OfFarStridesIsRefusedBeforeItsWeightsAreMade) {
  EXPECT_EQ(said(far_apart(true, 1, 1)),
            "y (CONV_3D_TRANSPOSE): the tensor of weights has shape 1x4096x4096x4096x1x1x1x1x1; at most 2147483647 "
            "elements are supported");
  EXPECT_EQ(said(far_apart(false, 64, 64)),
            "y (TRANSPOSE_CONV): the tensor of weights has shape 1x4096x4096x64x64x1x1; at most 2147483647 elements "
            "are supported");
  EXPECT_EQ(said(far_apart(false, 4, 5)),
            "y (TRANSPOSE_CONV): the tensor of weights has shape 1x4096x4096x4x5x1x1; at most 268435456 elements are "
            "supported");
}
TEST(TfliteTransposeConv, OfVolumesSaysWhatDoesNotFit) {
  EXPECT_EQ(said(Volume{.dilation = 2}.bytes()), "");  // as TensorFlow has it
  EXPECT_EQ(said(Volume{.depth = 0}.bytes()), "y (CONV_3D_TRANSPOSE): makes an image of 0x1x3");
  EXPECT_EQ(said(Volume{.padding = 1}.bytes()), "y (CONV_3D_TRANSPOSE): makes 4 pixels of 2");
}

}  // namespace tflite_matrix_test
}  // namespace whet::tflite
