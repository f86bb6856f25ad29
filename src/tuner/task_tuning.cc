#include "tuner/task_tuning.h"

#include <limits>
#include <utility>

#include "artifact/kernel.h"
#include "base/hash.h"
#include "records/record_line.h"
#include "schedule/steps.h"

namespace whet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kVersion = "0.1.0";

SearchSpace view_of(const std::shared_ptr<const DesignSpace>& space) {
  SearchSpace view;
  view.first = space->seeds();  // the default schedule goes before them: TaskTuning sees to it
  view.sample = [space](Rng& rng) { return space->sample(rng); };
  view.count = static_cast<double>(space->count());
  return view;
}

}  // namespace

TaskTuning::TaskTuning(const Task& task, const Target& target, const TuneOptions& options)
    : measure_task_{task.key, task.name, task.dag, target},
      target_text_(to_string(target)),
      cache_(options.cache),
      seed_(options.seed),
      space_(std::make_shared<DesignSpace>(make_space(task.dag, target, {options.exact}))),
      exact_(options.exact) {
  progress_.name = task.name;
  progress_.weight = task.weight;
  progress_.flops = flops(task.dag);
  progress_.best_seconds = progress_.default_seconds = kInfinity;
  if (const Result<Steps> steps = default_steps(task.dag, target); steps.ok()) default_steps_ = to_text(*steps);
}

Result<TaskTuning> TaskTuning::start(const Task& task, const Target& target, const TuneOptions& options,
                                     const Records& records) {
  TaskTuning tuning(task, target, options);
  WHET_TRY(tuning.strategy_,
           make_strategy(options.strategy, view_of(tuning.space_), hash_combine(options.seed, hash_bytes(task.key))));
  tuning.resume(records);
  tuning.begin_with_default();
  return tuning;
}

bool TaskTuning::applies(const Record& record) const {
  return record.target == target_text_ && record.codegen == kCodegenVersion && record.cache == cache_ &&
         (!exact_ || is_exact(record.steps));
}

void TaskTuning::resume(const Records& records) {
  std::vector<Candidate> candidates;
  std::vector<Outcome> outcomes;
  for (const Record* record : records.of(measure_task_.key)) {
    if (!applies(*record)) continue;
    known_.insert(record->steps);
    ++progress_.trials;
    ++progress_.reused;
    progress_.failed += !record->outcome.ok();
    candidates.push_back(record->candidate);
    outcomes.push_back(record->outcome);
  }
  strategy_->observe(candidates, outcomes);
  refresh(records);
}

/// What an untuned compile runs is always measured, and first: it is what tuning is compared with.
void TaskTuning::begin_with_default() {
  if (known_.insert(default_steps_).second) returned_.push_back({space_->default_candidate(), default_steps_, {}});
}

std::vector<Trial> TaskTuning::propose(int n) {
  std::vector<Trial> trials;
  while (static_cast<int>(trials.size()) < n && !returned_.empty()) {
    trials.push_back(std::move(returned_.front()));
    returned_.pop_front();
  }
  while (static_cast<int>(trials.size()) < n) {
    const std::vector<Candidate> candidates = strategy_->propose(n - static_cast<int>(trials.size()));
    if (candidates.empty()) break;
    for (const Candidate& candidate : candidates) {
      Trial trial{candidate, "", {}};
      const Result<Steps> steps = space_->steps(candidate);
      if (steps.ok())
        trial.steps = to_text(*steps);
      else
        trial.measured.outcome = {OutcomeCode::instantiation, steps.error().message};
      // Different choices may write the same schedule: the naive one is the empty text.
      if (!steps.ok() || known_.insert(trial.steps).second) trials.push_back(std::move(trial));
    }
  }
  return trials;
}

void TaskTuning::give_back(std::vector<Trial> trials) {
  for (Trial& trial : trials) returned_.push_back(std::move(trial));
}

void TaskTuning::learn(const std::vector<Trial>& trials) {
  std::vector<Candidate> candidates;
  std::vector<Outcome> outcomes;
  for (const Trial& trial : trials) {
    candidates.push_back(trial.candidate);
    outcomes.push_back(trial.measured.outcome);
    progress_.failed += !trial.measured.outcome.ok();
  }
  progress_.trials += static_cast<std::int64_t>(trials.size());
  strategy_->observe(candidates, outcomes);
}

const Record* TaskTuning::incumbent(const Records& records) const {
  const auto choice =
      records.best(measure_task_.key, measure_task_.target, [&](const Record& record) { return applies(record); });
  return choice && choice->exact ? choice->record : nullptr;
}

const Record* TaskTuning::default_record(const Records& records) const {
  const Record* last = nullptr;
  for (const Record* record : records.of(measure_task_.key))
    if (applies(*record) && record->steps == default_steps_ && record->outcome.ok()) last = record;
  return last;
}

void TaskTuning::refresh(const Records& records) {
  const Record* best = incumbent(records);
  const Record* start = default_record(records);
  progress_.best_seconds = best ? best->outcome.best_seconds() : kInfinity;
  progress_.default_seconds = start ? start->outcome.best_seconds() : kInfinity;
}

Record TaskTuning::record(const Trial& trial) const {
  Record record;
  record.key = measure_task_.key;
  record.task = measure_task_.name;
  record.target = target_text_;
  record.candidate = trial.candidate;
  record.steps = trial.steps;
  record.tree_hash = trial.measured.tree_hash;
  record.codegen = kCodegenVersion;
  record.outcome = trial.measured.outcome;
  record.cache = cache_;
  record.seed = seed_;
  record.whet = kVersion;
  record.host = host_name();
  record.at = utc_now();
  return record;
}

}  // namespace whet
