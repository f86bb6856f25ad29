#include "tuner/task_tuning.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "artifact/code_format.h"
#include "base/arithmetic.h"
#include "base/hash.h"
#include "base/version.h"
#include "records/record_line.h"
#include "schedule/steps.h"

namespace whet {
namespace {

/// Candidates in a row that write schedules which were tried already before a space counts as used up.
constexpr int kFruitless = 256;
/// Records of one task that the model learns from at the start: a file of years must not cost minutes.
constexpr std::size_t kRemembered = 128;

SearchSpace view_of(const std::shared_ptr<const DesignSpace>& space, const std::shared_ptr<Ranker>& ranker,
                    bool seeds) {
  SearchSpace view;
  if (seeds) view.first = space->seeds();  // the default schedule goes before them: TaskTuning sees to it
  view.sample = [space](Rng& rng) { return space->sample(rng); };
  view.mutate = [space](const Candidate& c, Rng& rng) { return space->mutate(c, rng); };
  view.crossover = [space](const Candidate& a, const Candidate& b, Rng& rng) { return space->crossover(a, b, rng); };
  view.neighbours = [space](const Candidate& c) { return space->neighbours(c); };
  view.shift = [space](const Candidate& c, const std::map<std::string, int>& moves) { return space->shift(c, moves); };
  view.at = [space](std::int64_t number) { return space->at(number); };
  view.grid_size = space->grid_size();
  view.count = static_cast<double>(space->count());
  view.rank = [ranker](const std::vector<Candidate>& candidates) { return ranker->rank(candidates); };
  return view;
}

}  // namespace

Trial again(const Record& r) { return {r.candidate, r.steps, r.numerics, r.predicted, {r.outcome, r.tree_hash}}; }

TaskTuning::TaskTuning(const Task& task, int id, const Target& target, const TuneOptions& options,
                       MeasureSetting setting, std::shared_ptr<CostModel> model)
    : measure_task_{task.key, task.name, task.dag, target, task.within, task.inputs},
      twin_(task.twin),
      target_text_(to_string(target)),
      setting_(std::move(setting)),
      codegen_(codegen_version(code_format(target))),
      seed_(options.seed),
      space_(std::make_shared<DesignSpace>(make_space(task.dag, target, {options.exact, options.precision}))),
      default_candidate_(space_->default_candidate()),
      schedules_{options.exact, options.precision},
      seeds_(options.seeds),
      round_trials_(options.round) {
  if (options.own_sketches)
    if (const auto own = options.own_sketches->find(task.key); own != options.own_sketches->end())
      space_ = std::make_shared<DesignSpace>(with_sketches(task.dag, *space_, own->second));
  ranker_ = std::make_shared<Ranker>(space_, target, std::move(model), id);
  progress_.name = task.name;
  progress_.weight = task.weight;
  progress_.flops = flops(task.dag);
  progress_.best_seconds = progress_.default_seconds = kInfinity;
  if (const Result<Steps> steps = default_steps(task.dag, target, schedules_); steps.ok())
    default_steps_ = to_text(*steps), default_numerics_ = numerics_of(*steps);
}

Result<TaskTuning> TaskTuning::start(const Task& task, int id, const Target& target, const TuneOptions& options,
                                     MeasureSetting setting, const Records& records, std::shared_ptr<CostModel> model) {
  TaskTuning tuning(task, id, target, options, std::move(setting), std::move(model));
  WHET_TRY(tuning.strategy_, make_strategy(options.strategy, view_of(tuning.space_, tuning.ranker_, options.seeds),
                                           hash_combine(options.seed, hash_bytes(task.key))));
  tuning.resume(records);
  if (options.seeds) tuning.begin_with_default();
  return tuning;
}

bool TaskTuning::applies(const Record& record) const {
  return record.within == measure_task_.within && record.inputs == measure_task_.inputs.hash &&
         record.target == target_text_ && record.codegen == codegen_ && record.outcome.cache == setting_.cache &&
         permits(schedules_, record.numerics);
}

void TaskTuning::resume(const Records& records) {
  std::vector<const Record*> trials;  // without what was measured again, in comparisons
  std::vector<Candidate> candidates;
  std::vector<Outcome> outcomes;
  std::map<std::string, std::size_t> place;
  for (const Record* record : records.of(measure_task_.key)) {
    if (!applies(*record)) continue;
    known_.insert(record->steps);
    // What could not be scheduled has no steps to be told apart by.
    const bool is_schedule = record->outcome.code != OutcomeCode::instantiation;
    const auto [found, first] = place.try_emplace(record->steps, outcomes.size());
    if (is_schedule && !first) {
      outcomes[found->second] = record->outcome;  // the last figure counts
      continue;
    }
    trials.push_back(record);
    candidates.push_back(record->candidate);
    outcomes.push_back(record->outcome);
  }
  progress_.trials = progress_.reused = static_cast<std::int64_t>(trials.size());
  progress_.failed = std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return !o.ok(); });
  strategy_->observe(candidates, outcomes);
  resume_rounds(trials);
  for (std::size_t i = candidates.size() - std::min(candidates.size(), kRemembered); i < candidates.size(); ++i)
    ranker_->learn(candidates[i], outcomes[i]);
  refresh(records);
}

