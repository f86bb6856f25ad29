#include "records/digest.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/counted.h"
#include "records/ranged_line.h"
#include "records/record_line.h"

namespace whet {
namespace {

using Group = std::vector<const Record*>;

/// Names the task of a record.
std::string task_id(const Record& r) {
  return canonical_key(r.key) + (r.within.empty() ? "" : " in " + to_string(r.within)) +
         (r.inputs.empty() ? "" : " of inputs " + r.inputs.text());
}

/// Records of one task on one target, in order of first appearance.
std::vector<Group> by_task_and_target(const Records& records) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const Record& r : records.all()) {
    const auto [it, fresh] = index.try_emplace({task_id(r), r.target}, groups.size());
    if (fresh) groups.emplace_back();
    groups[it->second].push_back(&r);
  }
  return groups;
}

/// Numbers tasks as they appear.
class TaskNumbers {
 public:
  int of(const Record& r) {
    if (!r.within.empty() || !r.inputs.empty()) return of_id(task_id(r));
    const auto [found, is_new] = by_key_.try_emplace(&r.key.text(), 0);
    if (is_new) found->second = of_id(task_id(r));
    return found->second;
  }

 private:
  int of_id(std::string id) { return by_id_.try_emplace(std::move(id), static_cast<int>(by_id_.size())).first->second; }

  std::unordered_map<const std::string*, int> by_key_;  ///< of whole outputs: the records of a file share few texts
  std::unordered_map<std::string, int> by_id_;
};

/// A schedule that was tried, in one of the ways of measuring: the line of the trial, and the last one, which counts.
/// Where there is no schedule, they are the same.
struct TrialLines {
  const Record *first, *last;
  int task;
};
using TrialKey = std::tuple<int, std::string_view, std::string_view, std::string_view, int>;
struct HashOfTrial {
  std::size_t operator()(const TrialKey& key) const {
    return 31 * std::hash<std::string_view>()(std::get<2>(key)) + static_cast<std::size_t>(std::get<0>(key));
  }
};
std::vector<TrialLines> trials_of(const Group& records) {
  TaskNumbers tasks;
  std::unordered_map<TrialKey, std::size_t, HashOfTrial> seen(records.size());
  std::vector<TrialLines> trials;
  for (const Record* record : records) {
    const Record& r = *record;
    const int task = tasks.of(r);
    const bool is_schedule = r.outcome.code != OutcomeCode::instantiation;
    const auto [found, is_new] =
        is_schedule ? seen.try_emplace({task, r.target, r.steps, r.outcome.cache, r.codegen}, trials.size())
                    : std::pair(seen.end(), true);
    if (is_new)
      trials.push_back({&r, &r, task});
    else
      trials[found->second].last = &r;
  }
  return trials;
}
std::vector<TrialLines> trials_of(const Records& records) {
  Group all;
  for (const Record& r : records.all()) all.push_back(&r);
  return trials_of(all);
}

const Record* best_of(const Group& group, const Records& records) {
  if (auto target = parse_target(group[0]->target); target.ok())
    if (auto choice = records.best(group[0]->key, group[0]->within, *target,
                                   [&](const Record& record) { return record.inputs == group[0]->inputs; });
        choice && choice->exact && choice->record->within == group[0]->within)
      return choice->record;
  return nullptr;
}

std::string without_digits(const std::string& text) {
  std::string out;
  for (char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c));
    if (digit && !out.empty() && out.back() == '#') continue;
    out += digit ? '#' : c;
  }
  return out;
}

}  // namespace

std::vector<Record> distill(const Records& records) {
  std::vector<Record> out;
  for (const Group& group : by_task_and_target(records))
    if (const Record* best = best_of(group, records)) out.push_back(*best);
  return out;
}

std::vector<Record> merge(const std::vector<const Records*>& files) {
  std::vector<Record> out;
  std::set<std::string> seen;
  std::vector<std::size_t> at(files.size(), 0);
  for (;;) {
    // The file whose next record is the earliest; the first of several.
    const Record* next = nullptr;
    std::size_t from = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (at[i] == files[i]->size()) continue;
      const Record& head = files[i]->all()[at[i]];
      if (!next || head.at < next->at) next = &head, from = i;
    }
    if (!next) return out;
    ++at[from];
    if (seen.insert(to_line(*next)).second) out.push_back(*next);
  }
}

