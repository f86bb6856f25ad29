#include "runner/loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runner/fill.h"
#include "runner/hello.h"
#include "runner/testing/kernels.h"
#include "runner/wire.h"

namespace whet {
namespace {

using testing_kernels::kBytes;
using testing_kernels::kCount;

/// A real runner process: the executable itself, as a board starts it.
class Runner {
 public:
  Runner() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const int kept = dup(ends[1]);  // without close-on-exec
      const std::string number = std::to_string(kept);
      execl(WHET_RUNNER, WHET_RUNNER, "--fd", number.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    fd_ = ends[0];
    const Status hello = receive_hello(fd_, 20);
    EXPECT_TRUE(hello.ok()) << hello.error().message;
  }
  ~Runner() {
    close(fd_);
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  }

  /// The answer without its ticket.
  ReceiveResult ask(FrameType type, const std::string& message, double timeout = 20) {
    constexpr std::uint64_t kTicket = 0x1234567890abcdef;
    send_frame(fd_, type, with_ticket(kTicket, message));
    ReceiveResult result = receive_frame(fd_, timeout);
    if (!result.ok || result.frame.type == FrameType::fault) return result;
    std::string_view answer = result.frame.payload;
    EXPECT_EQ(take_ticket(answer), kTicket);
    result.frame.payload = std::string(answer);
    return result;
  }
  /// Closes the socket; how the process ended: `exit 0`, `SIGSEGV`, ...
  std::string end() {
    shutdown(fd_, SHUT_WR);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? "SIG" + std::string(sigabbrev_np(WTERMSIG(status)))
                               : "exit " + std::to_string(WEXITSTATUS(status));
  }

