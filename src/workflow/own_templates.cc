#include "workflow/own_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "tensor_files/file.h"

namespace whet {
namespace {

/// The texts of a task's schedules together [bytes].
constexpr std::size_t kMostText = std::size_t{64} << 20;

/// A row of a request: its place in the table, and its schedule.
struct ReadRow {
  Point point;
  const std::string* steps;
};

Result<Decision> decision_of(const Json& json) {
  Decision decision;
  const Json &name = json["name"], &options = json["options"], &extent = json["extent"];
  if (!name.is_string()) return Error{"a decision's name is " + dump(name) + "; expected a text"};
  decision.name = name.string();
  decision.meaning = json["meaning"].string_or("");
  if (!options.is_array())
    return Error{fmt::format("the options of {} are {}; expected a list", decision.name, dump(options))};
  if (std::ssize(options.items()) > ScheduleTable::kMostRows)
    return Error{fmt::format("decision {} has {} options; expected {} at most", decision.name, options.items().size(),
                             ScheduleTable::kMostRows)};
  for (const Json& option : options.items()) {
    WHET_TRY(Choice choice, choice_of(option, decision.name));
    decision.options.push_back(std::move(choice));
  }
  if (!extent.is_null() && (!extent.is_integer() || extent.integer() < 0))
    return Error{fmt::format("the extent of {} is {}; expected an integer", decision.name, dump(extent))};
  decision.extent = extent.integer_or(0);
  return decision;
}

Result<std::vector<Decision>> decisions_of(const Json& request) {
  const Json& list = request["decisions"];
  if (!list.is_array()) return Error{"decisions is " + dump(list) + "; expected a list"};
  std::vector<Decision> decisions;
  for (const Json& each : list.items()) {
    WHET_TRY(Decision decision, decision_of(each));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

Result<ReadRow> read_row(const ScheduleTable& table, const Json& json) {
  const Error wrong{fmt::format("expected a list of {} choices and a schedule's text", table.decisions().size())};
  if (!json.is_array() || json.items().size() != table.decisions().size() + 1) return wrong;
  const Json& steps = json.items().back();
  if (!steps.is_string()) return wrong;
  std::vector<Choice> choices;
  for (std::size_t d = 0; d < table.decisions().size(); ++d) {
    WHET_TRY(Choice choice, choice_of(json.items()[d], table.decisions()[d].name));
    choices.push_back(std::move(choice));
  }
  WHET_TRY(Point point, table.point(choices));
  return ReadRow{std::move(point), &steps.string()};
}

Result<std::vector<ReadRow>> read_rows(const ScheduleTable& table, const Json& request) {
  const Json& list = request["rows"];
  if (!list.is_array()) return Error{fmt::format("template {}: rows is {}; expected a list", table.name(), dump(list))};
  std::vector<ReadRow> rows;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    Result<ReadRow> row = read_row(table, list.items()[i]);
    if (!row.ok()) return row.error().at(fmt::format("template {}, row {}", table.name(), i + 1));
    rows.push_back(std::move(*row));
  }
  return rows;
}

/// "4,096"
std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace

Result<Choice> choice_of(const Json& list, const std::string& name) {
  if (list.is_integer()) return Choice{list.integer()};
  const auto is_integer = [](const Json& item) { return item.is_integer(); };
  if (!list.is_array() || !std::ranges::all_of(list.items(), is_integer))
    return Error{fmt::format("the choice \"{}\" is {}; expected a list of integers", name, dump(list))};
  Choice numbers;
  for (const Json& item : list.items()) numbers.push_back(item.integer());
  return numbers;
}

Result<Json> OwnTemplates::add(const Json& request, const Task& task, const DesignSpace& usual,
                               const SpaceOptions& options) {
  const Json &name = request["name"], &key = request["key"];
  if (!name.is_string()) return Error{"name is " + dump(name) + "; expected the template's name"};
  if (!key.is_null() && key != Json(task.key))
    return Error{
        fmt::format("template {} is for a task whose key is {}, and that of {} is {}: it was made for another "
                    "model, or at other sizes",
                    name.string(), dump(key), task.name, task.key)};
  WHET_TRY(std::vector<Decision> decisions, decisions_of(request));
  const auto is_named = [&](const auto& each) { return each.name == name.string(); };
  if (std::ranges::any_of(usual.sketches(), is_named))
    return Error{fmt::format("template {}: the space of {} has a sketch of this name; give the template another one",
                             name.string(), task.name)};
  const auto known = tasks_.find(task.key);
  OfTask of = known == tasks_.end() ? OfTask() : known->second;
  auto table = std::ranges::find_if(of.tables, [&](const ScheduleTable& each) { return each.name() == name.string(); });
  if (table == of.tables.end()) {
    WHET_TRY(ScheduleTable made, ScheduleTable::make(name.string(), std::move(decisions)));
    table = of.tables.insert(of.tables.end(), std::move(made));
  } else if (!same_decisions(table->decisions(), decisions)) {
    return Error{
        fmt::format("template {} has other decisions than before; further rows have the same ones", name.string())};
  }
  WHET_TRY(const std::vector<ReadRow> rows, read_rows(*table, request));
  std::int64_t all = 0, left_out = 0;
  for (const ScheduleTable& each : of.tables) all += each.size();
  for (const auto& [point, steps] : rows) all += table->steps(point) == nullptr ? 1 : 0;
  if (all > ScheduleTable::kMostRows)
    return Error{fmt::format("template {}: {} would have {} rows; expected {} at most", name.string(), task.name, all,
                             ScheduleTable::kMostRows)};
  std::string why;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [point, steps] = rows[i];
    const auto at = [&, &point = point] {
      return fmt::format("template {}, row {} ({})", name.string(), i + 1, table->text(point));
    };
    if (const std::string* before = table->steps(point); before != nullptr) {
      if (*before == *steps) continue;
      return Error{at() + ": there is a row of these choices with other steps"};
    }
    if (of.bytes + steps->size() > kMostText)
      return Error{fmt::format("template {}: the schedules of {} have more than {} MiB of text", name.string(),
                               task.name, kMostText >> 20)};
    const Status added = table->add(task.dag, options, point, *steps);
    if (added.ok()) {
      of.bytes += steps->size();
      continue;
    }
    if (++left_out == 1) why = added.error().at(at()).message;
  }
  if (left_out > 0)
    why += fmt::format("; rows like it are left out ({} of {})", with_commas(left_out), with_commas(std::ssize(rows)));
  of.alone = of.alone || request["alone"].bool_or(false);
  Json answer = Json::object()
                    .set("template", name.string())
                    .set("rows", table->size())
                    .set("left_out", left_out)
                    .set("why", why);
  tasks_.insert_or_assign(task.key, std::move(of));
  return answer;
}

std::optional<OwnSketches> OwnTemplates::sketches_of(const OfTask& of) {
  OwnSketches own{{}, of.alone};
  for (const ScheduleTable& table : of.tables)
    if (table.size() > 0) own.sketches.push_back(table.sketch());
  return own.sketches.empty() ? std::nullopt : std::optional(std::move(own));
}

std::optional<OwnSketches> OwnTemplates::of(const Task& task) const {
  const auto found = tasks_.find(task.key);
  return found == tasks_.end() ? std::nullopt : sketches_of(found->second);
}

std::shared_ptr<const OwnSketchesByTask> OwnTemplates::by_task() const {
  OwnSketchesByTask all;
  for (const auto& [key, of] : tasks_)
    if (std::optional<OwnSketches> own = sketches_of(of)) all.emplace(key, std::move(*own));
  return all.empty() ? nullptr : std::make_shared<const OwnSketchesByTask>(std::move(all));
}

Result<OwnTemplates> read_templates(const std::string& path, const std::vector<Task>& tasks, const Target& target,
                                    const SpaceOptions& options, const Tell& user) {
  WHET_TRY(const std::string text, read_file(path));
  OwnTemplates templates;
  std::map<std::int64_t, DesignSpace> spaces;
  std::int64_t line = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const std::string place = fmt::format("{}, line {}", path, ++line);
    if (end == at) continue;
    const Result<Json> request = parse_json(std::string_view(text).substr(at, end - at));
    if (!request.ok()) return request.error().at(place);
    const Json& number = (*request)["task"];
    if (!number.is_integer() || number.integer() < 0 || number.integer() >= std::ssize(tasks))
      return Error{fmt::format("{}: task is {}; the tasks are 0 to {}", place, dump(number), std::ssize(tasks) - 1)};
    const Task& task = tasks[static_cast<std::size_t>(number.integer())];
    auto space = spaces.find(number.integer());
    if (space == spaces.end()) space = spaces.emplace(number.integer(), make_space(task.dag, target, options)).first;
    const Result<Json> added = templates.add(*request, task, space->second, options);
    if (!added.ok()) return added.error().at(place);
    if (const std::string why = (*added)["why"].string_or(""); !why.empty()) tell(user, why);
    if ((*added)["rows"].integer_or(0) == 0)
      return Error{fmt::format("{}: no row of template {} is a schedule of {}", place, (*request)["name"].string_or(""),
                               task.name)};
  }
  return templates;
}

}  // namespace whet
