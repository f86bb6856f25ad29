#include "workflow/events.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"
#include "workflow/tune_json.h"

namespace whet::events_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What is written to a pipe, line by line.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  int write_end() const { return ends_[1]; }
  std::vector<std::string> lines() {
    ::close(ends_[1]);
    ends_[1] = -1;
    std::string text(1 << 20, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends_[0], text.data(), text.size()))));
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      lines.push_back(text.substr(at, end - at));
      at = end == std::string::npos ? text.size() : end + 1;
    }
    return lines;
  }

 private:
  int ends_[2] = {-1, -1};
};

TaskProgress task(int id, double best) {
  TaskProgress task;
  task.id = id;
  task.name = "task" + std::to_string(id);
  task.best_seconds = best;
  task.default_seconds = 2e-3;
  return task;
}

TEST(FirstRound, IsASentenceAboutTheWholeRun) {
  TuneProgress progress;
  EXPECT_EQ(first_round_text(progress), "");
  EXPECT_EQ(dump(first_round_json(progress)), "null");
  for (const Winner winner : {Winner::transfer, Winner::transfer, Winner::usual, Winner::none})
    progress.tasks.push_back(task(0, 1e-3)), progress.tasks.back().winner = winner;
  progress.quick = {3, 9, 0.5};
  EXPECT_EQ(first_round_text(progress),
            "In the first round 3 of 4 tasks; 2 winners are transfers, 1 default, 1 untimed");
  progress.tasks[1].winner = Winner::searched;
  EXPECT_EQ(first_round_text(progress),
            "In the first round 3 of 4 tasks; 1 winner is a transfer, 1 is searched, 1 default, 1 untimed");
  EXPECT_EQ(dump(first_round_json(progress)),
            R"({"tasks":3,"of_tasks":4,"trials":9,"seconds":0.5,"winners":{"transfer":1,"searched":1,"default":1}})");
}
TEST(EventStream, WritesALineAnEventWithVersionNameAndTime) {
  Pipe pipe;
  {
    EventStream stream = EventStream::open(std::to_string(pipe.write_end())).value();
    stream.write("note", Json::object().set("text", "two\nlines"));
    stream.write("compiling", Json::object().set("done", 1).set("all", 3));
    EXPECT_TRUE(stream.status().ok());
  }
  const std::vector<std::string> lines = pipe.lines();
  ASSERT_EQ(lines.size(), 2u);
  const Json first = parse_json(lines[0]).value();
  EXPECT_EQ(first["v"].integer(), kEventsVersion);
  EXPECT_EQ(first["event"].string(), "note");
  EXPECT_TRUE(first["t"].is_number());
  EXPECT_EQ(first["text"].string(), "two\nlines");
  EXPECT_EQ(parse_json(lines[1]).value()["done"].integer(), 1);
}
TEST(EventStream, RefusesWhatCannotBeWritten) {
  EXPECT_EQ(EventStream::open("12345").error().message,
            "--events is 12345; expected a file descriptor that is open for writing, or a path");
  EXPECT_EQ(EventStream::open("/nowhere/events").error().message,
            "--events: /nowhere/events cannot be written: No such file or directory");
}
TEST(EventStream, CutsNothingOfAnOpenDescriptor) {
  const std::string path = ::testing::TempDir() + "events_log";
  std::ofstream(path) << "a line\n";
  const int log = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  EventStream::open("/dev/fd/" + std::to_string(log)).value().write("note", Json::object());
  ::close(log);
  std::ifstream file(path);
  std::string line;
  EXPECT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "a line");
  std::filesystem::remove(path);
}
TEST(EventStream, SaysOnceThatAFileIsFull) {
  EventStream stream = EventStream::open("/dev/full").value();
  stream.write("note", Json::object());
  stream.write("note", Json::object());
  ASSERT_FALSE(stream.status().ok());
  EXPECT_EQ(stream.status().error().message, "--events: /dev/full cannot be written: No space left on device");
}

TEST(RoundEvent, HasTheTasksThatChanged) {
  TuneProgress progress;
  progress.tasks = {task(3, 1e-3), task(7, kInfinity)};
  progress.task = 0, progress.next_task = 1;
  std::map<int, Json> known;
  EXPECT_EQ(round_event(progress, known)["tasks"].items().size(), 2u);
  EXPECT_EQ(round_event(progress, known)["tasks"].items().size(), 0u);
  EXPECT_EQ(dump(round_event(progress, known)["compared"]),
            R"({"tasks":1,"of_tasks":2,"default_ms":2.0,"best_ms":1.0})");
  progress.tasks[1].best_seconds = 5e-4;
  const Json event = round_event(progress, known);
  ASSERT_EQ(event["tasks"].items().size(), 1u);
  EXPECT_EQ(event["tasks"].items()[0]["id"].integer(), 7);
  EXPECT_EQ(event["tasks"].items()[0]["best_ms"].number(), 0.5);
  EXPECT_EQ(event["task"].integer(), 3);
  EXPECT_EQ(event["next_task"].integer(), 7);
}

TEST(SecondsLeft, CountWhatComesAfterTheTrials) {
  TuneProgress progress;
  progress.trials = 40, progress.allowed_trials = 100, progress.seconds = 10;
  progress.to_come = 7;
  EXPECT_DOUBLE_EQ(seconds_left(progress), 15 + 7);
  progress.allowed_seconds = 20;
  EXPECT_DOUBLE_EQ(seconds_left(progress), 10) << "the time of the whole command has all in it";
  progress.allowed_trials = 0, progress.seconds = 25;
  EXPECT_DOUBLE_EQ(seconds_left(progress), 0);
  progress.allowed_seconds = 0;
  EXPECT_TRUE(std::isinf(seconds_left(progress)));
}
TEST(CompilingEvent, SaysTheSecondsLeftWhereTheyAreKnown) {
  EXPECT_EQ(dump(compiling_event(1, 3, 2.5)), R"({"done":1,"all":3,"left_seconds":2.5})");
  EXPECT_EQ(dump(compiling_event(3, 3, kInfinity)), R"({"done":3,"all":3,"left_seconds":null})");
}

/// A name of any bytes: kernels are named after a file's nodes.
std::string any_bytes(Rng& rng) {
  std::string bytes(rng.below(20), '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.below(256));
  return bytes;
}
double any_time(Rng& rng) {
  constexpr double kTimes[] = {0, 1e-9, 1e-3, 1e300, kInfinity, -kInfinity};
  return rng.below(8) == 0 ? std::numeric_limits<double>::quiet_NaN() : kTimes[rng.below(6)];
}

TEST(Events, AreOneLineOfJsonWhateverIsInThem) {
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    TuneProgress progress;
    for (int id = 0; id < 3; ++id) progress.tasks.push_back(task(id, any_time(rng)));
    for (TaskProgress& each : progress.tasks) each.name = any_bytes(rng), each.given_up = any_bytes(rng);
    progress.seconds = any_time(rng), progress.remaining_gain = any_time(rng);
    progress.task = static_cast<int>(rng.below(4)) - 1;
    std::map<int, Json> known;
    const std::string line = dump(round_event(progress, known));
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Result<Json> read = parse_json(line);
    ASSERT_TRUE(read.ok()) << line;
    EXPECT_EQ((*read)["tasks"].items().size(), 3u);
    EXPECT_EQ((*read)["task"].is_null(), progress.task < 0);
  }
}

}  // namespace
}  // namespace whet::events_test
