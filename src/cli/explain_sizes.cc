// whet explain sizes: the structures of a model at all sizes of its ranges, and its numbers as functions of them.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/records_text.h"
#include "cli/sizes_text.h"
#include "cli/table.h"
#include "compute/dag.h"
#include "records/record_file.h"
#include "workflow/exact_sizes.h"
#include "workflow/kept_sizes.h"
#include "workflow/range_choice.h"
#include "workflow/sizes.h"

namespace whet {
namespace {

/// "n=2..512", "b*n=1..16384, n=1..512"
std::string own_sizes_text(const SizedTask& task) {
  return task.sizes.empty() ? "the same at all" : to_text(task.task.dag.sizes);
}

void print_variant(const Family& family, const Variant& variant, std::size_t number) {
  fmt::print("\nVariant {}, {}: {} of {} change{}{}\n", number, boxes_text(family, variant.boxes), variant.changing,
             counted(variant.numbers, "number"), variant.forms.empty() ? "" : ", as ", forms_text(variant));
  Table table({{"Task"}, {"Name", false}, {"Weight"}, {"Its sizes", false}});
  for (std::size_t t = 0; t < variant.tasks.size(); ++t) {
    const SizedTask& task = variant.tasks[t];
    table.add({std::to_string(t), task.task.name, std::to_string(task.task.weight), own_sizes_text(task)});
  }
  print(table);
  if (!variant.windows.empty())
    fmt::print("{} of each size lies in that of the largest: {}\n", counted(std::ssize(variant.windows), "constant"),
               variant.fused.graph.value(variant.windows.begin()->first).name);
}

/// A model at its sizes, and by which schedules a library of it runs.
struct SizesAnswer {
  Family family;
  std::optional<RangeChoice> choice;  ///< none: no records are given, or no size is a range
  std::string note;                   ///< about the choice, for people
  std::string network;                ///< what the records know of the network at sizes, for people
  std::vector<SizeValues> hot;        ///< sizes with kernels of their own
};

/// The structures of the model, for no target.
Result<SizesAnswer> without_records(const Question& question) {
  FamilyOptions how;
  how.in_place = InPlaceParts::at_all_sizes;  // as libraries have it
  SizesAnswer answer;
  WHET_TRY(answer.family, load_family(question.model, question.rounding.passes(), how));
  return answer;
}

/// The model as `whet compile` reads it, and what that chooses.
Result<SizesAnswer> by_records(const Question& question) {
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(const SizedModel model, sized_model(question.model, files));
  if (!has_ranges(model.sizes)) {
    WHET_TRY(SizesAnswer answer, without_records(question));
    answer.note = "Each of these sizes is compiled for itself, by the records of that size";
    return answer;
  }
  WHET_TRY(const TargetOnCores place, choose_target(question.place));
  const Target target = for_ranges(place.target);
  WHET_RETURN_IF_ERROR(question.rounding.check(target));
  WHET_RETURN_IF_ERROR(check_ranges(model.sizes, target));
  WHET_TRY(const RecordsRead read, read_records(question.records));
  SizesAnswer answer;
  WHET_TRY(answer.family, family_of_library(model, files, question.rounding.passes(target)));
  const SpaceOptions schedules = question.rounding.schedules();
  WHET_TRY(answer.choice,
           choose_for_ranges(answer.family, model.sizes, question.tuning_sizes, read.records, target, schedules));
  answer.note = keep_untuned(read.records, answer.family, model.sizes, question.tuning_sizes, target, schedules,
                             answer.choice->pieces);
  if (const NetworkAtSizes* timed = timed_network(read.records, answer.family, target))
    answer.network = network_text(*timed);
  if (question.tuning_sizes.hot != "off") answer.hot = hot_sizes(read.records, answer.family, target);
  return answer;
}

/// "16", "2x128"
std::string values_text(const SizeValues& values) { return fmt::format("{}", fmt::join(values, "x")); }

/// "16: 0.0123, 64: ~0.0450, 256: 0.1200*": milliseconds at each point, estimates with a ~, times as that size's own kernel with a *.
std::string times_text(const TaskAcrossSizes& known, const SizedSchedule& schedule) {
  std::string text;
  for (std::size_t p = 0; p < known.points.size(); ++p)
    text += fmt::format("{}{}: {}{:.4f}{}", p > 0 ? ", " : "", values_text(known.points[p].at),
                        schedule.measured[p] ? "" : "~", schedule.seconds[p] * 1e3,
                        schedule.measured[p] && !schedule.ranged[p] ? "*" : "");
  return text;
}

bool has_schedules(const VariantPiece& piece) {
  return std::ranges::any_of(piece.schedules, [](const auto& of_task) { return !of_task.empty(); });
}

/// What decides the kernels of a piece: "untuned", "records", "estimate".
std::string decided_by(const VariantPiece& piece) {
  return piece.untuned ? "untuned" : has_schedules(piece) ? "records" : "estimate";
}

/// The same, for people.
std::string decided_text(const Family& family, const VariantPiece& piece) {
  const std::string at = piece.at.empty() ? "the largest sizes" : to_text(family.sizes, piece.at);
  if (piece.untuned) return "untuned, with schedules for " + at + ": the network was slower by those of the records";
  return has_schedules(piece) ? "by the times of the records" : "by the estimate, with schedules for " + at;
}

/// The schedules of the kernels of a piece.
void print_piece(const Variant& variant, const std::vector<TaskAcrossSizes>& tasks, const VariantPiece& piece) {
  if (!has_schedules(piece)) return;
  Table table({{"Task"}, {"Schedules"}, {"Best of"}, {"Expected (ms)"}, {"Second (ms)"}, {"At each size (ms)", false}});
  for (std::size_t t = 0; t < variant.tasks.size(); ++t) {
    const std::vector<RecordedSchedule>& own = piece.schedules[t];
    if (own.empty()) continue;
    const auto known = std::ranges::find(tasks[t].schedules, own[0].steps, &SizedSchedule::steps);
    table.add({std::to_string(t), std::to_string(own.size()), values_text(own[0].at),
               milliseconds_if_any(own[0].seconds), own.size() > 1 ? milliseconds_if_any(own[1].seconds) : "–",
               times_text(tasks[t], *known)});
  }
  print(table);
}

/// "2 of 9": with all of them the expected time would be 0.6% less.
std::string chosen_of(const TaskAcrossSizes& known) {
  const auto fit = std::ranges::count(known.schedules, known.packing, &SizedSchedule::packing);
  return fmt::format("{} of {}", known.kernels.kernels.size(), fit);
}

/// The kernels of each task with records, and what all would bring.
void print_kernels(const Variant& variant, const std::vector<TaskAcrossSizes>& tasks) {
  if (std::ranges::all_of(tasks, [](const TaskAcrossSizes& task) { return task.schedules.empty(); })) return;
  Table table({{"Task"}, {"Kernels of schedules"}, {"Expected (ms)"}, {"With all (ms)"}});
  for (std::size_t t = 0; t < variant.tasks.size(); ++t)
    if (!tasks[t].schedules.empty())
      table.add({std::to_string(t), chosen_of(tasks[t]), milliseconds_if_any(tasks[t].kernels.seconds),
                 milliseconds_if_any(tasks[t].kernels.bound)});
  print(table);
}

void print_choice(const Family& family, std::size_t v, const RangeChoice& choice) {
  print_kernels(family.variants[v], choice.tasks[v]);
  for (const VariantPiece& piece : choice.pieces[v]) {
    fmt::print("Kernels at {}: {}\n", boxes_text(family, piece.boxes), decided_text(family, piece));
    print_piece(family.variants[v], choice.tasks[v], piece);
  }
}

Json pieces_json(const Family& family, const std::vector<VariantPiece>& pieces) {
  Json all = Json::array();
  for (const VariantPiece& piece : pieces) {
    Json kernels = Json::array();
    for (std::size_t t = 0; t < piece.schedules.size(); ++t)
      if (const std::vector<RecordedSchedule>& own = piece.schedules[t]; !own.empty())
        kernels.add(Json::object()
                        .set("task", static_cast<std::int64_t>(t))
                        .set("best_of", Json::array_of(own[0].at))
                        .set("expected_seconds", own[0].seconds));
    Json row = Json::object().set("sizes", boxes_text(family, piece.boxes)).set("decided_by", decided_by(piece));
    if (!piece.at.empty()) row.set("schedules_for", Json::array_of(piece.at));
    all.add(row.set("kernels", std::move(kernels)));
  }
  return all;
}

Json choice_json(const TaskAcrossSizes& known) {
  Json points = Json::array(), schedules = Json::array();
  for (const SizedPoint& point : known.points)
    points.add(Json::object().set("sizes", Json::array_of(point.at)).set("uses", point.uses));
  for (const SizedSchedule& each : known.schedules) {
    Json measured = Json::array();
    Json ranged = Json::array();
    for (const bool is : each.measured) measured.add(is);
    for (const bool is : each.ranged) ranged.add(is);
    schedules.add(Json::object()
                      .set("steps", each.steps)
                      .set("best_of", Json::array_of(each.from))
                      .set("expected_seconds", each.expected)
                      .set("seconds", Json::array_of(each.seconds))
                      .set("measured", std::move(measured))
                      .set("as_range", std::move(ranged)));
  }
  Json kernels = Json::array();
  for (const std::size_t k : known.kernels.kernels) kernels.add(static_cast<std::int64_t>(k));
  return Json::object()
      .set("points", std::move(points))
      .set("schedules", std::move(schedules))
      .set("kernels", std::move(kernels))
      .set("expected_seconds", known.kernels.seconds)
      .set("bound_seconds", known.kernels.bound);
}

int print_json(const SizesAnswer& answer) {
  const Family& family = answer.family;
  Json variants = Json::array();
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    const Variant& variant = family.variants[v];
    Json tasks = Json::array();
    for (std::size_t t = 0; t < variant.tasks.size(); ++t) {
      const SizedTask& task = variant.tasks[t];
      Json row = Json::object();
      row.set("name", task.task.name)
          .set("weight", task.task.weight)
          .set("sizes", sizes_json(family, task))
          .set("dag", to_text(task.task.dag));
      if (answer.choice) row.set("choice", choice_json(answer.choice->tasks[v][t]));
      tasks.add(std::move(row));
    }
    Json row = to_json(family, variant);
    row.set("tasks", std::move(tasks));
    if (answer.choice) row.set("pieces", pieces_json(family, answer.choice->pieces[v]));
    variants.add(std::move(row));
  }
  Json out = Json::object();
  out.set("points", family.points).set("checked", family.checked).set("variants", std::move(variants));
  if (answer.choice) {
    Json of_their_own = Json::array();
    for (const SizeValues& at : answer.hot) of_their_own.add(Json::array_of(at));
    out.set("hot_sizes", std::move(of_their_own));
  }
  if (!answer.note.empty()) out.set("note", answer.note);
  return print(out);
}

int print_text(const Question& question, const SizesAnswer& answer) {
  const Family& family = answer.family;
  fmt::print("{} · {} · {}, checked at {} of {}\n", question.model.name(), to_text(family.sizes),
             counted(std::ssize(family.variants), "variant"), family.checked, counted(family.points, "size"));
  if (answer.choice && answer.choice->at.empty())
    fmt::print("{} has no records of any of these sizes: whet tune {} -o {}{}\n", question.records,
               question.model.text(), question.records, question.rounding.text());
  if (!answer.note.empty()) fmt::print("{}\n", answer.note);
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    print_variant(family, family.variants[v], v + 1);
    if (answer.choice) print_choice(family, v, *answer.choice);
  }
  for (const SizeValues& at : answer.hot) fmt::print("Kernels of its own: {}\n", to_text(family.sizes, at));
  if (!answer.network.empty()) fmt::print("\n{}", answer.network);
  return kDone;
}

}  // namespace

Result<int> explain_sizes(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_TRY(const SizesAnswer answer, question.records.empty() ? without_records(question) : by_records(question));
  return question.json ? print_json(answer) : print_text(question, answer);
}

}  // namespace whet
