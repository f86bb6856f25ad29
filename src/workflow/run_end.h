#pragma once

#include "alternatives/alternatives.h"
#include "measure/device_measurer.h"
#include "tuner/end_needs.h"
#include "workflow/time_budget.h"
#include "workflow/tuning.h"

namespace whet {

/// What a run of the tuner does after its tasks: it times the network, and looks for a better plan of its layouts and covers. It knows
/// what that takes before it begins, and learns more of it while the tasks are tuned. One thread; the arguments live longer.
class RunEnd {
 public:
  RunEnd(const TuneSettings&, const Prepared&, const AlternativeOptions&, TuneListener&);

  /// How the tasks are tuned: with the trials and the time that the end leaves them.
  TuneOptions tasks() const;
  /// Takes in what the search has shown. Returns when the tasks have to have ended from now on.
  double learn(const TuneProgress&);
  /// The progress as people see it: of the whole command, with what is still to come.
  TuneProgress shown(TuneProgress) const;

  /// The network, then the plan. What cannot be timed, or does not fit any more, is told with its name.
  void run(DeviceMeasurer&, const Devices&, RecordFile&, Tuned&);
  const NetworkSize& size() const { return size_; }

  /// How trials and whole networks are measured, for what comes behind the end.
  TuneOptions trial_options() const;
  Result<NetworkOptions> network_options(Measurer&, double deadline) const;

 private:
  EndNeeds needs() const;
  PhaseEnds ends() const { return settings_.time.ends(begun_, needs()); }
  Result<NetworkTruth> settle(Measurer&, Device&, RecordFile&);
  Status compare_again(Measurer&, RecordFile&, PlacementTimes&) const;
  Result<PlanSearch> search_layouts(const Tuned&, Measurer&, Device&, RecordFile&);
  bool has_time_for_layouts(Tuned&) const;
  /// About what measuring other kernels and comparing a plan of them take at the least.
  double plans_seconds() const;
  bool can_compare_plans() const;
  void leave_out(Tuned&, double deadline, const std::string& phase, double needed,
                 const std::string& consequence) const;
  void leave_out(Tuned&, const std::string& sentence) const;
  bool interrupted() const { return settings_.where.interrupted && settings_.where.interrupted(); }

  const TuneSettings& settings_;
  const Prepared& prepared_;
  const AlternativeOptions& alternatives_;
  TuneListener& listener_;
  const double begun_;
  double share_ = 0;           ///< of trials and time, for alternatives; 0: none are searched
  bool known_chains_ = false;  ///< some of these gained in other networks
  double find_seconds_ = 0;    ///< that finding them took
  bool knows_rates_ = false;
  bool most_untried_ = false;  ///< tasks, so that layouts have no time yet
  NetworkSize size_;
};

/// About the seconds that the profile on a run's page takes.
double profile_seconds(const NetworkSize&, bool network_timed);

}  // namespace whet
