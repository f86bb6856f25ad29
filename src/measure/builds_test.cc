#include "measure/builds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/testing/fault_builds.h"
#include "runner/given.h"

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

TEST(Builds, HoldTheContentsOfPackedIndicesAsLongAsAKernelIsHeld) {
  Zygote zygote = std::move(Zygote::start()).value();
  BuilderPool builders(zygote, 1, {}, testing_builds::kFaultyBuilder);
  MeasureTask task = task_of(
      "x = PLACEHOLDER [8]\nr = PLACEHOLDER [3] i32 const < 8\n"
      "y(i) = x[max(min(i64(r[i]), 7), 0)] for i in 3\nreturn y\n");
  task.inputs = {{1, 0}, "given"};
  BuildResults built;
  std::uint64_t number = 0;
  {
    Builds builds(builders, DeviceInfo(), {});
    built = builds.of(task, {"pack o1 o2"});
    ASSERT_EQ(built[0]->code, OutcomeCode::ok) << built[0]->message;
    const auto packed = std::ranges::find(built[0]->arguments, BuiltArgument::Kind::packed, &BuiltArgument::kind);
    ASSERT_NE(packed, built[0]->arguments.end());
    EXPECT_TRUE(packed->spec.is_given());
    number = packed->spec.seed;
  }
  EXPECT_NE(given_contents(number), nullptr);
  built.clear();
  EXPECT_EQ(given_contents(number), nullptr);
}

}  // namespace
}  // namespace whet::builds_test
