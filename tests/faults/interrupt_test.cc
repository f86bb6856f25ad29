// ^C and a polite request to end, at every phase of a run: exit code 130, usable records, a sentence.

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "faults/session.h"
#include "records/record_file.h"

namespace whet::faults {
namespace {

const std::string kWhet = WHET_PROGRAM, kFaulty = WHET_FAULTY;

std::vector<std::string> tune(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"tune", "zoo:resnet-18", "--image", "32",     "--cache",
                                     "warm", "--no-pin",      "-o",      "r.jsonl"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Does the process handle this signal by itself?
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
  program.send_to_group(SIGINT);
  ASSERT_TRUE(program.wait_until([&] { return !catches(program.pid(), SIGINT); })) << program.end().out;
  program.send_to_group(SIGINT);
  const Ending ending = program.end();
  EXPECT_TRUE(ending.by_signal && ending.number == SIGINT) << ending.number << ending.out;
  EXPECT_TRUE(all_gone(family));
  EXPECT_TRUE(read_records(folder / "r.jsonl")->notes.empty());
}

}  // namespace
}  // namespace whet::faults
