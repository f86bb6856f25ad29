// whet space: what is searched for a task.

#include "space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "space/author.h"
#include "space/query.h"
#include "space/rules/derive.h"
#include "task/task.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"

namespace whet {
namespace {

struct SpaceCommand {
  ModelOptions model;
  TargetOptions place;
  int task = -1, sample = 0;
  std::string contains;
  RoundingOptions rounding;
  bool why = false, json = false;
};

/// One task and what is searched for it.
struct Searched {
  const Task& task;
  int id;
  const Target& target;
  DesignSpace space;
};

std::string choice_text(const Choice& choice) { return fmt::format("{}", fmt::join(choice, "x")); }

/// A few tuples of many; a list of numbers whole.
std::string options_text(const Decision& decision) {
  std::vector<std::string> texts;
  for (const Choice& option : decision.options) texts.push_back(choice_text(option));
  constexpr std::size_t kMost = 16, kFew = 6;
  if (texts.size() <= kMost) return fmt::format("{}", fmt::join(texts, " "));
  return fmt::format("{} ... {} ({})", fmt::join(texts.begin(), texts.begin() + kFew, " "), texts.back(), texts.size());
}

std::string combinations_text(double combinations) {
  return combinations < 1e15 ? count_text({combinations, static_cast<std::int64_t>(combinations), true})
                             : fmt::format("{:.1e}", combinations);
}

/// The part of random samples that a sketch gives; those of a space add up to 1.
double share_of(const Sketch& sketch, const DesignSpace& space) {
  double all = 0;
  for (const Sketch& each : space.sketches()) all += each.share;
  return all > 0 ? sketch.share / all : 0;
}

void print_sketches(const Searched& s) {
  Table table({{"Sketch", false}, {"Combinations"}, {"Candidates"}, {"Samples"}});
  for (const Sketch& sketch : s.space.sketches()) {
    const SpaceSize size = s.space.size(sketch.name);
    table.add({sketch.name, combinations_text(size.combinations), count_text(size),
               fmt::format("{:.0f}%", 100 * share_of(sketch, s.space))});
  }
  print(table);
  for (const Sketch& sketch : s.space.sketches()) {
    fmt::print("\n{}{}\n", sketch.name, &sketch == &s.space.sketches().front() ? ": gives the default schedule" : "");
    Table decisions({{"Decision", false}, {"Guess"}, {"Options", false}, {"Meaning", false}});
    for (const Decision& decision : sketch.decisions)
      decisions.add(
          {decision.name, choice_text(sketch.preferred.at(decision.name)), options_text(decision), decision.meaning});
    print(decisions);
  }
}

std::vector<RuleNote> notes_of(const Searched& s, bool exact) {
  std::vector<RuleNote> notes;
  derive_sketches(s.task.dag, s.target, rules_for(s.target), {.exact = exact}, &notes);
  return notes;
}

void print_why(std::span<const Rule* const> rules, const std::vector<RuleNote>& notes) {
  fmt::print("\nThe rules, in the order in which they were asked (+ applied, - did not):\n");
  for (const Rule* rule : rules) {
    fmt::print("{}: {}\n", rule->name, rule->does);
    std::vector<std::pair<std::string, std::vector<std::string>>> lines;  // a sentence and the ops it is about
    for (const RuleNote& note : notes) {
      if (note.rule != rule->name) continue;
      const std::string key = note.applied ? "" : note.sentence;
      const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == key; });
      (same != lines.end() ? *same : lines.emplace_back(key, std::vector<std::string>())).second.push_back(note.op);
    }
    for (const auto& [sentence, ops] : lines)
      fmt::print("  {} {}{}{}\n", sentence.empty() ? '+' : '-', fmt::join(ops, ", "), sentence.empty() ? "" : ": ",
                 sentence);
  }
}

std::vector<Candidate> samples_of(const Searched& s, const SpaceCommand& command) {
  Rng rng(command.model.seed);
  std::vector<Candidate> samples;
  for (int i = 0; i < command.sample; ++i) samples.push_back(s.space.sample(rng));
  return samples;
}

std::string tree_of(const Searched& s, const Candidate& candidate) {
  const Result<Scheduled> scheduled = s.space.schedule(candidate);
  return scheduled.ok() ? to_text(scheduled->tree) : "refused: " + scheduled.error().message + "\n";
}

Json to_json(const SpaceSize& size) {
  return Json::object().set("combinations", size.combinations).set("candidates", size.legal).set("exact", size.exact);
}

Json to_json(const Searched& s, const SpaceCommand& command) {
  Json out = Json::object();
  out.set("id", s.id).set("name", s.task.name).set("key", s.task.key).set("size", to_json(s.space.size()));
  Json sketches = Json::array();
  for (const Sketch& sketch : s.space.sketches()) {
    Json decisions = Json::array();
    for (const Decision& decision : sketch.decisions) {
      Json options = Json::array();
      for (const Choice& option : decision.options) options.add(Json::array_of(option));
      decisions.add(Json::object()
                        .set("name", decision.name)
                        .set("meaning", decision.meaning)
                        .set("guess", Json::array_of(sketch.preferred.at(decision.name)))
                        .set("options", options));
    }
    sketches.add(Json::object()
                     .set("name", sketch.name)
                     .set("size", to_json(s.space.size(sketch.name)))
                     .set("share", share_of(sketch, s.space))
                     .set("decisions", decisions));
  }
  out.set("sketches", sketches);
  if (command.why) {
    Json notes = Json::array();
    for (const RuleNote& note : notes_of(s, command.rounding.exact))
      notes.add(Json::object()
                    .set("rule", note.rule)
                    .set("op", note.op)
                    .set("applied", note.applied)
                    .set("sentence", note.sentence));
    out.set("rules", notes);
  }
  if (command.sample > 0) {
    Json samples = Json::array();
    for (const Candidate& candidate : samples_of(s, command))
      samples.add(Json::object().set("candidate", to_json(candidate)).set("tree", tree_of(s, candidate)));
    out.set("samples", samples);
  }
  return out;
}

