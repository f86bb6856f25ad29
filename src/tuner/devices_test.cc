// Tuning on devices that die or lie: the run goes on or ends with a sentence, and no record says what was not measured.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "base/hash.h"
#include "base/testing/random_cases.h"
#include "device/local/zygote.h"
#include "device/make_device.h"
#include "device/testing/fake_devices.h"
#include "measure/device_measurer.h"
#include "tuner/testing/dense_task.h"
#include "tuner/tuner.h"

namespace whet {
namespace {

using testing::DyingDevice;
using testing::FormulaDevice;
using testing::Lie;
using testing::LyingDevice;

Zygote& zygote() {
  static Zygote zygote = std::move(Zygote::start()).value();
  return zygote;
}
/// Before anything starts a thread.
const bool kStarted = (zygote(), true);

/// The time that a kernel takes on every device here that tells the truth, from its code.
double truth(const KernelJob& job) {
  return 1e-3 * (1 + static_cast<double>(hash_bytes(job.kernel.code) % 1000) / 1000);
}

class TuneOnDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "whet_devices_" + std::to_string(getpid()) + ".jsonl";
    std::remove(path_.c_str());
  }
  void TearDown() override { std::remove(path_.c_str()); }

  Result<TuneProgress> run(const std::vector<Device*>& devices, std::int64_t trials) {
    MeasureOptions options;
    options.cpu.no_pin = true;
    options.policy.cache = CacheMode::cold;
    DeviceMeasurer measurer(builders_, devices, options);
    RecordFile file = *RecordFile::open(path_);
    return tune({task_}, target_, measurer, file, {.trials = trials, .batch = 8, .least_gain = 0}, {});
  }
  /// Every record: of these devices, in the mode that was measured, with a time that is the truth or none.
  void expect_truth(const std::string& where) {
    const RecordsRead read = *read_records(path_);
    EXPECT_EQ(read.bad_lines, 0) << where;
    for (const Record& record : read.records.all()) {
      const Outcome& outcome = record.outcome;
      EXPECT_NE(outcome.code, OutcomeCode::device_lost) << where;
      EXPECT_TRUE(outcome.device == "formula" || outcome.device == "second") << where << ": " << outcome.device;
      EXPECT_EQ(outcome.cache, "cold") << where;
      EXPECT_LT(outcome.message.size(), 3000u) << where;
      if (!outcome.ok()) continue;
      for (const double seconds : outcome.seconds) {
        EXPECT_GE(seconds, 1e-3) << where;
        EXPECT_LE(seconds, 2e-3) << where;
      }
    }
  }

  Task task_ = dense_task("dense", 8, 16, 8, 1);
  Target target_ = parse_target("cpu -mcpu=x86-64 -threads=1").value();
  BuilderPool builders_{zygote(), 2};
  std::unique_ptr<Device> here_ = make_device(target_, {.zygote = &zygote()}).value();
  /// Right answers, times by formula.
  FormulaDevice formula_{truth, [this](const CheckRequest& request) { return here_->check(request); }};
  std::string path_;
};

