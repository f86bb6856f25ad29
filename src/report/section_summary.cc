// The first thing on the page: what tuning has brought, and which tasks it came from.

#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr double kSummaryWidth = 960, kSummaryBarWidth = 800, kSummaryBarHeight = 34, kSummaryUpper = 20,
                 kSummaryLower = 106;
/// A task with less than this part of the longer bar is merged with its likes.
constexpr double kLeastPart = 0.006;

/// A task's pieces of both bars.
struct Piece {
  std::string task;  ///< its name
  int kind = 0;
  double before = 0, after = 0;
};

std::vector<Piece> pieces_of(const std::vector<ReportTask>& tasks) {
  const double whole = std::max(default_sum(tasks), best_sum(tasks));
  std::vector<Piece> pieces;
  Piece rest{"others", kOperatorKinds - 1, 0, 0};
  int merged = 0;
  for (const ReportTask& task : tasks) {
    const double after = cost_of(task);
    const double before = is_time(task.default_seconds) ? task.weight * task.default_seconds : after;
    if (std::max(before, after) < kLeastPart * whole) {
      rest.before += before, rest.after += after;
      ++merged;
      continue;
    }
    pieces.push_back({task.name, kind_of(task.name), before, after});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.before > b.before; });
  rest.task = count_of(merged, "small task");
  if (merged > 0) pieces.push_back(rest);
  return pieces;
}

void draw_bar(Svg& svg, const std::vector<Piece>& pieces, double Piece::* seconds, double y, double px_a_second) {
  double x = 0;
  for (const Piece& piece : pieces) {
    const double width = piece.*seconds * px_a_second;
    svg.box(x, y, std::max(0.3, width - 1), kSummaryBarHeight, fmt::format("k{}", piece.kind),
            fmt::format("{}: {} → {}", short_name(piece.task), time_text(piece.before), time_text(piece.after)));
    if (const std::string label = label_of(piece.task, width - 8); !label.empty())
      svg.text(x + 5, y + 21, label, fmt::format("on k{}t", piece.kind));
    x += width;
  }
}

/// What joins a task's pieces, so that the eye sees which became narrower.
void draw_ribbons(Svg& svg, const std::vector<Piece>& pieces, double px_a_second) {
  double above = 0, below = 0;
  for (const Piece& piece : pieces) {
    const double right_above = above + piece.before * px_a_second, right_below = below + piece.after * px_a_second;
    const double top = kSummaryUpper + kSummaryBarHeight, bottom = kSummaryLower;
    svg.path(fmt::format("M{} {}L{} {}L{} {}L{} {}Z", px(above), px(top), px(right_above - 1), px(top),
                         px(right_below - 1), px(bottom), px(below), px(bottom)),
             fmt::format("k{} ribbon", piece.kind));
    above = right_above, below = right_below;
  }
}

/// The kinds that occur, named below the bars.
void draw_kinds(Svg& svg, const std::vector<Piece>& pieces) {
  double x = 0;
  for (int kind = 0; kind < kOperatorKinds; ++kind) {
    if (std::none_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.kind == kind; })) continue;
    svg.box(x, 176, 9, 9, fmt::format("k{}", kind));
    svg.text(x + 14, 184, kind_name(kind), "soft");
    x += 30 + width_of_label(kind_name(kind));
  }
}

std::string bars(const ReportData& data) {
  const std::vector<Piece> pieces = pieces_of(data.tasks);
  const double before = default_sum(data.tasks), after = best_sum(data.tasks);
  if (!is_time(before)) return "";
  const double px_a_second = kSummaryBarWidth / std::max(before, after);
  Svg svg(kSummaryWidth, 192, "Sum of the tasks' times",
          fmt::format("By default schedules {}, by the best {}", time_text(before), time_text(after)));
  svg.text(0, 13, "default schedules", "soft");
  draw_ribbons(svg, pieces, px_a_second);
  draw_bar(svg, pieces, &Piece::before, kSummaryUpper, px_a_second);
  draw_bar(svg, pieces, &Piece::after, kSummaryLower, px_a_second);
  svg.text(before * px_a_second + 8, kSummaryUpper + 22, time_text(before), "figure");
  svg.text(after * px_a_second + 8, kSummaryLower + 22, time_text(after), "figure strong");
  svg.text(0, kSummaryLower + kSummaryBarHeight + 14, "best schedules", "soft");
  draw_kinds(svg, pieces);
  return picture("Time of the tasks before and after", svg);
}

/// "3 of 22 tasks give 71% of what was saved."
std::string where_from(const std::vector<ReportTask>& tasks) {
  std::vector<double> saved;
  double all = 0;
  for (const ReportTask& task : tasks) {
    if (!is_time(task.default_seconds) || !is_time(task.best_seconds)) continue;
    saved.push_back(task.weight * (task.default_seconds - task.best_seconds));
    all += saved.back();
  }
  std::sort(saved.rbegin(), saved.rend());
  double most = 0;
  std::size_t count = 0;
  while (count < saved.size() && most < 0.6 * all) most += saved[count++];
  if (all <= 0 || count == 0) return "";
  return fmt::format(" {} of {} {} {} of what was saved.", count, count_of(std::ssize(tasks), "task"),
                     count == 1 ? "gives" : "give", share_text(most, all));
}

std::string lead_of_tasks(const ReportData& data) {
  const double before = default_sum(data.tasks), after = best_sum(data.tasks);
  if (!is_time(after)) return "Nothing has been measured yet.";
  return fmt::format("The tasks take <b>{}</b> together; by default schedules they take {}: <b>{}</b>.{}",
                     time_text(after), time_text(before), gain_of(before, after), where_from(data.tasks));
}

std::string lead(const ReportData& data) {
  const ReportNetwork& network = data.network;
  const double before = network.untuned_seconds, after = network.tuned_seconds;
  if (!is_time(before) || !is_time(after)) return lead_of_tasks(data);
  if (network.disturbed)
    return lead_of_tasks(data) +
           fmt::format(
               " The whole network took {}, and {} by default schedules, which is far from that: another program "
               "ran meanwhile.",
               time_text(after), time_text(before));
  return fmt::format(
      "One inference takes <b>{}</b>; by default schedules it takes {}, measured alternately: <b>{}</b>. The tasks, "
      "each "
      "alone, take {} together; by default schedules they take {}.{}",
      time_text(after), time_text(before), gain_of(before, after), time_text(best_sum(data.tasks)),
      time_text(default_sum(data.tasks)), where_from(data.tasks));
}

}  // namespace

std::string summary_section(const ReportData& data) {
  std::string notes;
  for (const std::string& note : data.notes) notes += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  return fmt::format("<section id=\"summary\">\n<p class=\"lead\">{}</p>\n{}{}</section>\n", lead(data), notes,
                     bars(data));
}

}  // namespace whet
