// Kernels that do the work of several usual ones: how long each takes, by the kernels that it replaces.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kCoverLeft = 400, kCoverRight = 800, kCoverRow = 20;
/// A bold title of this length as it is reckoned is as long as there is room.
constexpr double kBoldest = kCoverLeft - 56;
constexpr std::size_t kCoversDrawn = 16;
/// Beyond this a cover is drawn at the edge.
constexpr double kFarthest = 2;

bool is_known(const ReportCover& cover) { return is_time(cover.seconds) && is_time(cover.usual_seconds); }
double ratio_of(const ReportCover& cover) { return cover.seconds / cover.usual_seconds; }

/// "conv2d 56x56x64 k3 + 28x28x64 k1"
std::string title_of(const ReportCover& cover) {
  std::string title;
  for (const TaskLabel& kernel : cover.kernels) title += (title.empty() ? "" : " + ") + to_text(kernel);
  return cover.times > 1 ? fmt::format("{} × {}", cover.times, title) : title;
}

void draw_cover(Svg& svg, const ReportCover& cover, const Scale& x, double y, TimeUnit unit) {
  const double at = x(std::clamp(ratio_of(cover), x.low(), x.high()));
  svg.text(kCoverLeft - 12, y + 4, fitted(title_of(cover), cover.chosen ? kBoldest : kCoverLeft - 20),
           cover.chosen ? "strong" : "", Anchor::end);
  svg.line(x(1), y, at, y, "rise");
  svg.circle(at, y, 4, cover.chosen ? "dot taken" : "dot k5", title_of(cover));
  svg.text(kCoverRight + 18, y + 4, fmt::format("{} of {}", unit.text(cover.seconds), unit.text(cover.usual_seconds)),
           "soft");
}

std::string finding_of_covers(const std::vector<ReportCover>& covers) {
  const auto faster = std::ranges::count_if(covers, [](const ReportCover& c) { return ratio_of(c) < 1; });
  const auto chosen = std::ranges::count_if(covers, &ReportCover::chosen);
  std::string text = fmt::format("{} that {} the work of several usual ones {} measured; {} faster than these, ",
                                 count_of(std::ssize(covers), "kernel"), for_count(std::ssize(covers), "does", "do"),
                                 for_count(std::ssize(covers), "was", "were"),
                                 faster == 0   ? "none is"
                                 : faster == 1 ? "1 is"
                                               : fmt::format("{} are", faster));
  text += chosen == 0   ? "and none is in the plan."
          : chosen == 1 ? "and 1 is in the plan."
                        : fmt::format("and {} are in the plan.", chosen);
  return text;
}

}  // namespace

std::string covers_section(const ReportData& data) {
  std::vector<ReportCover> covers;
  std::ranges::copy_if(data.layouts.covers, std::back_inserter(covers), is_known);
  if (covers.empty()) return "";
  const std::string finding = finding_of_covers(covers);
  const std::size_t all = covers.size();
  covers.resize(std::min(covers.size(), kCoversDrawn));
  double low = 0.9, high = 1.1;
  for (const ReportCover& cover : covers)
    low = std::min(low, ratio_of(cover)), high = std::min(kFarthest, std::max(high, ratio_of(cover)));
  const Scale x(std::max(0.0, low - 0.02), high + 0.02, kCoverLeft, kCoverRight);
  const double bottom = 14 + kCoverRow * static_cast<double>(covers.size());
  Svg svg(960, bottom + 36, "Kernels of several groups", finding);
  svg.line(x(1), 8, x(1), bottom, "hint");
  for (std::size_t c = 0; c < covers.size(); ++c)
    draw_cover(svg, covers[c], x, 18 + kCoverRow * static_cast<double>(c), unit_of(data));
  svg.line(kCoverLeft, bottom, kCoverRight, bottom, "axis");
  for (double tick : x.ticks(5)) {
    svg.line(x(tick), bottom, x(tick), bottom + 4, "axis");
    svg.text(x(tick), bottom + 17, tick_text(tick), "soft", Anchor::middle);
  }
  svg.text(kCoverRight + 18, bottom + 17, "of the usual kernels' time", "soft");
  std::string remark =
      "A chain computes its kernels row by row, a merged kernel computes convolutions of one input side by side. Red: "
      "in the plan.";
  if (all > covers.size()) remark += fmt::format(" {} more save less.", all - covers.size());
  return section("covers", "Kernels of several groups", finding,
                 picture("Kernels of several groups", svg) + "<p class=\"remark\">" + remark + "</p>\n");
}

}  // namespace whet
