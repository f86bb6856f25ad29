#pragma once

#include <array>
#include <string>
#include <vector>

#include "records/records.h"

namespace whet {

/// The best record of each task and target: the small file to keep. In the order in which tasks first appear.
std::vector<Record> distill(const Records&);
/// All records of all files, each once (two lines that say the same are one), in order of time between files. Within a
/// file they stay in their order, which counts where a schedule was measured again: the clock may have jumped.
std::vector<Record> merge(const std::vector<const Records*>&);
/// What of the records serves no task with one of `keys` on `target` ("": on any), a sentence for each reason.
std::vector<std::string> strangers(const Records&, const std::vector<std::string>& keys, const std::string& target);
/// A table, a row for each task and target: trials, failures, best time, when and where.
std::string show(const Records&);

/// The same failure many times: digits are left out of account.
struct FailureGroup {
  OutcomeCode code;
  std::string message;  ///< as it first appeared
  std::int64_t count = 0;
};
/// Distinct failures, most frequent first.
std::vector<FailureGroup> failures(const Records&);

/// How well the model ranked what it proposed: Spearman's correlation of expected and measured speed within the rounds
/// of this number, averaged over the tasks. 1: the right order; 0: none.
struct RankingQuality {
  int round = 0;
  std::int64_t tasks = 0, trials = 0;
  double correlation = 0;
};
/// One a round, of rounds with at least 8 trials that were expected and measured.
std::vector<RankingQuality> ranking(const Records&);

/// Where the time went and what came of it.
struct RecordStats {
  std::int64_t trials = 0, tasks = 0, truncated = 0;
  std::int64_t compared = 0;  ///< lines about schedules that an earlier line has: they were measured again
  double build_seconds = 0, run_seconds = 0;
  std::array<std::int64_t, kOutcomeCodes> outcomes{};
  std::vector<FailureGroup> failures;
  std::vector<RankingQuality> ranking;
};
RecordStats stats(const Records&);
std::string to_text(const RecordStats&);

}  // namespace whet
