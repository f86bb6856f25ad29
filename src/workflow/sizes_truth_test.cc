#include "workflow/sizes_truth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "device/testing/fake_devices.h"

namespace whet::sizes_truth_test {
namespace {

/// A library, as the fake device knows it: what an inference takes at each size.
using SecondsAt = std::map<std::int64_t, double>;

/// A device whose times are by the path and by the rows of the input.
class SizedDevice : public testing::FormulaDevice {
 public:
  SizedDevice() : FormulaDevice([](const KernelJob&) { return 1e-6; }) {}
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) override {
    if (files.empty()) return std::vector<ModelTimes>();
    ++comparisons;
    if (fails_from >= 0 && comparisons > fails_from) return Error{"the device is lost"};
    const std::int64_t rows = run.inputs.at(0).shape().at(0);
    std::vector<ModelTimes> times;
    for (const ModelLibrary& file : files) {
      const double seconds = libraries.at(file.path).at(rows);
      times.push_back({std::vector<ModelBurst>(static_cast<std::size_t>(run.bursts), {seconds, seconds})});
    }
    return times;
  }
  std::map<std::string, SecondsAt> libraries;
  int comparisons = 0, fails_from = -1;
};

/// A network whose libraries take times that a test gives.
class SettleAtSizes : public ::testing::Test {
 protected:
  SettleAtSizes() {
    options_.names = {"n"};
    options_.at = {{16}, {64}, {512}};
    options_.requests = {{{16}, 1}, {{64}, 1}, {{512}, 1}};
    options_.folder = "folder";
    options_.hot = false;
    options_.tell = [this](const std::string& sentence) { told_.push_back(sentence); };
    libraries_.untuned = [this](const std::string& path) { return made(path, untuned_); };
    libraries_.alone = [this](const SizeValues&, const std::string& path) { return made(path, alone_); };
    libraries_.tuned = [this](const std::vector<TimedAtSizes>& points, const std::string& path) {
      std::vector<std::int64_t>& kept = kept_.emplace_back();
      for (const TimedAtSizes& point : points)
        if (point.keeps_untuned) kept.push_back(point.at[0]);
      return made(path, kept.empty() ? tuned_ : mixed_);
    };
    libraries_.run_at = [](const SizeValues& at) {
      ModelRun run;
      run.inputs.emplace_back(DType::f32, Shape{at[0], 1});
      return Result<ModelRun>(std::move(run));
    };
  }
  Status made(const std::string& path, const SecondsAt& seconds) {
    device_.libraries[path] = seconds;
    return ok_status();
  }
  SizesTruth settle() { return settle_at_sizes(libraries_, device_, options_); }
  static std::vector<std::int64_t> kept(const SizesTruth& truth) {
    std::vector<std::int64_t> sizes;
    for (const TimedAtSizes& point : truth.points)
      if (point.keeps_untuned) sizes.push_back(point.at[0]);
    return sizes;
  }
  using Sizes = std::vector<std::int64_t>;

  SecondsAt untuned_ = {{16, 1e-3}, {64, 4e-3}, {512, 40e-3}};
  SecondsAt tuned_ = {{16, 0.8e-3}, {64, 3e-3}, {512, 30e-3}};
  SecondsAt mixed_ = tuned_;  ///< with untuned kernels at some sizes
  SecondsAt alone_ = tuned_;
  SizedDevice device_;
  SizedLibraries libraries_;
  SizesTruthOptions options_;
  std::vector<std::string> told_;
  std::vector<Sizes> kept_;  ///< the sizes with untuned kernels of each library by the records
};

TEST_F(SettleAtSizes, TakesTheTunedLibraryWhereItIsFaster) {
  const SizesTruth truth = settle();
  EXPECT_TRUE(truth.failed.ok());
  ASSERT_EQ(truth.points.size(), 3u);
  EXPECT_DOUBLE_EQ(truth.points[2].untuned, 40e-3);
  EXPECT_DOUBLE_EQ(truth.points[2].ranged, 30e-3);
  EXPECT_TRUE(kept(truth).empty());
  EXPECT_EQ(kept_, (std::vector<Sizes>{{}})) << "one library by the records";
  EXPECT_TRUE(told_.empty());
}

TEST_F(SettleAtSizes, KeepsUntunedKernelsWhereTheTunedLibraryIsSlower) {
  tuned_[512] = 50e-3;
  mixed_ = {{16, 0.8e-3}, {64, 3e-3}, {512, 40e-3}};
  const SizesTruth truth = settle();
  EXPECT_EQ(kept(truth), Sizes{512});
  EXPECT_EQ(kept_, (std::vector<Sizes>{{}, {512}})) << "and the library with them is compiled";
  EXPECT_DOUBLE_EQ(truth.points[2].ranged, 40e-3) << "which was timed again";
  EXPECT_DOUBLE_EQ(truth.points[0].ranged, 0.8e-3);
  EXPECT_EQ(told_, std::vector<std::string>{"Untuned kernels are kept: at n=512 an inference takes 40.0000 ms by them, "
                                            "and 50.0000 ms by those of the records"});
}

TEST_F(SettleAtSizes, KeepsThemAtAllSizesWhereTheyAreSlowerBesideOthers) {
  tuned_[512] = 50e-3;
  mixed_ = {{16, 1.2e-3}, {64, 3e-3}, {512, 40e-3}};
  const SizesTruth truth = settle();
  EXPECT_EQ(kept(truth), (Sizes{16, 64, 512}));
  for (const TimedAtSizes& point : truth.points) EXPECT_EQ(point.ranged, point.untuned);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1],
            "Untuned kernels are kept at all sizes: at n=16 an inference takes 1.0000 ms by them, and 1.2000 ms with "
            "those of the records beside them");
}

