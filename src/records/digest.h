#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "records/records.h"

namespace whet {

/// The best record of each task and target: the small file to keep. Records come in the order in which their tasks
/// first appear.
std::vector<Record> distill(const Records&);
/// The last plan of each network and target, in the order of their lines.
std::vector<Plan> distill_plans(const Records&);
/// All plans of all files, each once, in order of time.
std::vector<Plan> merge_plans(const std::vector<const Records*>&);
/// Lines of times for ranges of sizes, as they are written. Of kernels, of each schedule that is the fastest of its task at some size, or
/// over all sizes that have one, its last figures, and of each that failed one line; of networks the last of each network, ranges and target.
std::vector<std::string> distill_ranged(const Records&);
/// All lines of all files, each once: times of kernels in order of time, then those of networks.
std::vector<std::string> merge_ranged(const std::vector<const Records*>&);
/// All records of all files, each once (equal lines are one), in order of time between files. Within a file records
/// keep their order, which decides where a schedule was measured again: the clock may have jumped.
std::vector<Record> merge(const std::vector<const Records*>&);
/// Which records count for a target: tuning goes on from those of exactly this one, and compiling takes the nearest whose code can
/// run there.
enum class TargetUse : std::uint8_t { exact, near };
/// The records that serve no task with one of `keys` on a target: one sentence for each reason.
std::vector<std::string> strangers(const Records&, const std::vector<std::string>& keys, const Target&, TargetUse);

/// The trials of one task on one target: schedules, each once.
struct TaskTrials {
  const Record* first = nullptr;  ///< names the task
  const Record* best = nullptr;   ///< null where none ran
  std::int64_t trials = 0, failed = 0;
};
/// In order of first appearance. Valid as long as the records.
std::vector<TaskTrials> trials_by_task(const Records&);

/// Equal failures. Digits in their messages are ignored.
struct FailureGroup {
  OutcomeCode code;
  std::string message;  ///< as it first appeared
  std::int64_t count = 0;
};
/// Distinct failures, most frequent first.
std::vector<FailureGroup> failures(const Records&);

/// Spearman's correlation: of the places that the values have in both lists, which are equally long; 0 where one side does not vary.
double rank_correlation(const std::vector<double>&, const std::vector<double>&);

/// The quality of the model's ranking: Spearman's correlation of expected and measured speed within the rounds of this
/// number, averaged over the tasks. 1: the right order; 0: none.
struct RankingQuality {
  int round = 0;
  std::int64_t tasks = 0, trials = 0;
  double correlation = 0;
};
/// One for each round with at least 8 trials that were expected and measured.
std::vector<RankingQuality> ranking(const Records&);

/// Where the time of a file's trials went, and their outcomes.
struct RecordStats {
  std::int64_t trials = 0, tasks = 0, truncated = 0;
  std::int64_t ranged = 0;    ///< times of kernels for ranges of sizes, which count nowhere else here
  std::int64_t compared = 0;  ///< lines about schedules that an earlier line has: they were measured again
  double build_seconds = 0, run_seconds = 0;
  std::array<std::int64_t, kOutcomeCodes> outcomes{};
  std::vector<FailureGroup> failures;
  std::vector<RankingQuality> ranking;
};
RecordStats stats(const Records&);

}  // namespace whet
