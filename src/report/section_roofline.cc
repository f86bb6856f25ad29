// The roofline: how fast each task runs against what the machine's threads reach together.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cost/limit.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kRoofLeft = 46, kRoofRight = 930, kRoofTop = 16, kRoofBottom = 350, kRoofLargest = 17;
constexpr std::size_t kRoofLabels = 10;
/// Roofs that are nearer to each other than by this factor share a name.
constexpr double kSameRoof = 1.2;

struct Dot {
  const ReportTask* task;
  double intensity = 0, speed = 0, speed_before = 0, share = 0;
};

std::vector<Dot> dots_of(const ReportData& data) {
  std::vector<Dot> found;
  const double whole = best_sum(data.tasks);
  for (std::size_t t : by_cost(data.tasks)) {
    const ReportTask& task = data.tasks[t];
    if (!is_time(task.best_seconds) || task.flops <= 0 || task.bytes <= 0) continue;
    const double before = is_time(task.default_seconds) ? task.flops / task.default_seconds / 1e9 : 0;
    found.push_back(
        {&task, task.flops / task.bytes, task.flops / task.best_seconds / 1e9, before, cost_of(task) / whole});
  }
  return found;
}

struct Roof {
  const char* name;
  double gbs;
};

/// A line of bandwidth up to the peak, its name along it.
void draw_roof(Svg& svg, const Roof& roof, double gflops, const Scale& x, const Scale& y, std::string_view name) {
  const double from = std::max(x.low(), y.low() / roof.gbs), to = std::min(gflops / roof.gbs, x.high());
  constexpr double kRoomForName = 130;
  if (roof.gbs <= 0 || from >= to) return;
  svg.line(x(from), y(from * roof.gbs), x(to), y(to * roof.gbs), "roof");
  const double slope = std::atan2(y(to * roof.gbs) - y(from * roof.gbs), x(to) - x(from));
  if (x(to) - x(from) < kRoomForName || name.empty()) return;
  svg.turned(x(from) + 10 * std::cos(slope) + 4, y(from * roof.gbs) + 10 * std::sin(slope) - 4, slope * 180 / M_PI,
             fmt::format("{} {:.0f} GB/s", name, roof.gbs), "soft");
}

/// All of them; of those that nearly coincide the first has the names of both.
void draw_roofs(Svg& svg, const MachineRates& rates, double gflops, const Scale& x, const Scale& y) {
  const Roof roofs[] = {{"memory", rates.memory_gbs}, {"L3", rates.l3_gbs}, {"L2", rates.l2_gbs}, {"L1", rates.l1_gbs}};
  bool is_named = false;  // together with the one before
  for (std::size_t i = 0; i < std::size(roofs); ++i) {
    const bool joins = i + 1 < std::size(roofs) && roofs[i].gbs > 0 && roofs[i + 1].gbs > roofs[i].gbs / kSameRoof &&
                       roofs[i + 1].gbs < roofs[i].gbs * kSameRoof;
    draw_roof(svg, roofs[i], gflops, x, y,
              is_named ? ""
              : joins  ? fmt::format("{}, {}", roofs[i].name, roofs[i + 1].name)
                       : roofs[i].name);
    is_named = joins;
  }
}

void draw_axes(Svg& svg, const Scale& x, const Scale& y) {
  for (double tick : x.ticks(3)) {
    svg.line(x(tick), kRoofBottom, x(tick), kRoofBottom + 4, "axis");
    svg.text(x(tick), kRoofBottom + 17, tick_text(tick), "soft", Anchor::middle);
  }
  for (double tick : y.ticks(3)) {
    svg.line(kRoofLeft - 4, y(tick), kRoofLeft, y(tick), "axis");
    svg.text(kRoofLeft - 8, y(tick) + 4, tick_text(tick), "soft", Anchor::end);
  }
  svg.line(kRoofLeft, kRoofBottom, kRoofRight, kRoofBottom, "axis");
  svg.line(kRoofLeft, kRoofBottom, kRoofLeft, kRoofTop, "axis");
  svg.text(kRoofRight, kRoofBottom + 33, "FLOP a byte of inputs, constants and outputs", "soft", Anchor::end);
  svg.text(kRoofLeft + 6, kRoofTop - 4, "GFLOPS", "soft");
}

