#include "report/gather.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "alternatives/alternatives.h"
#include "cost/limit.h"
#include "plan/plan.h"
#include "plan/price.h"
#include "records/digest.h"
#include "schedule/loop_tree.h"
#include "schedule/steps.h"

namespace whet {
namespace {

/// Longer than this between two lines, and nobody was tuning [s].
constexpr double kPause = 120;

/// When each line of a file was written, without the pauses.
class FileClock {
 public:
  explicit FileClock(const Records& records) {
    std::multimap<double, double*> times;  // in order, and where each text has what it is to become
    std::string_view before_it;
    for (const Record& record : records.all()) {
      if (record.at == before_it) continue;  // several trials end within a second
      before_it = record.at;
      if (const auto [text, is_new] = since_.try_emplace(record.at, 0); is_new)
        if (const std::optional<double> at = seconds_of_utc(record.at)) times.emplace(*at, &text->second);
    }
    std::optional<double> before;
    for (const auto& [time, since] : times) {
      if (before) length_ += time - *before < kPause ? time - *before : 1;
      *since = length_;
      before = time;
    }
  }
  double of(const Record& record) const {
    const auto found = since_.find(record.at);
    return found == since_.end() ? 0 : found->second;
  }
  double length() const { return length_; }

 private:
  std::unordered_map<std::string_view, double> since_;  // by the text, of which equal times have one form
  double length_ = 0;
};

/// The records of one target alone.
Records of_target(const Records& records, const std::string& target) {
  std::vector<Record> own;
  for (const Record& record : records.all())
    if (record.target == target) own.push_back(record);
  Records found(std::move(own));
  for (const Plan& plan : records.plans()) found.add(plan);
  for (const LayerError& error : records.errors()) found.add(error);
  for (const RangesOnSamples& ranges : records.all_ranges_on_samples()) found.add(ranges);
  return found;
}

struct SameSchedule {
  bool operator()(const Record* a, const Record* b) const {
    return a->steps == b->steps && a->codegen == b->codegen && a->outcome.cache == b->outcome.cache;
  }
};
/// Nearly all records of a task differ in their steps.
struct HashOfSchedule {
  std::size_t operator()(const Record* r) const { return std::hash<std::string_view>()(r->steps); }
};

/// A schedule that was measured again is no new trial: comparisons end a search.
std::vector<const Record*> trials_of_task(const Records& records, const Task& task) {
  std::vector<const Record*> trials;
  const std::vector<const Record*> all = records.of(task.key);
  std::unordered_set<const Record*, HashOfSchedule, SameSchedule> seen(all.size());
  for (const Record* record : all) {
    if (record->within != task.within) continue;
    const bool is_schedule = record->outcome.code != OutcomeCode::instantiation;
    if (!is_schedule || seen.insert(record).second) trials.push_back(record);
  }
  return trials;
}

/// The last time of the default schedule.
double default_time(const Records& records, const Task& task, const ReportSources& from) {
  const Result<Steps> steps = default_steps(task.dag, *from.target, from.schedules);
  const std::string text = steps.ok() ? to_text(*steps) : "";
  double seconds = std::numeric_limits<double>::infinity();
  for (const Record* record : records.of(task.key))
    if (record->within == task.within && record->steps == text && record->outcome.ok())
      seconds = record->outcome.best_seconds();
  return seconds;
}

std::string loops_of(const Record& record, const Task& task) {
  const Result<Steps> steps = parse_steps(record.steps);
  const Result<LoopTree> tree = steps.ok() ? replay(task.dag, *steps) : Result<LoopTree>(steps.error());
  return tree.ok() ? to_text(*tree) : "";
}

ReportTask describe_task(const Records& records, const Task& task, int id, const FileClock& clock,
                         const ReportSources& from) {
  ReportTask out;
  out.id = id, out.name = task.name, out.label = task.label, out.weight = task.weight;
  out.flops = flops(task.dag), out.bytes = bytes(task.dag);
  double pace = 1;  // of all times of the task, so that they compare, and the best is what a run takes by the clock
  const auto best = records.best(task.key, task.within, *from.target,
                                 [&](const Record& record) { return permits(from.schedules, record.numerics); });
  if (best && best->exact) {
    out.best_seconds = best->record->outcome.clock_seconds();
    pace = best->record->outcome.pace;
    out.schedule = loops_of(*best->record, task);
    out.choices = to_json(best->record->candidate);
  }
  out.default_seconds = pace * default_time(records, task, from);
  for (const Record* record : trials_of_task(records, task))
    out.trials.push_back({clock.of(*record), pace * record->outcome.best_seconds(), record->outcome.code,
                          record->outcome.build_seconds + record->outcome.run_seconds});
  return out;
}

std::vector<ReportDevice> devices_of(const Records& records) {
  std::vector<ReportDevice> devices;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const Record& record : records.all()) {
    const Outcome& outcome = record.outcome;
    const std::string& unit = outcome.conditions.unit;
    const auto [found, is_new] = places.try_emplace({outcome.device, unit}, devices.size());
    if (is_new) {
      const std::string name = outcome.device + (unit.empty() || outcome.device.empty() ? "" : " ") + unit;
      devices.emplace_back().name = name.empty() ? "unnamed" : name;
    }
    ReportDevice& device = devices[found->second];
    ++device.candidates;
    device.failed += outcome.ok() ? 0 : 1;
    if (!outcome.conditions.governor.empty()) device.governor = outcome.conditions.governor;
    if (const double ghz = outcome.conditions.ghz; ghz > 0) {
      device.ghz_low = device.ghz_low > 0 ? std::min(device.ghz_low, ghz) : ghz;
      device.ghz_high = std::max(device.ghz_high, ghz);
    }
    device.celsius_high = std::max(device.celsius_high, outcome.conditions.celsius);
    device.throttled += outcome.conditions.throttled ? 1 : 0;
  }
  return devices;
}

/// "chain: a+b" -> "chain"
std::string kind_of_cover(const Alternative& cover) { return cover.name.substr(0, cover.name.find(':')); }

/// A network's alternatives with their prices.
struct PricedKernels {
  const FusedGraph& fused;
  const Alternatives& alternatives;
  const std::vector<Price>& prices;
  std::map<int, std::size_t> usual = {};  ///< the groups' own kernels, by group
};

PricedKernels with_usual(PricedKernels priced) {
  for (std::size_t a = 0; a < priced.alternatives.usual; ++a)
    if (const Alternative& own = priced.alternatives.all[a]; own.task >= 0) priced.usual[own.group] = a;
  return priced;
}

/// The usual kernels whose work the alternative does, of a usual one itself; none where some of them was not measured.
std::vector<std::size_t> usual_of(const PricedKernels& priced, const Alternative& alternative) {
  std::vector<int> groups = alternative.instead;
  if (alternative.kind == AlternativeKind::usual) groups = {alternative.group};
  std::vector<std::size_t> kernels;
  for (int group : groups)
    if (const auto own = priced.usual.find(group); own != priced.usual.end()) kernels.push_back(own->second);
  const auto is_measured = [&](std::size_t a) { return priced.prices[a].kind == PriceKind::measured; };
  return std::ranges::all_of(kernels, is_measured) ? kernels : std::vector<std::size_t>();
}

ReportKernel describe_kernel(const PricedKernels& priced, int number) {
  const Alternatives& alternatives = priced.alternatives;
  const auto at = static_cast<std::size_t>(number);
  const Alternative& alternative = alternatives.all[at];
  const std::string forms = alternative.name.empty() ? to_text(kChannelsLast) : alternative.name;
  const std::size_t arrow = forms.find(" -> ");
  ReportKernel kernel;
  kernel.node = priced.fused.graph.value(alternative.fragment.writes.front().value).name;
  if (alternative.task >= 0) {
    const Task& task = alternatives.tasks[static_cast<std::size_t>(alternative.task)];
    kernel.op = task.name, kernel.label = task.label;
  }
  kernel.from = forms.substr(0, arrow);
  kernel.to = arrow == forms.npos ? kernel.from : forms.substr(arrow + 4);
  if (names_cover(alternative.name)) kernel.from = kernel.to = to_text(kChannelsLast);
  if (alternative.kind == AlternativeKind::cover)
    kernel.cover = kind_of_cover(alternative), kernel.instead = static_cast<int>(alternative.instead.size());
  kernel.copy = alternative.kind == AlternativeKind::transform;
  kernel.seconds = priced.prices[at].seconds, kernel.excess = priced.prices[at].excess;
  kernel.measured = priced.prices[at].kind == PriceKind::measured;
  for (std::size_t own : usual_of(priced, alternative))
    kernel.usual_seconds += priced.prices[own].seconds, kernel.usual_excess += priced.prices[own].excess;
  return kernel;
}

ReportPlan describe_plan(const PricedKernels& priced, const std::vector<int>& numbers) {
  ReportPlan plan;
  for (int number : numbers) {
    plan.kernels.push_back(describe_kernel(priced, number));
    plan.seconds += plan.kernels.back().seconds, plan.excess += plan.kernels.back().excess;
  }
  return plan;
}

/// Whether the records have kernels that are no tasks of the network: other layouts and covers were tried.
bool has_others(const Records& records, const std::vector<Task>& tasks) {
  std::set<std::string> own;
  for (const Task& task : tasks) own.insert(task.key);
  return std::ranges::any_of(records.keys(), [&](const std::string& key) { return !own.contains(key); });
}

/// What the plan's kernels are made of, and covers where some may have been measured: to find others takes longer than the
/// page.
AlternativeOptions named_by(const Plan* plan, bool covers) {
  AlternativeOptions options{.forms = {}, .covers = covers};
  if (plan == nullptr) return options;
  for (const auto* kernels : {&plan->kernels, &plan->runner_up}) {
    const auto is_cover = [](const PlannedKernel& kernel) { return names_cover(kernel.forms); };
    options.covers = options.covers || std::any_of(kernels->begin(), kernels->end(), is_cover);
    add_forms_of(*kernels, options);
  }
  return options;
}

/// The covers that were measured, as the usual kernels whose work they do; equal kernels once. All times are of kernels alone.
std::vector<ReportCover> covers_of(const PricedKernels& priced, const std::vector<int>& chosen) {
  const Alternatives& alternatives = priced.alternatives;
  const std::vector<Price>& prices = priced.prices;
  std::vector<ReportCover> covers;
  std::map<int, std::size_t> places;  // by task
  for (std::size_t a = alternatives.usual; a < alternatives.all.size(); ++a) {
    const Alternative& own = alternatives.all[a];
    if (own.kind != AlternativeKind::cover || prices[a].kind != PriceKind::measured) continue;
    const std::vector<std::size_t> instead = usual_of(priced, own);
    if (instead.empty()) continue;
    const bool is_chosen = std::ranges::count(chosen, static_cast<int>(a)) > 0;
    if (const auto [found, is_new] = places.try_emplace(own.task, covers.size()); !is_new) {
      ++covers[found->second].times, covers[found->second].chosen |= is_chosen;
      continue;
    }
    ReportCover& cover = covers.emplace_back();
    cover.kind = kind_of_cover(own), cover.seconds = prices[a].alone(), cover.chosen = is_chosen;
    for (std::size_t one : instead) {
      cover.kernels.push_back(alternatives.tasks[static_cast<std::size_t>(alternatives.all[one].task)].label);
      cover.usual_seconds += prices[one].alone();
    }
  }
  const auto saved = [](const ReportCover& cover) { return cover.times * (cover.usual_seconds - cover.seconds); };
  std::ranges::stable_sort(covers, std::ranges::greater(), saved);
  return covers;
}

Result<ReportLayouts> layouts_of(const Records& records, const ReportSources& from, std::int64_t network_bytes) {
  const FusedGraph& fused = *from.fused;
  const Plan* plan = records.plan_for(hash_of(fused), to_string(*from.target));
  WHET_TRY(const Alternatives alternatives,
           find_alternatives(fused, *from.target, named_by(plan, has_others(records, *from.tasks))));
  const std::vector<Price> prices = prices_of(alternatives, records, *from.target,
                                              {.schedules = from.schedules,
                                               .rates = from.rates,
                                               .network_bytes = network_bytes,
                                               .excess = plan != nullptr ? plan->excess : NetworkExcess()});
  const PricedKernels priced = with_usual({fused, alternatives, prices});
  ReportLayouts layouts;
  WHET_TRY(const NetworkPlan usual, find_plan(fused, alternatives, {}));
  layouts.usual = layouts.chosen = describe_plan(priced, usual.alternatives);
  std::vector<int> taken = usual.alternatives;
  if (plan != nullptr)
    if (const auto chosen = find_plan(fused, alternatives, plan->kernels); chosen.ok()) {
      layouts.chosen = describe_plan(priced, chosen->alternatives);
      taken = chosen->alternatives;
    }
  layouts.covers = covers_of(priced, taken);
  if (plan == nullptr) return layouts;
  if (plan->runner_up_seconds > 0)
    if (const auto second = find_plan(fused, alternatives, plan->runner_up); second.ok())
      layouts.runner_up = describe_plan(priced, second->alternatives);
  layouts.bound_seconds = plan->bound_seconds;
  layouts.network_seconds = plan->network_seconds;
  layouts.usual_network_seconds = plan->usual_network_seconds;
  layouts.differs = !plan->kernels.empty();
  layouts.recorded_at = plan->at;
  layouts.tried = plan->tried;
  return layouts;
}

/// Nothing of a network of which the records know neither errors nor a plan in fewer bits.
ReportPrecision precision_of(const Records& records, const ReportSources& from) {
  const auto is_lowered = [](const Plan& plan) { return plan.precision.has_value(); };
  ReportPrecision precision;
  if (records.errors().empty() && std::ranges::none_of(records.plans(), is_lowered)) return precision;
  const Result<LoweredKernels> kernels = lowered_kernels(*from.fused, records, *from.target, from.schedules);
  if (!kernels.ok()) {
    precision.note = "the records' plan in fewer bits does not count: " + kernels.error().message;
    return precision;
  }
  precision.note = kernels->note;
  if (kernels->errors.empty() && kernels->line == nullptr) return precision;
  precision.layers = layer_precisions(*from.fused, *kernels);
  if (kernels->line == nullptr) return precision;
  const Plan& line = *kernels->line;
  precision.adopted = true, precision.plan = *line.precision, precision.recorded_at = line.at;
  precision.network_seconds = line.network_seconds, precision.usual_network_seconds = line.usual_network_seconds;
  return precision;
}

void add_trials(ReportData& data, const Records& records, const FileClock& clock) {
  const RecordStats counted = stats(records);
  data.trials = counted.trials;
  data.build_seconds = counted.build_seconds, data.run_seconds = counted.run_seconds;
  data.tuned_for_seconds = clock.length();
  for (const FailureGroup& group : counted.failures) data.failures.push_back({group.code, group.message, group.count});
  for (const Record& record : records.all())
    if (record.outcome.ok()) data.paces.push_back({clock.of(record), record.outcome.pace});
}

}  // namespace

