#include "space/gpu/rows.h"

#include <gtest/gtest.h>

#include "cost/gpu/estimate.h"
#include "space/testing/gpu_samples.h"

namespace whet {
namespace gpu_rows_test {

void expect_right(const std::string& text, int samples = 8) { testing::expect_right(text, "rows", samples); }

const char* const kSoftmax = R"(
x = PLACEHOLDER [6, 70]
m(i) max= x[i, r] for i in 6, r in 70
e(i, j) = exp((x[i, j] - m[i])) for i in 6, j in 70
s(i) += e[i, r] for i in 6, r in 70
y(i, j) = (e[i, j]*(1f/s[i])) for i in 6, j in 70
return y
)";
const char* const kMean = R"(
x = PLACEHOLDER [1, 9, 9, 20]
s(n, y, z, c) += x[n, r, q, c] for n in 1, y in 1, z in 1, c in 20, r in 9, q in 9  # reduce
m(n, y, z, c) = (s[n, y, z, c]*0.0123f) for n in 1, y in 1, z in 1, c in 20
return m
)";

TEST(GpuRows, ComputeSoftmax) { expect_right(kSoftmax); }
TEST(GpuRows, ComputeSoftmaxOfOneShortRow) {
  expect_right(R"(
x = PLACEHOLDER [1, 3]
m(i) max= x[i, r] for i in 1, r in 3
e(i, j) = exp((x[i, j] - m[i])) for i in 1, j in 3
s(i) += e[i, r] for i in 1, r in 3
y(i, j) = (e[i, j]/s[i]) for i in 1, j in 3
return y
)");
}
TEST(GpuRows, ComputeLayerNorm) {
  expect_right(R"(
x = PLACEHOLDER [5, 48]
g = PLACEHOLDER [48] const
s(i, k) += x[i, r] for i in 5, k in 1, r in 48
m(i, k) = (s[i, k]*0.0208f) for i in 5, k in 1
d(i, j) = (x[i, j] - m[i, 0]) for i in 5, j in 48
q(i, j) = (d[i, j]*d[i, j]) for i in 5, j in 48
v(i, k) += q[i, r] for i in 5, k in 1, r in 48
y(i, j) = ((d[i, j]/sqrt((v[i, 0] + 1f)))*g[j]) for i in 5, j in 48
return y
)");
}
TEST(GpuRows, ComputeSumsAlongRows) {
  expect_right("x = PLACEHOLDER [12, 100]\ns(i) += x[i, r] for i in 12, r in 100\nreturn s\n");
  expect_right(R"(
x = PLACEHOLDER [12, 100]
s(i) max= x[i, r] for i in 12, r in 100
y(i) = (s[i] + 1f) for i in 12
return y
)");
}
TEST(GpuRows, ComputeMeansOverPictures) { expect_right(kMean); }
TEST(GpuRows, ComputeProductsWithAVector) {
  expect_right(R"(
a = PLACEHOLDER [1, 90]
b = PLACEHOLDER [90, 24] const
bias = PLACEHOLDER [24] const
c(i, j) += (a[i, r]*b[r, j]) for i in 1, j in 24, r in 90  # matmul
y(i, j) = (c[i, j] + bias[j]) for i in 1, j in 24
return y
)");
}
TEST(GpuRows, AreOneLaunch) {
  for (const char* text : {kSoftmax, kMean}) {
    const Target target = *parse_target("cuda -model=h100");
    const DesignSpace space = make_space(*parse_dag(text), target);
    EXPECT_EQ(estimate_launches(space.schedule(space.default_candidate())->tree, target).size(), 1u);
  }
}
TEST(GpuRows, ReadNeighboursTogether) {
  const DesignSpace space = make_space(*parse_dag(kSoftmax), *parse_target("cuda -model=h100"));
  Candidate c = space.default_candidate();
  c.choices = {{"threads", {32}}, {"rows", {2}}, {"vector", {2}}, {"min_blocks", {4}}};
  EXPECT_EQ(to_text(space.schedule(c)->tree), R"(block i.0 in 3  # min_blocks 4
  thread i.1 in 2
    m @registers
    for i in 1
      unroll r.0 in 2  # 70 by 64, guard
        thread r.1 in 32  # rfactor
          unroll r.2 in 2
            m
    s @registers
    for i in 1
      unroll r.0 in 2  # 70 by 64, guard
        thread r.1 in 32  # rfactor
          unroll r.2 in 2
            s
    unroll j.0 in 2  # 70 by 64, guard
      thread j.1 in 32
        vector j.2 in 2
          y
)");
}
TEST(GpuRows, SayWhyAChoiceIsOutside) {
  const DesignSpace space = make_space(*parse_dag(kSoftmax), *parse_target("cuda -model=h100"));
  const auto why = [&](std::int64_t threads, std::int64_t rows, std::int64_t vector) {
    Candidate c = space.default_candidate();
    c.choices = {{"threads", {threads}}, {"rows", {rows}}, {"vector", {vector}}, {"min_blocks", {0}}};
    return space.contains(c).error().message;
  };
  EXPECT_EQ(why(64, 1, 4), "threads would take 256 elements at once; a row has 70");
  EXPECT_EQ(why(8, 5, 1), "rows = 5 is not among the 5 options of sketch rows");
}
TEST(GpuRows, LeaveWindowsAndSumsOverDifferentRows) {
  const Target target = *parse_target("cuda -model=h100");
  EXPECT_FALSE(gpu_rows_sketch(*parse_dag(R"(
x = PLACEHOLDER [1, 12, 12, 8]
p(n, y, z, c) max= x[n, (y + rh), (z + rw), c] for n in 1, y in 9, z in 9, c in 8, rh in 4, rw in 4  # pool n:batch y:row z:column c:channel rh:tap rw:tap
return p
)"),
                               target));
  EXPECT_FALSE(gpu_rows_sketch(*parse_dag(R"(
x = PLACEHOLDER [40, 50]
rows(i) += x[i, r] for i in 40, r in 50
columns(j) += x[r, j] for j in 50, r in 40
out(i, j) = (rows[i]*columns[j]) for i in 40, j in 50
return out
)"),
                               target));
}

}  // namespace gpu_rows_test
}  // namespace whet
