#include <gtest/gtest.h>

#include <cmath>

#include "trial/outcome.h"

namespace whet {
namespace {

TEST(Outcome, IsRankedByTheFastestRun) {
  EXPECT_EQ((Outcome{OutcomeCode::ok, "", {3, 1, 2}}.best_seconds()), 1);
  EXPECT_TRUE(std::isinf((Outcome{OutcomeCode::crash, "SIGSEGV", {1}}.best_seconds())));
  EXPECT_TRUE(std::isinf((Outcome{OutcomeCode::ok}.best_seconds())));
}
TEST(Devices, OfOneNameHaveNumbers) {
  for (const std::string name : {"pi", "a #b", "", "#2"})
    for (const int number : {1, 2, 17}) EXPECT_EQ(without_number(numbered_device(name, number)), name) << number;
  for (const std::string_view name : {"pi #", "pi#2", "pi #x2", "pi # 2"}) EXPECT_EQ(without_number(name), name);
  Outcome outcome;
  outcome.device = numbered_device("emulated", 2);
  EXPECT_TRUE(outcome.emulated());
}
TEST(Candidate, PrintsAsOneLineWithSortedNames) {
  EXPECT_EQ(to_json({"tile+acc", {{"unroll", {4}}, {"oc", {2, 16}}}}),
            R"({"sketch":"tile+acc","oc":[2,16],"unroll":4})");
}
TEST(Candidate, HashesByEveryChoice) {
  const Candidate a{"tile", {{"oc", {2, 16}}}};
  EXPECT_EQ(hash(a), hash(Candidate{"tile", {{"oc", {2, 16}}}}));
  for (const Candidate& other : {Candidate{"tile", {{"oc", {16, 2}}}}, Candidate{"tile2", {{"oc", {2, 16}}}},
                                 Candidate{"tile", {{"ow", {2, 16}}}}, Candidate{"tile", {{"oc", {2}}}}})
    EXPECT_NE(hash(a), hash(other)) << to_json(other);
}

TEST(Outcome, RanksByThePaceAndPredictsByTheClock) {
  Outcome outcome{OutcomeCode::ok, "", {3, 2}};
  outcome.pace = 2;
  EXPECT_EQ(outcome.best_seconds(), 1);
  EXPECT_EQ(outcome.clock_seconds(), 2);
}

}  // namespace
}  // namespace whet
