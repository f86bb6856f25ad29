#include "runner/timing.h"

#include <algorithm>

namespace whet {
namespace {

/// The first run may be slow for reasons of its own: it condemns a candidate only when it is this much slower and long.
constexpr double kHopelessRatio = 8, kHopelessSeconds = 1e-3;
/// Minima of a few runs, as long together as a share of what is asked for, lie within this ratio of those of many.
constexpr double kRaceRatio = 1.1, kRaceShare = 0.1;

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
  best_ = runs_ == 1 ? seconds : std::min(best_, seconds);
  if (policy_.incumbent_seconds > 0 && seconds > policy_.truncate_ratio * policy_.incumbent_seconds) {
    // A single slow run among good ones is the machine's doing; where runs are short, one alone proves nothing.
    if (runs_ == 1 && seconds < kHopelessSeconds) return true;
    if (best_ > policy_.truncate_ratio * policy_.incumbent_seconds) return truncated_ = true, false;
  }
  if (total_ >= policy_.max_seconds) return false;
  // A few runs are enough to see that a candidate is not the next best.
  if (policy_.incumbent_seconds > 0 && runs_ >= policy_.min_runs && total_ >= kRaceShare * policy_.min_seconds &&
      best_ > kRaceRatio * policy_.incumbent_seconds)
    return truncated_ = true, false;
  return runs_ < policy_.min_runs || (total_ < policy_.min_seconds && runs_ < kEnoughRuns);
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
