// The best schedules, and how all of it was measured.

#include <fmt/format.h>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

/// Of all schedules together [bytes]: the page stays small.
constexpr std::size_t kScheduleBytes = 200000;

}  // namespace

std::string schedules_section(const ReportData& data) {
  const TimeUnit unit = unit_of(data);
  std::string list;
  std::int64_t shown = 0, left_out = 0;
  std::size_t bytes = 0;
  for (std::size_t t : by_cost(data.tasks)) {
    const ReportTask& task = data.tasks[t];
    if (task.schedule.empty()) continue;
    bytes += task.schedule.size() + task.choices.size();
    if (bytes > kScheduleBytes) {
      ++left_out;
      continue;
    }
    ++shown;
    list += fmt::format(
        "<details><summary>{} {} <span class=\"soft\">{}</span></summary><p><code>{}</code></p>\n"
        "<pre tabindex=\"0\">{}</pre></details>\n",
        task.id, escaped(to_text(task.label)), unit.text(task.best_seconds), escaped(task.choices),
        escaped(task.schedule));
  }
  if (list.empty()) return "";
  if (left_out > 0)
    list += fmt::format("<p class=\"remark\">{} for which there is no room here: <code>whet explain task</code>.</p>\n",
                        count_of(left_out, "more schedule"));
  return section("schedules", "Schedules",
                 fmt::format("The best schedule of {} as loops, the heaviest task first.", count_of(shown, "task")),
                 list);
}

std::string method_section(const ReportData& data) {
  std::string commands;
  for (const std::string& command : data.commands) commands += escaped(command) + "\n";
  const std::string rates =
      data.rates.gflops > 0
          ? fmt::format(
                "<p class=\"remark\">Limits are of {:.0f} GFLOPS{} that these threads reach together, measured "
                "beside the tasks.</p>\n",
                data.rates.gflops,
                data.rates.memory_gbs > 0 ? fmt::format(" and {:.0f} GB/s from memory", data.rates.memory_gbs) : "")
          : "";
  return section(
      "method", "How it was measured",
      "Every time is of the hardware that is named above; a candidate counts with the fastest of its runs, after its "
      "answers were compared with the reference.",
      rates +
          "<p class=\"remark\">The times of the network are medians of bursts, the untuned and the tuned one "
          "alternately. docs/metrics.md has the meaning of every number. <code>whet profile MODEL.so --trace "
          "FILE</code> opens in Perfetto.</p>\n" +
          (commands.empty() ? "" : "<pre tabindex=\"0\">" + commands + "</pre>\n"));
}

}  // namespace whet
