#include "workflow/cut_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/arithmetic.h"
#include "base/rng.h"

namespace whet::cut_regions_test {
namespace {

const std::vector<SizeValues> kCorners = {{2, 16}, {2, 256}, {8, 16}, {8, 256}};

/// The point lies in one region alone, in its box, and that has its number.
void expect_parts(const std::vector<SizeValues>& at, const std::vector<SizeRegion>& regions) {
  for (std::size_t p = 0; p < at.size(); ++p) {
    std::int64_t boxes = 0;
    for (const SizeRegion& region : regions) {
      const bool is_inside = contains(region.box, at[p]);
      boxes += is_inside ? 1 : 0;
      EXPECT_EQ(is_inside, std::ranges::find(region.points, p) != region.points.end()) << p;
    }
    EXPECT_EQ(boxes, 1) << p;
  }
}

double seconds_of(const std::vector<ExpectedSeconds>& tasks, const std::vector<std::vector<std::size_t>>& parts) {
  double sum = 0;
  for (const ExpectedSeconds& task : tasks)
    for (const std::vector<std::size_t>& points : parts) {
      double least = kInfinity;
      for (const std::vector<double>& kernel : task) {
        double seconds = 0;
        for (const std::size_t p : points) seconds += kernel[p];
        least = std::min(least, seconds);
      }
      sum += least;
    }
  return sum;
}

double seconds_of(const std::vector<ExpectedSeconds>& tasks, const std::vector<SizeRegion>& regions) {
  std::vector<std::vector<std::size_t>> parts;
  for (const SizeRegion& region : regions) parts.push_back(region.points);
  return seconds_of(tasks, parts);
}

/// A kernel for both sizes small: no cut along one size alone saves anything.
TEST(CutRegions, FindACornerOfTwoSizes) {
  const std::vector<ExpectedSeconds> tasks = {{{10, 30, 30, 30}, {20, 20, 20, 20}}};
  const std::vector<SizeRegion> regions = cut_regions(tasks, kCorners, {0, 1}, 6, 0.01);
  ASSERT_EQ(regions.size(), 3u);
  expect_parts(kCorners, regions);
  EXPECT_DOUBLE_EQ(seconds_of(tasks, regions), 70);
  EXPECT_TRUE(std::ranges::any_of(regions, [](const SizeRegion& each) {
    return each.points == std::vector<std::size_t>{0} && each.box == SizeBox{{0, 0}, {4, 64}};
  })) << "in the middle of the points, by the logarithm";
  EXPECT_EQ(cut_regions(tasks, kCorners, {0, 1}, 2, 0.01).size(), 1u) << "two regions save nothing";
}

TEST(CutRegions, AreOneWhereNothingIsWorthACut) {
  const std::vector<ExpectedSeconds> tasks = {{{10, 10, 10, 10}, {9.9, 20, 20, 20}}};
  const std::vector<SizeRegion> regions = cut_regions(tasks, kCorners, {0, 1}, 6, 0.01);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].box, (SizeBox{{0, 0}, {kLargestSize, kLargestSize}}));
  EXPECT_EQ(cut_regions(tasks, kCorners, {}, 6, 0).size(), 1u) << "along nothing";
}

TEST(CutRegions, AreCutAlongTheSizesThatAreNamedAlone) {
  const std::vector<ExpectedSeconds> tasks = {{{1, 9, 1, 9}, {9, 1, 9, 1}}};
  EXPECT_EQ(cut_regions(tasks, kCorners, {0}, 6, 0.01).size(), 1u);
  const std::vector<SizeRegion> regions = cut_regions(tasks, kCorners, {1}, 6, 0.01);
  ASSERT_EQ(regions.size(), 2u);
  expect_parts(kCorners, regions);
  EXPECT_EQ(regions[0].box, (SizeBox{{0, 0}, {kLargestSize, 64}}));
  EXPECT_EQ(regions[1].box, (SizeBox{{0, 65}, {kLargestSize, kLargestSize}}));
}

/// Of one size: all partitions into runs of neighbours are tried.
TEST(CutRegions, OfOneSizeTakeTheLeastTimeOfAllCuts) {
  const std::vector<SizeValues> at = {{1}, {2}, {4}, {8}, {16}};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    std::vector<ExpectedSeconds> tasks(3);
    for (ExpectedSeconds& task : tasks)
      for (int kernel = 0; kernel < 3; ++kernel) {
        std::vector<double>& own = task.emplace_back();
        for (std::size_t p = 0; p < at.size(); ++p) own.push_back(1 + static_cast<double>(rng.below(100)));
      }
    const std::vector<SizeRegion> regions = cut_regions(tasks, at, {0}, 3, 0);
    expect_parts(at, regions);
    double least = kInfinity;
    for (unsigned cuts = 0; cuts < 16; ++cuts) {  // a bit a place between neighbours
      std::vector<std::vector<std::size_t>> parts = {{0}};
      for (std::size_t p = 1; p < at.size(); ++p) {
        if ((cuts >> (p - 1)) & 1) parts.emplace_back();
        parts.back().push_back(p);
      }
      if (parts.size() <= 3) least = std::min(least, seconds_of(tasks, parts));
    }
    EXPECT_NEAR(seconds_of(tasks, regions), least, 1e-9) << seed;
  }
}

/// Slabs that are cut along the other size are never worse than slabs alone.
TEST(CutRegions, OfTwoSizesTakeNoMoreTimeThanAlongOne) {
  std::vector<SizeValues> at;
  for (const std::int64_t b : {1, 2, 4, 8})
    for (const std::int64_t n : {8, 32, 128, 512}) at.push_back({b, n});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    std::vector<ExpectedSeconds> tasks(2);
    for (ExpectedSeconds& task : tasks)
      for (int kernel = 0; kernel < 3; ++kernel) {
        std::vector<double>& own = task.emplace_back();
        for (std::size_t p = 0; p < at.size(); ++p) own.push_back(1 + static_cast<double>(rng.below(100)));
      }
    const std::vector<SizeRegion> both = cut_regions(tasks, at, {0, 1}, 6, 0);
    expect_parts(at, both);
    EXPECT_LE(both.size(), 6u);
    for (const std::size_t k : {0, 1})
      EXPECT_LE(seconds_of(tasks, both), seconds_of(tasks, cut_regions(tasks, at, {k}, 6, 0)) + 1e-9) << seed;
  }
}

}  // namespace
}  // namespace whet::cut_regions_test
