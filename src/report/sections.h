#pragma once

#include <string>
#include <string_view>

#include "report/data.h"
#include "report/svg.h"

namespace whet {

/// The parts of the page, in its order. Each is HTML, begins with the sentence that its picture shows, and is "" where the
/// data has nothing for it.
std::string summary_section(const ReportData&);
std::string progress_section(const ReportData&);
std::string tasks_section(const ReportData&);
std::string curves_section(const ReportData&);
std::string roofline_section(const ReportData&);
std::string layouts_section(const ReportData&);
std::string covers_section(const ReportData&);
std::string precision_section(const ReportData&);
std::string sizes_section(const ReportData&);
std::string timeline_section(const ReportData&);
std::string effort_section(const ReportData&);
std::string failures_section(const ReportData&);
std::string devices_section(const ReportData&);
std::string schedules_section(const ReportData&);
std::string method_section(const ReportData&);

/// What relates the totals of the page; "" where there is nothing but the two sums of the tasks.
std::string totals_line(const ReportData&);

///   finding, body  HTML
std::string section(std::string_view id, std::string_view heading, std::string_view finding, std::string_view body);
/// A picture that scrolls on its own where the page is narrow.
std::string picture(std::string_view title, const Svg&);
/// "<td class=n>...</td>"; `order`: what the column is sorted by.
std::string number_cell(std::string_view text, double order);
/// A link to a task's row: "<a href=#task-3>conv2d 56x56x64 k3</a>".
std::string task_link(const ReportTask&);

}  // namespace whet
