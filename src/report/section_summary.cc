// The first thing on the page: what tuning has brought, and which tasks it came from.

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
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
  const ReportSums sums = compared_sums(tasks);
  const double whole = std::max(sums.before, sums.after);
  std::vector<Piece> pieces;
  Piece rest{"others", kOperatorKinds - 1, 0, 0};
  int merged = 0;
  for (const ReportTask& task : tasks) {
    if (!is_compared(task)) continue;
    const double before = task.weight * task.default_seconds, after = task.weight * task.best_seconds;
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
  const auto [tasks, before, after] = compared_sums(data.tasks);
  if (tasks == 0) return "";
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
    if (!is_compared(task)) continue;
    saved.push_back(task.weight * (task.default_seconds - task.best_seconds));
    all += saved.back();
  }
  std::sort(saved.rbegin(), saved.rend());
  double most = 0;
  std::size_t count = 0;
  while (count < saved.size() && most < 0.6 * all) most += saved[count++];
  if (all <= 0 || count == 0) return "";
  return fmt::format(" {} of {} {} {} of what was saved.", count, count_of(std::ssize(saved), "task"),
                     count == 1 ? "gives" : "give", share_text(most, all));
}

/// " 3 of 22 tasks were not reached: they run on default schedules."
std::string not_reached(const std::vector<ReportTask>& tasks) {
  const std::int64_t count = std::ranges::count_if(
      tasks, [](const ReportTask& task) { return task.trials.empty() && !is_time(task.best_seconds); });
  if (count == 0) return "";
  return fmt::format(" {} of {} {} not reached and {} on default schedules.", count,
                     count_of(std::ssize(tasks), "task"), for_count(count, "was", "were"),
                     for_count(count, "runs", "run"));
}

/// "The tasks take", "1 of 4 tasks takes": those that have both times.
std::string compared_tasks(const ReportSums& sums, const std::vector<ReportTask>& tasks) {
  if (sums.tasks == std::ssize(tasks)) return "The tasks, each alone, take";
  return fmt::format("{} of {}, each alone, {}", sums.tasks, count_of(std::ssize(tasks), "task"),
                     for_count(sums.tasks, "takes", "take"));
}
std::string by_default_schedules(const ReportSums& sums, const std::vector<ReportTask>& tasks) {
  const bool is_one = sums.tasks == 1 && tasks.size() > 1;
  return fmt::format("{}; by default schedules {} {}", is_one ? "" : " together", is_one ? "it takes" : "they take",
                     time_text(sums.before));
}

std::string lead_of_tasks(const ReportData& data) {
  const ReportSums sums = compared_sums(data.tasks);
  const double best = best_sum(data.tasks);
  if (data.tasks.empty() && !data.model.empty())
    return (is_time(data.profile.seconds)
                ? fmt::format("One inference takes <b>{}</b>. ", time_text(data.profile.seconds))
                : "") +
           "The model has no tasks: there is nothing to tune.";
  if (!is_time(best)) return "Nothing has been measured yet.";
  if (sums.tasks == 0)
    return fmt::format("The tasks that have a time take <b>{}</b> together; none has one by both schedules.{}",
                       time_text(best), not_reached(data.tasks));
  return fmt::format("{} <b>{}</b>{}: <b>{}</b>.{}{}", compared_tasks(sums, data.tasks), time_text(sums.after),
                     by_default_schedules(sums, data.tasks), gain_of(sums.before, sums.after), where_from(data.tasks),
                     not_reached(data.tasks));
}

/// The two networks as they were measured, as far as their times say something.
std::string lead_of_network(const ReportNetwork& network) {
  const std::string after = time_text(network.tuned_seconds), before = time_text(network.untuned_seconds);
  if (network.disturbed)
    return fmt::format(
        " The whole network took {}, and {} by default schedules, which is far from that: another program ran "
        "meanwhile, or "
        "the machine is shared (whet doctor).",
        after, before);
  if (network.same_schedules)
    return fmt::format("One inference takes <b>{}</b>. It runs on default schedules: no task has a better one yet. ",
                       after);
  return fmt::format(
      "One inference takes <b>{}</b>; by default schedules it takes {}, measured alternately: <b>{}</b>. ", after,
      before, gain_of(network.untuned_seconds, network.tuned_seconds));
}

std::string lead(const ReportData& data) {
  const ReportNetwork& network = data.network;
  if (!is_time(network.untuned_seconds) || !is_time(network.tuned_seconds) || data.tasks.empty())
    return lead_of_tasks(data);
  if (network.disturbed) return lead_of_tasks(data) + lead_of_network(network);
  const ReportSums sums = compared_sums(data.tasks);
  if (sums.tasks == 0) return lead_of_network(network) + lead_of_tasks(data);
  return lead_of_network(network) + fmt::format("{} {}{}.{}{}", compared_tasks(sums, data.tasks), time_text(sums.after),
                                                by_default_schedules(sums, data.tasks), where_from(data.tasks),
                                                not_reached(data.tasks));
}

}  // namespace

std::string summary_section(const ReportData& data) {
  std::string notes;
  for (const std::string& note : data.notes) notes += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  return fmt::format("<section id=\"summary\">\n<p class=\"lead\">{}</p>\n{}{}</section>\n", lead(data), notes,
                     bars(data));
}

}  // namespace whet
