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
  EXPECT_EQ(why_not_taken(noisy),
            "nothing is concluded, since the usual plan alone took 1.0000 ms to 2.3100 ms: another program ran, or "
            "the machine is shared (whet doctor)");
}

TEST(WhyNotTaken, SaysNothingOfAPlanThatWasTakenOrNotTimed) {
  TriedPlan adopted = tried(0.9, 1);
  adopted.adopted = true;
  EXPECT_EQ(why_not_taken(adopted), "");
  EXPECT_EQ(why_not_taken({}), "");
  EXPECT_EQ(tried_text(adopted), "0.9000 ms with 2 other kernels, the usual plan 1.0000 ms alternately: adopted");
}

TEST(NeededRatio, LetsTheSmallerOfTwoLibrariesWinWhereTimesAreEqual) {
  EXPECT_EQ(needed_ratio(97, 160, 0.99), 1.02);
  EXPECT_EQ(needed_ratio(160, 97, 0.99), 1 / 1.02);
  EXPECT_EQ(needed_ratio(160, 97, 0.97), 0.97) << "more was asked anyway";
  EXPECT_EQ(needed_ratio(100, 105, 0.99), 0.99) << "about as large";
  EXPECT_EQ(needed_ratio(0, 160, 0.99), 0.99);
  EXPECT_EQ(needed_ratio(97, 0, 0.99), 0.99);
}

TEST(TriedText, SaysWhatBytesAPlanCosts) {
  TriedPlan larger = tried(0.985, 1);
  larger.weights_bytes = 160'300'000, larger.usual_weights_bytes = 97'000'000;
  EXPECT_EQ(
      tried_text(larger),
      "0.9850 ms with 2 other kernels and 160.3 MB of weights, the usual plan 1.0000 ms alternately with 97.0 MB; "
      "not taken: 2% in the median of seven is asked of a larger library; it had 1.5%");
  TriedPlan smaller = tried(1.03, 1);
  smaller.weights_bytes = 97'000'000, smaller.usual_weights_bytes = 160'300'000;
  EXPECT_EQ(why_not_taken(smaller),
            "no more than 2% longer in the median of seven is asked of a smaller library; it was 3.0% slower");
}

}  // namespace tried_test
}  // namespace whet