namespace {

bool counts_for(const std::string& target, const Target& wanted, TargetUse use) {
  if (use == TargetUse::exact) return target == to_string(wanted);
  const Result<Target> has = parse_target(target);
  return has.ok() && target_distance(*has, wanted).has_value();
}

}  // namespace

std::vector<std::string> strangers(const Records& records, const std::vector<std::string>& keys, const Target& target,
                                   TargetUse use) {
  std::map<std::string, bool> judged;  // a file has few targets
  const auto counts = [&](const std::string& has) {
    const auto [found, is_new] = judged.try_emplace(has, false);
    if (is_new) found->second = counts_for(has, target, use);
    return found->second;
  };
  std::set<std::string> known, unknown_keys, targets;
  for (const std::string& key : keys) known.insert(canonical_key(key));
  std::int64_t of_others = 0, elsewhere = 0;
  for (const Record& r : records.all()) {
    if (const std::string key = canonical_key(r.key); known.count(key) == 0)
      unknown_keys.insert(key), ++of_others;
    else if (!counts(r.target))
      targets.insert(r.target), ++elsewhere;
  }
  std::vector<std::string> notes;
  if (of_others > 0)
    notes.push_back(counted(of_others, "record") + " of " + counted(std::ssize(unknown_keys), "task") +
                    " that this model does not have (it has changed since, or they are another model's) are not used");
  if (elsewhere > 0) {
    std::string list;
    for (const std::string& each : targets) list += (list.empty() ? "" : "; ") + each;
    notes.push_back(counted(elsewhere, "record") + " of other targets (" + list + ") do not count for " +
                    to_string(target));
  }
  return notes;
}

std::vector<TaskTrials> trials_by_task(const Records& records) {
  std::vector<TaskTrials> tasks;
  for (const Group& group : by_task_and_target(records)) {
    const std::vector<TrialLines> trials = trials_of(group);
    const auto failed =
        std::count_if(trials.begin(), trials.end(), [](const TrialLines& t) { return !t.last->outcome.ok(); });
    tasks.push_back({group[0], best_of(group, records), std::ssize(trials), failed});
  }
  return tasks;
}

