#include "space/gpu/elements.h"

#include <gtest/gtest.h>

#include "space/testing/gpu_samples.h"

namespace whet {
namespace {

void expect_right(const std::string& text) { testing::expect_right(text, "elements", 8); }

TEST(Elements, ComputeChainsWithBroadcasts) {
  expect_right(R"(
x = PLACEHOLDER [3, 7, 20]
s = PLACEHOLDER [20] const
m(i, j, c) = (x[i, j, c]*s[c]) for i in 3, j in 7, c in 20
y(i, j, c) = max(m[i, j, c], 0f) for i in 3, j in 7, c in 20
return y
)");
}
TEST(Elements, ComputeTransposesAndWhatNoVectorDivides) {
  expect_right("x = PLACEHOLDER [19, 33]\ny(i, j) = x[j, i] for i in 33, j in 19\nreturn y\n");
}
TEST(Elements, ComputeSeveralResults) {
  expect_right(R"(
x = PLACEHOLDER [4, 40]
e(i, j) = exp(x[i, j]) for i in 4, j in 40
y(i, j) = (e[i, j] + 1f) for i in 4, j in 40
z(i, j) = (e[i, j]*2f) for i in 4, j in 40
return y, z
)");
}
TEST(Elements, GiveAThreadVectorsThatLieAThreadsWidthApart) {
  const DesignSpace space =
      make_space(*parse_dag("x = PLACEHOLDER [64, 1024]\ny(i, j) = (x[i, j] + 1f) for i in 64, j in 1024\nreturn y\n"),
                 *parse_target("cuda -model=h100"));
  Candidate c = space.default_candidate();
  c.choices = {{"vector", {4}}, {"each", {2}}, {"threads", {128}}};
  EXPECT_EQ(to_text(space.schedule(c)->tree), R"(block i·j.0 in 64
  thread j.2 in 128
    unroll j.1 in 2
      vector j.3 in 4
        y
)");
}
TEST(Elements, LeaveReductions) {
  EXPECT_FALSE(elements_sketch(*parse_dag("x = PLACEHOLDER [5, 7]\ns(i) += x[i, r] for i in 5, r in 7\nreturn s\n"),
                               *parse_target("cuda -model=h100")));
}

}  // namespace
}  // namespace whet
