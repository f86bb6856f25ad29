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
/// Pieces named below the bars; the list of the others is folded.
constexpr std::size_t kPiecesListed = 12;

/// A task's pieces of both bars.
struct Piece {
  TaskLabel task;
  double before = 0, after = 0;
  int id = -1;  ///< the task's; -1: of several tasks
};

std::vector<Piece> pieces_of(const std::vector<ReportTask>& tasks) {
  const ReportSums sums = compared_sums(tasks);
  const double whole = std::max(sums.before, sums.after);
  std::vector<Piece> pieces;
  Piece rest;
  int merged = 0;
  for (const ReportTask& task : tasks) {
    if (!is_compared(task)) continue;
    const double before = task.weight * task.default_seconds, after = task.weight * task.best_seconds;
    if (std::max(before, after) < kLeastPart * whole) {
      rest.before += before, rest.after += after;
      ++merged;
      continue;
    }
    pieces.push_back({task.label, before, after, task.id});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.before > b.before; });
  rest.task.op = count_of(merged, "small task");
  if (merged > 0) pieces.push_back(rest);
  return pieces;
}

/// The operation, or where it has no room the task's number, by which the list below the bars has it.
std::string label_in_bar(const Piece& piece, double width) {
  const std::string label = label_in(piece.task, width), number = std::to_string(piece.id);
  return label.empty() && piece.id >= 0 && width_of_label(number) <= width ? number : label;
}

void draw_bar(Svg& svg, const std::vector<Piece>& pieces, double Piece::* seconds, double y, double px_a_second,
              TimeUnit unit) {
  double x = 0;
  for (const Piece& piece : pieces) {
    const double width = piece.*seconds * px_a_second;
    svg.box(x, y, std::max(0.3, width - 1), kSummaryBarHeight, kind_class(piece.task.kind),
            fmt::format("{}: {} → {}", to_text(piece.task), unit.text(piece.before), unit.text(piece.after)));
    if (const std::string label = label_in_bar(piece, width - 8); !label.empty())
      svg.text(x + 5, y + 21, label, "on " + kind_class(piece.task.kind) + "t");
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
             kind_class(piece.task.kind) + " ribbon");
    above = right_above, below = right_below;
  }
}

/// The operation of every piece with its times, in the order of the bars: for pieces without room for a name, and for
/// readers without eyes.
std::string list_of(const std::vector<Piece>& pieces, TimeUnit unit) {
  std::string shown, folded;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece& piece = pieces[p];
    const std::string name = escaped(to_text(piece.task));
    (p < kPiecesListed ? shown : folded) +=
        fmt::format("<li><i class=\"{}b\"></i>{} {} → {}</li>\n", kind_class(piece.task.kind),
                    piece.id < 0 ? name : fmt::format("{0} <a href=\"#task-{0}\">{1}</a>", piece.id, name),
                    unit.text(piece.before), unit.text(piece.after));
  }
  if (!folded.empty())
    folded = fmt::format("<details><summary>{}</summary>\n<ul class=\"pieces\">\n{}</ul></details>\n",
                         count_of(std::ssize(pieces) - static_cast<std::int64_t>(kPiecesListed), "more bar"), folded);
  return fmt::format("<ul class=\"pieces\" aria-label=\"Times of the tasks, before and after\">\n{}</ul>\n{}", shown,
                     folded);
}

/// The kinds that occur, named below the bars.
void draw_kinds(Svg& svg, const std::vector<Piece>& pieces) {
  double x = 0;
  for (int number = 0; number < kOperatorKinds; ++number) {
    const auto kind = static_cast<OperatorKind>(number);
    if (std::ranges::none_of(pieces, [&](const Piece& piece) { return piece.task.kind == kind; })) continue;
    svg.box(x, 176, 9, 9, kind_class(kind));
    svg.text(x + 14, 184, kind_name(kind), "soft");
    x += 30 + width_of_label(kind_name(kind));
  }
}

