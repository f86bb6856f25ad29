#include "space/schedule_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace whet {
namespace {

constexpr std::int64_t kMostCombinations = std::int64_t{1} << 62;

std::string choice_text(const Choice& choice) {
  return choice.size() == 1 ? std::to_string(choice.front()) : fmt::format("[{}]", fmt::join(choice, ", "));
}

/// Candidates are shown with the name of their sketch among their choices.
bool is_reserved(const std::string& name) { return name.empty() || name == "sketch"; }

}  // namespace

ScheduleTable::ScheduleTable(std::string name, std::vector<Decision> decisions)
    : name_(std::move(name)), decisions_(std::move(decisions)) {
  for (const Decision& decision : decisions_) {
    numbers_.emplace_back();
    for (const Choice& option : decision.options)
      numbers_.back().emplace(option, static_cast<std::int32_t>(numbers_.back().size()));
  }
}

Result<ScheduleTable> ScheduleTable::make(std::string name, std::vector<Decision> decisions) {
  if (name.empty()) return Error{"a template has no name; records know its schedules by it"};
  const auto wrong = [&](const std::string& what) { return Error{"template " + name + ": " + what}; };
  std::set<std::string> names;
  std::int64_t combinations = 1;
  for (const Decision& decision : decisions) {
    if (is_reserved(decision.name)) return wrong(fmt::format("a decision cannot be called \"{}\"", decision.name));
    if (!names.insert(decision.name).second) return wrong("two decisions are called " + decision.name);
    const auto count = std::ssize(decision.options);
    if (count == 0) return wrong("decision " + decision.name + " has no option");
    if (std::set<Choice>(decision.options.begin(), decision.options.end()).size() != decision.options.size())
      return wrong("decision " + decision.name + " has an option twice");
    if (combinations >= kMostCombinations / count) return wrong("its decisions have more than 2^62 combinations");
    combinations *= count;
  }
  return ScheduleTable(std::move(name), std::move(decisions));
}

Result<Point> ScheduleTable::point(const std::vector<Choice>& choices) const {
  if (choices.size() != decisions_.size())
    return Error{fmt::format("{} choices; the decisions are {}", choices.size(), decisions_.size())};
  Point point;
  for (std::size_t d = 0; d < choices.size(); ++d) {
    const auto found = numbers_[d].find(choices[d]);
    if (found == numbers_[d].end())
      return Error{fmt::format("{} is {}, which is none of its {} options", decisions_[d].name, choice_text(choices[d]),
                               numbers_[d].size())};
    point.push_back(found->second);
  }
  return point;
}

std::string ScheduleTable::text(const Point& point) const {
  std::string text;
  for (std::size_t d = 0; d < point.size(); ++d)
    text += fmt::format("{}{}={}", d > 0 ? ", " : "", decisions_[d].name,
                        choice_text(decisions_[d].options[static_cast<std::size_t>(point[d])]));
  return text;
}

const std::string* ScheduleTable::steps(const Point& point) const {
  const auto found = rows_.find(point);
  return found == rows_.end() ? nullptr : &found->second;
}

Status ScheduleTable::add(const ComputeDag& dag, const SpaceOptions& options, const Point& point,
                          const std::string& steps) {
  WHET_TRY(const Steps read, parse_steps(steps));
  WHET_RETURN_IF_ERROR(replay(dag, read));
  if (!permits(options, numerics_of(read)))
    return Error{"it rounds otherwise than the direct algorithm, and --exact or --precision does not permit that"};
  rows_.emplace(point, steps);
  return ok_status();
}

Sketch ScheduleTable::sketch() const {
  WHET_CHECK(!rows_.empty(), "a table without rows has no sketch");
  Sketch sketch{.name = name_, .decisions = decisions_};
  for (const auto& [point, steps] : rows_) sketch.rows.push_back(point);
  for (std::size_t d = 0; d < decisions_.size(); ++d)
    sketch.preferred.emplace(decisions_[d].name,
                             decisions_[d].options[static_cast<std::size_t>(sketch.rows.front()[d])]);
  sketch.build = [table = std::make_shared<const ScheduleTable>(*this)](Scheduler& scheduler, const Choices& choices) {
    std::vector<Choice> in_order;
    for (const Decision& decision : table->decisions_) in_order.push_back(choices.at(decision.name));
    const std::string* const text = table->steps(table->point(in_order).value());
    WHET_CHECK(text != nullptr, "a candidate of a table has no row");
    scheduler.apply(parse_steps(*text).value());
  };
  return sketch;
}

bool same_decisions(const std::vector<Decision>& a, const std::vector<Decision>& b) {
  return std::ranges::equal(a, b, [](const Decision& one, const Decision& other) {
    return one.name == other.name && one.options == other.options && one.extent == other.extent;
  });
}

DesignSpace with_sketches(const ComputeDag& dag, const DesignSpace& space, const OwnSketches& own) {
  std::vector<Sketch> sketches;
  if (!own.alone) sketches = space.sketches();
  sketches.insert(sketches.end(), own.sketches.begin(), own.sketches.end());
  return {dag, std::move(sketches)};
}

}  // namespace whet