TEST_F(SettleAtSizes, CompilesNothingAgainWhereAllSizesKeepThem) {
  tuned_ = {{16, 2e-3}, {64, 5e-3}, {512, 50e-3}};
  EXPECT_EQ(kept(settle()), (Sizes{16, 64, 512}));
  EXPECT_EQ(kept_, (std::vector<Sizes>{{}}));
}

TEST_F(SettleAtSizes, TakesADifferenceBelowAPercentForChance) {
  tuned_[64] = 4.03e-3;
  EXPECT_TRUE(kept(settle()).empty());
}

TEST_F(SettleAtSizes, AsksNoOtherProcessesWhereNoTimeIsLeft) {
  tuned_[512] = 50e-3, mixed_[512] = 40e-3;
  options_.left = [] { return 2.0; };
  EXPECT_EQ(kept(settle()), Sizes{512});
  const int with_little_time = device_.comparisons;
  device_.comparisons = 0;
  options_.left = {};
  EXPECT_EQ(kept(settle()), Sizes{512});
  EXPECT_LT(with_little_time, device_.comparisons);
}

TEST_F(SettleAtSizes, BelievesNoSmallDifferenceOfOneProcess) {
  tuned_[64] = 4.1e-3;
  EXPECT_EQ(kept(settle()), Sizes{64});
  options_.left = [] { return 2.0; };
  EXPECT_TRUE(kept(settle()).empty());
}

