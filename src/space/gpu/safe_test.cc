#include "space/gpu/safe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cost/features.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "space/space.h"

namespace whet {
namespace gpu_safe_test {

Target a100() { return *parse_target("cuda -model=a100"); }

LoopTree safe_tree(const ComputeDag& dag) {
  Scheduler s(dag);
  safe_schedule(s);
  EXPECT_TRUE(s.finish().ok()) << (s.finish().ok() ? "" : s.finish().error().message);
  return s.tree();
}

TEST(SafeSchedule, GivesAThreadAnElementAndABlockNeighbours) {
  const LoopTree tree = safe_tree(*parse_dag(R"(
x = PLACEHOLDER [1, 8, 8, 3]
w = PLACEHOLDER [3, 3, 3, 40] const
pad(n, y, z, c) = select((y >= 1) && (y < 9) && (z >= 1) && (z < 9), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in 10, z in 10, c in 3
conv(n, y, z, o) += (pad[n, (y + rh), (z + rw), rc]*w[rh, rw, rc, o]) for n in 1, y in 8, z in 8, o in 40, rh in 3, rw in 3, rc in 3
out(n, y, z, o) = max(conv[n, y, z, o], 0f) for n in 1, y in 8, z in 8, o in 40
return out
)"));
  EXPECT_EQ(to_text(tree), R"(block n·y·z.0 in 16  # 8 by 6, guard
  thread z.1·o in 240
    cache conv @registers
    for rh in 3
      for rw in 3
        for rc in 3
          conv
block n·y·z.0 in 16  # 8 by 6, guard
  thread z.1·o in 240
    out
)");
}
TEST(SafeSchedule, LowersWhateverTheDag) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Result<Lowered> lowered = lower(safe_tree(dag), a100());
    ASSERT_TRUE(lowered.ok()) << "seed " << seed << ": " << lowered.error().message << "\n" << to_text(dag);
  }
}
TEST(SafeSchedule, IsTheOnlyTemplateOfWhatNothingElseTakes) {
  const ComputeDag dag = *parse_dag(R"(
x = PLACEHOLDER [40, 50]
rows(i) += x[i, r] for i in 40, r in 50
columns(j) += x[r, j] for j in 50, r in 40
out(i, j) = (rows[i]*columns[j]) for i in 40, j in 50
return out
)");
  const DesignSpace space = make_space(dag, a100());
  EXPECT_TRUE(std::any_of(space.sketches().begin(), space.sketches().end(),
                          [](const Sketch& sketch) { return sketch.name == "safe"; }));
  EXPECT_EQ(to_text(*default_steps(dag, a100())), to_text(*space.steps(space.default_candidate())));
}
TEST(SafeSchedule, IsNoDefaultWhereThreadsAddUpFaster) {
  // A squeeze: the mean of each channel over 784 pixels.
  const ComputeDag dag = *parse_dag(R"(
x = PLACEHOLDER [1, 28, 28, 96]
w = PLACEHOLDER [96, 24] const
sum(n, c) += x[n, y, z, c] for n in 1, c in 96, y in 28, z in 28
narrow(n, o) += ((sum[n, c]*0.001275f)*w[c, o]) for n in 1, o in 24, c in 96
out(n, o) = max(narrow[n, o], 0f) for n in 1, o in 24
return out
)");
  const DesignSpace space = make_space(dag, a100());
  EXPECT_NE(space.default_candidate().sketch, "safe");
  const LoopTree tree = space.schedule(space.default_candidate())->tree;
  EXPECT_LT(analytic_seconds(tree, a100()), 0.5 * analytic_seconds(safe_tree(dag), a100()));
}

}  // namespace gpu_safe_test
}  // namespace whet
