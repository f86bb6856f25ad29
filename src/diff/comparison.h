#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// An old and a new state of one thing, part by part: what became slower, and why as far as the states tell. Times are in
/// seconds; 0: not known.
struct Comparison {
  /// A part that one side has, or both: a task, a step.
  struct Part {
    std::string name;
    double weight = 1;  ///< how often it counts in the whole
    double old_seconds = 0, new_seconds = 0;
    std::string change;  ///< "other schedule", "only in the new one"; "" where nothing but the time differs
    /// What it adds to the whole [s]: positive is slower. 0 where one side is not known.
    double added() const { return old_seconds > 0 && new_seconds > 0 ? weight * (new_seconds - old_seconds) : 0; }
  };

  std::string whole;  ///< what the times of the whole are: "median inference, 40 pairs measured alternately"
  double old_seconds = 0, new_seconds = 0;
  /// Half of the pairs of measurements lie between these ratios, new by old; equal to the ratio where nothing was repeated.
  double low_ratio = 0, high_ratio = 0;
  std::vector<std::string>
      circumstances;        ///< what differs around the times, a sentence each: target, cores, machine, plan
  std::vector<Part> parts;  ///< those whose time or kind changed most first
  int unchanged = 0;        ///< parts that are left out, because nothing changed

  /// New by old: 1.05 is 5% slower. 0 where either is not known.
  double ratio() const { return old_seconds > 0 && new_seconds > 0 ? new_seconds / old_seconds : 0; }
};

enum class Verdict { same, slower, faster, unknown };
const char* name_of(Verdict);

/// Slower or faster by more than `threshold` (0.02: 2%), and not by chance: most of the pairs agree.
Verdict verdict_of(const Comparison&, double threshold);

/// Neither slower nor faster, although the ratio lies beyond the threshold: the repetitions do not agree.
bool is_unclear(const Comparison&, double threshold);
/// "slower", "faster" or "within the threshold", by the ratio of new to old alone.
std::string_view word_of(double ratio, double threshold);

/// The circumstance of a word that differs: `target: "cpu ..." -> "cuda ..."`; nothing where it does not.
void add_change(Comparison&, const std::string& what, const std::string& before, const std::string& after);

/// The circumstance that the times of a side, "old" or "new", were disturbed: the median is far above the fastest
/// (base/spread.h). Nothing where it is not.
void add_disturbance(Comparison&, const std::string& side, double median, double fastest);

/// Drops parts that did not change (their number is kept), and puts those first that add or save most.
void arrange_parts(Comparison&);

/// The ratio of each pair of measurements as the comparison has it: the median, and the middle half.
///   olds, news  as many, measured alternately
void set_pairs(Comparison&, const std::vector<double>& olds, const std::vector<double>& news);

}  // namespace whet
