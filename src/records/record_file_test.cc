#include "records/record_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "base/rng.h"
#include "records/testing/sample.h"

namespace whet {
namespace {

using testing_records::timed;

class RecordFileTest : public ::testing::Test {
 protected:
  RecordFileTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "whet-records-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    path_ = folder_ + "/r.jsonl";
  }
  ~RecordFileTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string content() {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  /// The steps of each record, then the notes without the folder's name.
  std::string opened() {
    auto file = RecordFile::open(path_);
    if (!file.ok()) return "error: " + file.error().message;
    std::string text;
    for (const Record& r : file->records().all()) text += r.steps + " ";
    for (const std::string& note : file->notes()) text += "\n" + note.substr(folder_.size() + 1);
    return text;
  }

  std::string folder_, path_;
};

std::string line(const std::string& steps) { return to_line(timed("k", steps, 1)) + "\n"; }
Result<std::int64_t> replace(const std::string& path, const std::vector<Record>& records,
                             const std::vector<std::string>& newer_lines = {}) {
  WHET_TRY(RecordRewrite rewrite, RecordRewrite::open(path));
  return rewrite.replace(records, {}, newer_lines);
}

TEST_F(RecordFileTest, IsCreatedAndResumedByOpening) {
  {
    auto file = RecordFile::open(path_).value();
    EXPECT_TRUE(file.append(timed("k", "a", 1)).ok());
    EXPECT_TRUE(file.append(timed("k", "b", 1)).ok());
    EXPECT_EQ(file.records().size(), 2u);
  }
  EXPECT_EQ(opened(), "a b ");
  EXPECT_EQ(content(), line("a") + line("b"));
}
TEST_F(RecordFileTest, EndsATornLastLineAndSkipsIt) {
  write(line("a") + line("b").substr(0, 50));
  EXPECT_EQ(opened(), "a \nr.jsonl: the last line (2) was cut short, as by a kill; it is skipped");
  auto file = RecordFile::open(path_).value();
  EXPECT_TRUE(file.append(timed("k", "c", 1)).ok());
  EXPECT_EQ(content(), line("a") + line("b").substr(0, 50) + "\n" + line("c"));
}
TEST_F(RecordFileTest, UsesALastLineThatMissesItsNewlineAlone) {
  write(line("a") + line("b").substr(0, line("b").size() - 1));
  EXPECT_EQ(opened(), "a b ");
  EXPECT_EQ(content(), line("a") + line("b"));
}
TEST_F(RecordFileTest, SkipsAndCountsCorruptLines) {
  write(line("a") + "{\"v\":1}\nrubbish\n\n" + line("b"));
  EXPECT_EQ(opened(), "a b \nr.jsonl: 2 lines skipped that hold no record (line 2: \"task\" has no \"key\")");
}
TEST_F(RecordFileTest, KeepsLinesOfANewerVersionButDoesNotUseThem) {
  const std::string text = line("a") + "{\"v\":9,\"x\":1}\n";
  write(text);
  EXPECT_EQ(opened(),
            "a \nr.jsonl: 1 line of a newer whet kept in the file but not used (this one reads versions up to 6)");
  EXPECT_EQ(content(), text);
}
TEST_F(RecordFileTest, RefusesAFileOfAnotherKindAndLeavesItAlone) {
  write("\x08\x07 an ONNX model");
  EXPECT_EQ(opened(),
            "error: " + path_ +
                ": is no record file: its first line is no record; give the name of a new or an existing .jsonl file");
  EXPECT_EQ(content(), "\x08\x07 an ONNX model");
}
TEST_F(RecordFileTest, RefusesJsonThatHoldsNoRecord) {
  for (const std::string text : {"{\"format\":\"layers-model\"}", "{\"v\":1,\"event\":\"started\",\"t\":0}\n", "[]"}) {
    write(text);
    const std::string sentence =
        path_ + ": is no record file: its first line is no record; give the name of a new or an existing .jsonl file";
    EXPECT_EQ(opened(), "error: " + sentence);
    EXPECT_EQ(replace(path_, {timed("k", "a", 1)}).error().message, sentence);
    EXPECT_EQ(content(), text);
  }
}
TEST_F(RecordFileTest, MayHoldNothingButTheBeginningOfALine) {
  for (const std::size_t bytes : {1, 3, 40}) {
    write(line("a").substr(0, bytes));
    EXPECT_EQ(opened(), "\nr.jsonl: the last line (1) was cut short, as by a kill; it is skipped");
    EXPECT_EQ(opened().substr(0, 36), "\nr.jsonl: 1 line skipped that holds ") << "it has an end now";
  }
}
TEST_F(RecordFileTest, SaysWhyItCannotBeOpened) {
  EXPECT_EQ(RecordFile::open(folder_ + "/no/r.jsonl").error().message,
            folder_ + "/no/r.jsonl: cannot open the record file: No such file or directory");
  EXPECT_EQ(read_records(path_).error().message, path_ + ": cannot open the record file: No such file or directory");
}
TEST_F(RecordFileTest, IsIntactAfterADiskThatIsFull) {
  write(line("a"));
  const pid_t child = fork();
  if (child == 0) {
    // A limit on the size of files stands for the full disk: the kernel writes what fits, then refuses.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{line("a").size() + 20, line("a").size() + 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto file = RecordFile::open(path_);
    auto status = file->append(timed("k", "b", 1));
    const bool said =
        !status.ok() &&
        status.error().message == path_ + ": cannot append a record; those before it are intact: File too large";
    _exit(said && file->records().size() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(), line("a"));
}
TEST_F(RecordFileTest, StaysAsItWasWhereADiskThatIsFullTakesNoNewOne) {
  write(line("a"));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{line("a").size(), line("a").size()};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto status = replace(path_, {timed("k", "b", 1), timed("k", "c", 1)});
    _exit(!status.ok() && status.error().message == "cannot write \"" + path_ + "\": File too large" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(), line("a"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "nothing is left beside it";
}
TEST_F(RecordFileTest, ThatIsAFolderIsRefused) {
  EXPECT_EQ(read_records(folder_).error().message, folder_ + ": is a folder; a record file was expected");
  const std::string link = folder_ + "/link.jsonl";
  std::filesystem::create_symlink(path_, link);
  EXPECT_TRUE(replace(link, {timed("k", "d", 1)}).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_records(path_)->records.size(), 1u);
  EXPECT_EQ(replace(folder_ + "/no/r.jsonl", {}).error().message,
            folder_ + "/no/r.jsonl: cannot write: No such file or directory");
}
TEST_F(RecordFileTest, LosesAtMostTheLastLineToAKill) {
  Rng rng(1);
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto file = RecordFile::open(path_).value();
      for (int i = 0;; ++i) {
        (void)file.append(timed("k", std::to_string(round) + "." + std::to_string(i), 1));
        (void)!::write(pipe_ends[1], "x", 1);  // one byte a record that append has promised to keep
      }
    }
    close(pipe_ends[1]);
    char bytes[4096];
    std::int64_t promised = read(pipe_ends[0], bytes, 1);  // it has begun
    usleep(static_cast<useconds_t>(rng.below(20000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (ssize_t n; (n = read(pipe_ends[0], bytes, sizeof bytes)) > 0;) promised += n;
    close(pipe_ends[0]);
    std::int64_t found = 0;
    auto file = RecordFile::open(path_).value();
    for (const Record& r : file.records().all()) found += r.steps.rfind(std::to_string(round) + ".", 0) == 0;
    EXPECT_GT(promised, 0);
    EXPECT_TRUE(found == promised || found == promised + 1) << found << " of " << promised;
    EXPECT_LE(file.notes().size(), 1u);
  }
}
/// Two processes that append `each` lines of their own. They exit with 0 where every line was taken.
std::vector<pid_t> start_writers(const std::string& path, int each) {
  std::vector<pid_t> writers;
  for (const char* name : {"a", "b"}) {
    const pid_t child = fork();
    if (child == 0) {
      auto file = RecordFile::open(path).value();
      bool good = true;
      for (int i = 0; i < each; ++i) good &= file.append(timed("k", name + std::to_string(i), 1)).ok();
      _exit(good ? 0 : 1);
    }
    writers.push_back(child);
  }
  return writers;
}
TEST_F(RecordFileTest, TakesWholeLinesFromTwoWriters) {
  constexpr int kEach = 400;
  const std::vector<pid_t> writers = start_writers(path_, kEach);
  for (pid_t writer : writers) {
    int status = 0;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto read = read_records(path_).value();
  EXPECT_TRUE(read.notes.empty());
  std::set<std::string> seen;
  for (const Record& r : read.records.all()) seen.insert(r.steps);
  EXPECT_EQ(seen.size(), 2u * kEach);
  EXPECT_EQ(read.records.size(), 2u * kEach);
}
TEST_F(RecordFileTest, LosesNoLineToWhoWritesItAnewMeanwhile) {
  constexpr int kEach = 300;
  const std::vector<pid_t> writers = start_writers(path_, kEach);
  int running = 2;
  while (running > 0) {
    auto rewrite = RecordRewrite::open(path_).value();
    const auto& there = rewrite.there().records.all();
    EXPECT_EQ(*rewrite.replace(std::vector<Record>(there.begin(), there.end())), 0);
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) <= 0) continue;
    --running;
    EXPECT_EQ(status, 0);
  }
  const auto read = read_records(path_).value();
  std::set<std::string> seen;
  for (const Record& r : read.records.all()) seen.insert(r.steps);
  EXPECT_EQ(seen.size(), 2u * kEach);
  EXPECT_EQ(read.records.size(), 2u * kEach);
  EXPECT_TRUE(read.notes.empty());
}
TEST_F(RecordFileTest, IsHeldWhileItIsWrittenAnew) {
  write(line("a"));
  auto file = RecordFile::open(path_).value();
  auto rewrite = std::make_optional(RecordRewrite::open(path_).value());
  std::thread writer([&] { EXPECT_TRUE(file.append(timed("k", "c", 1)).ok()); });
  EXPECT_TRUE(rewrite->replace({timed("k", "b", 1)}).ok());
  rewrite.reset();
  writer.join();
  EXPECT_EQ(content(), line("b") + line("c"));
}
TEST_F(RecordFileTest, ThatIsWrittenAnewSaysHowManyLinesAreLeftOut) {
  write(line("a") + line("a") + "rubbish\n" + line("b") + "{\"v\":9}\n" + line("c").substr(0, 50));
  EXPECT_EQ(*replace(path_, {timed("k", "a", 1), timed("k", "d", 1)}, {"{\"v\":9}"}), 4);
  EXPECT_EQ(*replace(path_, {timed("k", "a", 1), timed("k", "d", 1)}, {"{\"v\":9}"}), 0);
}
TEST_F(RecordFileTest, ThatIsNotWrittenAfterAllIsNotMade) {
  {
    const auto rewrite = RecordRewrite::open(path_).value();
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}
TEST_F(RecordFileTest, IsKnownByAllItsNames) {
  write(line("a"));
  std::filesystem::create_hard_link(path_, folder_ + "/hard");
  std::filesystem::create_symlink(path_, folder_ + "/link");
  const auto rewrite = RecordRewrite::open(folder_ + "/link").value();
  EXPECT_TRUE(rewrite.is(path_));
  EXPECT_TRUE(rewrite.is(folder_ + "/hard"));
  EXPECT_TRUE(rewrite.is(folder_ + "/./r.jsonl"));
  EXPECT_FALSE(rewrite.is(folder_ + "/other"));
}
TEST_F(RecordFileTest, EndsTheLineOfAWriterThatDiedMeanwhile) {
  auto file = RecordFile::open(path_).value();
  EXPECT_TRUE(file.append(timed("k", "a", 1)).ok());
  std::ofstream(path_, std::ios::app) << "{\"v\":1,\"ta";
  EXPECT_TRUE(file.append(timed("k", "b", 1)).ok());
  EXPECT_EQ(content(), line("a") + "{\"v\":1,\"ta\n" + line("b"));
}
TEST_F(RecordFileTest, IsFollowedWhenItIsReplacedOrRemovedMeanwhile) {
  auto file = RecordFile::open(path_).value();
  EXPECT_TRUE(file.append(timed("k", "a", 1)).ok());
  EXPECT_TRUE(replace(path_, {timed("k", "x", 1)}).ok());
  EXPECT_TRUE(file.append(timed("k", "b", 1)).ok());
  EXPECT_EQ(content(), line("x") + line("b"));
  std::filesystem::remove(path_);
  EXPECT_TRUE(file.append(timed("k", "c", 1)).ok());
  EXPECT_EQ(content(), line("c"));
}
TEST_F(RecordFileTest, ThatIsADeviceIsNotRead) {
  EXPECT_EQ(read_records("/dev/zero").error().message, "/dev/zero: is a device; a record file was expected");
  EXPECT_EQ(read_records("/dev/null")->records.size(), 0u);
  auto full = RecordFile::open("/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_FALSE(full->append(timed("k", "a", 1)).ok());
  EXPECT_EQ(full->records().size(), 0u);
}
TEST_F(RecordFileTest, ThatIsAPipeIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const std::string sentence = path_ + ": is a pipe; a record file was expected";
  EXPECT_EQ(read_records(path_).error().message, sentence);
  EXPECT_EQ(RecordFile::open(path_).error().message, sentence);
}
TEST_F(RecordFileTest, IsReplacedAsAWhole) {
  write(line("old"));
  EXPECT_TRUE(replace(path_, {timed("k", "a", 1)}, {"{\"v\":9}"}).ok());
  EXPECT_EQ(content(), line("a") + "{\"v\":9}\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}
TEST_F(RecordFileTest, OfAnyBytesIsReadOrRefused) {
  Rng rng(5);
  const std::string good = line("a") + line("b") + line("c");
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    for (auto n = rng.between(0, 20); n > 0; --n)
      text[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(text.size())))] =
          static_cast<char>(rng.below(256));
    text.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(text.size()) + 1)));
    auto read = parse_records(text, "r.jsonl");
    if (!read.ok()) continue;
    EXPECT_LE(read->records.size(), 3u);
  }
}

}  // namespace
}  // namespace whet
