#include "measure/placement_watch.h"

#include <gtest/gtest.h>

#include <vector>

namespace whet {
namespace placement_watch_test {

/// Probes as they are listed, the last of them as often as it is asked for; each takes a millisecond.
struct Script {
  std::vector<double> round_trips;
  double time = 0;
  std::size_t probes = 0;
  PlacementWatch watch{[this] {
                         time += 1e-3;
                         return round_trips[std::min(probes++, round_trips.size() - 1)];
                       },
                       [this] { return time; }};
  double after(double seconds) {
    time += seconds;
    return watch.now().round_trip_ns;
  }
};

TEST(PlacementWatch, KnowsNothingWithoutAProbe) {
  PlacementWatch watch({}, [] { return 0.0; });
  EXPECT_FALSE(watch.now().is_known());
}
TEST(PlacementWatch, LooksAHundredthOfTheTime) {
  Script script{{80}};
  EXPECT_EQ(script.after(0), 80);
  EXPECT_EQ(script.probes, 3u) << "at first nothing is known";
  script.after(0.2);
  EXPECT_EQ(script.probes, 3u) << "three milliseconds pay for themselves in 0.3 s";
  script.after(0.11);
  EXPECT_EQ(script.probes, 4u);
  for (int i = 0; i < 1000; ++i) script.after(1e-2);
  EXPECT_LE(script.probes, 4u + 101u);
}
TEST(PlacementWatch, SeesThatProcessorsMoveAndComeBack) {
  Script script{{80, 80, 80, 330, 331, 332, 330, 80}};
  EXPECT_EQ(script.after(0), 80);
  EXPECT_EQ(script.after(1), 330) << "the shortest of three";
  EXPECT_EQ(script.after(1), 330);
  EXPECT_EQ(script.after(1), 80) << "nothing makes a round trip shorter than it is";
}
TEST(PlacementWatch, TakesNoDisturbanceForAMove) {
  Script script{{80, 80, 80, 330, 82, 640, 330, 81, 0, 0, 0, 83}};
  EXPECT_EQ(script.after(0), 80);
  EXPECT_EQ(script.after(1), 80);
  EXPECT_EQ(script.after(1), 80);
  EXPECT_EQ(script.after(1), 80) << "three probes were disturbed: the last one counts";
  EXPECT_EQ(script.after(1), 80);
  EXPECT_EQ(script.probes, 12u);
}
TEST(PlacementWatch, IsNotLedAwayByStepsThatAreEachNoMove) {
  Script script{{80, 80, 80, 150, 290, 82, 79, 320, 330, 325, 160}};
  EXPECT_EQ(script.after(0), 80);
  EXPECT_EQ(script.after(1), 80);
  EXPECT_EQ(script.after(1), 80) << "290 is far from 80, though not from 150";
  EXPECT_EQ(script.after(1), 79);
  EXPECT_EQ(script.after(1), 320);
  EXPECT_EQ(script.after(1), 160);
}
TEST(PlacementWatch, OfProcessorsThatAreAlwaysDisturbedKnowsNothing) {
  Script script{{0}};
  EXPECT_FALSE(script.watch.now().is_known());
  script.after(10);
  EXPECT_FALSE(script.watch.now().is_known());
}

}  // namespace placement_watch_test
}  // namespace whet
