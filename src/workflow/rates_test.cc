#include "workflow/rates.h"

#include <gtest/gtest.h>

#include <limits>

namespace whet {
namespace {

TEST(HeldBy, NamesTheTightestLimitThatTheTimeDoesNotDisprove) {
  const std::vector<Limit> limits = {{"memory", 2e-3, ""}, {"compute", 8e-4, ""}, {"L2", 1e-5, ""}};
  EXPECT_EQ(held_by(limits, 4e-3), "memory 50%");
  EXPECT_EQ(held_by(limits, 1e-3), "compute 80%");
  EXPECT_EQ(held_by(limits, 4e-4), "compute 200%") << "fewer operations than the direct algorithm";
  EXPECT_EQ(held_by(limits, 1e-4), "L2 10%") << "eight times the peak: that was measured beside another program";
  EXPECT_EQ(held_by(limits, std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(held_by({}, 1), "");
}

}  // namespace
}  // namespace whet
