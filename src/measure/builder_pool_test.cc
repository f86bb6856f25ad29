#include "measure/builder_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "device/testing/processes.h"
#include "measure/testing/fault_builds.h"

namespace whet {
namespace {

using testing::gone;
using testing::StoppedThenKilled;

class Builders : public ::testing::Test {
 protected:
  /// `code message` of each, in order.
  std::vector<std::string> outcomes(const std::vector<std::string>& steps, BuilderLimits limits = {},
                                    int builders = 2) {
    BuilderPool pool(zygote_, builders, limits, testing_builds::kFaultyBuilder);
    std::vector<BuildRequest> requests;
    for (const auto& s : steps) requests.push_back({"", s, ""});
    std::vector<std::string> out;
    for (const BuildResult& r : pool.build(requests))
      out.push_back(std::to_string(static_cast<int>(r.code)) + (r.message.empty() ? "" : " " + r.message));
    return out;
  }
  pid_t only_builder() const {
    const std::string zygote = std::to_string(zygote_.pid());
    std::ifstream children("/proc/" + zygote + "/task/" + zygote + "/children");
    pid_t builder = 0;
    children >> builder;
    return builder;
  }
  /// Where builders meet.
  std::string file(const std::string& name) {
    const std::string path = ::testing::TempDir() + "whet_meet_" + std::to_string(getpid()) + "_" + name;
    files_.push_back(path);
    return path;
  }
  std::string meet(const std::string& mine, const std::string& others) {
    return "meet " + file(mine) + " " + file(others);
  }
  void TearDown() override {
    for (const std::string& path : files_) std::remove(path.c_str());
  }
  static void expect_built(BuilderPool& pool, const std::vector<std::string>& steps) {
    std::vector<BuildRequest> requests;
    for (const auto& s : steps) requests.push_back({"", s, ""});
    for (const BuildResult& r : pool.build(requests)) EXPECT_EQ(r.code, OutcomeCode::ok) << r.message;
  }

  std::vector<std::string> files_;
  Zygote zygote_ = std::move(Zygote::start()).value();
};

TEST_F(Builders, WorkSideBySideAndAnswerInOrder) {
  BuilderPool pool(zygote_, 2, {}, testing_builds::kFaultyBuilder);
  std::vector<BuildRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back({"", i % 2 ? "refuse" : "kernel add_one", ""});
  const auto results = pool.build(requests);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].code, i % 2 ? OutcomeCode::instantiation : OutcomeCode::ok);
  EXPECT_LE(pool.started(), 2);
}
TEST_F(Builders, ThatDieCostTheirRequestAlone) {
  EXPECT_EQ(
      outcomes({"kernel add_one", "SIGSEGV", "kernel add_one", "SIGILL", "exit", "SIGKILL", "kernel add_one"}),
      (std::vector<std::string>{
          "0", "9 the builder died: SIGSEGV", "0", "9 the builder died: SIGILL", "9 the builder died: exit status 7",
          "12 the builder was killed from outside (SIGKILL), as the system does when memory ends", "0"}));
}
TEST_F(Builders, ThatHangAreStoppedAtTheTimeLimit) {
  BuilderLimits limits;
  limits.timeout = 2;
  EXPECT_EQ(outcomes({"hang", "kernel add_one", "hang", "kernel add_one"}, limits),
            (std::vector<std::string>{"6 building took longer than 2 s", "0", "6 building took longer than 2 s", "0"}));
}
TEST_F(Builders, CountTheirOwnTimeAloneAndNotThatOfQueueing) {
  BuilderLimits limits;
  limits.timeout = 1.9;
  constexpr std::size_t kMany = 40;  // of a twentieth of a second each
  EXPECT_EQ(outcomes(std::vector<std::string>(kMany, "slow kernel add_one"), limits, 1),
            std::vector<std::string>(kMany, "0"));
}
TEST_F(Builders, ThatEatMemoryAreStopped) {
  BuilderLimits limits;
  limits.memory = resident_bytes(getpid()) + (std::int64_t{64} << 20);
  const auto out = outcomes({"eat", "kernel add_one"}, limits);
  EXPECT_EQ(out[0].substr(0, 18), "12 building needed") << out[0];
  EXPECT_EQ(out[1], "0");
}
TEST_F(Builders, AreReplacedWhenTheyHaveGrownLarge) {
  BuilderLimits limits;
  limits.recycle = 1;
  BuilderPool pool(zygote_, 1, limits, testing_builds::kFaultyBuilder);
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}, {"", "kernel add_one", ""}})[1].code, OutcomeCode::ok);
  EXPECT_EQ(pool.started(), 2);
}
TEST_F(Builders, ThatDiedWhileIdleAreReplacedSilently) {
  BuilderPool pool(zygote_, 1, {}, testing_builds::kFaultyBuilder);
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}})[0].code, OutcomeCode::ok);
  const pid_t builder = only_builder();
  kill(builder, SIGKILL);
  EXPECT_TRUE(gone(builder));
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}})[0].code, OutcomeCode::ok);
}
TEST_F(Builders, ThatDieBeforeTheyReadARequestAreNoFaultOfIt) {
  BuilderPool pool(zygote_, 1, {}, testing_builds::kFaultyBuilder);
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}})[0].code, OutcomeCode::ok);
  const StoppedThenKilled stopped(only_builder());
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}})[0].code, OutcomeCode::ok);
  EXPECT_EQ(pool.started(), 2);
}
TEST_F(Builders, GiveBackWhatTheyHaveNotBegunWhenInterrupted) {
  BuilderPool pool(zygote_, 1, {}, testing_builds::kFaultyBuilder);
  int asked = 0;
  const auto results =
      pool.build(std::vector<BuildRequest>(5, {"", "kernel add_one", ""}), [&] { return ++asked > 2; });
  EXPECT_EQ(results.front().code, OutcomeCode::ok);
  EXPECT_EQ(results.back().code, OutcomeCode::device_lost);
  EXPECT_EQ(results.back().message, "interrupted before it was built");
}
TEST_F(Builders, OfSeveralThreadsWorkSideBySide) {
  BuilderPool pool(zygote_, 4, {}, testing_builds::kFaultyBuilder);
  const std::vector<std::string> here = {meet("a", "c"), meet("b", "d")}, there = {meet("c", "b"), meet("d", "a")};
  std::thread other([&] { expect_built(pool, there); });
  expect_built(pool, here);
  other.join();
  EXPECT_EQ(pool.started(), 4);
}
TEST_F(Builders, GoToTheThreadThatWaitsLongest) {
  BuilderPool pool(zygote_, 1, {}, testing_builds::kFaultyBuilder);
  std::vector<std::string> many(10, "slow kernel add_one");
  const std::string started = file("started");
  many.front() = "meet " + started + " " + started;
  many.push_back(meet("last", "other"));
  const std::vector<std::string> one = {meet("other", "other")};
  std::thread other([&] {
    while (access(started.c_str(), F_OK) != 0) usleep(1000);
    expect_built(pool, one);
  });
  expect_built(pool, many);
  other.join();
}

}  // namespace
}  // namespace whet
