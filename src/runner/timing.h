#pragma once

#include <vector>

#include "runner/messages.h"

namespace whet {

/// Decides after each run whether to go on, and keeps what was seen. Pure: the caller brings the times.
class RunPlan {
 public:
  explicit RunPlan(const TimingPolicy& policy) : policy_(policy) {}

  /// The first run, which is not counted (code and data are not in the cache yet): false when it is hopeless already.
  bool first(double seconds);
  /// A timed run: true to go on.
  bool add(double seconds);

  /// Each run; when there are more than kMaxFigures, minima of equally many neighbouring runs. Classic: a mean for each
  /// repeat.
  const std::vector<double>& seconds() const { return seconds_; }
  bool truncated() const { return truncated_; }

 private:
  bool add_adaptive(double seconds);
  bool is_clearly_slower(bool agreed) const;
  bool add_classic(double seconds);
  void keep(double seconds);

  TimingPolicy policy_;
  std::vector<double> seconds_;
  double total_ = 0, best_ = 0, second_ = 0, group_min_ = 0;
  std::int64_t runs_ = 0, group_size_ = 1, in_group_ = 0;
  double repeat_total_ = 0;
  std::uint32_t repeat_runs_ = 0;
  bool truncated_ = false;
};

/// A record with thousands of runs of a microsecond would say no more than this many figures.
constexpr std::size_t kMaxFigures = 16;

}  // namespace whet
