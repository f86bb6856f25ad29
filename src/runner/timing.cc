#include "runner/timing.h"

#include <algorithm>
#include <limits>

namespace whet {
namespace {

/// The first run may be slow for reasons of its own: it condemns a candidate only when it is this much slower and long.
constexpr double kHopelessRatio = 8, kHopelessSeconds = 1e-3;
/// Minima of a few runs, as long together as a share of what is asked for, lie within this ratio of those of many, where
/// the two fastest agree as well as runs of the same kernel on a machine of one's own.
constexpr double kRaceRatio = 1.1, kRaceShare = 0.1, kAgreement = 1.03;
/// How much slower what runs on the other half of a core makes a run; and how many times as long as is asked for may be
/// waited for two runs that agree.
constexpr double kDisturbance = 2.2, kPatience = 3;

/// More runs find no clearly smaller minimum. Before each, what the network touches is written anew, which for kernels
/// of a few microseconds takes several times as long as they do.
constexpr std::int64_t kEnoughRuns = 500;

}  // namespace

bool RunPlan::first(double seconds) {
  const bool hopeless = !policy_.classic && policy_.incumbent_seconds > 0 && seconds > kHopelessSeconds &&
                        seconds > kHopelessRatio * policy_.incumbent_seconds;
  if (hopeless || (!policy_.classic && seconds > policy_.max_seconds)) {
    truncated_ = hopeless;
    keep(seconds);
    return false;
  }
  return true;
}

bool RunPlan::add(double seconds) { return policy_.classic ? add_classic(seconds) : add_adaptive(seconds); }

bool RunPlan::add_adaptive(double seconds) {
  keep(seconds);
  ++runs_;
  total_ += seconds;
  second_ = runs_ == 1 ? std::numeric_limits<double>::infinity() : std::min(second_, std::max(seconds, best_));
  best_ = runs_ == 1 ? seconds : std::min(best_, seconds);
  const bool agreed = second_ <= kAgreement * best_;
  if (is_clearly_slower(agreed)) return truncated_ = true, false;
  if (total_ >= policy_.max_seconds) return false;
  if (runs_ < policy_.min_runs) return true;
  return total_ < (agreed ? 1 : kPatience) * policy_.min_seconds && runs_ < kEnoughRuns;
}

/// A few runs are enough to see that a candidate is not the next best, unless they were disturbed.
bool RunPlan::is_clearly_slower(bool agreed) const {
  if (policy_.incumbent_seconds <= 0) return false;
  const double ratio = best_ / policy_.incumbent_seconds;
  // Where runs are short, one alone proves nothing.
  if (ratio > kDisturbance && (runs_ > 1 || best_ >= kHopelessSeconds)) return true;
  if (!agreed) return false;
  return ratio > policy_.truncate_ratio ||
         (ratio > kRaceRatio && runs_ >= policy_.min_runs && total_ >= kRaceShare * policy_.min_seconds);
}

bool RunPlan::add_classic(double seconds) {
  repeat_total_ += seconds;
  ++repeat_runs_;
  if (repeat_runs_ < policy_.number || repeat_total_ < policy_.min_repeat_seconds) return true;
  seconds_.push_back(repeat_total_ / repeat_runs_);
  repeat_total_ = 0;
  repeat_runs_ = 0;
  return seconds_.size() < policy_.repeat;
}

void RunPlan::keep(double seconds) {
  group_min_ = in_group_ == 0 ? seconds : std::min(group_min_, seconds);
  if (in_group_ == 0) seconds_.push_back(seconds);
  seconds_.back() = group_min_;
  if (++in_group_ < group_size_) return;
  in_group_ = 0;
  if (seconds_.size() < kMaxFigures) return;
  for (std::size_t i = 0; i < kMaxFigures / 2; ++i) seconds_[i] = std::min(seconds_[2 * i], seconds_[2 * i + 1]);
  seconds_.resize(kMaxFigures / 2);
  group_size_ *= 2;
}

}  // namespace whet
