// ^C and a polite request to end, at every phase of a run: exit code 130, usable records, a sentence.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <random>
#include <set>

#include "faults/session.h"
#include "records/record_file.h"

namespace whet::faults {
namespace interrupt_test {

const std::string kWhet = WHET_PROGRAM, kFaulty = WHET_FAULTY;

std::vector<std::string> tune(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"tune",    "zoo:resnet-18", "--no-base", "--image", "32",
                                     "--cache", "warm",          "--no-pin",  "-o",      "r.jsonl"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Does the process have a handler of this signal?
bool catches(pid_t process, int signal) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string name, value; file >> name >> value; file.ignore(256, '\n'))
    if (name == "SigCgt:") return std::stoull(value, nullptr, 16) >> (signal - 1) & 1;
  return false;
}

/// Sends `signal` to the process group when `reached` says so, as a terminal does. The run ends with 130, a sentence and
/// usable records, and leaves neither processes nor temporary files.
void expect_a_good_end(int signal, const std::vector<std::string>& arguments,
                       const std::function<bool(const Program&, const Folder&)>& reached) {
  const Folder folder;
  std::filesystem::create_directory(folder / "tmp");
  Program program(kWhet, tune(arguments), folder, {{{"TMPDIR", folder / "tmp"}}, {}});
  ASSERT_TRUE(program.wait_until([&] { return reached(program, folder); })) << program.end().out;
  const std::vector<pid_t> family = program.family();
  program.send_to_group(signal);
  const Ending ending = program.end();
  EXPECT_TRUE(ending == 130) << ending.by_signal << ending.number << ending.out;
  EXPECT_NE(ending.out.find("Interrupted"), std::string::npos) << ending.out;
  EXPECT_TRUE(all_gone(family));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
  if (lines(folder / "r.jsonl") == 0) return;
  EXPECT_TRUE(read_records(folder / "r.jsonl")->notes.empty());
  EXPECT_NE(ending.out.find("Interrupted; records kept in r.jsonl"), std::string::npos) << ending.out;
  const Ending shown = run(kWhet, {"records", "stats", "r.jsonl"}, folder);
  EXPECT_TRUE(shown == 0) << shown.out;
}
bool ten_records(const Program&, const Folder& folder) { return lines(folder / "r.jsonl") >= 10; }

TEST(AnInterrupt, WhileTheModelIsReadEndsAtOnce) {
  expect_a_good_end(SIGINT, {}, [](const Program& p, const Folder&) { return catches(p.pid(), SIGINT); });
}
TEST(AnInterrupt, WhileTheFirstCandidatesAreBuiltEndsWell) {
  expect_a_good_end(SIGINT, {}, [](const Program& p, const Folder&) { return !p.workers("whet-builder").empty(); });
}
TEST(AnInterrupt, WhileCandidatesAreMeasuredEndsWell) { expect_a_good_end(SIGINT, {}, ten_records); }
TEST(AnInterrupt, WhileTheFastestAreComparedEndsWell) {
  // Layers of 512 channels on one pixel: there is always something near the best or better than the default to compare.
  expect_a_good_end(SIGINT, {"--tasks", "20,21,24", "--trials", "24", "--round", "4", "--least-gain", "0"},
                    [](const Program&, const Folder& folder) { return lines(folder / "r.jsonl") >= 25; });
}
TEST(AnInterrupt, WhileTheWholeNetworkIsTimedEndsWell) {
  expect_a_good_end(SIGINT, {"--tasks", "1", "--trials", "4"},
                    [](const Program&, const Folder& folder) { return !std::filesystem::is_empty(folder / "tmp"); });
}
TEST(ARequestToEnd, IsTakenAsAnInterrupt) { expect_a_good_end(SIGTERM, {}, ten_records); }

TEST(AnInterruptDuringAHang, DoesNotWaitForTheCandidatesLimit) {
  for (const char* fault : {"hang/2", "build_forever/2"}) {
    const Folder folder;
    Program program(kFaulty, tune({"--run-timeout", "3600", "--build-timeout", "3600"}), folder,
                    {{{"WHET_FAULT", fault}}});
    const std::string worker = std::string(fault) == "hang/2" ? "whet-runner" : "whet-builder";
    ASSERT_TRUE(program.wait_until([&] { return !program.workers(worker).empty(); }));
    usleep(300000);
    program.send_to_group(SIGINT);
    const Ending ending = program.end();
    EXPECT_TRUE(ending == 130) << fault << ending.number << ending.out;
  }
}
TEST(ASecondInterrupt, EndsTheProgramAtOnceAndAllItsProcesses) {
  const Folder folder;
  std::filesystem::create_directory(folder / "tmp");
  Program program(kWhet, tune({"--tasks", "1", "--trials", "4"}), folder, {{{"TMPDIR", folder / "tmp"}}, {}});
  // The whole network is being compiled: the first interrupt waits for that.
  ASSERT_TRUE(program.wait_until([&] { return !std::filesystem::is_empty(folder / "tmp"); })) << program.end().out;
  const std::vector<pid_t> family = program.family();
  program.send_to_group(SIGTERM);
  usleep(100'000);
  program.send_to_group(SIGTERM);
  const Ending ending = program.end();
  EXPECT_TRUE(ending == 130) << ending.by_signal << ending.number << ending.out;
  EXPECT_TRUE(all_gone(family));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
  EXPECT_TRUE(read_records(folder / "r.jsonl")->notes.empty());
}

/// ^C that many milliseconds after the start. What has ended by then has ended well.
void expect_an_end_soon(const std::vector<std::string>& arguments, int milliseconds) {
  using Clock = std::chrono::steady_clock;
  const Folder folder;
  std::filesystem::create_directory(folder / "tmp");
  Program program(kWhet, arguments, folder, {{{"TMPDIR", folder / "tmp"}}, {}});
  const auto until = [&](Clock::time_point moment) { program.wait_until([&] { return Clock::now() >= moment; }); };
  until(Clock::now() + std::chrono::milliseconds(milliseconds));
  const std::vector<pid_t> family = program.family();
  if (program.running()) program.send_to_group(SIGINT);
  until(Clock::now() + std::chrono::seconds(20));  // a loaded machine is slow; by hand it is less than one
  EXPECT_FALSE(program.running()) << arguments[0] << " after " << milliseconds << " ms";
  const Ending ending = program.end();
  const bool before_main = ending.by_signal && ending.number == SIGINT;
  EXPECT_TRUE(ending == 130 || ending == 0 || before_main) << ending.by_signal << ending.number << ending.out;
  EXPECT_TRUE(all_gone(family));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp")) << arguments[0] << " after " << milliseconds << " ms";
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_TRUE(std::set<std::string>({"tmp", "r.jsonl", "m.so"}).contains(entry.path().filename())) << entry.path();
}
TEST(AnInterrupt, AtAnyMomentEndsTheProgramSoonAndLeavesNothing) {
  std::mt19937 random(47);
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < 12; ++i)
    expect_an_end_soon(
        {"tune", "zoo:mobilenet", "--no-base", "--image", "32", "--trials", "12", "--round", "4", "-o", "r.jsonl"},
        below(8000));
  for (int i = 0; i < 8; ++i) expect_an_end_soon({"compile", "zoo:resnet-18", "-o", "m.so"}, below(4000));
}

}  // namespace interrupt_test
}  // namespace whet::faults