/// Prints the sentence; 0 for yes, 1 for no, so that scripts can ask.
int answer(const Searched& s, const SpaceCommand& command) {
  const Result<Query> query = parse_query(command.contains);
  if (!query.ok()) return wrong_use({"--contains: " + query.error().message});
  const Result<QueryAnswer> answer = ask(s.space, *query);
  if (!answer.ok()) return wrong_use({"--contains: " + answer.error().message});
  if (command.json)
    fmt::print("{}\n", dump(Json::object()
                                .set("contains", command.contains)
                                .set("inside", answer->inside)
                                .set("candidates", answer->candidates)
                                .set("sentence", answer->sentence)));
  else
    fmt::print("{}\n", answer->sentence);
  return answer->inside ? kDone : kFailed;
}

int run_task(const Searched& s, const SpaceCommand& command) {
  if (!command.contains.empty()) return answer(s, command);
  if (command.json) {
    fmt::print("{}\n", dump(to_json(s, command), 2));
    return kDone;
  }
  const SpaceSize size = s.space.size();
  fmt::print("{} {} · {} candidates of {} combinations in {}\n", s.id, s.task.name, count_text(size),
             combinations_text(size.combinations), counted(std::ssize(s.space.sketches()), "sketch", "sketches"));
  print_sketches(s);
  if (command.why) print_why(rules_for(s.target), notes_of(s, command.rounding.exact));
  for (const Candidate& candidate : samples_of(s, command))
    fmt::print("\n{}\n{}", to_json(candidate), tree_of(s, candidate));
  return kDone;
}

/// All tasks, a line each.
int run_all(const std::vector<Task>& tasks, const Target& target, const SpaceCommand& command) {
  Table table({{"ID"}, {"Task", false}, {"Combinations"}, {"Candidates"}, {"Sketches", false}});
  Json list = Json::array();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Searched s{tasks[i], static_cast<int>(i), target,
                     make_space(tasks[i].dag, target, command.rounding.schedules())};
    if (command.json) {
      list.add(to_json(s, command));
      continue;
    }
    std::vector<std::string> names;
    for (const Sketch& sketch : s.space.sketches()) names.push_back(sketch.name);
    const SpaceSize size = s.space.size();
    table.add({std::to_string(i), tasks[i].name, combinations_text(size.combinations), count_text(size),
               fmt::format("{}", fmt::join(names, ", "))});
  }
  if (command.json)
    fmt::print("{}\n", dump(list, 2));
  else
    print(table);
  return kDone;
}

Result<int> run(const SpaceCommand& command, const std::function<bool(const std::string&)>& given) {
  if (!command.contains.empty())
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--why", "--sample", "--json"}, "space",
                                      "counts only without --contains, whose answer is a sentence"));
  const Result<TargetOnCores> place = choose_target(command.place);
  if (!place.ok()) return wrong_use(place.error());
  if (const Status rounding = command.rounding.check(place->target); !rounding.ok()) return wrong_use(rounding.error());
  if (command.task < 0 && (command.why || command.sample > 0 || !command.contains.empty()))
    return wrong_use(
        {"space: --why, --contains and --sample are about one task; give --task N (whet tasks MODEL "
         "lists them)"});
  WHET_TRY(const InputFiles files, read_named_inputs(command.model));
  WHET_TRY(const FusedGraph fused, load_fused(command.model, files, command.rounding.passes(place->target)));
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, place->target));
  if (command.task < 0) return run_all(tasks, place->target, command);
  if (static_cast<std::size_t>(command.task) >= tasks.size())
    return wrong_use({fmt::format("space: {} has no task {}; expected 0 to {} (whet tasks MODEL lists them)",
                                  command.model.name(), command.task, tasks.size() - 1)});
  const Task& task = (tasks)[static_cast<std::size_t>(command.task)];
  return run_task(
      {task, command.task, place->target, make_space(task.dag, place->target, command.rounding.schedules())}, command);
}

}  // namespace

CommandAction make_space_command(Arguments& arguments) {
  auto command = std::make_shared<SpaceCommand>();
  add_options(arguments, command->model);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_options(arguments, command->place);
  arguments.add("--task", command->task, 0, 1 << 20,
                "Number of the task in whet tasks (default: a line for every task)");
  arguments.flag("--why", command->why, "Also print which rules applied to which op, and why the others did not");
  arguments.add("--contains", command->contains,
                "Ask whether there is a candidate like oc.inner=16,order=2; exit code 0 for yes, 1 for no");
  arguments.add("--sample", command->sample, 0, 1000, "Also print this number of random candidates with their loops");
  add_options(arguments, command->rounding, "schedules");
  arguments.flag("--json", command->json, "Print JSON");
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