TEST_F(TuneOnDevices, WritesWhatTheDeviceMeasured) {
  ASSERT_TRUE(run({&formula_}, 24).ok());
  expect_truth("an honest device");
  EXPECT_GE(read_records(path_)->records.size(), 24u);
}
TEST_F(TuneOnDevices, SurvivesADeviceThatDiesAtAnyRequest) {
  Rng rng(1);
  for (int round = 0; round < testing::random_cases(10); ++round) {
    const int at = round < 4 ? round : static_cast<int>(rng.below(40));
    std::remove(path_.c_str());
    DyingDevice device(formula_, at);
    const Result<TuneProgress> progress = run({&device}, 16);
    if (!progress.ok()) {
      EXPECT_EQ(progress.error().message, "tune: the processes that measure are lost: the device does not answer")
          << at;
    }
    expect_truth("dies at " + std::to_string(at));
    ASSERT_TRUE(run({&formula_}, 8).ok()) << "a device that lives goes on from there";
    expect_truth("after a death at " + std::to_string(at));
  }
}
TEST_F(TuneOnDevices, LosesNothingWhereADeviceIsBackSoon) {
  for (const int at : {0, 3, 9}) {
    std::remove(path_.c_str());
    DyingDevice device(formula_, at, 3);
    const Result<TuneProgress> progress = run({&device}, 24);
    ASSERT_TRUE(progress.ok()) << progress.error().message;
    EXPECT_EQ(progress->trials, 24);
    expect_truth("away for three requests from " + std::to_string(at));
  }
}
TEST_F(TuneOnDevices, GoesOnWithTheOtherDeviceWhenOneDies) {
  FormulaDevice second(truth, [this](const CheckRequest& request) { return here_->check(request); }, "second");
  for (const int at : {0, 1, 5, 11}) {
    std::remove(path_.c_str());
    DyingDevice first(formula_, at);
    const Result<TuneProgress> progress = run({&first, &second}, 24);
    ASSERT_TRUE(progress.ok()) << progress.error().message;
    EXPECT_EQ(progress->trials, 24);
    expect_truth("the first of two dies at " + std::to_string(at));
  }
}
TEST_F(TuneOnDevices, NamesTwoDevicesOfOneNameAlikeInRecords) {
  // So that the second of two emulated boards is emulated as well.
  const auto check = [this](const CheckRequest& request) { return here_->check(request); };
  const auto seconds = [](const KernelJob& job) {
    usleep(5000);  // or one device would take all trials before the other begins
    return truth(job);
  };
  FormulaDevice first(seconds, check, std::string(kEmulatedDevice)),
      second(seconds, check, std::string(kEmulatedDevice));
  // On a busy machine the second may still begin too late.
  for (int i = 0; i < 10 && second.requests == 0; ++i) ASSERT_TRUE(run({&first, &second}, 32).ok());
  EXPECT_GT(second.requests, 0);
  const RecordsRead read = read_records(path_).value();
  for (const Record& record : read.records.all()) EXPECT_EQ(record.outcome.device, kEmulatedDevice);
}
TEST_F(TuneOnDevices, RanksTimesOfASlowerDeviceByItsPace) {
  for (const double factor : {3.0, 0.4}) {
    std::remove(path_.c_str());
    const auto device = [this](double factor, std::string name) {
      const auto seconds = [factor](const KernelJob& job) {
        usleep(5000);  // or one device would take all trials before the other begins
        return factor * truth(job);
      };
      return FormulaDevice(
          seconds, [this](const CheckRequest& request) { return here_->check(request); }, std::move(name));
    };
    FormulaDevice first = device(1, "formula"), second = device(factor, "second");
    // On a busy machine one of them may begin too late.
    for (int runs = 0; runs < 2 || (runs < 10 && first.requests * second.requests == 0); ++runs)
      ASSERT_TRUE(run({&first, &second}, 32).ok());
    const RecordsRead read = *read_records(path_);
    const double best = read.records.best(task_.key, {}, target_)->record->outcome.best_seconds();
    std::map<std::string, int> timed;
    for (const Record& record : read.records.all()) {
      const Outcome& outcome = record.outcome;
      if (!outcome.ok()) continue;
      ++timed[outcome.device];
      EXPECT_NEAR(outcome.pace, outcome.device == "second" ? factor : 1, 1e-9);
      EXPECT_GE(outcome.best_seconds(), best);
      EXPECT_LE(outcome.best_seconds(), 2e-3 + 1e-9);
      EXPECT_TRUE(!outcome.truncated || outcome.best_seconds() > 1.3 * best) << "by the incumbent of its device";
    }
    EXPECT_GT(timed["formula"], 0);
    EXPECT_GT(timed["second"], 0);
  }
}
TEST_F(TuneOnDevices, WritesNothingFalseOfADeviceThatLies) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(8)); ++seed) {
    std::remove(path_.c_str());
    LyingDevice device(formula_, seed, 1 + static_cast<int>(seed % 4));
    (void)run({&device}, 24);
    expect_truth("liar " + std::to_string(seed));
  }
}
TEST_F(TuneOnDevices, CallsEachLieUnknown) {
  for (int lie = 0; lie < testing::kLies; ++lie) {
    if (static_cast<Lie>(lie) == Lie::long_text) continue;  // it says of a kernel that it failed
    LyingDevice device(formula_, static_cast<Lie>(lie));
    DeviceMeasurer measurer(builders_, {&device}, {});
    const MeasureTask task{task_.key, task_.name, task_.dag, target_};
    const Outcome outcome = measurer.measure(task, {""}, 0)[0].outcome;
    EXPECT_EQ(outcome.code, OutcomeCode::unknown) << lie;
    EXPECT_EQ(outcome.message.find("the device's answer makes no sense: "), 0u) << lie << ": " << outcome.message;
    EXPECT_TRUE(outcome.seconds.empty()) << lie;
  }
}

}  // namespace
}  // namespace whet
