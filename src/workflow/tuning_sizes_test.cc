#include "workflow/tuning_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/rng.h"
#include "compiler/scratch.h"

namespace whet::tuning_sizes_test {
namespace {

std::string tuned(const std::vector<std::string>& sizes, const TuningSizeOptions& options = {}) {
  const std::vector<WantedSize> wanted = parse_sizes(sizes).value();
  const auto at = tuning_sizes(wanted, options);
  return at.ok() ? requests_text(wanted, *at) : at.error().message;
}

TEST(TuningSizes, AreTypicalOfARange) {
  EXPECT_EQ(tuned({"n=1..512"}), "4 requests: 1 at n=16, 1 at n=64, 1 at n=256, 1 at n=512");
  EXPECT_EQ(tuned({"x.3=64..960:32"}), "4 requests: 1 at x.3=128, 1 at x.3=256, 1 at x.3=512, 1 at x.3=800");
  EXPECT_EQ(tuned({"n=7"}), "1 request: 1 at n=7");
  EXPECT_EQ(tuned({"x.0={1,3,8}"}), "3 requests: 1 at x.0=1, 1 at x.0=3, 1 at x.0=8");
  const auto two = tuning_sizes(parse_sizes({"b=1..8", "n=1..512"}).value(), {});
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->size(), 4u) << "two of each";
}

TEST(TuningSizes, AreThoseThatAreListed) {
  EXPECT_EQ(tuned({"n=1..512"}, {.listed = {"64,16", "64"}}), "2 requests: 1 at n=16, 1 at n=64");
  EXPECT_EQ(tuned({"b=1..4", "n=1..512"}, {.listed = {"1x16,4x128"}}), "2 requests: 1 at b=1 n=16, 1 at b=4 n=128");
  for (const char* text : {"", "a", "16,", "16x2", "0"})
    EXPECT_EQ(tuned({"n=1..512"}, {.listed = {text}}),
              "--tuning-sizes is \"" + std::string(text) + "\"; expected values of 1 size, like 16,64,256");
  EXPECT_EQ(tuned({"n=1..512"}, {.listed = {"600"}}), "--tuning-sizes: n is 600; n is 1..512");
  std::string many = "n=1";
  for (int n = 2; n <= 65; ++n) many += "," + std::to_string(n);
  EXPECT_EQ(tuned({many}), "--sizes: 65 combinations are to be tuned; 64 at most: name some by --tuning-sizes");
}

TEST(Distance, IsOfLogarithms) {
  EXPECT_DOUBLE_EQ(distance_of({64}, {16}), distance_of({16}, {64}));
  EXPECT_LT(distance_of({60}, {100}), distance_of({60}, {30}));
  EXPECT_DOUBLE_EQ(distance_of({2, 16}, {4, 8}), distance_of({1}, {4}));
}

TEST(TuningSizes, FollowTheRequests) {
  const ScratchDirectory scratch = ScratchDirectory::make().value();
  const std::string file = scratch.path() + "/requests.txt";
  std::ofstream(file) << "8 30\n64 10\n";
  EXPECT_EQ(tuned({"n=1..512"}, {.lengths = file}), "40 requests: 30 at n=8, 10 at n=64");
  // As many as take their time at the size that stands for them.
  std::ofstream(file) << "10 8\n40 2\n";
  EXPECT_EQ(tuned({"n=1..512"}, {.listed = {"16"}, .lengths = file}), "10 requests: 10 at n=16");
  EXPECT_NE(tuned({"n=1..512"}, {.lengths = scratch.path() + "/none.txt"}).find("none.txt"), std::string::npos);
}

TEST(LadderSizes, HaveThoseThatAreTunedTypicalOnesAndTheLargest) {
  const std::vector<WantedSize> wanted = parse_sizes({"n=1..512"}).value();
  const auto at = ladder_sizes(wanted, {.listed = {"24,100"}});
  ASSERT_TRUE(at.ok());
  const auto has = [&](std::int64_t n) {
    return std::ranges::any_of(*at, [&](const TuningSize& each) { return each.at == SizeValues{n}; });
  };
  EXPECT_TRUE(has(24) && has(100) && has(512));
  EXPECT_GE(at->size(), 8u);
  EXPECT_LE(at->size(), 11u);
  EXPECT_TRUE(std::ranges::is_sorted(*at, {}, &TuningSize::at));
  for (const TuningSize& each : *at) EXPECT_GE(each.requests, 1);
  const auto two = ladder_sizes(parse_sizes({"b=1..8", "n=1..512"}).value(), {});
  ASSERT_TRUE(two.ok());
  EXPECT_LE(two->size(), 13u);
  EXPECT_EQ(two->back().at, (SizeValues{8, 512}));
}

/// Any histogram: sizes that it has, ascending, each with a request, 100 or hardly more in all.
TEST(TuningSizes, StandForAllRequests) {
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<RequestCount> requests;
    std::int64_t n = 0;
    for (std::int64_t count = rng.between(1, 40); count > 0; --count)
      requests.push_back({{n += rng.between(1, 12)}, rng.between(1, rng.chance(0.2) ? 1000000 : 9)});
    const std::vector<SizeValues> typical = typical_sizes(requests);
    ASSERT_GE(typical.size(), 1u);
    ASSERT_LE(typical.size(), 4u);
    ASSERT_TRUE(std::ranges::is_sorted(typical));
    std::int64_t all = 0;
    for (const TuningSize& size : shared_out(requests, typical)) {
      ASSERT_GE(size.requests, 1);
      ASSERT_TRUE(std::ranges::any_of(requests, [&](const RequestCount& each) { return each.at == size.at; }));
      all += size.requests;
    }
    ASSERT_LE(all, 104);
  }
}

}  // namespace
}  // namespace whet::tuning_sizes_test
