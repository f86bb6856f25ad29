#include "space/gpu/elements.h"

#include <gtest/gtest.h>

#include "cost/gpu/nest.h"
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
TEST(Elements, TurnTilesInBlockMemory) {
  const char* const text = R"(
x = PLACEHOLDER [2, 70, 45]
t(n, i, j) = x[n, j, i] for n in 2, i in 45, j in 70
y(n, i, j) = (t[n, i, j] + 1f) for n in 2, i in 45, j in 70
return y
)";
  expect_right(text);
  const DesignSpace space = make_space(*parse_dag(text), *parse_target("cuda -model=h100"));
  Candidate c = space.default_candidate();
  c.choices = {{"vector", {1}}, {"each", {1}}, {"threads", {256}}, {"across", {32}}};
  const LoopTree tree = space.schedule(c)->tree;
  EXPECT_EQ(to_text(tree), R"(block n·i.0·j.0 in 12  # 45 by 32, guard  # 70 by 32, guard
  x_copy rows + 1
  x_copy @block
  for i0 in 1
    unroll i1.0 in 4
      thread i1.1 in 8
        thread i2 in 32
          x_copy
  unroll i.1 in 4
    thread i.2 in 8
      thread j.1 in 32
        y
)");
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  for (const OpWork& op : launches.at(0).nests)
    for (const LaunchAccess& access : op.accesses) {
      if (access.memory == LaunchAccess::Memory::global) {
        EXPECT_EQ(access.sectors, 4) << "neighbours on both sides";
      }
      if (access.memory == LaunchAccess::Memory::block) {
        EXPECT_EQ(access.passes, 1) << "no two in one bank";
      }
    }
  c.choices["each"] = {2};
  EXPECT_EQ(space.contains(c).error().message, "a turned tile has 256 threads, and one element at once");
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
  c.choices = {{"vector", {4}}, {"each", {2}}, {"threads", {128}}, {"across", {0}}};
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
