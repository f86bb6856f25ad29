#include "diff/compare_benchmarks.h"

#include <algorithm>
#include <string>

namespace whet {
namespace {

Result<double> milliseconds(const Json& bench, const char* side, const char* name) {
  const Json& value = bench[name];
  if (!value.is_number() || value.number() <= 0)
    return Error{std::string(side) + ": " + name + " is " + dump(value) +
                 "; expected a positive number, as `whet bench --json` writes it"};
  return value.number();
}

/// As people read it: a string without its quotation marks.
std::string text_of(const Json& value) { return value.is_string() ? value.string() : dump(value); }

/// A measurement, no circumstance of it.
bool is_figure(const std::string& name, const Json& value) { return value.is_number() && name != "threads"; }

}  // namespace

Result<Comparison> compare_benchmarks(const Json& before, const Json& after) {
  Comparison comparison;
  comparison.whole = "median inference";
  WHET_TRY(const double old_median, milliseconds(before, "the old benchmark", "median_ms"));
  WHET_TRY(const double new_median, milliseconds(after, "the new benchmark", "median_ms"));
  WHET_TRY(const double old_least, milliseconds(before, "the old benchmark", "min_ms"));
  WHET_TRY(const double new_least, milliseconds(after, "the new benchmark", "min_ms"));
  comparison.old_seconds = old_median / 1e3;
  comparison.new_seconds = new_median / 1e3;
  // They ran at different times: what the fastest runs do not show as well is taken for chance.
  const double ratio = new_median / old_median, of_least = new_least / old_least;
  add_disturbance(comparison, "old", old_median, old_least);
  add_disturbance(comparison, "new", new_median, new_least);
  comparison.low_ratio = std::min(ratio, of_least);
  comparison.high_ratio = std::max(ratio, of_least);
  for (const auto& [name, value] : before.members())
    if (!is_figure(name, value)) add_change(comparison, name, text_of(value), text_of(after[name]));
  return comparison;
}

}  // namespace whet
