// The measuring host as a program of its own, for programs that have threads and cannot fork.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "device/local/runner_client.h"
#include "device/testing/processes.h"
#include "workflow/tuning.h"

namespace whet {
namespace {

const std::vector<std::string> kHost = {WHET_PROGRAM, "measure-host"};

/// This process has a thread, as programs have that use whet as a library.
class MeasureHost : public ::testing::Test {
 protected:
  MeasureHost() {
    thread_ = std::thread([this] { stop_.wait(false); });
  }
  ~MeasureHost() override {
    stop_ = true;
    stop_.notify_all();
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(MeasureHost, TunesInAProcessThatHasThreads) {
  EXPECT_FALSE(Zygote::start().ok());
  Result<Zygote> zygote = Zygote::start_program(kHost);
  ASSERT_TRUE(zygote.ok()) << zygote.error().message;
  TuneSettings settings;
  settings.model.model = "zoo:mlp";
  settings.records = ::testing::TempDir() + "/measure_host.jsonl";
  std::filesystem::remove(settings.records);
  settings.only = "0";
  settings.trials = 6;
  Result<Workplace> work = make_workplace(settings, *zygote);
  ASSERT_TRUE(work.ok()) << work.error().message;
  Result<RecordFile> file = open_records(settings, work->prepared, work->devices);
  ASSERT_TRUE(file.ok()) << file.error().message;
  TuneListeners nobody;
  const Result<Tuned> tuned = tune_model(settings, work->prepared, *zygote, work->devices, *file, nobody);
  ASSERT_TRUE(tuned.ok()) << tuned.error().message;
  EXPECT_EQ(tuned->progress.trials, 6);
  EXPECT_GT(tuned->progress.network_seconds(), 0);
  EXPECT_GT(tuned->truth.tuned.seconds, 0) << "the network was timed too";
}

TEST_F(MeasureHost, EndsWithItsChildrenWhenItIsLeft) {
  pid_t host = -1, runner = -1;
  {
    Result<Zygote> zygote = Zygote::start_program(kHost);
    ASSERT_TRUE(zygote.ok()) << zygote.error().message;
    host = zygote->pid();
    runner = zygote->spawn(kRunner)->pid;
    EXPECT_TRUE(testing::exists(runner));
  }
  EXPECT_TRUE(testing::gone(host));
  EXPECT_TRUE(testing::gone(runner));
}

TEST_F(MeasureHost, StartsNothingThatItDoesNotKnow) {
  Result<Zygote> zygote = Zygote::start_program(kHost);
  ASSERT_TRUE(zygote.ok()) << zygote.error().message;
  static constexpr Life kStranger{"stranger", [](int) { return 0; }};
  EXPECT_EQ(zygote->spawn(kStranger).error().message, "the program that starts builders and runners has no stranger");
  EXPECT_TRUE(zygote->spawn(kRunner).ok()) << "and goes on";
}

TEST_F(MeasureHost, SaysWhatCannotBeOne) {
  EXPECT_EQ(Zygote::start_program({"/nowhere/whet"}).error().message,
            "/nowhere/whet cannot be started: No such file or directory");
  EXPECT_EQ(Zygote::start_program({"/bin/true"}).error().message,
            "/bin/true: it is no program that starts builders and runners for this one");
}

}  // namespace
}  // namespace whet
