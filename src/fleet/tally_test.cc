#include "fleet/tally.h"

#include <gtest/gtest.h>

namespace whet::tally_test {
namespace {

MeasureRequest request(const std::string& code) {
  MeasureRequest r;
  r.job.kernel.code = code;
  return r;
}
SessionItem timed(double seconds) { return {0, MeasureReply{OutcomeCode::ok, "", {seconds}, false, 0.01}}; }

/// A unit's answer to a job of a champion and a candidate, which takes as long.
void answer(FleetTally& tally, const std::string& unit, const std::string& champion, double seconds) {
  const SessionJob job{1, {request(champion), request("other")}, true};
  const SessionItem item = timed(seconds);
  tally.count({FleetAnswer::Kind::done, unit}, job, {&item, &item, &item});
}

TEST(FleetTallies, CountWhatEachUnitDid) {
  FleetTally tally;
  const SessionItem item = timed(1), failed{0, MeasureReply{OutcomeCode::crash, "why"}};
  const SessionJob job{1, {request("a"), request("b"), request("c")}, false};
  tally.count({FleetAnswer::Kind::done, "pi-2"}, job, {&item, &failed, nullptr});
  tally.count({FleetAnswer::Kind::lost, "pi-1"}, job, {&item, nullptr, nullptr});
  const std::vector<UnitShare> shares = tally.shares();
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].unit, "pi-1");
  EXPECT_EQ(shares[0].losses, 1);
  EXPECT_EQ(shares[0].candidates, 1);
  EXPECT_EQ(shares[1].jobs, 1);
  EXPECT_EQ(shares[1].candidates, 2);
  EXPECT_EQ(shares[1].failed, 1);
  EXPECT_EQ(shares[1].factor, 0) << "no champion tells";
}
TEST(FleetTallies, KnowHowUnitsCompare) {
  // Ten per cent between them; kernels of any length; one that one unit alone ran says nothing.
  FleetTally tally;
  for (const double length : {1e-3, 5e-6, 2e-2}) {
    answer(tally, "slow", std::to_string(length), 1.1 * length);
    answer(tally, "fast", std::to_string(length), length);
  }
  answer(tally, "fast", "alone", 100);
  const std::vector<UnitShare> shares = tally.shares();
  EXPECT_NEAR(shares[1].factor / shares[0].factor, 1.1, 1e-9);
  EXPECT_NEAR(shares[1].factor * shares[0].factor, 1, 1e-9);
  EXPECT_EQ(shares[0].candidates, 4);
}
TEST(FleetTallies, TakeNoTimesOfFailures) {
  FleetTally tally;
  const SessionJob job{1, {request("a")}, true};
  const SessionItem failed{0, MeasureReply{OutcomeCode::crash, "why"}}, empty{0, MeasureReply{}};
  tally.count({FleetAnswer::Kind::done, "a"}, job, {&failed, &empty});
  tally.count({FleetAnswer::Kind::done, "b"}, job, {&failed, nullptr});
  EXPECT_EQ(tally.shares()[0].factor, 0);
}

}  // namespace
}  // namespace whet::tally_test
