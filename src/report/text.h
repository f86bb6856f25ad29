#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/data.h"

namespace whet {

/// Text as HTML and SVG want it: `&`, `<`, `>`, `"` and `'` escaped; what is no UTF-8 or a control character is U+FFFD.
std::string escaped(std::string_view);

/// "12.3 ms", "231 µs", "1.24 s": three digits and a space that does not break; "–" for what is no time.
std::string time_text(double seconds);
/// "12.3", in ms: for columns that name the unit.
std::string ms_text(double seconds);
/// "1.84x"; "–" where one of the two is no time.
std::string gain_of(double before, double after);
/// "38%", "0.4%"; "–" where the whole is nothing.
std::string share_text(double part, double whole);
/// "1,234"
std::string count_text(std::int64_t);
/// "1 task", "3 tasks"
std::string count_of(std::int64_t, const std::string& noun);
/// "23 s", "4.1 min", "2.3 h"
std::string duration_text(double seconds);
/// A coordinate of a picture, to a tenth, without a zero behind the point.
std::string px(double);

/// "conv2d+bias+relu 1x56x56x64 k3 s1 p1" -> "conv2d 56x56x64 k3": what a label has room for.
std::string short_name(std::string_view task);
/// The longest name of the task that fits into `width` px: "conv2d 56x56x64 k3", "56x56x64", "".
std::string label_of(std::string_view task, double width);
/// Which of the kinds of operators a task is of, 0 to 5; what decides is the operator that costs most.
int kind_of(std::string_view task);
constexpr int kOperatorKinds = 6;
std::string_view kind_name(int kind);

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
/// The task's part of a network: weight x best.
double cost_of(const ReportTask&);
/// Numbers of the tasks in `tasks`, those that cost most first.
std::vector<std::size_t> by_cost(const std::vector<ReportTask>&);

}  // namespace whet
