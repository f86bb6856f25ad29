// Record files in every bad state, under the real program.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>

#include "faults/session.h"
#include "records/record_file.h"
#include "records/record_line.h"

namespace whet::faults {
namespace record_files_test {

const std::string kWhet = WHET_PROGRAM;

std::vector<std::string> tune(const std::string& file, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"tune",      "zoo:mlp", "--no-base", "--tasks",      "0,1", "--cache", "warm",
                                     "--threads", "1",       "--no-pin",  "--no-network", "-o",  file};
  if (std::find(more.begin(), more.end(), "--trials") == more.end())
    arguments.insert(arguments.end(), {"--trials", "10"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}
std::vector<std::string> compile(const std::string& file, const std::string& model = "zoo:mlp") {
  return {"compile", model, "--no-base", "--threads", "1", "--records", file, "-o", "m.so"};
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

class ARecordFile : public ::testing::Test {
 protected:
  ARecordFile() {
    // One real run for all tests: they read, bend and break what it left.
    static const std::string good = [] {
      const Folder folder;
      const Ending ending = run(kWhet, tune("r.jsonl"), folder);
      EXPECT_TRUE(ending == 0) << ending.out;
      return content(folder / "r.jsonl");
    }();
    good_ = good;
  }
  Ending run_here(const std::vector<std::string>& arguments) {
    Ending ending = run(kWhet, arguments, folder_);
    EXPECT_TRUE(ending == 0) << ending.out;
    return ending;
  }
  std::string file() const { return content(folder_ / "r.jsonl"); }
  void write_file(const std::string& text) const { write(folder_ / "r.jsonl", text); }

  Folder folder_;
  std::string good_;
};

/// Names, messages and plans that move a terminal's cursor, and forge lines.
TEST_F(ARecordFile, WithControlCharactersPrintsNone) {
  const std::string evil = R"(\u001b[2J\u009b1m\u007f\nforged\r)";
  const auto line = [&](const std::string& members) {
    return R"({"v":1,"task":{"key":"k)" + evil + R"(","name":"t)" + evil + R"("},"target":"cpu -mcpu=znver3 )" + evil +
           R"(","sketch":"s)" + evil + R"(","tree":"1)" + evil + R"(","at":"a)" + evil + R"(",)" + members + "}\n";
  };
  const std::string good = replaced(line(R"("outcome":0,"seconds":[1e-3])"), "znver3 " + evil, "znver3");
  write_file(good + line(R"("outcome":9,"message":"m)" + evil + "\"") + R"({"v":2,"plan":{"graph":"1","name":"n)" +
             evil +
             R"(","seconds":1},"target":"cpu -mcpu=znver3"})"
             "\n" +
             R"({"v":1,"task":{"key":"k"},"target":"cpu","choices":{")" + evil +
             R"(":"no number"}})"
             "\n");
  for (const char* action : {"show", "best", "stats", "distill", "merge"})
    for (const bool json : {false, true}) {
      if (json && std::string(action) != "best" && std::string(action) != "stats") continue;
      std::vector<std::string> arguments{"records", action, "r.jsonl"};
      if (json) arguments.push_back("--json");
      const std::string out = run_here(arguments).out;
      EXPECT_TRUE(std::ranges::none_of(
          out, [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7f; }))
          << action << ": " << out;
      EXPECT_FALSE(contains(out, "\xc2\x9b")) << action;
      EXPECT_FALSE(contains(out, "\nforged")) << action << ": " << out;
      EXPECT_TRUE(contains(out, "u001b[2J")) << action << ": " << out;
    }
  const Ending refused = run(kWhet, {"tasks", "no\x1b[2J.onnx"}, folder_);
  EXPECT_TRUE(contains(refused.out, "no\\u001b[2J.onnx")) << refused.out;
}
TEST_F(ARecordFile, WithTimesThatNoKernelTakesIsUsedWithoutThem) {
  const auto faster = [&](const std::string& seconds) {
    const std::size_t at = good_.find("\"seconds\":["), end = good_.find(']', at), line = good_.find('\n', end);
    return good_.substr(0, at) + "\"seconds\":[" + seconds + good_.substr(end, line + 1 - end);
  };
  const std::string honest = [&] {
    write_file(good_);
    return run_here({"records", "best", "r.jsonl"}).out;
  }();
  for (const std::string seconds : {"0", "-1", "1e-30", "1e300", "", "0,1e-3", "1e-3,0"}) {
    write_file(good_ + faster(seconds));
    const std::string out = run_here({"records", "best", "r.jsonl"}).out;
    EXPECT_TRUE(contains(out, "1 line skipped that holds no record (line ")) << seconds << ": " << out;
    EXPECT_EQ(out.substr(out.find('\n') + 1), honest) << seconds;
    EXPECT_EQ(file(), good_ + faster(seconds)) << "the line stays";
  }
}
TEST_F(ARecordFile, OnADiskThatIsFullIsIntactAndTheRunEndsWithASentence) {
  write_file(good_);
  const rlim_t limit = good_.size() + 3000;
  const Ending ending =
      run(kWhet, tune("r.jsonl"), folder_, {{}, [limit] {
                                              const rlimit both{limit, limit};
                                              setrlimit(RLIMIT_FSIZE, &both);
                                              signal(SIGXFSZ, SIG_IGN);  // the write fails, as on a full disk
                                            }});
  EXPECT_TRUE(ending == 1) << ending.number << ending.out;
  EXPECT_TRUE(contains(ending.out, "whet: r.jsonl: cannot append a record; those before it are intact: "))
      << ending.out;
  EXPECT_EQ(file().substr(0, good_.size()), good_);
  EXPECT_EQ(file().back(), '\n');
  EXPECT_TRUE(read_records(folder_ / "r.jsonl")->notes.empty());
}
TEST_F(ARecordFile, OnAFullFileSystemIsIntactAndResumesWhenThereIsRoom) {
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=16k") != 0) GTEST_SKIP() << "only root may mount a small disk";
  const Ending ending = run(kWhet, tune("disk/r.jsonl", {"--trials", "200"}), folder_);
  const std::string left = content(disk + "/r.jsonl");
  umount(disk.c_str());
  EXPECT_TRUE(ending == 1) << ending.number << ending.out;
  EXPECT_TRUE(contains(ending.out, "No space left on device")) << ending.out;
  EXPECT_EQ(left.back(), '\n');
  write_file(left);
  EXPECT_TRUE(contains(run_here(tune("r.jsonl")).out, "records kept in r.jsonl"));
  EXPECT_TRUE(read_records(folder_ / "r.jsonl")->notes.empty());
}
TEST_F(ARecordFile, ThatIsADeviceIsWrittenToAndNeverRead) {
  const Ending full = run(kWhet, tune("/dev/full"), folder_);
  EXPECT_TRUE(full == 1) << full.out;
  EXPECT_TRUE(contains(full.out, "/dev/full: cannot append a record")) << full.out;
  EXPECT_TRUE(run(kWhet, tune("/dev/null"), folder_) == 0);
}
TEST_F(ARecordFile, OfTwoTunersAtTheSameTimeHasAllLinesOfBothWhole) {
  Program one(kWhet, tune("r.jsonl", {"--seed", "1", "--trials", "16"}), folder_);
  Program other(kWhet, tune("r.jsonl", {"--seed", "2", "--trials", "16"}), folder_);
  const Ending first = one.end(), second = other.end();
  EXPECT_TRUE(first == 0) << first.out;
  EXPECT_TRUE(second == 0) << second.out;
  const RecordsRead read = read_records(folder_ / "r.jsonl").value();
  EXPECT_TRUE(read.notes.empty());
  int of_one = 0, of_other = 0;
  for (const Record& record : read.records.all()) ++(record.seed == 1 ? of_one : of_other);
  EXPECT_GE(of_one, 16);
  EXPECT_GE(of_other, 16);
}
TEST_F(ARecordFile, WithACorruptLineIsUsedWithoutItAndTheLineIsNamed) {
  write_file(good_ + "{\"v\":1, rubbish\n\xff\xfe\n");
  for (const auto& command : {compile("r.jsonl"), tune("r.jsonl")}) {
    const Ending ending = run_here(command);
    EXPECT_TRUE(contains(ending.out, "r.jsonl: 2 lines skipped that hold no record (line ")) << ending.out;
  }
  EXPECT_EQ(file().substr(0, good_.size()), good_);
}
TEST_F(ARecordFile, OfANewerVersionIsKeptThroughEverythingAndNotUsed) {
  const std::string newer = replaced(good_.substr(0, good_.find('\n') + 1), "\"v\":1", "\"v\":9");
  write_file(newer);
  EXPECT_TRUE(contains(run_here(tune("r.jsonl")).out, "1 line of a newer whet kept in the file but not used"));
  EXPECT_TRUE(contains(run_here(compile("r.jsonl")).out, "1 line of a newer whet kept in the file but not used"));
  run_here({"records", "distill", "r.jsonl", "-o", "d.jsonl"});
  EXPECT_TRUE(contains(content(folder_ / "d.jsonl"), newer));
  run_here({"records", "merge", "r.jsonl", "d.jsonl", "-o", "m.jsonl"});
  const std::string merged = content(folder_ / "m.jsonl");
  EXPECT_TRUE(contains(merged, newer));
  EXPECT_EQ(merged.find(newer), merged.rfind(newer)) << "once is enough";
  EXPECT_TRUE(contains(run_here({"records", "distill", "r.jsonl"}).out, newer));
  EXPECT_TRUE(contains(run_here({"records", "merge", "r.jsonl"}).out, newer));
}
TEST_F(ARecordFile, OfAnotherThreadCountIsNamedByCompileAndMeasuredAnewByTune) {
  write_file(replaced(good_, "-threads=1", "-threads=7"));
  const Ending compiled = run_here(compile("r.jsonl"));
  EXPECT_TRUE(contains(compiled.out, "tuned for 7 threads, not 1")) << compiled.out;
  const Ending tuned = run_here(tune("r.jsonl", {"--json"}));
  EXPECT_TRUE(contains(tuned.out, "\"reused\": 0")) << tuned.out;
  EXPECT_FALSE(contains(tuned.out, "\"reused\": 1")) << tuned.out;
  EXPECT_TRUE(contains(run_here(tune("r.jsonl")).out, "-threads=7")) << "whose records they are is said";
}
TEST_F(ARecordFile, OfAnotherMachineIsNamedByCompileAndMeasuredAnewByTune) {
  std::string machine = good_.substr(good_.find("-mcpu=") + 6);
  machine = machine.substr(0, machine.find(' '));
  const std::string other = machine == "icelake-server" ? "skylake-avx512" : "icelake-server";
  write_file(replaced(good_, "-mcpu=" + machine, "-mcpu=" + other));
  const Ending compiled = run_here(compile("r.jsonl"));
  // Vectors of another width cannot run here at all: then the default schedule it is.
  EXPECT_TRUE(contains(compiled.out, "measured on " + other) || contains(compiled.out, "0 of 4 tasks from records"))
      << compiled.out;
  EXPECT_FALSE(contains(run_here(tune("r.jsonl", {"--json"})).out, "\"reused\": 1"));
}
/// Vectors of another width: no schedule of these runs here, and every command that reads them says whose they are.
TEST_F(ARecordFile, OfATargetThatServesNothingHereIsNamedByAllWhoReadIt) {
  const std::size_t at = good_.find("cpu -mcpu=");
  const std::string here = good_.substr(at, good_.find('"', at) - at);
  write_file(replaced(good_, here, "cpu -mcpu=nehalem -threads=1"));
  const std::vector<std::string> options{"--threads", "1", "--records", "r.jsonl"};
  for (std::vector<std::string> command : {std::vector<std::string>{"compile", "zoo:mlp", "-o", "m.so"},
                                           {"bench", "zoo:mlp", "--seconds", "0.01"},
                                           {"check", "zoo:mlp"},
                                           {"run", "zoo:mlp", "--fill", "ones"},
                                           {"report", "zoo:mlp", "-o", "m.html"},
                                           {"tasks", "zoo:mlp", "--alternatives", "--json"},
                                           {"explain", "task", "0", "--model", "zoo:mlp"}}) {
    command.insert(command.end(), options.begin(), options.end());
    EXPECT_TRUE(contains(run(kWhet, command, folder_).out,
                         " of other targets (cpu -mcpu=nehalem -threads=1) do not count for cpu "))
        << command.front() << ": " << run(kWhet, command, folder_).out;
  }
}
TEST_F(ARecordFile, OfAModelThatChangedSinceIsReportedAndNotApplied) {
  // Another width of the first layer: the key is another one.
  write_file(replaced(good_, ",784,784,", ",783,783,"));
  const Ending other_model = run_here(compile("r.jsonl", "zoo:lstm"));
  EXPECT_TRUE(contains(other_model.out, "of 2 tasks that this model does not have")) << other_model.out;
  EXPECT_TRUE(contains(other_model.out, "0 of ")) << other_model.out;
  for (const auto& command : {compile("r.jsonl"), tune("r.jsonl")}) {
    const Ending ending = run_here(command);
    EXPECT_TRUE(contains(ending.out, "of 1 task that this model does not have")) << ending.out;
  }
}
TEST_F(ARecordFile, WhoseSchedulesCannotBeReplayedAnyMoreFallsBackAndSaysSo) {
  write_file(replaced(good_, "\"steps\":\"", "\"steps\":\"sharpen l99; "));
  const Ending compiled = run_here(compile("r.jsonl"));
  EXPECT_TRUE(contains(compiled.out, "default schedule")) << compiled.out;
  EXPECT_TRUE(contains(compiled.out, "sharpen")) << compiled.out;
  run_here(tune("r.jsonl"));
}

}  // namespace record_files_test
}  // namespace whet::faults
