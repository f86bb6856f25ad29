#include "schedule/regions.h"

#include <gtest/gtest.h>

#include "schedule/steps.h"

namespace whet {
namespace regions_test {

LoopTree tree_after(const char* text, const char* steps) { return *replay(*parse_dag(text), *parse_steps(steps)); }

std::string to_text(const Region& region) {
  std::string text;
  for (const Span& span : region) text += "[" + to_text(span.base, nullptr) + " +" + std::to_string(span.extent) + "]";
  return text;
}

constexpr const char* kWindow = R"(
x = PLACEHOLDER [20]
t(i) = (x[i]*2f) for i in 20
y(o) += t[(o*2 + r - 1)] for o in 9, r in 3
return y
)";

TEST(RequiredRegion, IsTheBoxOfAnAffineIndex) {
  const LoopTree tree = tree_after(kWindow, "split l1 3 guard");
  const LoopId outer = own_loops(tree, OpId(2))[0], inner = own_loops(tree, OpId(2))[1];
  EXPECT_EQ(required_region(tree, OpId(1), outer)[0].extent, 7);
  EXPECT_EQ(required_region(tree, OpId(1), inner)[0].extent, 3);
  EXPECT_EQ(required_region(tree, OpId(1), LoopId())[0].extent, 18) << "clipped at the start of the axis";
}
TEST(RequiredRegion, OfAFloorDivisionIsAnInterval) {
  const LoopTree tree = tree_after(R"(
x = PLACEHOLDER [8]
t(i) = (x[i]*2f) for i in 8
y(o) = t[floordiv(o, 2)] for o in 16
return y
)",
                                   "split l1 6 guard");
  EXPECT_EQ(required_region(tree, OpId(1), own_loops(tree, OpId(2))[0])[0].extent, 3);
}
TEST(RequiredRegion, OfADataDependentIndexIsTheWholeAxis) {
  const LoopTree tree = tree_after(R"(
x = PLACEHOLDER [8]
k = PLACEHOLDER [5] i64 < 8
t(i) = (x[i]*2f) for i in 8
y(o) = t[k[o]] for o in 5
return y
)",
                                   "");
  EXPECT_EQ(required_region(tree, OpId(2), own_loops(tree, OpId(3))[0])[0].extent, 8);
}
TEST(ComputedRegion, OfOverlappingTilesStartsAtTheClampedTile) {
  const LoopTree tree = tree_after(kWindow, "split l1 6 overlap");
  EXPECT_EQ(to_text(computed_region(tree, OpId(2), own_loops(tree, OpId(2))[0])), "[min((o.0*6), 3) +6]");
}
TEST(StorageLoop, StaysOutsideOfTheReductionThatFillsIt) {
  const LoopTree tree = tree_after(R"(
a = PLACEHOLDER [4, 8]
s(i) += a[i, k] for i in 4, k in 8
y(i) = (s[i] + 1f) for i in 4
return y
)",
                                   "reverse_compute_at o2 l0");
  EXPECT_EQ(storage_loop(tree, OpId(1)), LoopId(0));
  EXPECT_EQ(storage_loop(tree, OpId(2)), LoopId()) << "outputs are whole";
}

}  // namespace regions_test
}  // namespace whet