void TaskTuning::resume_rounds(const std::vector<const Record*>& records) {
  Round round{0, 0, kInfinity};
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Outcome& outcome = records[i]->outcome;
    ++round.trials;
    round.tuning_seconds += outcome.build_seconds + outcome.run_seconds;
    round.best_seconds = std::min(round.best_seconds, outcome.best_seconds());
    if (round.trials < round_trials_ && i + 1 < records.size()) continue;
    earlier_.push_back(round);
    round = {0, 0, round.best_seconds};
  }
}

void TaskTuning::suggest(const std::vector<Candidate>& candidates, const DesignSpace* space) {
  if (!seeds_) return;
  for (const Candidate& candidate : candidates) {
    const std::optional<Candidate> fitted =
        space_->refit(candidate, space ? space->extents(candidate.sketch) : Extents{});
    if (!fitted) continue;
    const Result<Steps> steps = space_->steps(*fitted);
    if (steps.ok() && known_.insert(to_text(*steps)).second)
      returned_.push_back({*fitted, to_text(*steps), numerics_of(*steps)});
  }
}

void TaskTuning::suggest(std::vector<Transfer> transfers) {
  if (!seeds_) return;
  for (Transfer& each : transfers) {
    transfers_.emplace(each.steps, each.gain);
    if (known_.insert(each.steps).second)
      returned_.push_back({std::move(each.candidate), std::move(each.steps), each.numerics});
  }
}

double TaskTuning::expected_gain() const {
  double most = 1;
  for (const Trial& trial : returned_)
    if (const auto transfer = transfers_.find(trial.steps); transfer != transfers_.end())
      most = std::max(most, transfer->second);
  return most;
}

std::size_t TaskTuning::transfers_left() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(returned_, [&](const Trial& t) { return is_transfer(t.steps); }));
}

std::optional<Trial> TaskTuning::take_default() {
  const auto found = std::ranges::find(returned_, default_steps_, &Trial::steps);
  if (found == returned_.end()) return std::nullopt;
  Trial trial = std::move(*found);
  returned_.erase(found);
  return trial;
}

std::vector<Trial> TaskTuning::take_transfers(std::size_t n) {
  std::vector<Trial> taken;
  for (auto it = returned_.begin(); it != returned_.end() && taken.size() < n;) {
    const bool takes = is_transfer(it->steps);
    if (takes) taken.push_back(std::move(*it));
    it = takes ? returned_.erase(it) : std::next(it);
  }
  return taken;
}

/// What an untuned compile runs is always measured, and first: it is what tuning is compared with.
void TaskTuning::begin_with_default() {
  if (known_.insert(default_steps_).second)
    returned_.push_back({default_candidate_, default_steps_, default_numerics_});
}

