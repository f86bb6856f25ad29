#include "device/cpu/run_times.h"

#include <gtest/gtest.h>

namespace whet {
namespace run_times_test {

/// The profile of runs of two steps that took so long together.
class Profile {
 public:
  whet_profile of(std::uint64_t runs, std::uint64_t first_ns, std::uint64_t second_ns) {
    steps_[0].total_ns = first_ns;
    steps_[1].total_ns = second_ns;
    whet_profile profile{};
    profile.runs = runs;
    profile.total_ns = first_ns + second_ns;
    profile.steps = 2;
    profile.step = steps_;
    return profile;
  }

 private:
  whet_step_profile steps_[2] = {};
};

TEST(RunTimes, AreMediansThatOneDisturbedRunDoesNotMove) {
  Profile profile;
  RunTimes times;
  times.take(profile.of(1, 10, 5));
  times.take(profile.of(2, 20, 1005));  // the second step was disturbed
  times.take(profile.of(3, 32, 1011));
  const UsualRun usual = times.usual();
  EXPECT_EQ(usual.step_ns, (std::vector<double>{10, 6}));
  EXPECT_EQ(usual.whole_ns, 18);
  EXPECT_EQ(mean_run(profile.of(3, 32, 1011)).step_ns[1], 337);
}
TEST(RunTimes, OfNoRunAreNothing) {
  EXPECT_EQ(RunTimes().usual().whole_ns, 0);
  EXPECT_TRUE(RunTimes().usual().step_ns.empty());
}
TEST(RunTimes, OfManyRunsAreThoseOfTheFirst) {
  Profile profile;
  RunTimes times;
  for (std::uint64_t run = 1; run <= 10000; ++run) {
    const std::uint64_t later = run > 4096 ? run - 4096 : 0;
    times.take(profile.of(run, 10 * run + 1000 * later, run));
  }
  EXPECT_EQ(times.usual().step_ns, (std::vector<double>{10, 1}));
}

}  // namespace run_times_test
}  // namespace whet
