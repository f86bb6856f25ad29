#include "cli/records_text.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/shown.h"
#include "cli/table.h"

namespace whet {

std::string show_text(const Records& records) {
  Table table(
      {{"Task", false}, {"Target", false}, {"Sketch", false}, {"Best (ms)"}, {"Trials"}, {"Failed"}, {"Measured"}});
  for (const auto& [first, best, trials, failed] : trials_by_task(records))
    table.add({first->task.empty() ? first->key : first->task, first->target, best ? best->candidate.sketch : "-",
               best ? exact_milliseconds(best->outcome.best_seconds()) : "-", std::to_string(trials),
               std::to_string(failed), best ? best->at : "-"});
  return table.to_plain_text();
}

std::string stats_text(const RecordStats& s) {
  std::string out =
      fmt::format("{} of {}: build {:.1f} s, run {:.1f} s, {} ended early as clearly slower\n",
                  counted(s.trials, "trial"), counted(s.tasks, "task"), s.build_seconds, s.run_seconds, s.truncated);
  if (s.compared > 0) out += fmt::format("measured again: {}\n", s.compared);
  for (std::size_t code = 0; code < s.outcomes.size(); ++code)
    if (s.outcomes[code] > 0)
      out += fmt::format("  {:2} {:<14} {}\n", code, name_of(static_cast<OutcomeCode>(code)), s.outcomes[code]);
  if (!s.ranking.empty()) out += "How well the model ranked its proposals (Spearman's correlation, mean over tasks):\n";
  for (const RankingQuality& r : s.ranking)
    out += fmt::format("  round {:3}: {:5.2f} over {}, {}\n", r.round, r.correlation, counted(r.tasks, "task"),
                       counted(r.trials, "trial"));
  if (!s.failures.empty()) out += "Failures, most frequent first:\n";
  for (const FailureGroup& group : s.failures)
    out += fmt::format("  {} x {} {}: {}\n", group.count, static_cast<int>(group.code), name_of(group.code),
                       group.message.empty() ? "(no message)" : shown(group.message));
  return out;
}

}  // namespace whet
