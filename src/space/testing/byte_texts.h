#pragma once

// Tasks of quantized networks that templates for GPUs compute.

#include <fmt/format.h>

#include <string>

namespace whet::testing {

/// Bias, scale of each channel, rounding, zero point and range, which follow the sums of a quantized layer.
inline std::string requantized(const std::string& sums, const std::string& axes, const std::string& at) {
  const std::string channel = at.substr(at.rfind(' ') + 1);
  return fmt::format(
      "biased({0}): i32 = ({1}[{0}] + bias[{2}]) for {3}  # elementwise\n"
      "scaled({0}) = (f32(biased[{0}])*scale[{2}]) for {3}  # elementwise\n"
      "shifted({0}) = (round(scaled[{0}]) + 3f) for {3}  # elementwise\n"
      "out({0}): u8 = u8(min(max(shifted[{0}], 0f), 255f)) for {3}  # elementwise\nreturn out\n",
      at, sums, channel, axes);
}

/// A 3x3 convolution of bytes with padding.
inline std::string byte_convolution_text(int rows, int channels, int filters, const char* dtype = "u8") {
  const std::string axes = fmt::format("n in 1, oh in {0}, ow in {0}, oc in {1}", rows, filters);
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {0}, {1}] {5}
w = PLACEHOLDER [3, 3, {1}, {2}] i8 const
bias = PLACEHOLDER [{2}] i32 const
scale = PLACEHOLDER [{2}] const
pad(n, y, z, c): {5} = select((y >= 1) && (y < {3}) && (z >= 1) && (z < {3}), x[n, (y - 1), (z - 1), c], 0{5}) for n in 1, y in {4}, z in {4}, c in {1}  # pad
conv(n, oh, ow, oc): i32 += (i32(pad[n, (oh + rh), (ow + rw), rc])*i32(w[rh, rw, rc, oc])) for {6}, rh in 3, rw in 3, rc in {1}  # conv
)",
                     rows, channels, filters, rows + 1, rows + 2, dtype, axes) +
         requantized("conv", axes, "n, oh, ow, oc");
}

/// A dense layer of bytes.
inline std::string byte_dense_text(int rows, int depth, int columns, const char* dtype = "u8") {
  const std::string axes = fmt::format("i in {}, j in {}", rows, columns);
  return fmt::format(R"(
a = PLACEHOLDER [{0}, {1}] {4}
b = PLACEHOLDER [{1}, {2}] i8 const
bias = PLACEHOLDER [{2}] i32 const
scale = PLACEHOLDER [{2}] const
c(i, j): i32 += (i32(a[i, r])*i32(b[r, j])) for {3}, r in {1}
)",
                     rows, depth, columns, axes, dtype) +
         requantized("c", axes, "i, j");
}

}  // namespace whet::testing
