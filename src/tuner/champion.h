#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "tuner/run_log.h"

namespace whet {

/// The schedule of a task that the others have to beat, alternately with it: what won the last comparison. It gives
/// the machine's pace as well, because what disturbs a machine slows schedules down by different factors.
struct Champion {
  std::string steps;
  double seconds;                     ///< in a comparison, at pace 1
  ProcessorPlacement placement = {};  ///< in which it took them
};

/// Times schedules of a task alternately. Where its champion is one of them, that gives all their pace; a champion that seems
/// slower than the machine can be is timed again. A champion's time in another placement gives no pace: it belongs to that one. Each
/// call's seconds count as those of confirming.
class Contest {
 public:
  Contest(Measurer& measurer, RunLog& log) : measurer_(measurer), log_(log), deciding_(measurer.setting().device) {}

  /// One outcome a schedule.
  std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps,
                               const std::optional<Champion>&, int bursts = 2);
  /// The same of challengers and the champion, the last of them: a second burst only where it does not clearly lead.
  std::vector<Outcome> challenge(const MeasureTask&, const std::vector<std::string>& steps, const Champion&);
  /// A schedule alone, as it will be timed for the pace once it is the champion. `expected`: its seconds so far.
  std::vector<Outcome> alone(const MeasureTask&, const std::string& steps, double expected);

  /// Whether it ran on the device that decides, and not on another one because that was lost.
  bool is_deciding(const Outcome& outcome) const { return outcome.device.empty() || outcome.device == deciding_; }

 private:
  std::vector<Outcome> time(const MeasureTask&, const std::vector<std::string>& steps, int bursts);
  std::vector<Outcome> with_pace(const MeasureTask&, const std::vector<std::string>& steps, const Champion&, int bursts,
                                 std::vector<Outcome> seen);
  void look_again(const MeasureTask&, const std::vector<std::string>& steps, int bursts, std::size_t k, double expected,
                  std::vector<Outcome>& seen);

  Measurer& measurer_;
  RunLog& log_;
  const std::string deciding_;
};

/// The pace is asked for with every batch, so that it must be cheap.
constexpr int kPaceBursts = 1;
/// A change of the machine's speed that says nothing: measurements repeat as well.
constexpr double kSteady = 0.05;

}  // namespace whet