 private:
  pid_t pid_;
  int fd_;
};

KernelJob job(const std::string& symbol, std::uint32_t threads = 1) {
  return testing_kernels::job(WHET_TEST_KERNELS, symbol, threads);
}

MeasureReply measure(Runner& runner, const KernelJob& j, TimingPolicy policy = {}) {
  auto result = runner.ask(FrameType::measure, encode(MeasureRequest{j, policy}));
  EXPECT_TRUE(result.ok && result.frame.type == FrameType::measured) << result.frame.payload;
  return decode<MeasureReply>(result.frame.payload).value_or(MeasureReply{OutcomeCode::unknown, "no reply"});
}
CheckReply check(Runner& runner, const KernelJob& j, std::vector<std::pair<std::uint32_t, std::string>> contents = {}) {
  auto result = runner.ask(FrameType::check, encode(CheckRequest{j, std::move(contents)}));
  EXPECT_TRUE(result.ok && result.frame.type == FrameType::checked) << result.frame.payload;
  return decode<CheckReply>(result.frame.payload).value_or(CheckReply{OutcomeCode::unknown, "no reply"});
}
std::vector<float> input(std::uint64_t seed = 7) {
  std::vector<float> values(kCount);
  fill_argument({ArgumentRole::activation, DType::f32, kBytes, seed}, reinterpret_cast<std::byte*>(values.data()));
  return values;
}
std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
/// The answer to a kernel that goes wrong: `code: message`, or the last words and the signal.
std::string wrong(const std::string& symbol, FrameType type = FrameType::measure, std::uint32_t threads = 1) {
  Runner runner;
  const std::string request = type == FrameType::measure ? encode(MeasureRequest{job(symbol, threads), {}})
                                                         : encode(CheckRequest{job(symbol, threads), {}});
  auto result = runner.ask(type, request);
  if (result.ok && result.frame.type == FrameType::fault) return result.frame.payload + " -> " + runner.end();
  if (!result.ok) return "no answer -> " + runner.end();
  if (type == FrameType::measure) {
    auto reply = decode<MeasureReply>(result.frame.payload).value();
    return std::to_string(static_cast<int>(reply.code)) + ": " + reply.message;
  }
  auto reply = decode<CheckReply>(result.frame.payload).value();
  return std::to_string(static_cast<int>(reply.code)) + ": " + reply.message;
}

TEST(Runner, TimesAKernelInEveryCacheModeAndEndsWhenItsSocketIsClosed) {
  Runner runner;
  for (CacheMode mode : {CacheMode::warm, CacheMode::cold, CacheMode::network}) {
    for (const char* symbol : {"add_one", "add_weights", "two_phases"}) {
      for (std::uint32_t threads : {1u, 2u}) {
        TimingPolicy policy;
        policy.cache = mode;
        policy.network_bytes = 3 << 20;
        auto reply = measure(runner, job(symbol, threads), policy);
        EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
        EXPECT_GE(reply.seconds.size(), 3u);
        EXPECT_GT(reply.run_seconds, 0);
      }
    }
  }
  EXPECT_EQ(runner.end(), "exit 0");
}
TEST(Runner, GivesBackTheOutputsOfACheck) {
  Runner runner;
  auto expected = input();
  for (float& value : expected) value += 1;
  for (std::uint32_t threads : {1u, 2u}) {
    auto reply = check(runner, job("add_one", threads));
    ASSERT_EQ(reply.outputs.size(), 1u) << reply.message;
    EXPECT_EQ(floats(reply.outputs[0]), expected);
  }
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(floats(check(runner, job("two_phases", 2)).outputs[0]), expected);
}
TEST(Runner, ChecksWithTheConstantsThatItIsGivenOrMakesThem) {
  Runner runner;
  auto made = input(), weights = input(8);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] += weights[i];
  EXPECT_EQ(floats(check(runner, job("add_weights")).outputs[0]), made);
  std::vector<float> tens(kCount, 10);
  std::string bytes(reinterpret_cast<const char*>(tens.data()), kBytes);
  auto given = input();
  for (float& value : given) value += 10;
  EXPECT_EQ(floats(check(runner, job("add_weights"), {{2, bytes}}).outputs[0]), given);
}
TEST(Runner, ChecksWithConstantsThatAKernelPacksBefore) {
  Runner runner;
  const auto packing = job("add_one");
  auto sum = input();
  for (float& value : sum) value += value + 1;
  for (int again = 0; again < 2; ++again) {
    auto result = runner.ask(FrameType::check, encode(CheckRequest{job("add_weights"), {}, packing, {{2, 1}}}));
    ASSERT_TRUE(result.ok);
    EXPECT_EQ(floats(decode<CheckReply>(result.frame.payload)->outputs[0]), sum);
  }
  auto made = input(), weights = input(8);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] += weights[i];
  EXPECT_EQ(floats(check(runner, job("add_weights")).outputs[0]), made);
  auto result =
      runner.ask(FrameType::check, encode(CheckRequest{job("add_weights"), {}, job("report_seven"), {{2, 1}}}));
  EXPECT_EQ(decode<CheckReply>(result.frame.payload)->message,
            "the constants cannot be packed: the kernel reported error 7");
}
TEST(Runner, PoisonsOutputsSoThatForgottenOnesShow) {
  Runner runner;
  check(runner, job("add_one"));
  EXPECT_TRUE(std::isnan(floats(check(runner, job("forget_the_last")).outputs[0]).back()));
}
TEST(Runner, EndsTheMeasurementOfAKernelThatIsClearlySlower) {
  Runner runner;
  const auto seconds = measure(runner, job("add_one")).seconds;
  const double fast = *std::min_element(seconds.begin(), seconds.end());
  TimingPolicy policy;
  policy.incumbent_seconds = fast;
  EXPECT_TRUE(measure(runner, job("add_one_slowly"), policy).truncated);
}
TEST(Runner, MeasuresByTheClassicPolicy) {
  Runner runner;
  TimingPolicy policy;
  policy.classic = true;
  policy.repeat = 5;
  policy.number = 10;
  EXPECT_EQ(measure(runner, job("add_one"), policy).seconds.size(), 5u);
}
TEST(Runner, ReportsTheErrorOfAKernelAndLivesOn) {
  Runner runner;
  EXPECT_EQ(measure(runner, job("report_seven")).message, "the kernel reported error 7");
  EXPECT_EQ(measure(runner, job("add_one")).code, OutcomeCode::ok);
}
TEST(Runner, RefusesAnObjectThatCannotBeLoaded) {
  Runner runner;
  auto j = job("no_such_symbol");
  auto reply = measure(runner, j);
  EXPECT_EQ(reply.code, OutcomeCode::runtime);
  EXPECT_EQ(reply.message.rfind("the object cannot be loaded: ", 0), 0u) << reply.message;
  EXPECT_EQ(check(runner, j).message, reply.message);
  EXPECT_EQ(measure(runner, job("add_one")).code, OutcomeCode::ok);
}
TEST(Runner, RefusesArgumentsThatTheKernelDoesNotTake) {
  Runner runner;
  auto j = job("add_one");
  j.arguments.pop_back();
  EXPECT_EQ(measure(runner, j).message, "the kernel takes 2 arguments, 1 are given");
  j = job("add_one");
  j.arguments[1].bytes = 64;
  EXPECT_EQ(measure(runner, j).message, "argument 1 has 64 bytes, the kernel needs 16384");
}
TEST(Runner, ChecksNothingWithoutTheArgumentsThatTheKernelTakes) {
  Runner runner;
  auto j = job("add_one");
  j.arguments.pop_back();
  EXPECT_EQ(check(runner, j).message, "the kernel takes 2 arguments, 1 are given");
  EXPECT_EQ(check(runner, job("add_one")).code, OutcomeCode::ok);
}
TEST(Runner, RefusesAKernelThatNeedsMoreMemoryThanThereIs) {
  Runner runner;
  auto j = job("add_one");
  j.kernel.worker_workspace = std::int64_t{1} << 40;
  const auto reply = measure(runner, j);
  EXPECT_EQ(reply.code, OutcomeCode::out_of_memory);
  EXPECT_EQ(reply.message, "no memory for the kernel's arguments and workspaces (2199023321088 bytes)");
}
TEST(Runner, NamesTheFaultOfAKernelThatCrashes) {
  EXPECT_EQ(wrong("write_null"), "SIGSEGV at an address that is null -> SIGSEGV");
  EXPECT_EQ(wrong("write_null", FrameType::measure, 2), "SIGSEGV at an address that is null -> SIGSEGV");
  EXPECT_EQ(wrong("write_beyond"), "SIGSEGV at an address 0 bytes beyond the end of output 0 -> SIGSEGV");
  EXPECT_EQ(wrong("write_beyond", FrameType::check),
            "SIGSEGV at an address 0 bytes beyond the end of output 0 -> SIGSEGV");
  EXPECT_EQ(wrong("write_input"), "SIGSEGV at an address 12 bytes into read-only input 0 -> SIGSEGV");
  EXPECT_EQ(wrong("read_beyond_weights"), "SIGSEGV at an address in or near the constants -> SIGSEGV");
  EXPECT_EQ(wrong("write_beyond_workspace"),
            "SIGSEGV at an address 0 bytes beyond the end of worker 0's workspace -> SIGSEGV");
  EXPECT_EQ(wrong("illegal"), "SIGILL -> SIGILL");
  EXPECT_EQ(wrong("divide_by_zero"), "SIGFPE -> SIGFPE");
}
TEST(Runner, SeesAStoreBeforeAWorkspace) {
  EXPECT_EQ(wrong("write_before_workspace", FrameType::check), "5: it wrote 1 bytes before worker 0's workspace");
}
TEST(Runner, SeesAStoreBeforeItsOutput) { EXPECT_EQ(wrong("write_before"), "5: it wrote 5 bytes before output 0"); }
TEST(Runner, EndsAtBytesThatAreNoRequest) {
  Runner garbage;
  EXPECT_FALSE(garbage.ask(FrameType::measure, "rubbish").ok);
  EXPECT_EQ(garbage.end(), "exit 3");
  Runner other;
  EXPECT_FALSE(other.ask(FrameType::build, "").ok);
  EXPECT_EQ(other.end(), "exit 3");
}

}  // namespace
}  // namespace whet
