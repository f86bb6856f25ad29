#include "measure/host.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "measure/builder_pool.h"
#include "measure/runner_client.h"
#include "measure/testing/fault_builds.h"

namespace whet {
namespace {

MeasureHost start() { return std::move(MeasureHost::start(testing_builds::faulty(WHET_TEST_KERNELS))).value(); }

bool exists(pid_t pid) { return kill(pid, 0) == 0; }
/// Waits until a process is gone (or a zombie of someone else's), a few seconds at most.
bool gone(pid_t pid) {
  for (int i = 0; i < 3000 && exists(pid); ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state;
    if (state == "Z") return true;
    usleep(1000);
  }
  return !exists(pid);
}
std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}
/// Living children of `pid`.
std::size_t children_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  return static_cast<std::size_t>(std::distance(std::istream_iterator<pid_t>(file), {}));
}

TEST(MeasureHost, ForksBuildersAndRunnersOnRequest) {
  MeasureHost host = start();
  for (auto kind : {MeasureHost::Kind::builder, MeasureHost::Kind::runner}) {
    WorkerProcess worker = host.spawn(kind).value();
    EXPECT_TRUE(exists(worker.pid));
    EXPECT_EQ(host.end(worker, false).text(), "exit status 0");
    EXPECT_FALSE(worker.alive());
  }
  EXPECT_EQ(children_of(host.zygote()), 0u);
}
TEST(MeasureHost, TakesItsProcessesWithIt) {
  pid_t zygote = 0, worker = 0;
  {
    MeasureHost host = start();
    zygote = host.zygote();
    worker = host.spawn(MeasureHost::Kind::runner)->pid;
  }
  EXPECT_TRUE(gone(zygote));
  EXPECT_TRUE(gone(worker));
}
TEST(MeasureHost, DiesWithItsParentHoweverThatEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    MeasureHost host = start();
    const pid_t pids[3] = {host.zygote(), host.spawn(MeasureHost::Kind::builder)->pid,
                           host.spawn(MeasureHost::Kind::runner)->pid};
    (void)!write(ends[1], pids, sizeof pids);
    for (;;) pause();
  }
  pid_t pids[3];
  ASSERT_EQ(read(ends[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  close(ends[0]);
  close(ends[1]);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (pid_t pid : pids) EXPECT_TRUE(gone(pid));
}
TEST(MeasureHost, LeavesInterruptsToItsParent) {
  MeasureHost host = start();
  WorkerProcess worker = host.spawn(MeasureHost::Kind::builder).value();
  kill(host.zygote(), SIGINT);
  kill(worker.pid, SIGINT);
  EXPECT_EQ(host.end(worker, false).text(), "exit status 0");
}
TEST(MeasureHost, SaysWhenItsZygoteIsGone) {
  MeasureHost host = start();
  kill(host.zygote(), SIGKILL);
  EXPECT_TRUE(gone(host.zygote()));
  EXPECT_EQ(host.spawn(MeasureHost::Kind::builder).error().message,
            "the process that starts builders and runners has died; start whet again");
}
TEST(MeasureHost, RefusesToStartAfterThreadsWereMade) {
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  EXPECT_EQ(MeasureHost::start().error().message,
            "MeasureHost::start was called after threads were made; it comes first in main");
  stop = true;
  other.join();
}

class Builders : public ::testing::Test {
 protected:
  /// `code message` of each, in order.
  std::vector<std::string> outcomes(const std::vector<std::string>& steps, BuilderLimits limits = {},
                                    int builders = 2) {
    BuilderPool pool(host_, builders, limits);
    std::vector<BuildRequest> requests;
    for (const auto& s : steps) requests.push_back({"", s, ""});
    std::vector<std::string> out;
    for (const BuildResult& r : pool.build(requests))
      out.push_back(std::to_string(static_cast<int>(r.code)) + (r.message.empty() ? "" : " " + r.message));
    return out;
  }
  MeasureHost host_ = start();
};

TEST_F(Builders, WorkSideBySideAndAnswerInOrder) {
  BuilderPool pool(host_, 2, {});
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
  limits.timeout = 0.5;
  EXPECT_EQ(
      outcomes({"hang", "kernel add_one", "hang", "kernel add_one"}, limits),
      (std::vector<std::string>{"6 building took longer than 0.5 s", "0", "6 building took longer than 0.5 s", "0"}));
}
TEST_F(Builders, CountTheirOwnTimeAloneAndNotThatOfQueueing) {
  BuilderLimits limits;
  limits.timeout = 0.9;
  EXPECT_EQ(outcomes(std::vector<std::string>(20, "slow kernel add_one"), limits, 1),
            std::vector<std::string>(20, "0"));
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
  BuilderPool pool(host_, 1, limits);
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}, {"", "kernel add_one", ""}})[1].code, OutcomeCode::ok);
  EXPECT_EQ(pool.started(), 2);
}
TEST_F(Builders, ThatDiedWhileIdleAreReplacedSilently) {
  BuilderPool pool(host_, 1, {});
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}})[0].code, OutcomeCode::ok);
  std::ifstream file("/proc/" + std::to_string(host_.zygote()) + "/task/" + std::to_string(host_.zygote()) +
                     "/children");
  pid_t builder = 0;
  file >> builder;
  kill(builder, SIGKILL);
  EXPECT_TRUE(gone(builder));
  EXPECT_EQ(pool.build({{"", "kernel add_one", ""}})[0].code, OutcomeCode::ok);
}
TEST_F(Builders, GiveBackWhatTheyHaveNotBegunWhenInterrupted) {
  BuilderPool pool(host_, 1, {});
  int asked = 0;
  const auto results =
      pool.build(std::vector<BuildRequest>(5, {"", "kernel add_one", ""}), [&] { return ++asked > 2; });
  EXPECT_EQ(results.front().code, OutcomeCode::ok);
  EXPECT_EQ(results.back().code, OutcomeCode::device_lost);
  EXPECT_EQ(results.back().message, "interrupted before it was built");
}

