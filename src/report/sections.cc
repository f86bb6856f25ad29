#include "report/sections.h"

#include <fmt/format.h>

#include <cmath>

#include "report/text.h"

namespace whet {

std::string section(std::string_view id, std::string_view heading, std::string_view finding, std::string_view body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"finding\">{}</p>\n{}</section>\n", id, heading,
                     finding, body);
}

std::string picture(std::string_view title, const Svg& svg) {
  return fmt::format("<div class=\"picture\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{}</div>\n",
                     escaped(title), svg.done());
}

std::string number_cell(std::string_view text, double order) {
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", std::isfinite(order) ? fmt::format("{:.6g}", order) : "",
                     text);
}

std::string task_link(const ReportTask& task) {
  return fmt::format("<a href=\"#task-{}\">{}</a>", task.id, escaped(to_text(task.label)));
}

}  // namespace whet
