#pragma once

// Tasks that several templates for GPUs compute.

#include <fmt/format.h>

#include <string>

namespace whet::testing {

/// A 3x3 convolution with padding, bias and relu.
inline std::string convolution_text(int rows, int channels, int filters) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {0}, {1}]
w = PLACEHOLDER [3, 3, {1}, {2}] const
bias = PLACEHOLDER [{2}] const
pad(n, y, z, c) = select((y >= 1) && (y < {3}) && (z >= 1) && (z < {3}), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in {4}, z in {4}, c in {1}  # pad
conv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in {0}, ow in {0}, oc in {2}, rh in 3, rw in 3, rc in {1}  # conv
out(n, oh, ow, oc) = max((conv[n, oh, ow, oc] + bias[oc]), 0f) for n in 1, oh in {0}, ow in {0}, oc in {2}
return out
)",
                     rows, channels, filters, rows + 1, rows + 2);
}

inline constexpr const char* kDenseText = R"(
a = PLACEHOLDER [33, 50]
b = PLACEHOLDER [50, 30] const
c(i, j) += (a[i, r]*b[r, j]) for i in 33, j in 30, r in 50
out(i, j) = (c[i, j]*0.5f) for i in 33, j in 30
return out
)";

/// The text with bf16 in place of f16.
inline std::string with_bf16(std::string text) {
  for (std::size_t at = 0; (at = text.find("f16", at)) != std::string::npos; at += 4) text.insert(at, "b");
  for (std::size_t at = 0; (at = text.find("0h", at)) != std::string::npos; at += 2) text[at + 1] = 'b';
  return text;
}

/// The same convolution of f16.
inline std::string half_convolution_text(int rows, int channels, int filters) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {0}, {1}] f16
w = PLACEHOLDER [3, 3, {1}, {2}] f16 const
bias = PLACEHOLDER [{2}] f16 const
pad(n, y, z, c): f16 = select((y >= 1) && (y < {3}) && (z >= 1) && (z < {3}), x[n, (y - 1), (z - 1), c], 0h) for n in 1, y in {4}, z in {4}, c in {1}  # pad
conv(n, oh, ow, oc) += (f32(pad[n, (oh + rh), (ow + rw), rc])*f32(w[rh, rw, rc, oc])) for n in 1, oh in {0}, ow in {0}, oc in {2}, rh in 3, rw in 3, rc in {1}  # conv
out(n, oh, ow, oc): f16 = max(f16((conv[n, oh, ow, oc] + f32(bias[oc]))), 0h) for n in 1, oh in {0}, ow in {0}, oc in {2}
return out
)",
                     rows, channels, filters, rows + 1, rows + 2);
}

/// A product of f16, of which the right operand is constant or not, and its sums as f16.
inline std::string half_dense_text(int rows, int columns, int depth, const char* right = "const") {
  return fmt::format(R"(
a = PLACEHOLDER [{0}, {2}] f16
b = PLACEHOLDER [{2}, {1}] f16 {3}
c(i, j) += (f32(a[i, r])*f32(b[r, j])) for i in {0}, j in {1}, r in {2}
out(i, j): f16 = f16(c[i, j]) for i in {0}, j in {1}
return out
)",
                     rows, columns, depth, right);
}

/// A convolution of single pixels of f16 that computes what it reads: x is scaled, shifted and rectified first.
inline std::string scaled_halves_text(int rows, int channels, int filters, int stride) {
  return fmt::format(R"(
x = PLACEHOLDER [1, {0}, {0}, {1}] f16
s = PLACEHOLDER [{1}] const
b = PLACEHOLDER [{1}] const
w = PLACEHOLDER [{1}, {2}] f16 const
wide(n, y, z, c) = f32(x[n, y, z, c]) for n in 1, y in {0}, z in {0}, c in {1}
scaled(n, y, z, c) = (wide[n, y, z, c]*s[c]) for n in 1, y in {0}, z in {0}, c in {1}
shifted(n, y, z, c) = (scaled[n, y, z, c] + b[c]) for n in 1, y in {0}, z in {0}, c in {1}
relu(n, y, z, c) = max(shifted[n, y, z, c], 0f) for n in 1, y in {0}, z in {0}, c in {1}
a(n, y, z, c): f16 = f16(relu[n, y, z, c]) for n in 1, y in {0}, z in {0}, c in {1}
conv(n, oh, ow, oc) += (f32(a[n, (oh*{4}), (ow*{4}), rc])*f32(w[rc, oc])) for n in 1, oh in {3}, ow in {3}, oc in {2}, rc in {1}  # conv n:batch oh:row ow:column oc:out_channel rc:in_channel
out(n, oh, ow, oc): f16 = f16(conv[n, oh, ow, oc]) for n in 1, oh in {3}, ow in {3}, oc in {2}
return out
)",
                     rows, channels, filters, (rows - 1) / stride + 1, stride);
}

}  // namespace whet::testing
