#include "board/watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace whet::watch_test {
namespace {

namespace fs = std::filesystem;

/// A /sys of its own.
class FakeSys : public ::testing::Test {
 protected:
  void SetUp() override { root_ = fs::path(::testing::TempDir()) / ("sys." + std::to_string(getpid())); }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void zone(int number, const std::string& type, int millidegrees) {
    const std::string folder = "class/thermal/thermal_zone" + std::to_string(number) + "/";
    write(folder + "type", type);
    write(folder + "temp", std::to_string(millidegrees));
  }
  BoardState look() { return look_at({}, root_.string()); }
  fs::path root_;
};

TEST_F(FakeSys, HasTheTemperatureOfTheHottestSensorOfTheProcessor) {
  zone(0, "acpitz", 90000);
  zone(1, "cpu-thermal", 51200);
  zone(2, "bigcore0-thermal", 61500);
  write("class/thermal/thermal_zone2/trip_point_0_type", "critical");
  write("class/thermal/thermal_zone2/trip_point_0_temp", "115000");
  write("class/thermal/thermal_zone2/trip_point_1_type", "passive");
  write("class/thermal/thermal_zone2/trip_point_1_temp", "75000");
  EXPECT_DOUBLE_EQ(look().celsius, 61.5);
  EXPECT_DOUBLE_EQ(look().trip_celsius, 75);
}
TEST_F(FakeSys, SaysNothingWhereTheSystemDoesNot) {
  const BoardState state = look();
  EXPECT_EQ(state.celsius, 0);
  EXPECT_EQ(state.trip_celsius, 0);
  EXPECT_FALSE(state.firmware_throttles);
  EXPECT_EQ(governor_of({0}, root_.string()), "");
}
TEST_F(FakeSys, SurvivesStrangeFiles) {
  zone(0, "cpu-thermal", 50000);
  write("class/thermal/thermal_zone0/temp", "warm");
  write("devices/platform/soc/soc:firmware/get_throttled", "?");
  EXPECT_EQ(look().celsius, 0);
  EXPECT_FALSE(look().firmware_throttles);
}
TEST_F(FakeSys, KnowsWhatARaspberryPiSaysOfJustNow) {
  write("devices/platform/soc/soc:firmware/get_throttled", "50000");
  EXPECT_FALSE(look().firmware_throttles) << "that was before";
  write("devices/platform/soc/soc:firmware/get_throttled", "50004");
  EXPECT_TRUE(look().firmware_throttles);
}
TEST_F(FakeSys, NamesEachGovernorOnce) {
  for (const int core : {0, 1, 2})
    write("devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor",
          core < 2 ? "schedutil" : "performance");
  EXPECT_EQ(governor_of({0, 1}, root_.string()), "schedutil");
  EXPECT_EQ(governor_of({0, 1, 2}, root_.string()), "schedutil, performance");
}
TEST(Heat, IsWhatMakesTimesUseless) {
  const BoardState cool{2.4, 50, 80, false, 3};
  const auto hot = [&](auto change) {
    BoardState now = cool;
    change(now);
    return why_hot(cool, now, 2.4);
  };
  EXPECT_EQ(hot([](BoardState&) {}), "");
  EXPECT_EQ(hot([](BoardState& s) { s.ghz = 2.35; }), "") << "clocks repeat within a few percent";
  EXPECT_EQ(hot([](BoardState& s) { s.ghz = 1.5; }), "it runs at 1.50 GHz, not at 2.40");
  EXPECT_EQ(hot([](BoardState& s) { s.celsius = 76; }), "it has 76 degrees, and slows down at 80");
  EXPECT_EQ(hot([](BoardState& s) { s.firmware_throttles = true; }), "its firmware has slowed it down");
  EXPECT_EQ(hot([](BoardState& s) { ++s.throttle_count; }), "it was so hot that it slowed itself down");
  EXPECT_EQ(why_hot(cool, {1.5, 50, 80, false, 3}, 0), "") << "a processor with many clocks";
  EXPECT_EQ(why_hot({}, {}, 0), "") << "nothing is known";
}
TEST(Clocks, AreMeasured) {
  const double ghz = measured_ghz();
  EXPECT_GT(ghz, 0.05);
  EXPECT_LT(ghz, 10);
}
TEST(Masks, AreOfAllThreadsOfAProcess) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const std::vector<std::uint32_t> cores = cores_of_process(getpid());
  ASSERT_FALSE(cores.empty());
  for (const std::uint32_t core : cores) EXPECT_TRUE(CPU_ISSET(core, &mask)) << core;
  EXPECT_TRUE(cores_of_process(1 << 30).empty());
}

}  // namespace
}  // namespace whet::watch_test
