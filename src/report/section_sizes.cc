// What the network takes at sizes of its ranges: libraries that were timed alternately.

#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

/// "17", "2x128"
std::string size_values_text(const std::vector<std::int64_t>& values) {
  return fmt::format("{}", fmt::join(values, "x"));
}

bool is_timed(const TimedAtSizes& point) { return is_time(point.untuned) && is_time(point.ranged); }

std::string kernels_text(const TimedAtSizes& point) {
  return point.hot ? "of its own" : point.keeps_untuned ? "untuned" : "";
}

std::string rows_of(const NetworkAtSizes& network, const TimeUnit& unit) {
  std::string rows;
  for (const TimedAtSizes& point : network.points) {
    const auto time = [&](double seconds) { return is_time(seconds) ? unit.text(seconds) : std::string("–"); };
    double size = 1;
    for (const std::int64_t value : point.at) size *= static_cast<double>(value);
    rows += "<tr>" + number_cell(size_values_text(point.at), size) +
            number_cell(point.share > 0 ? share_text(point.share, 1) : "–", point.share) +
            number_cell(time(point.untuned), point.untuned) + number_cell(time(point.ranged), point.ranged) +
            number_cell(gain_of(point.untuned, point.ranged), is_timed(point) ? point.untuned / point.ranged : 0) +
            number_cell(time(point.exact), point.exact) + fmt::format("<td>{}</td></tr>\n", kernels_text(point));
  }
  return rows;
}

std::string table_of(const NetworkAtSizes& network, const TimeUnit& unit) {
  std::string head = fmt::format("<th scope=\"col\" class=\"n\">{}</th>", escaped(network.ranges));
  for (const char* title : {"Share of time", "Untuned", "Tuned", "Gain", "For it alone"})
    head += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", title);
  head += "<th scope=\"col\">Kernels</th>";
  return fmt::format(
      "<div class=\"picture\" role=\"region\" tabindex=\"0\" aria-label=\"Sizes of {}\"><table "
      "class=\"narrow\"><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
      escaped(network.name), head, rows_of(network, unit));
}

/// "0.93 to 1.01": what libraries for one size alone take of the time of that for the ranges; "": none was timed.
std::string alone_of(const NetworkAtSizes& network) {
  double least = 0, most = 0;
  for (const TimedAtSizes& point : network.points) {
    if (!is_time(point.exact) || !is_time(point.ranged)) continue;
    const double ratio = point.exact / point.ranged;
    least = most == 0 ? ratio : std::min(least, ratio), most = std::max(most, ratio);
  }
  if (most == 0) return "";
  const std::string low = fmt::format("{:.2f}", least), high = fmt::format("{:.2f}", most);
  return low == high ? low : low + " to " + high;
}

/// "An inference of bert at n=1..512 takes 1.20x to 1.84x less time by the library for the ranges than untuned."
std::string finding_of(const NetworkAtSizes& network) {
  double low = 0, high = 0;
  for (const TimedAtSizes& point : network.points) {
    if (!is_timed(point)) continue;
    const double gain = point.untuned / point.ranged;
    low = low == 0 ? gain : std::min(low, gain), high = std::max(high, gain);
  }
  const std::string who = fmt::format("{} at {}", escaped(network.name), escaped(network.ranges));
  if (low == 0) return who + " was not timed.";
  const std::string alone = alone_of(network);
  const auto own = std::ranges::count_if(network.points, &TimedAtSizes::hot);
  const auto kept = std::ranges::count_if(network.points, &TimedAtSizes::keeps_untuned);
  return fmt::format("Tuned, {} is {:.2f} to {:.2f} times as fast as untuned, by one library for all sizes{}{}{}.", who,
                     low, high, alone.empty() ? "" : "; libraries for one size alone take " + alone + " of its time",
                     own == 0 ? ""
                              : fmt::format("; {} kernels of {} own", count_of(own, "size has", "sizes have"),
                                            own == 1 ? "its" : "their"),
                     kept == 0 ? "" : fmt::format("; at {} untuned kernels are kept", count_of(kept, "size", "sizes")));
}

}  // namespace

std::string sizes_section(const ReportData& data) {
  std::string body, finding;
  for (const NetworkAtSizes& network : data.at_sizes) {
    if (network.points.empty()) continue;
    double longest = 0;
    for (const TimedAtSizes& point : network.points) longest = std::max(longest, point.ranged);
    finding += (finding.empty() ? "" : " ") + finding_of(network);
    body += table_of(network, TimeUnit(longest));
  }
  if (body.empty()) return "";
  return section("sizes", "Sizes of requests", finding,
                 body +
                     "<p class=\"remark\">One inference of the whole network, the libraries alternately. Untuned: "
                     "without records. For it alone: a library for this size. Untuned kernels are kept where those of "
                     "the records were slower.</p>\n");
}

}  // namespace whet
