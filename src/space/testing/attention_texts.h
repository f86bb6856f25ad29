#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace whet::testing {

/// 20 queries of 4 heads, keys that are behind each other, a mask, and results that are turned.
inline std::string masked_heads_text(std::int64_t depth) {
  return fmt::format(R"(
q = PLACEHOLDER [4, 20, {c}]
k = PLACEHOLDER [23, 4, {c}]
v = PLACEHOLDER [23, 4, {c}]
mask = PLACEHOLDER [23]
kt(h, c, j) = k[j, h, c] for h in 4, c in {c}, j in 23  # injective
vt(h, j, c) = v[j, h, c] for h in 4, j in 23, c in {c}  # injective
s(h, i, j) += (q[h, i, c]*kt[h, c, j]) for h in 4, i in 20, j in 23, c in {c}  # matmul h:batch i:row j:out_channel c:in_channel
t(h, i, j) = (s[h, i, j] + mask[j]) for h in 4, i in 20, j in 23  # elementwise
m(h, i) max= t[h, i, j] for h in 4, i in 20, j in 23  # softmax
e(h, i, j) = exp((t[h, i, j] - m[h, i])) for h in 4, i in 20, j in 23  # softmax
z(h, i) += e[h, i, j] for h in 4, i in 20, j in 23  # softmax
p(h, i, j) = (e[h, i, j]/z[h, i]) for h in 4, i in 20, j in 23  # softmax
y(h, i, c) += (p[h, i, j]*vt[h, j, c]) for h in 4, i in 20, c in {c}, j in 23  # matmul h:batch i:row c:out_channel j:in_channel
out(i, h, c) = y[h, i, c] for i in 20, h in 4, c in {c}  # injective
return out
)",
                     fmt::arg("c", depth));
}

/// Attention of some heads: scores that nothing is added to, results that are stored as they come.
inline std::string heads_text(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t depth) {
  return fmt::format(R"(
q = PLACEHOLDER [{h}, {i}, {c}]
k = PLACEHOLDER [{h}, {c}, {j}]
v = PLACEHOLDER [{h}, {j}, {c}]
s(h, i, j) += (q[h, i, c]*k[h, c, j]) for h in {h}, i in {i}, j in {j}, c in {c}  # matmul h:batch i:row j:out_channel c:in_channel
m(h, i) max= s[h, i, j] for h in {h}, i in {i}, j in {j}  # softmax
e(h, i, j) = exp((s[h, i, j] - m[h, i])) for h in {h}, i in {i}, j in {j}  # softmax
z(h, i) += e[h, i, j] for h in {h}, i in {i}, j in {j}  # softmax
p(h, i, j) = (e[h, i, j]/z[h, i]) for h in {h}, i in {i}, j in {j}  # softmax
y(h, i, c) += (p[h, i, j]*v[h, j, c]) for h in {h}, i in {i}, c in {c}, j in {j}  # matmul h:batch i:row c:out_channel j:in_channel
return y
)",
                     fmt::arg("h", heads), fmt::arg("i", queries), fmt::arg("j", keys), fmt::arg("c", depth));
}

/// The same of f16, whose keys and values are behind each other.
inline std::string half_heads_text(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t depth) {
  return fmt::format(R"(
q = PLACEHOLDER [{h}, {i}, {c}] f16
k = PLACEHOLDER [{j}, {h}, {c}] f16
v = PLACEHOLDER [{j}, {h}, {c}] f16
kt(h, c, j): f16 = k[j, h, c] for h in {h}, c in {c}, j in {j}  # injective
vt(h, j, c): f16 = v[j, h, c] for h in {h}, j in {j}, c in {c}  # injective
s(h, i, j) += (f32(q[h, i, c])*f32(kt[h, c, j])) for h in {h}, i in {i}, j in {j}, c in {c}  # matmul h:batch i:row j:out_channel c:in_channel
m(h, i) max= s[h, i, j] for h in {h}, i in {i}, j in {j}  # softmax
e(h, i, j) = exp((s[h, i, j] - m[h, i])) for h in {h}, i in {i}, j in {j}  # softmax
z(h, i) += e[h, i, j] for h in {h}, i in {i}, j in {j}  # softmax
p(h, i, j): f16 = f16((e[h, i, j]*(1f/z[h, i]))) for h in {h}, i in {i}, j in {j}  # softmax
y(h, i, c) += (f32(p[h, i, j])*f32(vt[h, j, c])) for h in {h}, i in {i}, c in {c}, j in {j}  # matmul h:batch i:row c:out_channel j:in_channel
return y
)",
                     fmt::arg("h", heads), fmt::arg("i", queries), fmt::arg("j", keys), fmt::arg("c", depth));
}

}  // namespace whet::testing