void draw_dots(Svg& svg, const std::vector<Dot>& dots, const Scale& x, const Scale& y, LabelPlaces& places) {
  for (const Dot& dot : dots) {
    const double at = x(dot.intensity), radius = std::max(2.2, kRoofLargest * std::sqrt(dot.share));
    if (dot.speed_before > 0) {
      svg.line(at, y(dot.speed_before), at, y(dot.speed), "rise");
      svg.line(at - 3, y(dot.speed_before), at + 3, y(dot.speed_before), "rise");
    }
    svg.circle(at, y(dot.speed), radius, kind_class(dot.task->label.kind) + " dot",
               fmt::format("{}: {:.1f} GFLOPS, {} of the time", to_text(dot.task->label), dot.speed,
                           share_text(dot.share, 1)));
    places.take(at - radius, y(dot.speed) - radius, 2 * radius, 2 * radius);
  }
  for (std::size_t i = 0; i < std::min(kRoofLabels, dots.size()); ++i) {
    const std::string label = to_text(dots[i].task->label);
    double label_x = 0, label_y = 0;
    Anchor anchor = Anchor::start;
    const double radius = std::max(2.2, kRoofLargest * std::sqrt(dots[i].share)) - 5;
    for (const double shift : {radius, -radius})
      if (places.find(x(dots[i].intensity) + shift, y(dots[i].speed), label, label_x, label_y, anchor)) {
        svg.text(label_x, label_y, label, "", anchor);
        break;
      }
  }
}

std::string finding_of_roofline(const std::vector<Dot>& dots, double gflops) {
  double flops = 0, seconds = 0;
  const Dot* fastest = &dots.front();
  for (const Dot& dot : dots) {
    flops += dot.task->weight * dot.task->flops;
    seconds += cost_of(*dot.task);
    if (dot.speed > fastest->speed) fastest = &dot;
  }
  const double speed = flops / seconds / 1e9;
  if (fastest->speed > kMostOfPeak * gflops)
    return fmt::format(
        "The tasks reach {:.0f} GFLOPS together. The peak of {:.0f} was measured beside another program, or on a "
        "shared machine "
        "(whet doctor): the fastest, {}, has {:.1f} times as many.",
        speed, gflops, task_link(*fastest->task), fastest->speed / gflops);
  return fmt::format(
      "The tasks reach {:.0f} GFLOPS together, {} of the {:.0f} that these threads can; the fastest, {}, {}.", speed,
      share_text(speed, gflops), gflops, task_link(*fastest->task), share_text(fastest->speed, gflops));
}

}  // namespace

std::string roofline_section(const ReportData& data) {
  const std::vector<Dot> dots = dots_of(data);
  const double gflops = data.rates.gflops;
  if (dots.empty() || !(gflops > 0)) return "";
  double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = gflops;
  for (const Dot& dot : dots) {
    least_x = std::min(least_x, dot.intensity), most_x = std::max(most_x, dot.intensity);
    least_y = std::min({least_y, dot.speed, dot.speed_before > 0 ? dot.speed_before : dot.speed});
    most_y = std::max(most_y, dot.speed);
  }
  const double fastest = std::max({data.rates.l1_gbs, data.rates.l2_gbs, data.rates.l3_gbs, data.rates.memory_gbs});
  const Scale x(std::min(least_x * 0.6, fastest > 0 ? gflops / fastest : least_x),
                std::max(most_x * 1.7, gflops / std::max(1.0, data.rates.memory_gbs) * 1.5), kRoofLeft, kRoofRight,
                true);
  const Scale y(least_y * 0.7, most_y * 1.3, kRoofBottom, kRoofTop, true);
  const std::string told = fmt::format("{} below a peak of {:.0f} GFLOPS", count_of(std::ssize(dots), "task"), gflops);
  Svg svg(960, 390, "Roofline", told);
  draw_axes(svg, x, y);
  draw_roofs(svg, data.rates, gflops, x, y);
  const double ridge = x(fastest > 0 ? std::max(x.low(), gflops / fastest) : x.low());
  svg.line(ridge, y(gflops), kRoofRight, y(gflops), "roof");
  svg.text(ridge + 4, y(gflops) - 5, fmt::format("peak {:.0f} GFLOPS", gflops), "soft");
  LabelPlaces places;
  places.frame(kRoofLeft, kRoofTop, 958, kRoofBottom);
  places.take(ridge, y(gflops) - 16, 110, 18);
  draw_dots(svg, dots, x, y, places);
  return section("roofline", "Roofline", finding_of_roofline(dots, gflops),
                 picture("Roofline", svg) +
                     "<p class=\"remark\">A dot is a task, as large as its share of the time; the line below it "
                     "begins at its default schedule. An algorithm with fewer operations, like Winograd's, may lie "
                     "above a roof, because operations are counted by the direct algorithm.</p>\n");
}

}  // namespace whet
