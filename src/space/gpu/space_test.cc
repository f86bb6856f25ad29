// What holds for the spaces of all tasks on GPUs.

#include "space/space.h"

#include <gtest/gtest.h>

#include "space/testing/gpu_samples.h"

namespace whet {
namespace {

TEST(GpuSpace, HasSamplesThatComputeWhatRandomTasksSay) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(60)); ++seed) {
    Rng rng(seed);
    const ComputeDag task = testing::random_dag(rng);
    for (const char* arch : {"sm_75", "sm_90"}) {
      const Target target = *parse_target(std::string("cuda -arch=") + arch);
      const DesignSpace space = make_space(task, target);
      std::vector<Candidate> candidates{space.default_candidate(), space.sample(rng), space.sample(rng)};
      for (const Candidate& c : candidates) {
        const Result<Scheduled> scheduled = space.schedule(c);
        ASSERT_TRUE(scheduled.ok()) << "seed " << seed << " " << to_json(c) << ": " << scheduled.error().message;
        EXPECT_TRUE(space.contains(c).ok()) << to_json(c);
        const Result<double> error = testing::error_of(task, scheduled->tree, target);
        ASSERT_TRUE(error.ok()) << "seed " << seed << " " << to_json(c) << ": " << error.error().message << "\n"
                                << to_text(scheduled->tree);
        ASSERT_LT(*error, 1e-4) << "seed " << seed << " " << to_json(c) << "\n" << to_text(scheduled->tree);
      }
    }
  }
}
TEST(GpuSpace, ReplaysWhatItSchedules) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(60)); ++seed) {
    Rng rng(seed);
    const ComputeDag task = testing::random_dag(rng);
    const DesignSpace space = make_space(task, *parse_target("cuda -model=a100"));
    for (const Candidate& c : {space.default_candidate(), space.sample(rng)}) {
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      EXPECT_EQ(hash(*replay(task, *parse_steps(to_text(scheduled->steps)))), hash(scheduled->tree)) << to_json(c);
    }
  }
}

}  // namespace
}  // namespace whet