std::optional<double> seconds_of_utc(const std::string& at) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (at.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == 'd' ? at[i] < '0' || at[i] > '9' : at[i] != kForm[i]) return std::nullopt;
  const auto two = [&](std::size_t from) { return 10 * (at[from] - '0') + at[from + 1] - '0'; };
  // Days since 1970 by the civil calendar, March first, so that a leap day ends its year.
  const int month = two(5), year = 100 * two(0) + two(2) - (month <= 2 ? 1 : 0);
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + two(8) - 1;
  const int days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
  return days * 86400.0 + two(11) * 3600 + two(14) * 60 + two(17);
}

Result<ReportData> gather_report(const ReportSources& from) {
  const std::string target = to_string(*from.target);
  const auto& all = from.records->all();
  const bool is_mixed =
      std::any_of(all.begin(), all.end(), [&](const Record& record) { return record.target != target; });
  const Records own = is_mixed ? of_target(*from.records, target) : Records();
  const Records& records = is_mixed ? own : *from.records;
  const FileClock clock(records);
  ReportData data;
  data.target = target;
  data.rates = from.rates;
  data.tasks.resize(from.tasks->size());
  for (const NetworkAtSizes& each : from.records->networks())
    if (each.target == target && from.records->network_at_sizes(each.graph, each.ranges, each.target) == &each)
      data.at_sizes.push_back(each);
  const bool has_layouts = from.layouts && from.target->is_cpu();
  std::int64_t network_bytes = 0;
  from.for_each(static_cast<int>(data.tasks.size()) + 1, [&](int i) {
    if (i == 0) return void(network_bytes = has_layouts ? from.network_bytes() : 0);
    const auto t = static_cast<std::size_t>(i - 1);
    data.tasks[t] = describe_task(records, (*from.tasks)[t], static_cast<int>(t), clock, from);
  });
  // The records have been touched now: what takes longest, and what is beside it.
  Status layouts = ok_status();
  const std::function<void()> others[] = {
      [&] {
        if (!has_layouts) return;
        Result<ReportLayouts> found = layouts_of(records, from, network_bytes);
        found.ok() ? void(data.layouts = std::move(*found)) : void(layouts = found.error());
      },
      [&] {
        if (has_layouts) data.precision = precision_of(records, from);
      },
      [&] { add_trials(data, records, clock); }, [&] { data.devices = devices_of(records); }};
  from.for_each(static_cast<int>(std::size(others)), [&](int i) { others[i](); });
  if (!layouts.ok()) return layouts.error();
  data.other_trials = data.trials;
  for (const ReportTask& task : data.tasks) data.other_trials -= std::ssize(task.trials);
  data.other_trials = std::max<std::int64_t>(0, data.other_trials);
  return data;
}

}  // namespace whet
