#pragma once

// DAGs for the tests of primitives.

namespace whet::testing {

inline constexpr const char* kPair = R"(
x = PLACEHOLDER [6, 20]
t(i, j) = (x[i, j]*2f) for i in 6, j in 20
y(i, j) = (t[i, j] + 1f) for i in 6, j in 20
return y
)";

inline constexpr const char* kMatmul = R"(
a = PLACEHOLDER [12, 64]
b = PLACEHOLDER [64, 40] const
bias = PLACEHOLDER [40] const
c(m, n) += (a[m, k]*b[k, n]) for m in 12, n in 40, k in 64
out(m, n) = max((c[m, n] + bias[n]), 0f) for m in 12, n in 40
return out
)";

inline constexpr const char* kRows = R"(
x = PLACEHOLDER [6, 20]
m(i) max= x[i, r] for i in 6, r in 20
d(i, j) = (x[i, j] - m[i]) for i in 6, j in 20
y(i, j) = (d[i, j]*2f) for i in 6, j in 20
return y
)";

/// A product behind a softmax.
inline constexpr const char* kSoftmaxProduct = R"(
t = PLACEHOLDER [3, 12]
v = PLACEHOLDER [12, 4]
m(i) max= t[i, j] for i in 3, j in 12
e(i, j) = exp((t[i, j] - m[i])) for i in 3, j in 12
z(i) += e[i, j] for i in 3, j in 12
w(i, j) = (e[i, j]/z[i]) for i in 3, j in 12
y(i, c) += (w[i, j]*v[j, c]) for i in 3, c in 4, j in 12
return y
)";

}  // namespace whet::testing
