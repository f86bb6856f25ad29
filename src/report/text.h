#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/data.h"

namespace whet {

/// Text as HTML and SVG want it: `&`, `<`, `>`, `"` and `'` escaped; what is no UTF-8 or a control character is U+FFFD.
std::string escaped(std::string_view);

/// The unit of all times of a page, so that they compare at a glance: µs where an inference takes less than a millisecond,
/// else ms. How long tuning took is no such time: see duration_text.
class TimeUnit {
 public:
  ///   latency  of an inference [s]
  explicit TimeUnit(double latency);
  double value(double seconds) const { return seconds * per_second_; }
  std::string_view name() const;
  /// "12.3 ms", "0.0312 ms": three digits and a space that does not break; "–" for what is no time.
  std::string text(double seconds) const;
  /// "12.3000": for columns that name the unit; all have as many digits behind the point.
  std::string number(double seconds) const;

 private:
  double per_second_;
  int decimals_;
};
TimeUnit unit_of(const ReportData&);

/// "1.84x"; "–" where one of the two is no time.
std::string gain_of(double before, double after);
/// "38%", "0.4%"; "–" where the whole is nothing.
std::string share_text(double part, double whole);
/// "1,234"
std::string count_text(std::int64_t);
/// "1 task", "3 tasks"; "2 copies" of a noun whose plural is given.
std::string count_of(std::int64_t, const std::string& noun, const std::string& plural = {});
/// "23 s", "4.1 min", "2.3 h"
std::string duration_text(double seconds);
/// A coordinate of a picture, to a tenth, without a zero behind the point.
std::string px(double);

/// As much of the label as fits into `width` px: "conv2d 56x56x64 k3", "conv2d 56x56x64", "conv2d", "".
std::string label_in(const TaskLabel&, double width);
/// "k0": the class of CSS that gives a kind its colour.
std::string kind_class(OperatorKind);
std::string_view kind_name(OperatorKind);
constexpr int kOperatorKinds = static_cast<int>(OperatorKind::elementwise) + 1;

bool is_time(double seconds);
/// Sum of weight x latency of all tasks that have a time (a task without a best runs on its default).
double best_sum(const std::vector<ReportTask>&);
/// The task has a time by its default schedule and a best one.
bool is_compared(const ReportTask&);
/// Sums of weight x latency over the tasks that have both times, so that they compare.
struct ReportSums {
  std::int64_t tasks = 0;
  double before = 0, after = 0;  ///< by default schedules, by the best
};
ReportSums compared_sums(const std::vector<ReportTask>&);
/// "1 of 3 tasks"
std::string tasks_of(const ReportSums&, const ReportData&);
bool was_measured(const ReportNetwork&);
/// The task's part of a network: weight x best.
double cost_of(const ReportTask&);
/// Numbers of the tasks in `tasks`, those that cost most first.
std::vector<std::size_t> by_cost(const std::vector<ReportTask>&);

}  // namespace whet
