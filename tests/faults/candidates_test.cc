// Candidates that go wrong, in real builders and runners of a real run: each costs itself and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hash.h"
#include "faults/session.h"
#include "records/record_file.h"

namespace whet::faults {
namespace candidates_test {

const std::string kFaulty = WHET_FAULTY;

/// What became of a run in which some candidates had this fault.
struct Session {
  Ending ending;
  RecordsRead read;
  std::uint64_t left = 0;  ///< by the hashes of the schedules that had it
};
Session tune_with(const std::string& fault, const std::vector<std::string>& more = {"--trials", "14"}) {
  const Folder folder;
  std::vector<std::string> arguments{"tune",         "zoo:mlp",  "--no-base", "--tasks", "0",  "--cache", "warm",
                                     "--no-network", "--no-pin", "--threads", "1",       "-o", "r.jsonl"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Program program(kFaulty, arguments, folder, {{{"WHET_FAULT", fault}}});
  std::set<pid_t> family;
  program.wait_until([&] {
    for (pid_t process : program.family()) family.insert(process);
    return false;
  });
  Session session{program.end(), read_records(folder / "r.jsonl").value()};
  EXPECT_TRUE(all_gone({family.begin(), family.end()}));
  return session;
}

/// The same with one of `each` schedules. Which ones a run tries depends on the processor: it goes on with others where it tries none of
/// those that have the fault.
Session tune_with_some(const std::string& fault, std::uint64_t each,
                       const std::vector<std::string>& more = {"--trials", "14"}) {
  for (std::uint64_t left = 0;; ++left) {
    Session session = tune_with(fault + "/" + std::to_string(each) + "/" + std::to_string(left), more);
    session.left = left;
    const auto fails = [](const Record& record) { return !record.outcome.ok(); };
    if (left + 1 == each || std::ranges::any_of(session.read.records.all(), fails)) return session;
  }
}

/// The run ends well; its failures are all `code` with a message that contains `message`; there are some, and the good
/// candidates are there too.
void expect_failures(const Session& session, OutcomeCode code, const std::string& message) {
  EXPECT_TRUE(session.ending == 0) << session.ending.number << session.ending.out;
  int good = 0, bad = 0;
  for (const Record& record : session.read.records.all()) {
    record.outcome.ok() ? ++good : ++bad;
    if (record.outcome.ok()) continue;
    EXPECT_EQ(record.outcome.code, code) << record.outcome.message;
    EXPECT_NE(record.outcome.message.find(message), std::string::npos) << record.outcome.message;
  }
  EXPECT_GT(good, 0);
  EXPECT_GT(bad, 0);
  EXPECT_GE(good + bad, 14);
  EXPECT_TRUE(session.read.notes.empty());
  // The user is told, with number and name.
  const std::string told = "with " + std::to_string(static_cast<int>(code)) + " " + std::string(name_of(code)) + ": ";
  EXPECT_NE(session.ending.out.find(told), std::string::npos) << session.ending.out;
}

TEST(ACandidate, ThatCrashesCostsItselfAlone) {
  expect_failures(tune_with_some("crash", 3), OutcomeCode::crash, "SIGSEGV at an address that is null");
}
TEST(ACandidate, ThatHangsIsStoppedAtTheRunTimeout) {
  expect_failures(tune_with_some("hang", 4, {"--trials", "14", "--run-timeout", "0.5"}), OutcomeCode::run_timeout,
                  "did not finish within");
}
TEST(ACandidate, ThatWritesBeyondItsOutputIsCaught) {
  expect_failures(tune_with_some("write_beyond", 3), OutcomeCode::crash, "beyond the end of output 0");
}
TEST(ACandidate, ThatWritesBeforeItsOutputIsCaught) {
  expect_failures(tune_with_some("write_before", 3), OutcomeCode::wrong_answer, "before output 0");
}
TEST(ACandidate, ThatWritesIntoItsInputIsCaught) {
  expect_failures(tune_with_some("write_input", 3), OutcomeCode::crash, "input 0");
}
TEST(ACandidate, ThatReportsAnErrorHasItsNumberInTheRecord) {
  expect_failures(tune_with_some("report_seven", 3), OutcomeCode::runtime, "the kernel reported error 7");
}
TEST(ACandidate, ThatIsFastestAndWrongNeverBecomesTheBest) {
  const Session session = tune_with_some("do_nothing", 3);
  expect_failures(session, OutcomeCode::wrong_answer, "differs by");
  const Record& any = session.read.records.all().front();
  const auto best = session.read.records.best(any.key, {}, parse_target(any.target).value());
  ASSERT_TRUE(best.has_value());
  EXPECT_NE(hash_bytes(best->record->steps) % 3, session.left) << best->record->steps;
}
TEST(ACandidate, ThatCompilesForEverIsStoppedAtTheBuildTimeout) {
  expect_failures(tune_with_some("build_forever", 4, {"--trials", "14", "--build-timeout", "2"}),
                  OutcomeCode::build_timeout, "building took longer than");
}
TEST(ACandidate, ThatEatsMemoryIsStoppedAtTheLimit) {
  // A host may take its time to give so much memory.
  expect_failures(tune_with_some("eat_memory", 6, {"--trials", "14", "--build-timeout", "200"}),
                  OutcomeCode::out_of_memory, "more than the limit of 2048 MiB");
}
TEST(ACandidate, ThatEndsItsBuilderCostsItselfAlone) {
  expect_failures(tune_with_some("die", 3), OutcomeCode::crash, "the builder died: SIGABRT");
}
TEST(ACandidate, WhoseBuilderSendsGarbageCostsItselfAlone) {
  expect_failures(tune_with_some("babble", 3), OutcomeCode::unknown, "the builder's answer makes no sense");
}
TEST(ATask, WhoseCandidatesAllFailIsGivenUpWithTheReason) {
  const Session session = tune_with("crash/1", {"--trials", "60", "--round", "8"});
  EXPECT_TRUE(session.ending == 0) << session.ending.out;
  EXPECT_LT(session.read.records.size(), 60u);
  EXPECT_NE(session.ending.out.find("given up: all of its first"), std::string::npos) << session.ending.out;
}
TEST(AClockThatJumps, NeitherEndsNorProlongsARun) {
  const Session session = tune_with("jumping_clock", {"--seconds", "5"});
  EXPECT_TRUE(session.ending == 0) << session.ending.out;
  EXPECT_GT(session.read.records.size(), 0u);
  for (const Record& record : session.read.records.all()) EXPECT_TRUE(record.outcome.ok()) << record.outcome.message;
  // The file shows that the clock did jump: times of day that go backwards.
  bool backwards = false;
  std::string before;
  for (const Record& record : session.read.records.all()) backwards |= record.at < std::exchange(before, record.at);
  EXPECT_TRUE(backwards);
}

}  // namespace candidates_test
}  // namespace whet::faults
