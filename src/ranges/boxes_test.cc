#include "ranges/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/rng.h"

namespace whet {
namespace {

std::map<SizeValues, int> kinds_of(const std::vector<SizeValues>& points,
                                   const std::function<int(const SizeValues&)>& kind) {
  std::map<SizeValues, int> kinds;
  for (const SizeValues& point : points) kinds[point] = kind(point);
  return kinds;
}

TEST(PointsToRead, AreAllWhereThereAreFew) {
  EXPECT_EQ(points_to_read({{"n", 2, 8, 3}, {"m", 1, 2}}, 1024, 512, 0),
            (std::vector<SizeValues>{{2, 1}, {2, 2}, {5, 1}, {5, 2}, {8, 1}, {8, 2}}));
  EXPECT_EQ(count_points({{"n", 1, 512}, {"m", 1, 32}}), 16384);
}

TEST(PointsToRead, AreTheEdgesAndSomeOthersWhereThereAreMany) {
  const std::vector<SizeRange> sizes = {{"n", 1, 100}, {"m", 1, 50}};
  const auto points = points_to_read(sizes, 1024, 64, 3);
  const auto has = [&](const SizeValues& point) { return std::binary_search(points.begin(), points.end(), point); };
  for (std::int64_t n = 1; n <= 100; ++n) EXPECT_TRUE(has({n, 1}) && has({n, 50})) << n;
  for (std::int64_t m = 1; m <= 50; ++m) EXPECT_TRUE(has({1, m}) && has({100, m})) << m;
  EXPECT_GT(points.size(), 300u);
  EXPECT_LE(points.size(), 400u);
  EXPECT_EQ(points, points_to_read(sizes, 1024, 64, 3));
}

TEST(CellsOf, CutWhereNeighboursDiffer) {
  const std::vector<SizeRange> sizes = {{"n", 1, 40}};
  const auto kinds = kinds_of(points_to_read(sizes, 1024, 0, 0), [](const SizeValues& s) {
    return s[0] == 1 ? 2 : s[0] < 16 ? 1 : 0;
  });
  const auto cells = cells_of(sizes, kinds);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0].box, (SizeBox{{1}, {1}}));
  EXPECT_EQ(cells[1].box, (SizeBox{{2}, {15}}));
  EXPECT_EQ(cells[2].box, (SizeBox{{16}, {40}}));
  EXPECT_EQ(cells[2].kind, 0);
}

TEST(CellsOf, SayWhereKindsLieInNoBoxes) {
  const std::vector<SizeRange> sizes = {{"n", 1, 8}, {"m", 1, 8}};
  // The kinds part along n = m, which only some neighbours show.
  std::map<SizeValues, int> kinds = {{{1, 8}, 0}, {{8, 1}, 1}, {{8, 8}, 0}};
  const auto cells = cells_of(sizes, kinds);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_TRUE(cells[0].mixed);
}

/// Random boxes of kinds are found again: every point lies in one box, of its kind.
TEST(CellsOf, GiveEachPointABoxOfItsKind) {
  Rng rng(9);
  for (int round = 0; round < 60; ++round) {
    const std::vector<SizeRange> sizes = {{"n", 2, 2 + 2 * rng.between(0, 9), 2}, {"m", 1, rng.between(1, 12)}};
    const std::int64_t cut = rng.between(1, 20), other = rng.between(1, 12);
    const auto kind = [&](const SizeValues& s) { return (s[0] < cut ? 1 : 0) + (s[1] < other && s[0] >= cut ? 2 : 0); };
    const auto points = points_to_read(sizes, 1024, 0, 0);
    const auto kinds = kinds_of(points, kind);
    std::map<int, std::vector<SizeBox>> boxes;
    for (const Cell& cell : cells_of(sizes, kinds)) {
      ASSERT_TRUE(cell.kind && !cell.mixed);
      boxes[*cell.kind].push_back(cell.box);
    }
    for (auto& [k, each] : boxes) each = joined(sizes, each);
    for (const SizeValues& point : points) {
      int found = 0;
      for (const auto& [k, each] : boxes)
        for (const SizeBox& box : each) found += contains(box, point) && k == kind(point) ? 1 : 0;
      EXPECT_EQ(found, 1);
      for (const auto& [k, each] : boxes)
        for (const SizeBox& box : each) EXPECT_TRUE(!contains(box, point) || k == kind(point));
    }
  }
}

}  // namespace
}  // namespace whet
