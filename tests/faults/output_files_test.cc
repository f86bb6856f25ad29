// What is the user's is never lost: outputs that are inputs, or there already, full disks, many writers at once, kills.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "faults/session.h"
#include "records/record_file.h"

namespace whet::faults {
namespace output_files_test {

const std::string kWhet = WHET_PROGRAM;
using Words = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
std::string joined(const Words& words) {
  std::string text = "whet";
  for (const std::string& word : words) text += " " + word;
  return text;
}
Words tune(const Words& more) {
  Words words{"tune", "zoo:mlp", "--no-base", "--threads", "1", "--cache", "warm", "--no-pin", "--no-network"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
std::map<std::string, std::string> contents(const Folder& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.is_regular_file()) all[entry.path().filename()] = content(entry.path());
  return all;
}
long entries(const std::string& folder) { return std::distance(std::filesystem::directory_iterator(folder), {}); }

/// A file system of a folder's own, while it lives.
class Disk {
 public:
  Disk(const std::string& path, const std::string& options, unsigned long flags = 0) : path_(path) {
    std::filesystem::create_directory(path);
    is_there_ = mount("none", path.c_str(), "tmpfs", flags, options.c_str()) == 0;
  }
  ~Disk() {
    if (is_there_) umount(path_.c_str());
  }
  Disk(const Disk&) = delete;
  bool is_there() const { return is_there_; }

 private:
  std::string path_;
  bool is_there_ = false;
};
constexpr const char* kNoDisk = "only root may mount a disk";

/// A model, its records, an input, and a file that is nobody's business.
class AnOutput : public ::testing::Test {
 protected:
  AnOutput() {
    EXPECT_TRUE(run(kWhet, {"zoo", "export", "mlp", "-o", "m.onnx"}, folder_) == 0);
    EXPECT_TRUE(run(kWhet, tune({"--tasks", "0", "--trials", "2", "-o", "r.jsonl"}), folder_) == 0);
    EXPECT_TRUE(run(kWhet, {"run", "zoo:mlp", "--fill", "ones", "-o", "x.npy", "-q"}, folder_) == 0);
    write(folder_ / "weights.bin", std::string(1000, 'w'));
    std::filesystem::create_symlink("m.onnx", folder_ / "link.onnx");
    std::filesystem::create_hard_link(folder_ / "m.onnx", folder_ / "hard.onnx");
  }
  /// Refuses each of these with a sentence that has `part`, and changes nothing.
  void expect_refused(const std::vector<Words>& commands, const std::string& part) {
    const auto before = contents(folder_);
    for (const Words& words : commands) {
      const Ending ending = run(kWhet, words, folder_);
      EXPECT_TRUE(!ending.by_signal && ending.number != 0) << joined(words);
      EXPECT_TRUE(ending.out.starts_with("whet: ") && contains(ending.out, part)) << joined(words) << "\n"
                                                                                  << ending.out;
      EXPECT_EQ(std::ranges::count(ending.out, '\n'), 1) << ending.out;
      EXPECT_TRUE(contents(folder_) == before) << joined(words);
    }
  }

  Folder folder_;
};

TEST_F(AnOutput, ThatIsAnInputIsRefused) {
  expect_refused({{"compile", "m.onnx", "-o", "m.onnx"},
                  {"compile", "m.onnx", "-o", "./m.onnx"},
                  {"compile", "m.onnx", "-o", "link.onnx"},
                  {"compile", "m.onnx", "-o", "hard.onnx"},
                  {"compile", "hard.onnx", "-o", "m.onnx"},
                  {"compile", "m.onnx", "--records", "r.jsonl", "-o", "r.jsonl"},
                  {"compile", "m.onnx", "--events", "m.onnx", "-o", "m.so"},
                  {"compile", "m.onnx", "--records", "r.jsonl", "--events", "r.jsonl", "-o", "m.so"},
                  {"compile", "m.onnx", "--ptx", "m.onnx", "-o", "m.so"},
                  {"compile", "m.onnx", "--input", "input=x.npy", "-o", "x.npy"},
                  {"tune", "m.onnx", "-o", "m.onnx"},
                  {"tune", "m.onnx", "-o", "r.jsonl", "--events", "m.onnx"},
                  {"tune", "m.onnx", "-o", "r.jsonl", "--report", "hard.onnx"},
                  {"report", "m.onnx", "--records", "r.jsonl", "-o", "m.onnx"},
                  {"report", "m.onnx", "--records", "r.jsonl", "-o", "r.jsonl"},
                  {"run", "m.onnx", "--input", "x.npy", "-o", "x.npy"},
                  {"profile", "m.onnx", "--trace", "m.onnx"},
                  {"profile", "m.onnx", "--records", "r.jsonl", "--trace", "r.jsonl"},
                  {"serve", "m.onnx", "-o", "link.onnx"}},
                 "which this command reads; give it another name");
  expect_refused({{"tune", "m.onnx", "-o", "r.jsonl", "--events", "r.jsonl"},
                  {"tune", "m.onnx", "-o", "r.jsonl", "--report", "./r.jsonl"},
                  {"tune", "m.onnx", "-o", "new.jsonl", "--report", "new.jsonl"},
                  {"compile", "m.onnx", "-o", "new.so", "--events", "new.so"}},
                 "give each a file of its own");
}
TEST_F(AnOutput, ThatIsThereAndOfAnotherKindIsRefused) {
  expect_refused({{"compile", "zoo:mlp", "-o", "weights.bin"},
                  {"compile", "zoo:mlp", "-o", "m.so", "--events", "weights.bin"},
                  {"compile", "zoo:mlp", "-o", "m.so", "--ptx", "weights.bin"},
                  {"compile", "zoo:mlp", "-o", "r.jsonl"},
                  {"compile", "zoo:mlp", "-o", "m.so", "--events", "r.jsonl"},
                  {"tune", "zoo:mlp", "-o", "new.jsonl", "--events", "r.jsonl"},
                  {"tune", "zoo:mlp", "-o", "new.jsonl", "--report", "m.onnx"},
                  {"report", "zoo:mlp", "--records", "r.jsonl", "-o", "weights.bin"},
                  {"profile", "zoo:mlp", "--trace", "r.jsonl"},
                  {"zoo", "export", "mlp", "-o", "weights.bin"}},
                 "which is there and is no ");
  expect_refused({{"tune", "zoo:mlp", "-o", "weights.bin"},
                  {"serve", "zoo:mlp", "-o", "x.npy"},
                  {"records", "merge", "r.jsonl", "-o", "m.onnx"},
                  {"records", "distill", "r.jsonl", "-o", "weights.bin"}},
                 "is no record file");
}
TEST_F(AnOutput, ThatCannotBeWrittenIsRefusedBeforeTheWork) {
  const Disk disk(folder_ / "readonly", "", MS_RDONLY);
  std::vector<std::string> places{"nowhere/out.npy", "."};
  if (disk.is_there()) places.push_back("readonly/out.npy");
  for (const std::string& place : places)
    expect_refused({{"compile", "zoo:mlp", "-o", place},
                    {"compile", "zoo:mlp", "-o", "m.so", "--events", place},
                    tune({"-o", place}),
                    tune({"-o", "new.jsonl", "--report", place}),
                    tune({"-o", "new.jsonl", "--events", place}),
                    {"report", "zoo:mlp", "--records", "r.jsonl", "-o", place},
                    {"profile", "zoo:mlp", "--trace", place},
                    {"zoo", "export", "mlp", "-o", place},
                    {"records", "merge", "r.jsonl", "-o", place},
                    {"serve", "zoo:mlp", "-o", place}},
                   "cannot write \"" + place + "\": ");
}
TEST_F(AnOutput, OfRecordsMayBeTheirInputAndSaysWhatIsLeftOut) {
  const std::string two = content(folder_ / "r.jsonl");
  write(folder_ / "r.jsonl", two + two + "rubbish\n");
  ASSERT_EQ(chmod((folder_ / "r.jsonl").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder_ / "r.jsonl.whet.tmp").c_str(), 0600), 0);
  const std::int64_t each = std::ranges::count(two, '\n');
  const Ending merged = run(kWhet, {"records", "merge", "r.jsonl", "-o", "./r.jsonl"}, folder_);
  EXPECT_TRUE(contains(merged.out, "; " + std::to_string(each + 1) + " lines left out\n")) << merged.out;
  EXPECT_EQ(content(folder_ / "r.jsonl"), two);
  const Ending distilled = run(kWhet, {"records", "distill", "r.jsonl", "-o", "r.jsonl"}, folder_);
  EXPECT_TRUE(contains(distilled.out, "r.jsonl: 1 record; ")) << distilled.out;
  struct stat info{};
  ASSERT_EQ(stat((folder_ / "r.jsonl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "others may not read it now either";
}

TEST(Merges, InPlaceBesideTwoTunersLoseNothing) {
  const Folder folder;
  constexpr int kTrials = 30;
  const auto words = [](const std::string& seed) {
    return tune({"--least-gain", "0", "--trials", std::to_string(kTrials), "--seed", seed, "-o", "r.jsonl"});
  };
  Program one(kWhet, words("1"), folder), other(kWhet, words("2"), folder);
  ASSERT_TRUE(one.wait_until([&] { return std::filesystem::exists(folder / "r.jsonl"); }));
  int merges = 0;
  for (; one.running() || other.running(); ++merges) {
    const Ending merged = run(kWhet, {"records", "merge", "r.jsonl", "-o", "r.jsonl"}, folder);
    EXPECT_TRUE(merged == 0) << merged.out;
    EXPECT_FALSE(contains(merged.out, "left out")) << merged.out;
  }
  EXPECT_TRUE(one.end() == 0 && other.end() == 0) << one.end().out << other.end().out;
  const RecordsRead read = read_records(folder / "r.jsonl").value();
  EXPECT_TRUE(read.notes.empty());
  std::map<std::uint64_t, int> of;
  for (const Record& record : read.records.all()) ++of[record.seed];
  EXPECT_GE(of[1], kTrials) << merges << " merges";
  EXPECT_GE(of[2], kTrials) << merges << " merges";
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(Compiles, ToOneFileAtTheSameTimeAllSucceed) {
  const Folder folder;
  std::vector<std::unique_ptr<Program>> all;
  for (const char* const model : {"zoo:mlp", "zoo:mlp", "zoo:lstm", "zoo:mlp"})
    all.push_back(std::make_unique<Program>(kWhet, Words{"compile", model, "-o", "m.so"}, folder));
  for (const auto& program : all) {
    const Ending ending = program->end();
    EXPECT_TRUE(ending == 0) << ending.out;
  }
  const Ending ran = run(kWhet, {"run", "m.so", "--fill", "ones"}, folder);
  EXPECT_TRUE(ran == 0) << ran.out;
  EXPECT_EQ(entries(folder.path()), 1);
}
TEST(Compiles, OntoAFullDiskSpeakAsWhet) {
  const Folder folder;
  const Disk disk(folder / "disk", "size=64k");
  if (!disk.is_there()) GTEST_SKIP() << kNoDisk;
  const Ending full = run(kWhet, {"compile", "zoo:mlp", "-o", "disk/m.so"}, folder);
  EXPECT_TRUE(full == 1);
  EXPECT_EQ(full.out, "whet: cannot write \"disk/m.so\": No space left on device\n");
  EXPECT_EQ(entries(folder / "disk"), 0);
  const Ending between = run(kWhet, {"compile", "zoo:mlp", "-o", "m.so"}, folder, {{{"TMPDIR", folder / "disk"}}, {}});
  EXPECT_TRUE(between == 1);
  EXPECT_TRUE(between.out.starts_with("whet: ") && contains(between.out, "No space left on device")) << between.out;
  EXPECT_FALSE(contains(between.out, "ld.lld")) << between.out;
}

TEST(TemporaryFolders, ThatAreMissingAreSaidBeforeTheWork) {
  const Folder folder;
  const std::string sentence =
      "whet: no directory for temporary files can be made in \"/nowhere\": No such file or directory; set TMPDIR to a "
      "folder that may be written\n";
  for (const Words& words :
       {Words{"compile", "zoo:mlp", "-o", "m.so"}, Words{"tune", "zoo:mlp", "-q", "-o", "r.jsonl"}}) {
    const Ending ending = run(kWhet, words, folder, {{{"TMPDIR", "/nowhere"}}, {}});
    EXPECT_TRUE(ending == 1);
    EXPECT_EQ(ending.out, sentence);
  }
  EXPECT_EQ(lines(folder / "r.jsonl"), 0);
  EXPECT_TRUE(run(kWhet, {"compile", "zoo:mlp", "-o", "m.so"}, folder, {{{"TMPDIR", ""}}, {}}) == 0);
}
TEST(TemporaryFolders, OfKilledProgramsAreSweptAndThoseOfTheLivingStay) {
  const Folder folder, temporary;
  const Surroundings there{{{"TMPDIR", temporary.path()}}, {}};
  const auto bench = [&] {
    return std::make_unique<Program>(kWhet, Words{"bench", "zoo:mlp", "--runs", "1000000000"}, folder, there);
  };
  /// The folders that have a whole library.
  const auto with_library = [&] {
    std::set<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(temporary.path()))
      if (std::filesystem::exists(entry.path() / "model.so")) folders.insert(entry.path());
    return folders;
  };
  const auto killed = bench();
  ASSERT_TRUE(killed->wait_until([&] { return with_library().size() == 1; }));
  killed->send_to_group(SIGKILL);
  (void)killed->end();
  const std::set<std::string> left = with_library();
  EXPECT_EQ(left.size(), 1u);
  const auto living = bench();
  ASSERT_TRUE(living->wait_until([&] { return with_library().size() == 1 && with_library() != left; }));
  EXPECT_TRUE(run(kWhet, {"compile", "zoo:mlp", "-o", "m.so"}, folder, there) == 0);
  EXPECT_EQ(with_library().size(), 1u);
  EXPECT_EQ(entries(temporary.path()), 1);
  EXPECT_TRUE(living->running());
}

}  // namespace output_files_test
}  // namespace whet::faults
