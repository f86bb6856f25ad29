#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace whet {

/// A schedule of a record file, measured again.
struct Remeasured {
  double then = 0;      ///< as recorded [s]
  double now = 0;       ///< [s]; 0: it has no time
  std::string failure;  ///< why it has none: "no longer replays: ..."; "" where it has one
};

/// Schedules of a task, measured again alternately with its default schedule; or kernels for ranges at one of a task's sizes, which have
/// no default schedule beside them.
struct RemeasuredTask {
  int id = 0;
  std::string name;
  double weight = 1;                  ///< how often the network runs it
  std::vector<Remeasured> schedules;  ///< at least one, the best of then first
  double usual = 0;                   ///< the default schedule's time now [s]; 0: it has none
  std::string estimated;              ///< what differs where they were measured for another target or device; "" else
  bool for_ranges = false;            ///< they are kernels for ranges
};

/// What became of a task's schedules. Pure, as all here.
struct TaskReproduction {
  double drift = 0, worst_drift = 0;  ///< now over then: the median, and the farthest from 1; 0: none has a time
  std::optional<double>
      correlation;  ///< of the times of then and now (Spearman's), where two schedules or more have one
  std::int64_t failed = 0;
  double chosen =
      0;  ///< what the best of then takes now; where that one fails the default schedule, for ranges the next that runs [s]; 0: neither
  double fastest = 0;      ///< of all that were measured now, the default schedule too [s]
  int fastest_place = -1;  ///< among the schedules; -1: the default schedule
  /// Another one is faster now by more than `within` (0.05: 5%), or the best of then fails.
  bool has_other_best(double within) const;
  bool first_failed = false;
};
TaskReproduction reproduction_of(const RemeasuredTask&);

/// What tasks take together.
struct ReproSums {
  std::int64_t idle = 0;  ///< those in which nothing runs that a compile would take: TaskReproduction::chosen is 0
  /// Sums of weight x time of the others [s].
  double then = 0, chosen = 0, fastest = 0, usual = 0;
};

/// The same of all tasks, each by its share of the network's time.
struct Reproduction {
  std::vector<TaskReproduction> tasks;  ///< in the order of the tasks
  double drift = 0, worst_drift = 0;    ///< the weighted median, and the farthest from 1
  std::size_t worst_task = 0;           ///< place of the task that has it
  std::optional<double> correlation;    ///< the mean of the tasks'
  std::int64_t schedules = 0, failed = 0;
  std::int64_t other_best = 0;  ///< tasks whose best of then is the best no longer
  ReproSums sums;               ///< of tasks
  /// Of rows for ranges, which other requests weigh; `usual` is as `chosen`.
  ReproSums ranges;
};
Reproduction reproduction_of(const std::vector<RemeasuredTask>&, double within);

enum class ReproVerdict : std::uint8_t {
  reproduced,      ///< the times and the choices are within the limit
  choices_hold,    ///< the times are not, but who compiles with these records gets what is best here
  not_reproduced,  ///< neither
  unknown,         ///< nothing was measured
};
const char* name_of(ReproVerdict);
ReproVerdict verdict_of(const Reproduction&, double within);
/// The verdict as a sentence that answers "is this log any good on my machine?"
std::string verdict_text(const Reproduction&, double within);

/// The gain of an entry of a record base that is below this is no gain.
constexpr double kLeastClaim = 1.02;
/// Why an entry of a record base goes out: its gain, measured now, is another one by more than `within`, or it claims a gain and
/// has none. "" where it may stay.
std::string why_not_admitted(double claimed, double now, double within);
/// The same of what a chain claims (BaseTask::over_parts): its parts' times over its own. `now` is of kernels alone; the claim has what
/// the network takes longer, too, which parts have more of. So no smaller figure contradicts it, except where the chain takes longer
/// than its parts by more than `within`. 0: one of them has no time.
std::string why_chain_not_admitted(double claimed, double now, double within);

}  // namespace whet
