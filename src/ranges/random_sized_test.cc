#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "passes/optimize.h"
#include "ranges/boxes.h"
#include "ranges/testing/difference_at.h"
#include "ranges/testing/sized_graph.h"

namespace whet {
namespace {

using testing::kLeastSize;

Result<FusedGraph> read_random(std::uint64_t seed, const SizeValues& sizes) {
  WHET_TRY(Graph graph, testing::random_sized_graph(seed, sizes));
  return optimize(std::move(graph), {});
}

/// A random graph, of one size or of two, and the ranges of its sizes.
struct RandomFamily {
  std::vector<SizeRange> sizes;
  ReadAtSizes read;
};
RandomFamily random_family(std::uint64_t seed) {
  if (seed % 4 != 0)
    return {{{"n", kLeastSize, kLeastSize + 24}},
            [=](const SizeValues& sizes) { return read_random(seed, {sizes[0], kLeastSize + 3}); }};
  return {{{"n", kLeastSize, kLeastSize + 6}, {"m", kLeastSize, kLeastSize + 8, 2}},
          [=](const SizeValues& sizes) { return read_random(seed, sizes); }};
}

std::vector<SizeValues> all_points(const std::vector<SizeRange>& sizes) {
  return points_to_read(sizes, count_points(sizes), 0, 0);
}

TEST(EverySizedGraph, IsAtEachSizeTheNetworkThatIsReadThere) {
  int families = 0, variants = 0;
  for (int k = 0; k < testing::random_cases(200) && !::testing::Test::HasFailure(); ++k) {
    const auto [sizes, read] = random_family(static_cast<std::uint64_t>(k));
    const auto family = find_family(sizes, read);
    if (!family.ok()) {
      // A stride may end a graph of small sizes, and structures may be many: those are refused with a sentence that says which sizes
      // may be given.
      const std::string& message = family.error().message;
      bool can_be_read = true;
      for (const SizeValues& point : all_points(sizes)) can_be_read = can_be_read && read(point).ok();
      EXPECT_TRUE(!can_be_read || message.find(" the model cannot be read: ") == std::string::npos)
          << k << ": " << message;
      EXPECT_NE(message.find("--sizes "), std::string::npos) << message;
      continue;
    }
    ++families;
    variants += static_cast<int>(family->variants.size());
    EXPECT_EQ(family->points, family->checked);
    EXPECT_EQ(testing::difference_at_any(*family, read), "") << "seed " << k;
  }
  EXPECT_GE(families, testing::random_cases(60));
  EXPECT_GE(variants, testing::random_cases(100)) << "most graphs are families";
}

/// A function that is off by one at one size is seen there: so the test above would fail.
TEST(EverySizedGraph, IsAnotherWhereOneFunctionIsOffByOne) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(40)); ++seed) {
    const auto [sizes, read] = random_family(seed);
    auto family = find_family(sizes, read);
    if (!family.ok()) continue;
    Rng rng(seed);
    const auto any_of = [&](auto& list) -> auto& {
      return list[static_cast<std::size_t>(rng.below(std::ssize(list)))];
    };
    const std::vector<SizeValues> points = all_points(sizes);
    const SizeValues at = any_of(points);
    for (Variant& variant : family->variants) {
      if (variant_at(*family, at) != &variant) continue;
      std::vector<Expr*> functions = testing::functions_of(variant);
      if (functions.empty()) continue;
      Expr& function = *any_of(functions);
      function = testing::one_more_at(function, at);
      EXPECT_NE(testing::difference_at(*family, at, read), "") << "seed " << seed;
      ++seen;
    }
  }
  EXPECT_GE(seen, testing::random_cases(10));
}

}  // namespace
}  // namespace whet
