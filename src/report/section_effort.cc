// Where the trials and the time of tuning went, beside where the network's time goes.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/counted.h"
#include "report/sections.h"
#include "report/text.h"

namespace whet {
namespace {

constexpr std::size_t kEffortRows = 15;
constexpr double kEffortName = 230, kEffortColumn = 230, kEffortBar = 165, kEffortRow = 19, kEffortFirst = 38;
constexpr double kPhasesLength = 955;

struct EffortRow {
  std::string name;
  double latency = 0, trials = 0, seconds = 0;
};

EffortRow effort_of(const ReportTask& task) {
  EffortRow row{fmt::format("{}  {}", task.id, to_text(task.label)), cost_of(task),
                static_cast<double>(task.trials.size()), 0};
  for (const ReportTrial& trial : task.trials) row.seconds += trial.spent;
  return row;
}

std::vector<EffortRow> rows_of(const std::vector<ReportTask>& tasks) {
  std::vector<EffortRow> rows;
  EffortRow rest;
  std::int64_t merged = 0;
  for (std::size_t t : by_cost(tasks)) {
    const EffortRow row = effort_of(tasks[t]);
    if (rows.size() < kEffortRows) {
      rows.push_back(row);
      continue;
    }
    ++merged;
    rest.latency += row.latency, rest.trials += row.trials, rest.seconds += row.seconds;
  }
  rest.name = count_of(merged, "other task");
  if (merged > 0) rows.push_back(rest);
  return rows;
}

std::string picture_of(const std::vector<EffortRow>& rows, const EffortRow& sum) {
  Svg svg(960, kEffortFirst + kEffortRow * static_cast<double>(rows.size()) + 4, "Trials and time of the tasks",
          "A row a task: its share of the latency, of the trials and of the time of tuning");
  struct Column {
    const char* title;
    double EffortRow::* value;
    const char* style;
  };
  const Column columns[] = {{"of the latency", &EffortRow::latency, "bar ink"},
                            {"of the trials", &EffortRow::trials, "bar"},
                            {"of building and running them", &EffortRow::seconds, "bar"}};
  double most = 0;
  for (const EffortRow& row : rows)
    for (const Column& column : columns)
      if (sum.*column.value > 0) most = std::max(most, row.*column.value / (sum.*column.value));
  for (std::size_t c = 0; c < 3; ++c)
    svg.text(kEffortName + kEffortColumn * static_cast<double>(c), 20, columns[c].title, "soft");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double y = kEffortFirst + kEffortRow * static_cast<double>(r);
    svg.text(0, y + 9, fitted(rows[r].name, kEffortName - 12));
    for (std::size_t c = 0; c < 3; ++c) {
      const double whole = sum.*columns[c].value, x = kEffortName + kEffortColumn * static_cast<double>(c);
      if (!(whole > 0)) continue;
      const double part = rows[r].*columns[c].value / whole;
      svg.box(x, y, std::max(0.5, kEffortBar * part / most), 11, columns[c].style);
      svg.text(x + kEffortBar * part / most + 6, y + 10, share_text(part, 1), "soft");
    }
  }
  return picture("Trials and time of the tasks", svg);
}

/// A label below a piece of a bar.
struct PieceLabel {
  double x, width;
  std::string text;
};

/// Those that have room, the longest pieces' first.
std::vector<PieceLabel> labels_with_room(std::vector<std::pair<double, PieceLabel>> wanted) {
  std::ranges::stable_sort(wanted, std::ranges::greater(), [](const auto& piece) { return piece.first; });
  std::vector<PieceLabel> placed;
  for (auto& [length, label] : wanted) {
    if (label.width > kPhasesLength) continue;
    label.x = std::min(label.x, kPhasesLength - label.width);
    const auto overlaps = [&, &label = label](const PieceLabel& other) {
      return label.x < other.x + other.width + 12 && other.x < label.x + label.width + 12;
    };
    if (std::ranges::none_of(placed, overlaps)) placed.push_back(std::move(label));
  }
  return placed;
}

std::string phases_of(const std::vector<ReportPhase>& phases) {
  double all = 0;
  for (const ReportPhase& phase : phases) all += phase.seconds;
  if (!(all > 0)) return "";
  Svg svg(960, 62, "Wall time of the tuner", "Its phases, in seconds");
  double x = 0;
  std::vector<std::pair<double, PieceLabel>> labels;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double width = kPhasesLength * phases[i].seconds / all;
    if (width < 0.5) continue;
    svg.box(x, 18, width - 1, 14, i % 2 == 0 ? "bar" : "bar light", phases[i].name);
    const std::string label = phases[i].name + " " + duration_text(phases[i].seconds);
    labels.push_back({width, {x, width_of_label(label), label}});
    x += width;
  }
  for (const PieceLabel& label : labels_with_room(std::move(labels))) svg.text(label.x, 48, label.text, "soft");
  svg.text(0, 12, "wall time of the last run", "soft");
  return picture("Wall time of the tuner", svg);
}

}  // namespace

std::string effort_section(const ReportData& data) {
  const std::vector<EffortRow> rows = rows_of(data.tasks);
  const EffortRow sum = std::accumulate(rows.begin(), rows.end(), EffortRow{}, [](EffortRow all, const EffortRow& row) {
    all.latency += row.latency, all.trials += row.trials, all.seconds += row.seconds;
    return all;
  });
  if (!(sum.trials > 0)) return "";
  double latency = 0, trials = 0;
  std::size_t heavy = 0;
  while (heavy < rows.size() && latency < sum.latency / 2) {
    latency += rows[heavy].latency;
    trials += rows[heavy++].trials;
  }
  std::string finding = fmt::format(
      "The {} that {} half of the latency got {} of {}. Building candidates took {} of processor time, running "
      "them {}.",
      count_of(static_cast<std::int64_t>(heavy), "task"), for_count(static_cast<std::int64_t>(heavy), "takes", "take"),
      share_text(trials, sum.trials), count_of(static_cast<std::int64_t>(sum.trials), "trial"),
      duration_text(data.build_seconds), duration_text(data.run_seconds));
  if (data.other_trials > 0)
    finding += fmt::format(" {} more {} of kernels on other layouts.", count_text(data.other_trials),
                           for_count(data.other_trials, "was", "were"));
  return section("effort", "Where the trials went", finding, picture_of(rows, sum) + phases_of(data.phases));
}

}  // namespace whet
