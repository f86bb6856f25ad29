#include "measure/measured_code.h"

#include <gtest/gtest.h>

namespace whet::measured_code_test {
namespace {

Outcome took(double seconds) {
  Outcome outcome{OutcomeCode::ok, "", {seconds}};
  outcome.run_seconds = 1;
  return outcome;
}

TEST(MeasuredCode, KeepsTheFirstOutcomeOfCodeUntilItsTaskIsForgotten) {
  MeasuredCode measured;
  const MeasureTask task{"key", "name", {}, {}}, part{"key", "name", {}, {}, {2}};
  measured.add(task, 7, took(1e-3));
  measured.add(task, 7, took(2e-3));
  EXPECT_EQ(measured.find(task, 7)->best_seconds(), 1e-3);
  EXPECT_FALSE(measured.find(task, 8));
  EXPECT_FALSE(measured.find(part, 7)) << "which writes elsewhere";
  measured.forget(task);
  EXPECT_FALSE(measured.find(task, 7));
  EXPECT_EQ(measured.found(), 1);
  EXPECT_EQ(measured.run_seconds(), 2);
}

TEST(MeasuredCode, KnowsATimeInItsPlacementAlone) {
  MeasuredCode measured;
  const MeasureTask task{"key", "name", {}, {}};
  Outcome near = took(1e-3), far = took(2e-3);
  near.placement = {78}, far.placement = {330};
  measured.add(task, 7, near);
  EXPECT_TRUE(measured.find(task, 7, {80}));
  EXPECT_TRUE(measured.find(task, 7));
  EXPECT_FALSE(measured.find(task, 7, {330})) << "it has to be measured again";
  measured.add(task, 7, far);
  EXPECT_EQ(measured.find(task, 7, {330})->best_seconds(), 2e-3);
  EXPECT_FALSE(measured.find(task, 7, {80}));
}

TEST(MeasuredCode, KeepsNothingThatTellsNothingOfTheCode) {
  MeasuredCode measured;
  const MeasureTask task{"key", "name", {}, {}};
  Outcome ended = took(1);
  ended.truncated = true;
  measured.add(task, 1, ended);
  measured.add(task, 2, {OutcomeCode::device_lost, "gone"});
  measured.add(task, 3, {OutcomeCode::out_of_memory, "killed"});
  measured.add(task, 4, {OutcomeCode::crash, "SIGSEGV"});
  for (const std::uint64_t identity : {1, 2, 3}) EXPECT_FALSE(measured.find(task, identity)) << identity;
  EXPECT_TRUE(measured.find(task, 4));
}

TEST(IdentityOfCode, IsThatOfTheJobAndTheCacheWhateverIsToBeBeaten) {
  const MeasureTask task{"key", "name", {}, {}};
  MeasureRequest request;
  request.job.kernel.code = "a";
  const std::uint64_t identity = identity_of(task, request);
  request.policy.incumbent_seconds = 1;
  EXPECT_EQ(identity_of(task, request), identity);
  request.policy.network_bytes = 1;
  EXPECT_NE(identity_of(task, request), identity);
  request.policy.network_bytes = 0;
  request.job.kernel.code = "b";
  EXPECT_NE(identity_of(task, request), identity);
}

}  // namespace
}  // namespace whet::measured_code_test
