#include "diff/comparison.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/spread.h"

namespace whet {
namespace {

/// A part whose time changed by less is called unchanged.
constexpr double kLeastChange = 0.01;

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

bool changed(const Comparison::Part& part) {
  if (!part.change.empty() || part.old_seconds <= 0 || part.new_seconds <= 0) return true;
  return std::abs(part.new_seconds / part.old_seconds - 1) >= kLeastChange;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::slower:
      return "slower";
    case Verdict::faster:
      return "faster";
    case Verdict::unknown:
      return "unknown";
  }
  return "";
}

Verdict verdict_of(const Comparison& comparison, double threshold) {
  const double ratio = comparison.ratio();
  if (ratio <= 0) return Verdict::unknown;
  if (ratio > 1 + threshold && comparison.low_ratio > 1) return Verdict::slower;
  if (ratio < 1 / (1 + threshold) && comparison.high_ratio < 1) return Verdict::faster;
  return Verdict::same;
}

std::string_view word_of(double ratio, double threshold) {
  if (ratio > 1 + threshold) return "slower";
  return ratio < 1 / (1 + threshold) ? "faster" : "within the threshold";
}

bool is_unclear(const Comparison& comparison, double threshold) {
  return verdict_of(comparison, threshold) == Verdict::same &&
         word_of(comparison.ratio(), threshold) != word_of(1, threshold);
}

void add_change(Comparison& comparison, const std::string& what, const std::string& before, const std::string& after) {
  if (before != after) comparison.circumstances.push_back(what + ": \"" + before + "\" -> \"" + after + "\"");
}

void add_disturbance(Comparison& comparison, const std::string& side, double median, double fastest) {
  if (is_far_above(median, fastest))
    comparison.circumstances.push_back("the " + side +
                                       " median is far above the fastest run: another program ran, or the machine is "
                                       "shared (whet doctor)");
}

void arrange_parts(Comparison& comparison) {
  const auto before = std::ssize(comparison.parts);
  std::erase_if(comparison.parts, [](const Comparison::Part& part) { return !changed(part); });
  comparison.unchanged += static_cast<int>(before - std::ssize(comparison.parts));
  std::stable_sort(
      comparison.parts.begin(), comparison.parts.end(),
      [](const Comparison::Part& a, const Comparison::Part& b) { return std::abs(a.added()) > std::abs(b.added()); });
}

void set_pairs(Comparison& comparison, const std::vector<double>& olds, const std::vector<double>& news) {
  WHET_CHECK(olds.size() == news.size() && !olds.empty(), "pairs of measurements");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < olds.size(); ++i) ratios.push_back(news[i] / olds[i]);
  const double ratio = quantile(ratios, 0.5);
  comparison.low_ratio = quantile(ratios, 0.25);
  comparison.high_ratio = quantile(ratios, 0.75);
  // The machine's speed may drift: the ratio of each pair is sure, and it is what the times are in.
  comparison.old_seconds = quantile(olds, 0.5);
  comparison.new_seconds = ratio * comparison.old_seconds;
  add_disturbance(comparison, "old", comparison.old_seconds, quantile(olds, 0));
  add_disturbance(comparison, "new", quantile(news, 0.5), quantile(news, 0));
}

}  // namespace whet