/// Time ends behind the compile of the library that keeps them: nothing is concluded from the times of the one before.
TEST_F(SettleAtSizes, TellsNoTimesOfALibraryThatIsNone) {
  tuned_[512] = 50e-3;
  alone_ = {{16, 1e-6}, {64, 1e-6}, {512, 1e-6}};
  options_.left = [this] { return kept_.size() < 2 ? 1e3 : 0.1; };
  const SizesTruth truth = settle();
  EXPECT_EQ(kept(truth), Sizes{512});
  ASSERT_EQ(truth.points.size(), 3u);
  EXPECT_EQ(truth.points[0].ranged, 0) << "it was not timed";
  EXPECT_DOUBLE_EQ(truth.points[2].ranged, truth.points[2].untuned);
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(SettleAtSizes, GivesWhatWasTimedBeforeTheDeviceWasLost) {
  device_.fails_from = 2;
  const SizesTruth truth = settle();
  EXPECT_EQ(truth.failed.error().message, "the device is lost");
  EXPECT_EQ(truth.points.size(), 2u);
}

TEST_F(SettleAtSizes, BeginsNothingOnceInterrupted) {
  options_.interrupted = [] { return true; };
  const SizesTruth truth = settle();
  EXPECT_TRUE(truth.points.empty());
  EXPECT_TRUE(kept_.empty());
  EXPECT_EQ(truth.needed, 0);
}

TEST_F(SettleAtSizes, GivesASizeKernelsOfItsOwnWhereTheseAreThreePercentFaster) {
  options_.hot = true;
  alone_ = {{16, 0.8e-3}, {64, 2.99e-3}, {512, 20e-3}};
  const SizesTruth truth = settle();
  ASSERT_EQ(truth.points.size(), 3u);
  EXPECT_FALSE(truth.points[0].hot || truth.points[1].hot) << "too little time, or too little gain";
  EXPECT_TRUE(truth.points[2].hot);
  EXPECT_DOUBLE_EQ(truth.points[2].exact, 20e-3);
  EXPECT_GT(truth.points[2].share, 0.8);
}

TEST_F(SettleAtSizes, ComparesTheHeaviestSizesWithLibrariesForThemAloneHoweverLittleTimeTheyHave) {
  options_.hot = true;
  alone_ = {{16, 0.4e-3}, {64, 1.5e-3}, {512, 30e-3}};
  const SizesTruth truth = settle();
  ASSERT_EQ(truth.points.size(), 3u);
  EXPECT_DOUBLE_EQ(truth.points[0].exact, 0.4e-3);
  EXPECT_DOUBLE_EQ(truth.points[1].exact, 1.5e-3);
  EXPECT_DOUBLE_EQ(truth.points[2].exact, 30e-3);
  for (const TimedAtSizes& point : truth.points) EXPECT_FALSE(point.hot) << point.at[0];
}

TEST_F(SettleAtSizes, GoesOnWhereALibraryForASizeThatIsNotHotCannotBeTimed) {
  options_.hot = true;
  libraries_.run_at = [this](const SizeValues& at) -> Result<ModelRun> {
    if (at[0] == 64 && device_.libraries.contains("folder/alone1.so")) return Error{"there is no memory"};
    ModelRun run;
    run.inputs.emplace_back(DType::f32, Shape{at[0], 1});
    return run;
  };
  const SizesTruth truth = settle();
  EXPECT_TRUE(truth.failed.ok());
  ASSERT_EQ(truth.points.size(), 3u);
  EXPECT_EQ(truth.points[1].exact, 0);
  EXPECT_GT(truth.points[0].exact, 0) << "that comes behind it";
  EXPECT_EQ(told_, std::vector<std::string>{"A library for n=64 alone is not timed: there is no memory"});
}

TEST_F(SettleAtSizes, ComparesNoLibraryForOneSizeWhereNoTimeIsLeft) {
  options_.left = [] { return 0.9; };
  const SizesTruth truth = settle();
  ASSERT_EQ(truth.points.size(), 3u);
  for (const TimedAtSizes& point : truth.points) EXPECT_EQ(point.exact, 0) << point.at[0];
}

TEST(HeaviestSizes, AreApartWhereNoneIsHot) {
  std::vector<RequestCount> requests;
  for (std::int64_t n = 1; n <= 100; ++n) requests.push_back({{n}, 1});
  std::vector<double> shares;
  for (std::int64_t n = 1; n <= 100; ++n) shares.push_back(static_cast<double>(n) / 5050);
  EXPECT_EQ(heaviest_sizes(requests, shares), (std::vector<std::size_t>{99, 70, 49})) << "100, 71 and 50";
  shares[98] = shares[99] = 0.2;
  EXPECT_EQ(heaviest_sizes(requests, shares), (std::vector<std::size_t>{98, 99, 69})) << "hot ones are neighbours";
  EXPECT_TRUE(heaviest_sizes({}, {}).empty());
  EXPECT_EQ(heaviest_sizes({{{1, 128}, 1}, {{8, 16}, 1}}, {0.05, 0.04}).size(), 2u) << "of two sizes both count";
}

std::vector<SizeValues> told(const std::vector<RequestCount>& requests, const std::vector<std::string>& sizes) {
  return telling_sizes(requests, parse_sizes(sizes).value());
}

TEST(TellingSizes, AreThoseOfTheTenthTheMiddleTheNinthTenthAndTheLargest) {
  std::vector<RequestCount> requests;
  for (std::int64_t n = 1; n <= 100; ++n) requests.push_back({{n}, 1});
  EXPECT_EQ(told(requests, {"n=1..512"}), (std::vector<SizeValues>{{10}, {50}, {90}, {512}}));
  EXPECT_EQ(told({{{24}, 7}}, {"n=1..512"}), (std::vector<SizeValues>{{24}, {512}}));
  EXPECT_EQ(told({{{512}, 1}}, {"n=1..512"}), (std::vector<SizeValues>{{512}}));
  EXPECT_EQ(told({{{1, 64}, 8}, {{4, 128}, 2}}, {"b={1,4}", "n=1..512"}),
            (std::vector<SizeValues>{{1, 64}, {4, 128}, {4, 512}}));
}

TEST(TimeShares, AreOfTheTimeThatRequestsTake) {
  // 1 ms at 10, 2 ms at 20: 15 takes 1.5 ms, 40 takes 4 ms and 5 takes as long as 10.
  const std::vector<double> shares =
      time_shares({{{5}, 2}, {{15}, 2}, {{20}, 1}, {{40}, 1}}, {{{20}, 2e-3}, {{10}, 1e-3}});
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_NEAR(shares[0], 2.0 / 11, 1e-9);
  EXPECT_NEAR(shares[1], 3.0 / 11, 1e-9);
  EXPECT_NEAR(shares[2], 2.0 / 11, 1e-9);
  EXPECT_NEAR(shares[3], 4.0 / 11, 1e-9);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
}

TEST(RequestSeconds, AreMeansOfAllRequestsByBothLibraries) {
  // Half way between 10 and 20: 1.5 ms untuned; tuned 0.85 ms, and 1 ms at 20 alone, which has kernels of its own.
  const std::vector<RequestCount> requests = {{{10}, 2}, {{15}, 1}, {{20}, 1}};
  std::vector<TimedAtSizes> points = {{{10}, 0.5, 1e-3, 0.5e-3}, {{20}, 0.5, 2e-3, 1.2e-3, 1e-3, true}};
  const std::optional<RequestSeconds> mean = request_seconds(requests, points, {{10}, {20}});
  ASSERT_TRUE(mean.has_value());
  EXPECT_NEAR(mean->untuned, (2 * 1e-3 + 1.5e-3 + 2e-3) / 4, 1e-12);
  EXPECT_NEAR(mean->tuned, (2 * 0.5e-3 + 0.85e-3 + 1e-3) / 4, 1e-12);
  points[1].untuned = 0;
  EXPECT_FALSE(request_seconds(requests, points, {{10}, {20}}).has_value()) << "one of the telling sizes has no time";
}

}  // namespace
}  // namespace whet::sizes_truth_test
