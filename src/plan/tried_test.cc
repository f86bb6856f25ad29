#include "plan/tried.h"

#include <gtest/gtest.h>

namespace whet {
namespace tried_test {

TriedPlan tried(double ms, double usual_ms, std::int64_t comparisons = kPlanComparisons, std::int64_t slower = 0) {
  return {.kernels = 2,
          .network_seconds = ms * 1e-3,
          .usual_network_seconds = usual_ms * 1e-3,
          .comparisons = comparisons,
          .slower = slower,
          .least_usual = usual_ms * 1e-3,
          .most_usual = usual_ms * 1.1e-3};
}

TEST(WhyNotTaken, SaysWhatIsAskedAndWhatThePlanHad) {
  EXPECT_EQ(why_not_taken(tried(0.996, 1)), "1% in the median of seven is asked; it had 0.4%");
  EXPECT_EQ(why_not_taken(tried(1.02, 1, 2, 2)),
            "1% in the median of seven is asked; it was 2.0% slower when 2 had decided");
  EXPECT_EQ(why_not_taken(tried(0.9, 1, 4, 2)), "it may be no faster in one comparison; it was so in 2 of 4");
  EXPECT_EQ(why_not_taken(tried(0.9, 1)), "another plan was faster still");
}

TEST(WhyNotTaken, BlamesTheMachineForTimesThatAreFarApart) {
  TriedPlan noisy = tried(0.5, 1);
  noisy.most_usual = 2.31e-3;
  EXPECT_EQ(
      why_not_taken(noisy),
      "nothing is concluded, since the usual plan alone took 1 to 2.31 ms: another program ran, or the machine is "
      "shared (whet doctor)");
}

TEST(WhyNotTaken, SaysNothingOfAPlanThatWasTakenOrNotTimed) {
  TriedPlan adopted = tried(0.9, 1);
  adopted.adopted = true;
  EXPECT_EQ(why_not_taken(adopted), "");
  EXPECT_EQ(why_not_taken({}), "");
  EXPECT_EQ(tried_text(adopted), "0.9000 ms with 2 other kernels, the usual plan 1.0000 ms alternately: adopted");
}

}  // namespace tried_test
}  // namespace whet
