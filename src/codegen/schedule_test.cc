#include <gtest/gtest.h>

#include "codegen/testing/answers.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "schedule/steps.h"

namespace whet {
namespace {

TEST(EverySchedule, RunsNativelyAsTheDagIsDefined) {
  const char* from = std::getenv("WHET_SEED");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 1000;
  const std::vector<Target> targets = runnable_targets();
  int run = 0;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Steps steps = testing::random_steps(dag, rng, 60);
    Target target = targets[seed % targets.size()];
    target.threads = 1 + static_cast<int>(seed % 3);
    const Result<Lowered> lowered = lower(*replay(dag, steps), target);
    if (!lowered.ok()) continue;  // the schedule cannot be lowered: the business of `lower`
    const Result<double> error = error_of(dag, *lowered, target, seed);
    if (!error.ok() && error.error().kind == ErrorKind::limit) continue;
    ASSERT_TRUE(error.ok()) << "seed " << seed << ": " << error.error().message;
    ASSERT_LT(*error, 1e-4) << "seed " << seed << ", " << target.cpu().mcpu << "\n" << to_text(steps) << to_text(dag);
    ++run;
  }
  EXPECT_GE(run, 30);
}

}  // namespace
}  // namespace whet
