#include "measure/builds.h"

#include <gtest/gtest.h>

#include "measure/testing/fault_builds.h"

namespace whet::builds_test {
namespace {

MeasureTask task_of(const char* dag) {
  return {"key", "name", *parse_dag(dag), *parse_target("cpu -mcpu=x86-64 -threads=1")};
}

TEST(Builds, AreMadeOnceForEachTaskAndSchedule) {
  Zygote zygote = std::move(Zygote::start()).value();
  BuilderPool builders(zygote, 1, {}, testing_builds::kFaultyBuilder);
  Builds builds(builders, DeviceInfo(), {});
  const MeasureTask task = task_of("p = PLACEHOLDER [8]\nq(i) = (p[i] + 1f) for i in 8\nreturn q\n");
  const MeasureTask other = task_of("p = PLACEHOLDER [8]\nq(i) = (p[i] + 2f) for i in 8\nreturn q\n");
  const BuildResults first = builds.of(task, {"kernel add_one", "refuse", "kernel add_one"});
  EXPECT_EQ(first[0]->code, OutcomeCode::ok);
  EXPECT_EQ(first[1]->code, OutcomeCode::instantiation);
  EXPECT_EQ(first[2], first[0]);
  EXPECT_EQ(builds.of(task, {"kernel add_one"})[0], first[0]);
  EXPECT_NE(builds.of(other, {"kernel add_one"})[0], first[0]);
  EXPECT_GT(builds.seconds(), 0);
  EXPECT_EQ(builds.builders_started(), 1);
}

TEST(Builds, AreAskedForAgainWhereNoBuilderWasThere) {
  Zygote zygote = std::move(Zygote::start()).value();
  BuilderPool builders(zygote, 1, {}, testing_builds::kFaultyBuilder);
  bool stop = true;
  Builds builds(builders, DeviceInfo(), [&] { return stop; });
  const MeasureTask task = task_of("p = PLACEHOLDER [8]\nq(i) = (p[i] + 1f) for i in 8\nreturn q\n");
  EXPECT_EQ(builds.of(task, {"kernel add_one"})[0]->code, OutcomeCode::device_lost);
  stop = false;
  EXPECT_EQ(builds.of(task, {"kernel add_one"})[0]->code, OutcomeCode::ok);
}

}  // namespace
}  // namespace whet::builds_test
