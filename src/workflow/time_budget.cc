#include "workflow/time_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace whet {
namespace {

/// The longest short run [s].
constexpr double kShortRun = 30;
/// An estimate of what the end needs may be wrong by so much.
constexpr double kMargin = 1.2;
/// The part of the network in a short run, and of layouts and covers.
constexpr double kShortPart = 0.15;
/// The network may have this many of its parts.
constexpr double kNetworkParts = 2;
/// Of their part, layouts leave this for measuring their kernels.
constexpr double kLeastMeasuring = 0.25;
/// The largest parts of longer runs that the network and the comparison of plans may have.
constexpr double kLongNetworkPart = 0.25, kLongLayoutsPart = 0.15;

/// What a phase gets of `most` seconds; 0 where that is too little, or where it is not wanted.
double granted(const PhaseNeed& need, double most) {
  const double least = kMargin * need.least;
  return least > 0 && least <= most ? std::max(least, std::min(need.usual, most)) : 0;
}

}  // namespace

TimeBudget::TimeBudget(double seconds, double begun, std::string option)
    : seconds_(seconds), begun_(begun), run_begun_(begun), end_(begun + seconds), option_(std::move(option)) {}

double TimeBudget::left(double now) const { return limited() ? std::max(0.0, begun_ + seconds_ - now) : end_; }

TimeBudget TimeBudget::next_run(double now, int runs, double behind) const {
  TimeBudget run = *this;
  if (!limited()) return run;
  run.run_begun_ = now;
  const double reserved = behind <= kShortPart * seconds_ ? behind : 0;
  run.end_ = now + std::max(0.0, end_ - reserved - now) / std::max(1, runs);
  return run;
}

TimeBudget TimeBudget::first_part(double part) const {
  TimeBudget run = *this;
  if (limited()) run.end_ = run_begun_ + part * run_seconds();
  return run;
}

bool TimeBudget::is_short() const { return run_seconds() <= kShortRun; }

PhaseEnds TimeBudget::ends(double begun, const EndNeeds& needs) const {
  if (!limited()) return {};
  PhaseEnds ends;
  const double part = kShortPart * run_seconds();
  ends.layouts = end_ - needs.rest - (needs.page <= part ? needs.page : 0);
  double layouts = 0, compared = 0;  // seconds for all of the layouts, and of them for comparing plans
  double network = 0;
  if (is_short()) {
    network = granted({needs.network.least, part}, kNetworkParts * part);
    compared = granted({needs.layouts.least, 0}, (1 - kLeastMeasuring) * part);
    layouts = compared > 0 || needs.known_chains ? part : 0;
  } else {
    network = granted(needs.network, kLongNetworkPart * run_seconds());
    compared = granted(needs.layouts, kLongLayoutsPart * run_seconds());
    const double measuring = std::max(0.0, ends.layouts - network - compared - begun);
    layouts = compared > 0 ? compared + needs.layouts_share * measuring : 0;
  }
  ends.layouts_measured = ends.layouts - compared;
  ends.network = ends.layouts - layouts;
  ends.tasks = std::max(begun, ends.network - network);
  return ends;
}

double TimeBudget::offered(double left, double needed) const {
  const double part = kShortPart * run_seconds();
  return part < needed ? std::max(left, part) : left;
}

std::string TimeBudget::too_short(double left, const std::string& phase, double needed,
                                  const std::string& consequence) const {
  return fmt::format("{} leaves {:.1f} s for {} {:.1f} s: {}", option_, left, phase, needed, consequence);
}

}  // namespace whet
