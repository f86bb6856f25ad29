// One line that relates the totals of the page: what each is a sum of, and why they differ.

#include <fmt/format.h>

#include <cmath>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

/// From this ratio of two times on, a percentage is hard to read.
constexpr double kTimes = 2;

/// "+9.5%", "2.4×": a network's time against the sum of its kernels.
std::string off_text(double measured, double predicted) {
  const double ratio = measured / predicted;
  return ratio < kTimes ? fmt::format("{:+.1f}%", 100 * (ratio - 1)) : fmt::format("{:.1f}×", ratio);
}

std::string told_of_plan(const ReportPlan& plan, TimeUnit unit) {
  const std::string excess =
      is_time(plan.excess) ? fmt::format(", {} of it for what a network takes longer", unit.text(plan.excess)) : "";
  return fmt::format(" → with the plan's kernels <b>{}</b> (predicted{})", unit.text(plan.seconds), excess);
}

}  // namespace

std::string totals_line(const ReportData& data) {
  const TimeUnit unit = unit_of(data);
  const ReportNetwork& network = data.network;
  const ReportSums sums = compared_sums(data.tasks);
  const bool has_plan = data.layouts.differs && is_time(data.layouts.chosen.seconds);
  const bool is_all = sums.tasks == std::ssize(data.tasks);
  if (sums.tasks == 0 || !(has_plan || was_measured(network))) return "";  // the first sentence has both sums
  std::string text = fmt::format("Sum of {} by default schedules <b>{}</b>",
                                 is_all ? "the tasks" : tasks_of(sums, data), unit.text(sums.before));
  if (!network.same_schedules) text += fmt::format(" → tuned <b>{}</b>", unit.text(sums.after));
  text += has_plan ? told_of_plan(data.layouts.chosen, unit) : " (predicted)";
  std::string why = "A sum is of weight × the fastest run of each task alone.";
  if (has_plan) why += " Kernels of the plan do the work of several tasks or copy between layouts.";
  if (was_measured(network)) {
    const bool compares = is_all && !network.disturbed;
    const auto off = [&](const char* what, double measured, double predicted) {
      return compares ? fmt::format(" ({}{})", what, off_text(measured, predicted)) : "";
    };
    text += fmt::format(" → measured in the network <b>{}</b>{}", unit.text(network.tuned_seconds),
                        off("", network.tuned_seconds, has_plan ? data.layouts.chosen.seconds : sums.after));
    if (!network.same_schedules)
      text += fmt::format(", by default schedules <b>{}</b>{}", unit.text(network.untuned_seconds),
                          off("its sum ", network.untuned_seconds, sums.before));
    why +=
        " The network's time is a median: its kernels wait for each other and share caches, and it does work that "
        "belongs to no task.";
  }
  return fmt::format("<p class=\"totals\">{}.\n<small>{}</small></p>\n", text, why);
}

}  // namespace whet