std::string bars(const ReportData& data) {
  const TimeUnit unit = unit_of(data);
  const std::vector<Piece> pieces = pieces_of(data.tasks);
  const auto [tasks, before, after] = compared_sums(data.tasks);
  if (tasks == 0) return "";
  const double px_a_second = kSummaryBarWidth / std::max(before, after);
  Svg svg(kSummaryWidth, 192, "Sum of the tasks' times",
          fmt::format("By default schedules {}, by the best {}", unit.text(before), unit.text(after)));
  svg.text(0, 13, "default schedules", "soft");
  draw_ribbons(svg, pieces, px_a_second);
  draw_bar(svg, pieces, &Piece::before, kSummaryUpper, px_a_second, unit);
  draw_bar(svg, pieces, &Piece::after, kSummaryLower, px_a_second, unit);
  svg.text(before * px_a_second + 8, kSummaryUpper + 22, unit.text(before), "figure");
  svg.text(after * px_a_second + 8, kSummaryLower + 22, unit.text(after), "figure strong");
  svg.text(0, kSummaryLower + kSummaryBarHeight + 14, "best schedules", "soft");
  draw_kinds(svg, pieces);
  return picture("Time of the tasks before and after", svg) + list_of(pieces, unit);
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
                     for_count(static_cast<std::int64_t>(count), "gives", "give"), share_text(most, all));
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

/// "The tasks, each alone, take", "1 of 4 tasks, each alone, takes": those that have both times.
std::string compared_tasks(const ReportSums& sums, const ReportData& data) {
  if (sums.tasks == std::ssize(data.tasks)) return "The tasks, each alone, take";
  return fmt::format("{}, each alone, {}", tasks_of(sums, data), for_count(sums.tasks, "takes", "take"));
}

std::string lead_of_tasks(const ReportData& data, TimeUnit unit) {
  const ReportSums sums = compared_sums(data.tasks);
  const double best = best_sum(data.tasks);
  if (data.tasks.empty() && !data.model.empty())
    return (is_time(data.profile.seconds)
                ? fmt::format("One inference takes <b>{}</b>. ", unit.text(data.profile.seconds))
                : "") +
           "The model has no tasks: there is nothing to tune.";
  if (!is_time(best)) return "Nothing has been measured yet.";
  if (sums.tasks == 0)
    return fmt::format("The tasks that have a time take <b>{}</b> together; none has one by both schedules.{}",
                       unit.text(best), not_reached(data.tasks));
  const bool is_one = sums.tasks == 1 && data.tasks.size() > 1;
  return fmt::format("{} <b>{}</b>{}; by default schedules {} {}: <b>{}</b>.{}{}", compared_tasks(sums, data),
                     unit.text(sums.after), is_one ? "" : " together", is_one ? "it takes" : "they take",
                     unit.text(sums.before), gain_of(sums.before, sums.after), where_from(data.tasks),
                     not_reached(data.tasks));
}

std::string lead_of_network(const ReportData& data, TimeUnit unit) {
  const ReportNetwork& network = data.network;
  const std::string after = unit.text(network.tuned_seconds);
  if (network.same_schedules)
    return fmt::format("One inference takes <b>{}</b>. It runs on default schedules: no task has a better one yet.{}",
                       after, not_reached(data.tasks));
  return fmt::format(
      "One inference takes <b>{}</b>; by default schedules it takes {}, measured alternately: <b>{}</b>.{}{}", after,
      unit.text(network.untuned_seconds), gain_of(network.untuned_seconds, network.tuned_seconds),
      where_from(data.tasks), not_reached(data.tasks));
}

/// The sentence with the gain.
std::string lead(const ReportData& data) {
  const TimeUnit unit = unit_of(data);
  if (!was_measured(data.network) || data.tasks.empty()) return lead_of_tasks(data, unit);
  if (!data.network.disturbed) return lead_of_network(data, unit);
  return lead_of_tasks(data, unit) +
         " The whole network's times are far from that: another program ran meanwhile, or the machine is shared (whet "
         "doctor).";
}

/// What was measured where.
std::string about(const ReportData& data) {
  std::string text;
  for (const std::string& part : {data.target, data.machine, data.records, data.whet})
    if (!part.empty()) text += escaped(part) + " · ";
  return fmt::format("<p class=\"about\">{}<span>{}</span></p>\n", text, escaped(data.written_at));
}

std::string notes(const ReportData& data) {
  std::string notes;
  if (data.live)
    notes = "<p class=\"note live\">Tuning goes on; this page shows what was there when it was written.</p>\n";
  for (const std::string& note : data.notes) notes += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  return notes;
}

}  // namespace

std::string summary_section(const ReportData& data) {
  return fmt::format("<section id=\"summary\">\n<p class=\"lead\">{}</p>\n{}{}{}{}</section>\n", lead(data),
                     totals_line(data), about(data), notes(data), bars(data));
}

}  // namespace whet
