// Processes that die under a run: builders, runners, the zygote, the tuner itself.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <set>

#include "faults/session.h"
#include "records/record_file.h"

namespace whet::faults {
namespace processes_test {

const std::string kWhet = WHET_PROGRAM, kFaulty = WHET_FAULTY;

std::vector<std::string> tune(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"tune", "zoo:resnet-18", "--no-base",    "--image", "32",     "--cache",
                                     "warm", "--no-pin",      "--no-network", "-o",      "r.jsonl"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}
RecordsRead records(const Folder& folder) { return read_records(folder / "r.jsonl").value(); }

/// Every schedule of every task occurs once.
void expect_nothing_twice(const Folder& folder) {
  std::set<std::pair<std::string, std::string>> seen;
  const RecordsRead read = records(folder);
  for (const Record& record : read.records.all())
    EXPECT_TRUE(seen.insert({record.key, record.steps}).second) << record.task.text() << ": " << record.steps;
}

/// Kills the first of `name` after each of `times` records; the session goes on to its end.
void expect_survives_the_death_of(const std::string& name, int times) {
  const Folder folder;
  Program program(kWhet, tune({"--trials", "40", "--tasks", "3", "--least-gain", "0"}), folder);
  int killed = 0;
  for (std::int64_t at = 1; killed < times; ++at) {
    ASSERT_TRUE(program.wait_until([&] { return lines(folder / "r.jsonl") >= at; }));
    const std::vector<pid_t> workers = program.workers(name);
    if (workers.empty()) continue;
    killed += kill(workers.front(), SIGKILL) == 0;
  }
  const std::vector<pid_t> family = program.family();
  const Ending ending = program.end();
  EXPECT_TRUE(ending == 0) << ending.out;
  EXPECT_TRUE(all_gone(family));
  const RecordsRead read = records(folder);
  EXPECT_TRUE(read.notes.empty());
  std::size_t good = 0;
  for (const Record& record : read.records.all()) {
    good += record.outcome.ok();
    if (record.outcome.ok()) continue;
    EXPECT_NE(record.outcome.message.find("was killed from outside (SIGKILL)"), std::string::npos)
        << record.outcome.message;
  }
  EXPECT_GE(good + static_cast<std::size_t>(times), read.records.size());
  EXPECT_GE(read.records.size(), 40u);
}
TEST(ABuilderThatIsKilled, CostsItsCandidateAtMost) { expect_survives_the_death_of("whet-builder", 4); }
TEST(ARunnerThatIsKilled, CostsItsCandidateAtMost) { expect_survives_the_death_of("whet-runner", 4); }

TEST(AZygoteThatIsKilled, EndsTheRunWithASentenceAndKeepsTheRecords) {
  const Folder folder;
  Program program(kWhet, tune({}), folder);
  ASSERT_TRUE(program.wait_until([&] { return lines(folder / "r.jsonl") >= 8; }));
  const std::vector<pid_t> family = program.family();
  kill(program.zygote(), SIGKILL);
  const Ending ending = program.end();
  EXPECT_TRUE(ending == 1) << ending.number;
  EXPECT_NE(ending.out.find("has died; start whet again"), std::string::npos) << ending.out;
  EXPECT_TRUE(all_gone(family));
  EXPECT_TRUE(records(folder).notes.empty());
  EXPECT_GE(records(folder).records.size(), 8u);
}

TEST(ATunerThatIsKilled, LeavesNoProcessBehindEvenWhenACandidateHangs) {
  const Folder folder;
  Program program(kFaulty, tune({"--run-timeout", "1000"}), folder, {{{"WHET_FAULT", "hang/4"}}});
  // A runner that has used much more processor time than a candidate takes hangs; to wait for some records is enough.
  ASSERT_TRUE(program.wait_until([&] { return !program.workers("whet-runner").empty(); }));
  usleep(300000);
  const std::vector<pid_t> family = program.family();
  EXPECT_GE(family.size(), 2u);
  program.send(SIGKILL);
  EXPECT_EQ(program.end().number, SIGKILL);
  EXPECT_TRUE(all_gone(family));
}

TEST(ATunerThatIsKilledAgainAndAgain, NeverMeasuresARecordedTrialTwice) {
  const Folder folder;
  std::int64_t have = 0;
  for (int round = 0; round < 3; ++round) {
    Program program(kWhet, tune({"--seed", std::to_string(round)}), folder);
    ASSERT_TRUE(program.wait_until([&] { return lines(folder / "r.jsonl") >= have + 9; })) << program.end().out;
    have = lines(folder / "r.jsonl");
    program.send(SIGKILL);
    EXPECT_EQ(program.end().number, SIGKILL);
  }
  EXPECT_GE(records(folder).records.size(), 27u);
  EXPECT_LE(records(folder).notes.size(), 1u);
  expect_nothing_twice(folder);
}

TEST(ATunerThatDiesInTheMiddleOfAnAppend, LosesThatLineAloneAndResumes) {
  const Folder folder;
  {
    Program first(kWhet, tune({}), folder);
    ASSERT_TRUE(first.wait_until([&] { return lines(folder / "r.jsonl") >= 8; }));
    first.send(SIGINT);
    EXPECT_TRUE(first.end() == 130);
  }
  const std::string before = content(folder / "r.jsonl");
  {
    // The system writes what fits below the limit and kills at the next byte: between two bytes of a line.
    const rlim_t limit = before.size() + 1000;
    Program cut(kWhet, tune({}), folder, {{}, [limit] {
                                            const rlimit both{limit, limit}, none{0, 0};
                                            setrlimit(RLIMIT_CORE, &none);
                                            setrlimit(RLIMIT_FSIZE, &both);
                                          }});
    const Ending ending = cut.end();
    EXPECT_EQ(ending.number, SIGXFSZ) << ending.out;
  }
  const std::string torn = content(folder / "r.jsonl");
  EXPECT_EQ(torn.size(), before.size() + 1000);
  EXPECT_EQ(torn.substr(0, before.size()), before);
  EXPECT_NE(torn.back(), '\n');
  const std::size_t whole = records(folder).records.size();
  Program resumed(kWhet, tune({}), folder);
  ASSERT_TRUE(resumed.wait_until([&] { return records(folder).records.size() >= whole + 8; }));
  resumed.send(SIGINT);
  const Ending ending = resumed.end();
  EXPECT_TRUE(ending == 130) << ending.out;
  EXPECT_NE(ending.out.find("was cut short, as by a kill; it is skipped"), std::string::npos) << ending.out;
  EXPECT_EQ(content(folder / "r.jsonl").substr(0, torn.size() + 1), torn + "\n");
  expect_nothing_twice(folder);
}

}  // namespace processes_test
}  // namespace whet::faults
