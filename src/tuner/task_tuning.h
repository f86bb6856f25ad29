#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "records/records.h"
#include "search/strategy.h"
#include "space/space.h"
#include "transfer/transfer.h"
#include "tuner/placements.h"
#include "tuner/ranker.h"
#include "tuner/tuner.h"

namespace whet {

/// A candidate on its way through measuring.
struct Trial {
  Candidate candidate;
  std::string steps;     ///< its schedule; empty for the naive one
  Numerics numerics;     ///< of the schedule
  double predicted = 0;  ///< what the model expected of it; 0: nothing
  Measured measured = {};

  /// False where the candidate's choices cannot be replayed: `measured` says why, and there is nothing to run.
  bool is_schedule() const { return measured.outcome.code != OutcomeCode::instantiation; }
};

/// A trial of what was measured before.
Trial again(const Record&);

/// One task under tuning: its space, its strategy and what is known about its candidates.
class TaskTuning {
 public:
  /// Takes up what `records` hold about this task on this target. `id` numbers the task in the model, which learns from
  /// all tasks of a run.
  static Result<TaskTuning> start(const Task&, int id, const Target&, const TuneOptions&, MeasureSetting,
                                  const Records&, std::shared_ptr<CostModel>);

  /// The record is of this target and cache mode, by this code generator, with an algorithm that is allowed.
  bool applies(const Record&) const;

  /// Candidates of other shapes to be measured early: the best of tasks of the same structure, fitted to this one.
  /// `space`: where they come from, null when it is unknown.
  void suggest(const std::vector<Candidate>&, const DesignSpace* space);

  /// Schedules that a record base knows, to be measured early in this order, those that no record holds.
  void suggest(std::vector<Transfer>);
  /// The best of them that is still to be measured promises so much over the default schedule; 1: none is.
  double expected_gain() const;
  /// How many of them are still to be measured.
  std::size_t transfers_left() const;
  /// The default schedule, where it is still to be measured: it goes before all others.
  std::optional<Trial> take_default();
  /// Up to `n` of the record base's that are still to be measured.
  std::vector<Trial> take_transfers(std::size_t n);

  /// Up to `n` trials that no record holds, schedules written out; none when the space is used up.
  std::vector<Trial> propose(int n);
  /// Takes back trials that were not tried: they are the next ones again.
  void give_back(std::vector<Trial>);
  /// Gives the outcomes of trials to the strategy and the counts.
  void learn(const std::vector<Trial>&);

  /// The fastest schedule known to run on exactly this target, in the records; null when there is none.
  const Record* incumbent(const Records&) const;
  /// The last record of the default schedule; null when there is none.
  const Record* default_record(const Records& records) const { return last_record(records, default_steps_); }
  /// The record of the last time that a schedule was measured and ran; null where there is none.
  const Record* last_record(const Records&, const std::string& steps) const;
  const std::string& default_schedule() const { return default_steps_; }
  /// It is one that the record base knows.
  bool is_transfer(const std::string& steps) const { return transfers_.contains(steps); }
  /// Its records by the placement of the processors, as by_placement gives them.
  std::vector<PlacedRecords> placed(const Records&, const ProcessorPlacement& at_hand) const;
  const DesignSpace& space() const { return *space_; }
  /// Rounds of earlier runs, by their records: trials, seconds of tuning, and the best time after each.
  struct Round {
    int trials = 0;
    double tuning_seconds = 0, best_seconds = 0;
  };
  const std::vector<Round>& earlier_rounds() const { return earlier_; }

  bool is_verified(const std::string& steps) const { return verified_.count(steps) > 0; }
  void set_verified(const std::string& steps) { verified_.insert(steps); }

  /// A record of `trial`, complete except for the time at which it is written.
  Record record(const Trial&) const;
  /// A new round begins: records carry its number.
  void begin_round() { ++round_; }
  const MeasureTask& measure_task() const { return measure_task_; }
  /// As the task has it.
  const std::string& twin() const { return twin_; }

  TaskProgress& progress() { return progress_; }
  const TaskProgress& progress() const { return progress_; }
  /// Brings the best times in `progress` up to date.
  void refresh(const Records&);
  /// Its progress; the times are clock times of the last measurement.
  TaskProgress by_the_clock(const Records&) const;

 private:
  TaskTuning(const Task&, int id, const Target&, const TuneOptions&, MeasureSetting, std::shared_ptr<CostModel>);
  /// The outcome of a candidate from which nothing can be built.
  Outcome refused(std::string why) const;
  void resume(const Records&);
  void resume_rounds(const std::vector<const Record*>&);
  void begin_with_default();

  MeasureTask measure_task_;
  std::string twin_;
  std::string target_text_;
  MeasureSetting setting_;
  int codegen_;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const DesignSpace> space_;
  Candidate default_candidate_;  ///< of the task's own space, also where that is not searched
  SpaceOptions schedules_;       ///< that are permitted
  bool seeds_;
  int round_ = 0, round_trials_;
  std::shared_ptr<Ranker> ranker_;
  std::unique_ptr<Strategy> strategy_;
  std::string default_steps_;
  Numerics default_numerics_;
  std::deque<Trial> returned_;               ///< to be tried before what the strategy proposes
  std::map<std::string, double> transfers_;  ///< of the record base: what each promises over the default schedule
  std::set<std::string> known_;              ///< schedules that were measured
  std::set<std::string> verified_;           ///< schedules whose answers were compared with the reference
  std::vector<Round> earlier_;
  TaskProgress progress_;
};

/// True where the network spends more time on `a` than on `b`.
bool is_heavier(const TaskTuning& a, const TaskTuning& b);

}  // namespace whet