std::vector<FailureGroup> failures(const Records& records) {
  std::vector<FailureGroup> groups;
  std::map<std::pair<OutcomeCode, std::string>, std::size_t> index;
  for (const Record& r : records.all()) {
    if (r.outcome.ok()) continue;
    const auto [it, fresh] = index.try_emplace({r.outcome.code, without_digits(r.outcome.message)}, groups.size());
    if (fresh) groups.push_back({r.outcome.code, r.outcome.message, 0});
    ++groups[it->second].count;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return groups;
}

namespace {

constexpr std::size_t kFewestRanked = 8;

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    // Equal values share the mean of their places.
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

std::vector<RankingQuality> ranking_of(const std::vector<TrialLines>& trials) {
  struct Round {
    std::vector<double> expected, speed;
  };
  std::map<std::tuple<int, int, std::string_view>, Round> rounds;  // by number, task and target
  for (const TrialLines& trial : trials) {
    const Record& r = *trial.first;
    if (r.round == 0 || r.predicted == 0 || !r.outcome.ok()) continue;
    Round& round = rounds[{r.round, trial.task, r.target}];
    round.expected.push_back(r.predicted);
    round.speed.push_back(1 / r.outcome.best_seconds());
  }
  std::vector<RankingQuality> out;
  for (const auto& [id, round] : rounds) {
    if (round.expected.size() < kFewestRanked) continue;
    if (out.empty() || out.back().round != std::get<0>(id)) out.push_back({.round = std::get<0>(id)});
    RankingQuality& quality = out.back();
    ++quality.tasks;
    quality.trials += static_cast<std::int64_t>(round.expected.size());
    quality.correlation +=
        (rank_correlation(round.expected, round.speed) - quality.correlation) / static_cast<double>(quality.tasks);
  }
  return out;
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::vector<RankingQuality> ranking(const Records& records) { return ranking_of(trials_of(records)); }

RecordStats stats(const Records& records) {
  RecordStats out;
  Records failed;
  std::set<int> tasks;
  const std::vector<TrialLines> trials = trials_of(records);
  for (const TrialLines& trial : trials) {
    const Record& r = *trial.first;
    ++out.trials;
    tasks.insert(trial.task);
    out.truncated += r.outcome.truncated;
    out.build_seconds += r.outcome.build_seconds;
    out.run_seconds += r.outcome.run_seconds;
    ++out.outcomes[static_cast<std::size_t>(trial.last->outcome.code)];
    if (!trial.last->outcome.ok()) failed.add(*trial.last);
  }
  out.compared = static_cast<std::int64_t>(records.size()) - out.trials;
  out.tasks = static_cast<std::int64_t>(tasks.size());
  out.ranged = std::ssize(records.ranged());
  out.failures = failures(failed);
  out.ranking = ranking_of(trials);
  return out;
}

std::vector<Plan> distill_plans(const Records& records) {
  std::vector<Plan> plans;
  for (const Plan& plan : records.plans())
    if (&plan == (plan.precision ? records.lowered_plan_for(plan.graph, plan.target, plan.precision->uniform)
                                 : records.plan_for(plan.graph, plan.target)))
      plans.push_back(plan);
  return plans;
}

std::vector<Plan> merge_plans(const std::vector<const Records*>& all) {
  std::vector<Plan> plans;
  for (const Records* records : all)
    for (const Plan& plan : records->plans())
      if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
  std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) { return a.at < b.at; });
  return plans;
}

namespace {

/// Of a schedule of one task: its kernel for all sizes.
using KernelKey = std::pair<std::string_view, std::vector<std::int64_t>>;
KernelKey kernel_of(const RangedRecord& r) { return {r.record.steps, r.from}; }

/// The kernels that are the fastest at some size, and the one with the least sum over those that have most sizes. What failed is none.
std::set<KernelKey> worth_keeping(const std::vector<const RangedRecord*>& figures) {
  std::map<std::vector<std::int64_t>, const RangedRecord*> fastest;
  std::map<KernelKey, std::pair<int, double>> sums;
  for (const RangedRecord* each : figures) {
    if (!each->record.outcome.ok()) continue;
    const double seconds = each->record.outcome.best_seconds();
    const RangedRecord*& best = fastest[each->at];
    if (best == nullptr || seconds < best->record.outcome.best_seconds()) best = each;
    auto& [points, sum] = sums[kernel_of(*each)];
    --points, sum += seconds;
  }
  std::set<KernelKey> kept;
  for (const auto& [at, record] : fastest) kept.insert(kernel_of(*record));
  const auto least = std::ranges::min_element(sums, {}, [](const auto& each) { return each.second; });
  if (least != sums.end()) kept.insert(least->first);
  return kept;
}

}  // namespace

std::vector<std::string> distill_ranged(const Records& records) {
  std::vector<std::string> lines;
  std::set<std::pair<std::string, std::string>> seen;
  for (const RangedRecord& record : records.ranged()) {
    const auto target = parse_target(record.record.target);
    if (!target.ok() || !seen.insert({record.range, record.record.target.text()}).second) continue;
    const std::vector<const RangedRecord*> figures = records.ranged_of(record.range, *target);
    const std::set<KernelKey> kept = worth_keeping(figures);
    std::set<std::string_view>
        failed;  // each stays once: without it the schedule might be taken for a kernel of the range
    for (const RangedRecord* each : figures)
      if (each->record.outcome.ok() ? kept.contains(kernel_of(*each)) : failed.insert(each->record.steps).second)
        lines.push_back(to_line(*each));
  }
  for (const NetworkAtSizes& each : records.networks())
    if (records.network_at_sizes(each.graph, each.ranges, each.target) == &each) lines.push_back(to_line(each));
  return lines;
}

std::vector<std::string> merge_ranged(const std::vector<const Records*>& all) {
  std::vector<std::pair<std::string, std::string>> ranged, networks;  // by their times
  std::set<std::string> seen;
  for (const Records* records : all) {
    for (const RangedRecord& each : records->ranged())
      if (std::string line = to_line(each); seen.insert(line).second)
        ranged.emplace_back(each.record.at.text(), std::move(line));
    for (const NetworkAtSizes& each : records->networks())
      if (std::string line = to_line(each); seen.insert(line).second) networks.emplace_back(each.at, std::move(line));
  }
  std::vector<std::string> lines;
  for (auto* list : {&ranged, &networks}) {
    std::ranges::stable_sort(*list, {}, [](const auto& each) { return each.first; });
    for (auto& [at, line] : *list) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace whet