std::vector<Trial> TaskTuning::propose(int n) {
  std::vector<Trial> trials;
  while (static_cast<int>(trials.size()) < n && !returned_.empty()) {
    trials.push_back(std::move(returned_.front()));
    returned_.pop_front();
  }
  for (int fruitless = 0; static_cast<int>(trials.size()) < n && fruitless < kFruitless;) {
    const std::vector<Candidate> candidates = strategy_->propose(n - static_cast<int>(trials.size()));
    if (candidates.empty()) break;
    for (const Candidate& candidate : candidates) {
      Trial trial{candidate, "", {}, ranker_->predicted(candidate)};
      const Result<Steps> steps = space_->steps(candidate);
      if (steps.ok())
        trial.steps = to_text(*steps), trial.numerics = numerics_of(*steps);
      else
        trial.measured.outcome = refused(steps.error().message);
      // Different choices may write the same schedule: the naive one is the empty text.
      const bool fresh = !steps.ok() || known_.insert(trial.steps).second;
      fruitless = fresh ? 0 : fruitless + 1;
      fresh ? trials.push_back(std::move(trial)) : strategy_->drop(candidate);
    }
  }
  return trials;
}

Outcome TaskTuning::refused(std::string why) const {
  Outcome outcome{OutcomeCode::instantiation, std::move(why)};
  outcome.cache = setting_.cache;
  outcome.device = setting_.device;
  return outcome;
}

void TaskTuning::give_back(std::vector<Trial> trials) {
  returned_.insert(returned_.begin(), std::make_move_iterator(trials.begin()), std::make_move_iterator(trials.end()));
}

void TaskTuning::learn(const std::vector<Trial>& trials) {
  std::vector<Candidate> candidates;
  std::vector<Outcome> outcomes;
  for (const Trial& trial : trials) {
    candidates.push_back(trial.candidate);
    outcomes.push_back(trial.measured.outcome);
    progress_.failed += !trial.measured.outcome.ok();
    ranker_->learn(trial.candidate, trial.measured.outcome);
  }
  progress_.trials += static_cast<std::int64_t>(trials.size());
  strategy_->observe(candidates, outcomes);
}

const Record* TaskTuning::incumbent(const Records& records) const {
  const auto choice = records.best(measure_task_.key, measure_task_.within, measure_task_.target,
                                   [&](const Record& record) { return applies(record); });
  return choice && choice->exact ? choice->record : nullptr;
}

std::vector<PlacedRecords> TaskTuning::placed(const Records& records, const ProcessorPlacement& at_hand) const {
  std::vector<const Record*> own = records.of(measure_task_.key);
  std::erase_if(own, [this](const Record* record) { return !applies(*record); });
  return by_placement(own, at_hand);
}

const Record* TaskTuning::last_record(const Records& records, const std::string& steps) const {
  const Record* last = nullptr;
  for (const Record* record : records.of(measure_task_.key))
    if (applies(*record) && record->steps == steps && record->outcome.ok()) last = record;
  return last;
}

void TaskTuning::refresh(const Records& records) {
  const Record* best = incumbent(records);
  const Record* start = default_record(records);
  progress_.best_seconds = best ? best->outcome.best_seconds() : kInfinity;
  progress_.default_seconds = start ? start->outcome.best_seconds() : kInfinity;
}

TaskProgress TaskTuning::by_the_clock(const Records& records) const {
  TaskProgress shown = progress_;
  const Record *best = incumbent(records), *start = default_record(records);
  if (best) shown.best_seconds = best->outcome.clock_seconds();
  if (start) shown.default_seconds = start->outcome.clock_seconds();
  if (best)
    shown.winner = best->steps == default_steps_ ? Winner::usual
                   : is_transfer(best->steps)    ? Winner::transfer
                                                 : Winner::searched;
  return shown;
}

Record TaskTuning::record(const Trial& trial) const {
  Record record;
  record.key = measure_task_.key;
  record.task = measure_task_.name;
  record.within = measure_task_.within;
  record.inputs = measure_task_.inputs.hash;
  record.target = target_text_;
  record.candidate = trial.candidate;
  record.steps = trial.steps;
  record.numerics = trial.numerics;
  record.tree_hash = trial.measured.tree_hash;
  record.codegen = codegen_;
  record.outcome = trial.measured.outcome;
  record.outcome.device = without_number(trial.measured.outcome.device);
  record.seed = seed_;
  record.round = round_;
  record.predicted = trial.predicted;
  record.whet = version();
  record.at = utc_now();
  return record;
}

bool is_heavier(const TaskTuning& a, const TaskTuning& b) {
  return a.progress().weight * a.progress().best_seconds > b.progress().weight * b.progress().best_seconds;
}

}  // namespace whet