class Runners : public ::testing::Test {
 protected:
  std::string outcome(const std::string& symbol, double timeout = 20) {
    RunnerClient runner(host_, timeout, std::int64_t{4} << 30);
    return outcome(runner, symbol);
  }
  std::string outcome(RunnerClient& runner, const std::string& symbol) {
    const MeasureReply reply = runner.measure({testing_kernels::job(WHET_TEST_KERNELS, symbol), {}});
    return std::to_string(reply.code) + (reply.message.empty() ? "" : " " + reply.message);
  }
  MeasureHost host_ = start();
};

TEST_F(Runners, ThatAKernelCrashesAreReplaced) {
  RunnerClient runner(host_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(outcome(runner, "write_beyond"),
            "9 the kernel crashed: SIGSEGV at an address 0 bytes beyond the end of output 0");
  EXPECT_EQ(outcome(runner, "illegal"), "9 the kernel crashed: SIGILL");
  EXPECT_EQ(outcome(runner, "write_before"), "5 it wrote 5 bytes before output 0");
  EXPECT_EQ(outcome(runner, "report_seven"), "4 the kernel reported error 7");
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(runner.started(), 3);
}
TEST_F(Runners, ThatAKernelHangsAreStoppedAtTheTimeLimit) {
  EXPECT_EQ(outcome("hang", 0.3), "7 the kernel did not finish within 0.3 s");
}
TEST_F(Runners, ThatAreKilledFromOutsideCostOneCandidate) {
  RunnerClient runner(host_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  kill(runner.process().pid, SIGKILL);
  EXPECT_TRUE(gone(runner.process().pid));
  EXPECT_EQ(outcome(runner, "add_one"), "0");
}
TEST_F(Runners, LeaveNoProcessAndNoFileBehind) {
  const std::size_t files = open_files();
  for (int round = 0; round < 40; ++round) {
    RunnerClient runner(host_, 20, std::int64_t{4} << 30);
    EXPECT_EQ(outcome(runner, round % 2 ? "write_null" : "add_one").substr(0, 1), round % 2 ? "9" : "0");
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(children_of(host_.zygote()), 0u);
}

}  // namespace
}  // namespace whet
