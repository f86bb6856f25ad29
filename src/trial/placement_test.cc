#include "trial/placement.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace whet {
namespace placement_test {

ProcessorPlacement ns(double round_trip) { return {round_trip}; }

TEST(Placement, IsAnotherOneWhereARoundTripIsTwiceAsLong) {
  EXPECT_TRUE(differ(ns(78), ns(330)));
  EXPECT_TRUE(differ(ns(330), ns(78)));
  EXPECT_TRUE(differ(ns(100), ns(200)));
  EXPECT_FALSE(differ(ns(78), ns(91))) << "a figure is not repeated exactly";
  EXPECT_FALSE(differ(ns(78), ns(78)));
}
TEST(Placement, ThatIsNotKnownDiffersFromNone) {
  EXPECT_FALSE(differ({}, ns(330)));
  EXPECT_FALSE(differ(ns(78), {}));
  EXPECT_FALSE(differ({}, {}));
}
TEST(Placement, IsNamedByItsRoundTrip) {
  EXPECT_EQ(to_text(ns(78.4)), "78 ns there and back");
  EXPECT_EQ(to_text(ProcessorPlacement()), "not known");
}
TEST(PlacementTimes, AddsUpTheSecondsOfEach) {
  PlacementTimes times;
  EXPECT_EQ(to_text(times), "");
  times.see(ns(330), 10);
  times.see(ns(320), 12);
  times.see(ns(78), 13);
  times.see({}, 14);
  times.see(ns(81), 15);
  times.see(ns(340), 16);
  times.see(ns(340), 17);
  ASSERT_EQ(times.parts().size(), 2u);
  EXPECT_TRUE(times.several());
  EXPECT_EQ(times.parts()[0].placement, ns(330)) << "in the order in which they came";
  EXPECT_EQ(times.parts()[0].seconds, 4);
  EXPECT_EQ(times.parts()[1].seconds, 3);
  EXPECT_EQ(times.at_hand(), ns(330));
  EXPECT_FALSE(PlacementTimes().at_hand().is_known());
  EXPECT_EQ(times.find(ns(300)), 0);
  EXPECT_EQ(times.find(ns(70)), 1);
  EXPECT_EQ(times.find({}), -1);
  EXPECT_EQ(times.find(ns(2000)), -1);
  EXPECT_EQ(to_text(times), "near (78 ns there and back) 43% of the time, far (330 ns there and back) 57%");
}
TEST(PlacementTimes, OfProcessorsThatStayAreOne) {
  PlacementTimes times;
  Rng rng(5);
  for (int i = 0; i < 1000; ++i) times.see(ns(78 + static_cast<double>(rng.below(40))), i);
  EXPECT_FALSE(times.several());
  EXPECT_EQ(times.share(times.parts()[0]), 1);
}

}  // namespace placement_test
}  // namespace whet
