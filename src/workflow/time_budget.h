#pragma once

#include <limits>
#include <string>

#include "tuner/end_needs.h"

namespace whet {

/// What comes after the search over the tasks.
struct EndNeeds {
  PhaseNeed network;         ///< both networks compiled and timed alternately
  PhaseNeed layouts;         ///< plans of other layouts and covers tried in the network
  double layouts_share = 0;  ///< the part of all measuring that is for kernels of other layouts and covers
  /// Chains gained in other networks: they are worth measuring where plans cannot be compared, too, since a compile then chooses by sums.
  bool known_chains = false;
  double page = 0;  ///< the profile on a page; 0: none is written [s]
  double rest = 0;  ///< whatever is done at the end in any case [s]
};

/// When the phases of a run have to have ended: seconds of the command's clock. Infinity: no limit.
struct PhaseEnds {
  double tasks = std::numeric_limits<double>::infinity();
  double network = std::numeric_limits<double>::infinity();
  double layouts_measured = std::numeric_limits<double>::infinity();  ///< then the plans are compared
  double layouts = std::numeric_limits<double>::infinity();
};

/// The time of a whole command, from the start of its process to its exit, shared out among what it does. It reads no clock: callers give
/// it seconds of one clock.
class TimeBudget {
 public:
  TimeBudget() = default;  ///< no limit
  ///   begun   when the command began
  ///   option  as the user wrote it, "--seconds 10"
  TimeBudget(double seconds, double begun, std::string option);

  bool limited() const { return seconds_ > 0; }
  /// Of the whole command; 0: no limit.
  double seconds() const { return seconds_; }
  double used(double now) const { return now - begun_; }
  /// Of the whole command, never negative; infinity without a limit.
  double left(double now) const;

  /// The next of `runs` runs that share what is left: one number of threads after the other.
  ///   behind  seconds that are needed after the last; they are kept free unless they are too large a part
  TimeBudget next_run(double now, int runs, double behind) const;
  /// The same budget with a run that ends at a part of it: what comes behind has the rest.
  TimeBudget first_part(double part) const;
  /// Of this run; infinity without a limit.
  double run_seconds() const { return end_ - run_begun_; }
  /// Runs up to 30 s have parts of their own.
  bool is_short() const;

  /// Up to 30 s: 15% for the network, as much for layouts and covers, the rest for the tasks. A phase that needs more than it can have
  /// has nothing, and the tasks have its part; known chains have theirs all the same. The network may take twice its part: without it
  /// nobody knows what tuning was worth.
  /// Above that, the network and the comparison of plans have what they usually need, up to a part; the rest is shared by
  /// `layouts_share`.
  ///   begun  when the search over the tasks began
  PhaseEnds ends(double begun, const EndNeeds&) const;
  /// The seconds that a phase behind the tasks could have had, for people: what the phases before it left, or its part where it needs
  /// more than that, so that the tasks have it.
  double offered(double left, double needed) const;

  /// "--seconds 10 leaves 2.0 s for the network, whose comparison takes 3.1 s: it is not compared"
  ///   left   what the phase could have had
  ///   phase  "the network, whose comparison takes"
  std::string too_short(double left, const std::string& phase, double needed, const std::string& consequence) const;
  /// As the user wrote it.
  const std::string& option() const { return option_; }

 private:
  double seconds_ = 0, begun_ = 0;
  double run_begun_ = 0;
  double end_ = std::numeric_limits<double>::infinity();  ///< of this run
  std::string option_;
};

}  // namespace whet
