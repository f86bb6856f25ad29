#include "workflow/ranges_end.h"

#include <gtest/gtest.h>

#include <numeric>

namespace whet::ranges_end_test {
namespace {

std::vector<SizeValues> told(const std::vector<RequestCount>& requests, const std::vector<std::string>& sizes) {
  return telling_sizes(requests, parse_sizes(sizes).value());
}

TEST(TellingSizes, AreThoseOfTheTenthTheMiddleTheNinthTenthAndTheLargest) {
  std::vector<RequestCount> requests;
  for (std::int64_t n = 1; n <= 100; ++n) requests.push_back({{n}, 1});
  EXPECT_EQ(told(requests, {"n=1..512"}), (std::vector<SizeValues>{{10}, {50}, {90}, {512}}));
  EXPECT_EQ(told({{{24}, 7}}, {"n=1..512"}), (std::vector<SizeValues>{{24}, {512}}));
  EXPECT_EQ(told({{{512}, 1}}, {"n=1..512"}), (std::vector<SizeValues>{{512}}));
  EXPECT_EQ(told({{{1, 64}, 8}, {{4, 128}, 2}}, {"b={1,4}", "n=1..512"}),
            (std::vector<SizeValues>{{1, 64}, {4, 128}, {4, 512}}));
}

TEST(TimeShares, AreOfTheTimeThatRequestsTake) {
  // 1 ms at 10, 2 ms at 20: 15 takes 1.5 ms, 40 takes 4 ms and 5 takes as long as 10.
  const std::vector<double> shares =
      time_shares({{{5}, 2}, {{15}, 2}, {{20}, 1}, {{40}, 1}}, {{{20}, 2e-3}, {{10}, 1e-3}});
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_NEAR(shares[0], 2.0 / 11, 1e-9);
  EXPECT_NEAR(shares[1], 3.0 / 11, 1e-9);
  EXPECT_NEAR(shares[2], 2.0 / 11, 1e-9);
  EXPECT_NEAR(shares[3], 4.0 / 11, 1e-9);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
}

}  // namespace
}  // namespace whet::ranges_end_test
