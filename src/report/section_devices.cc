// The machines that ran the candidates, and how they fared.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

/// A champion that takes so much longer or shorter is worth a picture.
constexpr double kNoticed = 0.02;
constexpr std::size_t kPaces = 1500;

std::string range_text(double low, double high, const char* unit) {
  if (!(high > 0)) return "";
  return low < high - 0.05 ? fmt::format("{:.1f}–{:.1f} {}", low, high, unit) : fmt::format("{:.1f} {}", high, unit);
}

std::string health_of(const ReportDevice& device) {
  std::string health = device.drained ? "got no more candidates: it failed too often" : "";
  const auto add = [&](const std::string& text) { health += (health.empty() ? "" : "; ") + text; };
  if (device.throttled > 0) add("too hot " + count_of(device.throttled, "time"));
  if (device.losses > 0) add("lost " + count_of(device.losses, "time"));
  return health.empty() ? "nothing amiss" : health;
}

/// A column of the table of devices; it is left out where no device has anything in it.
struct DeviceColumn {
  const char* title;
  std::vector<std::string> cells;
  const char* style = "n";  ///< of its cells
};

std::vector<DeviceColumn> device_columns(const ReportData& data) {
  std::vector<DeviceColumn> columns = {{"Device", {}, ""}, {"Candidates", {}},     {"Failed", {}},       {"Jobs", {}},
                                       {"Busy", {}},       {"Its times", {}},      {"Governor", {}, ""}, {"Clock", {}},
                                       {"Hottest", {}},    {"Health", {}, "words"}};
  for (const ReportDevice& d : data.devices) {
    const std::string cells[] = {d.name,
                                 count_text(d.candidates),
                                 d.failed > 0 ? count_text(d.failed) : "",
                                 d.jobs > 0 ? count_text(d.jobs) : "",
                                 d.busy_seconds > 0 ? share_text(d.busy_seconds, data.tuned_for_seconds) : "",
                                 d.factor > 0 ? fmt::format("× {:.3f}", d.factor) : "",
                                 d.governor,
                                 range_text(d.ghz_low, d.ghz_high, "GHz"),
                                 d.celsius_high > 0 ? fmt::format("{:.0f} °C", d.celsius_high) : "",
                                 health_of(d)};
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].cells.push_back(cells[c]);
  }
  std::erase_if(columns, [](const DeviceColumn& column) {
    return std::all_of(column.cells.begin(), column.cells.end(), [](const std::string& cell) { return cell.empty(); });
  });
  return columns;
}

std::string class_of(const DeviceColumn& column) {
  return *column.style == 0 ? "" : fmt::format(" class=\"{}\"", column.style);
}

std::string device_table(const ReportData& data) {
  const std::vector<DeviceColumn> columns = device_columns(data);
  std::string table = "<table class=\"narrow\"><thead><tr>";
  for (const DeviceColumn& column : columns)
    table += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column), column.title);
  table += "</tr></thead><tbody>\n";
  for (std::size_t d = 0; d < data.devices.size(); ++d) {
    table += "<tr>";
    for (const DeviceColumn& column : columns)
      table += fmt::format("<td{}>{}</td>", class_of(column), escaped(column.cells[d]));
    table += "</tr>\n";
  }
  return "<div class=\"picture\" role=\"region\" tabindex=\"0\" aria-label=\"Devices\">" + table +
         "</tbody></table></div>\n";
}

std::string paces_picture(const std::vector<ReportPace>& paces, double low, double high) {
  Svg svg(960, 150, "Pace of the machine",
          fmt::format("Champions took {:.2f} to {:.2f} times as long as when they won", low, high));
  const Scale x(0, std::max(1.0, paces.back().at), 46, 868);
  const Scale y(std::min(low, 1 - kNoticed), std::max(high, 1 + kNoticed), 112, 14, true);
  svg.line(46, y(1), 868, y(1), "hint");
  svg.text(38, y(1) + 4, "1", "soft", Anchor::end);
  const std::size_t step = std::max<std::size_t>(1, (paces.size() + kPaces - 1) / kPaces);
  std::string d;
  for (std::size_t i = 0; i < paces.size(); i += step)
    d += fmt::format("M{} {}h0", px(x(paces[i].at)), px(y(paces[i].pace)));
  svg.path(d, "dots");
  for (const double end : {low, high})
    if (std::abs(y(end) - y(1)) > 12) svg.text(38, y(end) + 4, fmt::format("{:.2f}", end), "soft", Anchor::end);
  svg.line(46, 116, 868, 116, "axis");
  for (double tick : x.ticks(8)) {
    svg.line(x(tick), 116, x(tick), 120, "axis");
    svg.text(x(tick), 133, tick_text(tick), "soft", Anchor::middle);
  }
  svg.text(868, 147, "seconds of tuning", "soft", Anchor::end);
  return picture("Pace of the machine", svg) +
         "<p class=\"remark\">A dot is a candidate: how much longer its task's champion took just then than when it "
         "won. "
         "Times are divided by this before they rank.</p>\n";
}

}  // namespace

std::string devices_section(const ReportData& data) {
  if (data.devices.empty()) return "";
  double low = 1, high = 1;
  for (const ReportPace& pace : data.paces) low = std::min(low, pace.pace), high = std::max(high, pace.pace);
  const bool is_steady = high - 1 < kNoticed && 1 - low < kNoticed;
  std::string finding = data.devices.size() == 1
                            ? fmt::format("One machine ran all candidates: {}.", escaped(data.devices.front().name))
                            : fmt::format("{} machines ran the candidates.", data.devices.size());
  if (!data.paces.empty())
    finding += is_steady ? " Its speed was steady."
                         : fmt::format(
                               " Champions took between {:.2f} and {:.2f} times as long as when they won: the "
                               "machine's speed was not the same all the time.",
                               low, high);
  return section("devices", "Devices", finding,
                 device_table(data) + (is_steady || data.paces.empty() ? "" : paces_picture(data.paces, low, high)));
}

}  // namespace whet
