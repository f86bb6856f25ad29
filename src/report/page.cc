#include "report/page.h"

#include <fmt/format.h>

#include <array>

#include "report/sane.h"
#include "report/sections.h"
#include "report/style.h"
#include "report/text.h"

namespace whet {
namespace {

/// A part of the page behind the summary.
struct PagePart {
  const char *id, *name;  ///< in the list of links
  std::string (*make)(const ReportData&);
};

constexpr std::array<PagePart, 14> kParts = {{{"progress", "Latency over time", progress_section},
                                              {"tasks", "Tasks", tasks_section},
                                              {"curves", "Curves", curves_section},
                                              {"roofline", "Roofline", roofline_section},
                                              {"layouts", "Layouts", layouts_section},
                                              {"covers", "Covers", covers_section},
                                              {"precision", "Precision", precision_section},
                                              {"sizes", "Sizes", sizes_section},
                                              {"timeline", "Timeline", timeline_section},
                                              {"effort", "Trials", effort_section},
                                              {"failures", "Failures", failures_section},
                                              {"devices", "Devices", devices_section},
                                              {"schedules", "Schedules", schedules_section},
                                              {"method", "Method", method_section}}};

std::string policy(const ReportData& data) {
  std::string hashes = fmt::format("'{}'", source_hash(report_script()));
  if (data.live) hashes += fmt::format(" '{}'", source_hash(live_script()));
  return fmt::format("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {}", hashes);
}

/// The name without its folders, which only the writer's machine has.
std::string title_of(const std::string& model) {
  const std::size_t slash = model.substr(0, model.find(' ')).rfind('/');
  return slash == model.npos ? model : model.substr(slash + 1);
}

}  // namespace

std::string report_html(ReportData given) {
  const ReportData data = sane_report(std::move(given));
  std::string links, sections;
  for (const PagePart& part : kParts) {
    const std::string made = part.make(data);
    if (made.empty()) continue;
    sections += made;
    links += fmt::format("<a href=\"#{}\">{}</a> ", part.id, part.name);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>whet: {}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n"
      "{}<nav aria-label=\"Sections\">{}</nav>\n{}</main>\n<script>{}</script>\n{}</body>\n</html>\n",
      policy(data), escaped(title_of(data.model)), report_style(), escaped(title_of(data.model)), summary_section(data),
      links, sections, report_script(), data.live ? fmt::format("<script>{}</script>\n", live_script()) : "");
}

}  // namespace whet
