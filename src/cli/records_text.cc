#include "cli/records_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/arithmetic.h"
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
  return table.to_plain_text() + ranged_text(records);
}

namespace {

/// "2x128"
std::string joined_sizes(const std::vector<std::int64_t>& values) { return fmt::format("{}", fmt::join(values, "x")); }

/// The fastest figures of each task for ranges, with their target, in order of first appearance.
std::vector<const RangedRecord*> fastest_ranged(const Records& records) {
  std::vector<const RangedRecord*> all;
  std::set<std::pair<std::string, std::string>> seen;
  for (const RangedRecord& record : records.ranged()) {
    const auto target = parse_target(record.record.target);
    if (!target.ok() || !seen.insert({record.range, record.record.target.text()}).second) continue;
    std::map<std::vector<std::int64_t>, const RangedRecord*> fastest;
    for (const RangedRecord* each : records.ranged_of(record.range, *target)) {
      if (!each->record.outcome.ok()) continue;
      const RangedRecord*& best = fastest[each->at];
      if (best == nullptr || each->record.outcome.best_seconds() < best->record.outcome.best_seconds()) best = each;
    }
    for (const auto& [at, each] : fastest) all.push_back(each);
  }
  return all;
}

}  // namespace

std::string ranged_text(const Records& records) {
  const std::vector<const RangedRecord*> fastest = fastest_ranged(records);
  if (fastest.empty()) return "";
  Table table(
      {{"Task of ranges", false}, {"Sizes", false}, {"At"}, {"Fastest (ms)"}, {"Schedule of"}, {"Target", false}});
  for (const RangedRecord* each : fastest)
    table.add({shown(each->record.task), shown(each->sizes), joined_sizes(each->at),
               exact_milliseconds(each->record.outcome.best_seconds()), joined_sizes(each->from),
               shown(each->record.target)});
  return table.to_plain_text();
}

std::string network_text(const NetworkAtSizes& network) {
  std::string text = fmt::format("{} at {} [{}]\n", shown(network.name), shown(network.ranges), shown(network.target));
  for (const TimedAtSizes& point : network.points)
    text += fmt::format("{:10.4f} ms  at {}{}{}{}\n", point.ranged * 1e3, joined_sizes(point.at),
                        point.untuned > 0 ? fmt::format("; untuned {:.4f}", point.untuned * 1e3) : "",
                        point.exact > 0 ? fmt::format("; a library for it alone {:.4f}", point.exact * 1e3) : "",
                        point.hot             ? "; it has kernels of its own"
                        : point.keeps_untuned ? "; untuned kernels are kept"
                                              : "");
  return text;
}

std::string networks_text(const Records& records) {
  std::string text;
  for (const NetworkAtSizes& each : records.networks())
    if (records.network_at_sizes(each.graph, each.ranges, each.target) == &each) text += network_text(each);
  return text;
}

std::string alone_text(const std::vector<TimedAtSizes>& points) {
  double least = kInfinity, most = 0;
  for (const TimedAtSizes& point : points) {
    if (!(point.exact > 0) || !(point.ranged > 0)) continue;
    least = std::min(least, point.exact / point.ranged), most = std::max(most, point.exact / point.ranged);
  }
  if (most == 0) return "";
  const std::string low = fmt::format("{:.2f}", least), high = fmt::format("{:.2f}", most);
  return fmt::format("A library for one size alone takes {} of the tuned time\n",
                     low == high ? low : low + " to " + high);
}

std::string stats_text(const RecordStats& s) {
  std::string out =
      fmt::format("{} of {}: build {:.1f} s, run {:.1f} s, {} ended early as clearly slower\n",
                  counted(s.trials, "trial"), counted(s.tasks, "task"), s.build_seconds, s.run_seconds, s.truncated);
  if (s.ranged > 0) out += fmt::format("times of kernels for ranges of sizes: {}\n", s.ranged);
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
