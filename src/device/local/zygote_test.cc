#include "device/local/zygote.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "device/local/runner_client.h"
#include "device/testing/processes.h"
#include "runner/given.h"
#include "runner/hello.h"
#include "runner/loop.h"
#include "runner/testing/kernels.h"

namespace whet {
namespace {

constexpr Life kRunnerLife{"whet-runner", run_runner};
/// Waits until it is told to end.
constexpr Life kIdler{"whet-idler", [](int fd) {
                        char byte;
                        return send_hello(fd) && read(fd, &byte, 1) == 0 ? 0 : 1;
                      }};

Zygote start() { return std::move(Zygote::start()).value(); }

using testing::exists;
using testing::gone;
using testing::StoppedThenKilled;
std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}
/// Living children of `pid`.
std::size_t children_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  return static_cast<std::size_t>(std::distance(std::istream_iterator<pid_t>(file), {}));
}

TEST(Zygote, ForksProcessesOnRequest) {
  Zygote zygote = start();
  for (const Life* life : {&kIdler, &kRunnerLife}) {
    WorkerProcess worker = zygote.spawn(*life).value();
    EXPECT_TRUE(exists(worker.pid));
    EXPECT_EQ(zygote.end(worker, false).text(), "exit status 0");
    EXPECT_FALSE(worker.alive());
  }
  EXPECT_EQ(children_of(zygote.pid()), 0u);
}
TEST(Zygote, TakesItsProcessesWithIt) {
  pid_t parent = 0, worker = 0;
  {
    Zygote zygote = start();
    parent = zygote.pid();
    worker = zygote.spawn(kRunnerLife)->pid;
  }
  EXPECT_TRUE(gone(parent));
  EXPECT_TRUE(gone(worker));
}
TEST(Zygote, DiesWithItsParentHoweverThatEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    Zygote zygote = start();
    const pid_t pids[3] = {zygote.pid(), zygote.spawn(kIdler)->pid, zygote.spawn(kRunnerLife)->pid};
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
TEST(Zygote, LeavesInterruptsToItsParent) {
  Zygote zygote = start();
  WorkerProcess worker = zygote.spawn(kIdler).value();
  kill(zygote.pid(), SIGINT);
  kill(worker.pid, SIGINT);
  EXPECT_EQ(zygote.end(worker, false).text(), "exit status 0");
}
TEST(Zygote, SaysWhenItIsGone) {
  Zygote zygote = start();
  kill(zygote.pid(), SIGKILL);
  EXPECT_TRUE(gone(zygote.pid()));
  EXPECT_EQ(zygote.spawn(kIdler).error().message,
            "the process that starts builders and runners has died; start whet again");
}
TEST(Zygote, ServesSeveralThreads) {
  Zygote zygote = start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        WorkerProcess worker = zygote.spawn(kIdler).value();
        EXPECT_EQ(zygote.end(worker, false).text(), "exit status 0");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(children_of(zygote.pid()), 0u);
}
TEST(Zygote, RefusesToStartAfterThreadsWereMade) {
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  EXPECT_EQ(Zygote::start().error().message,
            "Zygote::start was called after threads were made; it comes first in main");
  stop = true;
  other.join();
}

class Runners : public ::testing::Test {
 protected:
  std::string outcome(const std::string& symbol, double timeout = 20) {
    RunnerClient runner(zygote_, timeout, std::int64_t{4} << 30);
    return outcome(runner, symbol);
  }
  std::string outcome(RunnerClient& runner, const std::string& symbol) {
    const MeasureReply reply = runner.measure({testing_kernels::job(WHET_TEST_KERNELS, symbol), {}});
    return std::to_string(static_cast<int>(reply.code)) + (reply.message.empty() ? "" : " " + reply.message);
  }
  Zygote zygote_ = start();
};

TEST_F(Runners, ThatAKernelCrashesAreReplaced) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(outcome(runner, "write_beyond"),
            "9 the kernel crashed: SIGSEGV at an address 0 bytes beyond the end of output 0");
  EXPECT_EQ(outcome(runner, "illegal"), "9 the kernel crashed: SIGILL");
  EXPECT_EQ(outcome(runner, "write_before"), "5 it wrote 5 bytes before output 0");
  EXPECT_EQ(outcome(runner, "report_seven"), "4 the kernel reported error 7");
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(runner.started(), 3);
}
TEST_F(Runners, AreGivenTheContentsOfAUsersTensors) {
  const std::vector<float> threes(testing_kernels::kCount, 3);
  KernelJob job = testing_kernels::job(WHET_TEST_KERNELS, "add_one");
  job.arguments[0] =
      given_spec(job.arguments[0],
                 keep_given({reinterpret_cast<const char*>(threes.data()), std::size_t{testing_kernels::kBytes}}));
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  const auto answer = [&]() -> float {
    const CheckReply reply = runner.check({job, {}, {}, {}});
    EXPECT_EQ(reply.outputs.size(), 1u) << reply.message;
    float first = 0;
    if (!reply.outputs.empty()) std::memcpy(&first, reply.outputs[0].data(), sizeof first);
    return first;
  };
  EXPECT_EQ(answer(), 4);
  EXPECT_EQ(runner.measure({job, {}}).code, OutcomeCode::ok);
  EXPECT_EQ(outcome(runner, "illegal"), "9 the kernel crashed: SIGILL");
  EXPECT_EQ(answer(), 4) << "a fresh runner is given them anew";
  ++job.arguments[0].seed;
  EXPECT_EQ(runner.check({job, {}, {}, {}}).message, "an argument has contents that were given to nobody here");
}
TEST_F(Runners, ThatAKernelHangsAreStoppedAtTheTimeLimit) {
  EXPECT_EQ(outcome("hang", 0.3), "7 the kernel did not finish within 0.3 s");
}
TEST_F(Runners, ThatAreKilledFromOutsideCostOneCandidate) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  kill(runner.process().pid, SIGKILL);
  EXPECT_TRUE(gone(runner.process().pid));
  EXPECT_EQ(outcome(runner, "add_one"), "0");
}
TEST_F(Runners, ThatDieBeforeTheyReadARequestAreNoFaultOfIt) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  const StoppedThenKilled stopped(runner.process().pid);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(runner.started(), 2);
}
TEST_F(Runners, ThatAKernelLeavesAThreadInEndWithIt) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(outcome(runner, "leave_a_thread").substr(0, 12), "9 the kernel");
  EXPECT_EQ(outcome(runner, "add_one"), "0");
  EXPECT_EQ(runner.started(), 2);
}
TEST_F(Runners, MayHaveAsManyThreadsAsTheirJobs) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  for (const std::uint32_t threads : {1u, 3u, 2u, 1u, 4u}) {
    const MeasureReply reply = runner.measure({testing_kernels::job(WHET_TEST_KERNELS, "two_phases", threads), {}});
    EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  }
  EXPECT_EQ(runner.started(), 1);
}
TEST_F(Runners, BelieveNoAnswerThatAKernelMakesUp) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "answer_itself"), "9 the kernel broke its runner: its answer makes no sense");
  EXPECT_EQ(outcome(runner, "add_one"), "0");
}
TEST_F(Runners, ReadNoMoreThanAnAnswerMayHave) {
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
  const CheckReply reply = runner.check({testing_kernels::job(WHET_TEST_KERNELS, "answer_without_end"), {}, {}, {}});
  EXPECT_EQ(reply.code, OutcomeCode::crash);
  EXPECT_EQ(reply.message, "the kernel broke its runner: its answer makes no sense");
}
TEST_F(Runners, PrintNothing) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Zygote zygote = start();  // which has the streams that are captured
  RunnerClient runner(zygote, 20, std::int64_t{4} << 30);
  EXPECT_EQ(outcome(runner, "print_escapes"), "0");
  EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(), "");
}
TEST_F(Runners, LeaveNoProcessAndNoFileBehind) {
  const std::size_t files = open_files();
  for (int round = 0; round < 40; ++round) {
    RunnerClient runner(zygote_, 20, std::int64_t{4} << 30);
    EXPECT_EQ(outcome(runner, round % 2 ? "write_null" : "add_one").substr(0, 1), round % 2 ? "9" : "0");
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(children_of(zygote_.pid()), 0u);
}

/// The answer of a runner to a request: one time [s].
std::string answer_of(const Frame& request, double seconds) {
  std::string_view message = request.payload;
  return with_ticket(take_ticket(message).value_or(0), encode(MeasureReply{OutcomeCode::ok, "", {seconds}, false, 0}));
}
/// Two answers at once.
constexpr Life kAnswersTwice{"twice", [](int fd) {
                               send_hello(fd);
                               for (ReceiveResult got; (got = receive_frame(fd)).ok;) {
                                 int ends[2];
                                 char bytes[4096];
                                 if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
                                 for (const double seconds : {1.0, 2.0})
                                   send_frame(ends[0], FrameType::measured, answer_of(got.frame, seconds));
                                 const ssize_t n = read(ends[1], bytes, sizeof bytes);
                                 if (write(fd, bytes, static_cast<std::size_t>(n)) != n) return 1;
                               }
                               return 0;
                             }};
/// An answer, and another one when nobody asks.
constexpr Life kAnswersLate{"late", [](int fd) {
                              send_hello(fd);
                              for (ReceiveResult got; (got = receive_frame(fd)).ok; usleep(10000)) {
                                send_frame(fd, FrameType::measured, answer_of(got.frame, 1));
                                usleep(10000);
                                send_frame(fd, FrameType::measured, answer_of(got.frame, 2));
                              }
                              return 0;
                            }};
/// A byte of an answer now and then.
constexpr Life kAnswersSlowly{"slowly", [](int fd) {
                                send_hello(fd);
                                const ReceiveResult got = receive_frame(fd);
                                const char head[] = "WHET\6\0\2\0\x40\0\0\0\0\0\0\0";
                                if (!got.ok || write(fd, head, sizeof head - 1) < 0) return 1;
                                while (write(fd, "x", 1) == 1) usleep(50000);
                                return 0;
                              }};
constexpr Life kReadsNothing{"deaf", [](int fd) {
                               send_hello(fd);
                               for (;;) pause();
                               return 0;
                             }};

TEST_F(Runners, ThatSayMoreThanTheyAreAskedEnd) {
  RunnerClient twice(zygote_, 20, std::int64_t{4} << 30, {}, kAnswersTwice);
  EXPECT_EQ(outcome(twice, "add_one"), "9 the kernel broke its runner: it sends what nobody asked for");
  RunnerClient late(zygote_, 20, std::int64_t{4} << 30, {}, kAnswersLate);
  for (int request = 0; request < 3; ++request) {
    const MeasureReply reply = late.measure({testing_kernels::job(WHET_TEST_KERNELS, "add_one"), {}});
    EXPECT_EQ(reply.seconds, std::vector<double>{1}) << reply.message;
    usleep(400000);  // by then the other answer has come
  }
  EXPECT_EQ(late.started(), 3);
}
TEST_F(Runners, ThatAnswerSlowlyHoldNobodyUp) {
  int asked = 0;
  RunnerClient runner(zygote_, 20, std::int64_t{4} << 30, [&] { return ++asked > 3; }, kAnswersSlowly);
  EXPECT_EQ(outcome(runner, "add_one").substr(2), " interrupted while it ran");
  EXPECT_EQ(asked, 4);
}
TEST_F(Runners, ThatReadNothingHoldNobodyUp) {
  RunnerClient runner(zygote_, 0.3, std::int64_t{4} << 30, {}, kReadsNothing);
  MeasureRequest request{testing_kernels::job(WHET_TEST_KERNELS, "add_one"), {}};
  request.job.kernel.code.resize(4 << 20);
  EXPECT_EQ(runner.measure(request).message, "no runner could be reached");
}

}  // namespace
}  // namespace whet
