// whet explain: what a number on the screen means.

#include "cli/explain.h"

#include <fmt/format.h>

#include <memory>

#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "trial/outcome.h"

namespace whet {
namespace {

constexpr const char* kProgress =
    R"(While tuning, one row a task (redrawn in place on a terminal; one line a round on a pipe):
  ID             the task's number, as in `whet tasks`
  Latency (ms)   the best time measured so far for one execution of the task
  Speed (GFLOPS) its floating point operations, counted by the direct algorithm, divided by that time
  % peak         that speed as a share of the multiply-add peak of the threads, measured there when tuning starts
  Weight         how often the network runs the task
  Trials         candidates measured, failed ones included, those of earlier runs too
  Failed         how many of them gave no time; `whet records stats FILE` says why
Below the rows:
  Estimated total latency   the sum of weight x latency over the tasks that have one; in brackets the same with default schedules
  Used time, ETA            seconds since the start; seconds until the command ends, with what is still to come
  Next ID                   the task whose round is next
  Remaining gain            what as many trials again may save: as much as the second half of each task's trials did; all of
                            its time for a task with fewer than 96
On a pipe, a line a round: the task's place among those that are tuned, Current (the best of the round) and Best (of all), the
best time, its trials, the estimated total latency, the seconds since the start, its ID and name.
With --per-task, a line a task: Current is the best of the batch just measured, Best the best so far, Progress the
candidates measured (failed ones included) of those allowed, then the seconds spent on the task.
At the end, for each task: "Held by" the tightest of its limits where it was timed and the share of it that is reached, more
than 100% by an algorithm with fewer operations (`whet explain task N` prints the sums); "rests": as many trials again promise
less than --least-gain, or --early-stop ended it.
)";

constexpr const char* kMetrics =
    R"(latency       the time of one execution: the minimum of the timed runs when tuning, the median when benchmarking
GFLOPS        10^9 floating point operations a second. Operations are those of the mathematics by the direct algorithm, so speeds
              of different algorithms and tuners compare
% of peak     GFLOPS divided by the peak of float multiply-adds measured on the same threads just before (`whet target`)
predicted     the sum over a model's steps of what tuning measured; the profile shows it beside what each step really took
share         a step's part of the time of all steps
p50, p90, p99 half, 90% and 99% of the inferences took no longer
)";

int print_text(const Question& question, const char* text) {
  if (question.json) return print(Json::object().set("text", text));
  fmt::print("{}", text);
  return kDone;
}

int explain_error(const Question& question) {
  Json list = Json::array();
  std::vector<std::string> names;
  std::string text;
  for (int code = 0; code < kOutcomeCodes; ++code) names.emplace_back(name_of(static_cast<OutcomeCode>(code)));
  const Result<std::size_t> named = find_name(question.what, names, "is no outcome");
  for (int code = 0; code < kOutcomeCodes; ++code) {
    const auto outcome = static_cast<OutcomeCode>(code);
    if (question.what.empty())
      text += fmt::format("{:2} {}\n", code, name_of(outcome));
    else if (question.what == std::to_string(code) || (named.ok() && *named == static_cast<std::size_t>(code)))
      text = fmt::format("{} {}: {}\n", code, name_of(outcome), explain(outcome));
    else
      continue;
    list.add(Json::object().set("code", code).set("name", name_of(outcome)).set("meaning", explain(outcome)));
  }
  if (text.empty())
    return wrong_use({fmt::format("explain error: {} (0 to {}, or a name)", named.error().message, kOutcomeCodes - 1)});
  if (question.json) return print(list);
  fmt::print("{}", text);
  return kDone;
}

// ---- The options of each topic

using Ask = std::function<Result<int>(const Question&)>;

/// A topic that `ask` answers; `add` adds the options that it has beside --json.
CommandAction make_topic(Arguments& arguments, const char* topic, const Ask& ask,
                         void (*add)(Arguments&, Question&) = nullptr) {
  auto question = std::make_shared<Question>();
  question->topic = topic;
  if (add != nullptr) add(arguments, *question);
  arguments.flag("--json", question->json, "Print JSON");
  return [question, ask] { return ask(*question); };
}

void add_model(Arguments& arguments, Question& question) {
  arguments.add("--model", question.model.model, "The model; its options as for tuning");
  arguments.offers("--model", built_in_networks());
  add_shapes(arguments, question.model);
  arguments.add("--input", question.model.inputs, "name=x.npy: the value of an input that decides shapes");
}

/// Of a model on a machine, and of its records.
void add_tuned_model(Arguments& arguments, Question& question) {
  add_model(arguments, question);
  arguments.add("--records", question.records, "Its record file");
  add_options(arguments, question.rounding, "schedules");
  add_options(arguments, question.place);
  arguments.add("--device", question.device,
                "The device elsewhere that timed the records: its rates are measured there");
  add_options(arguments, question.fleet);
}

void add_node(Arguments& arguments, Question& question) {
  arguments.add("node", question.what, "The node's name, or a part that only it has; without it, all are listed");
  add_tuned_model(arguments, question);
  arguments.add("--contains", question.contains,
                "The best plan with this form or cover at the node, term by term: nchw16c, merged");
}

CommandAction make_error(Arguments& arguments) {
  return make_topic(arguments, "error", explain_error, [](Arguments& to, Question& question) {
    to.add("error", question.what, "Its number or name; without it, all are listed");
    std::vector<std::string> names;
    for (int code = 0; code < kOutcomeCodes; ++code) names.emplace_back(name_of(static_cast<OutcomeCode>(code)));
    to.offers("error", names);
  });
}
CommandAction make_progress(Arguments& arguments) {
  return make_topic(arguments, "progress", [](const Question& question) { return print_text(question, kProgress); });
}
CommandAction make_metrics(Arguments& arguments) {
  return make_topic(arguments, "metrics", [](const Question& question) { return print_text(question, kMetrics); });
}
CommandAction make_task(Arguments& arguments) {
  return make_topic(arguments, "task", explain_task, [](Arguments& to, Question& question) {
    to.add("task", question.what, "The task's number, as `whet tasks` has it, or a part of its name");
    add_tuned_model(to, question);
    add_options(to, question.base);
  });
}
CommandAction make_candidate(Arguments& arguments) {
  return make_topic(arguments, "candidate", explain_candidate, [](Arguments& to, Question& question) {
    to.add("candidate", question.what, "The candidate's ID, or how it begins");
    add_tuned_model(to, question);
    to.flag("--code", question.code, "Also print the hot loop of the machine code, or for a GPU the PTX");
    to.flag("--passes", question.passes, "Also print the lines that each lowering pass changed");
    to.add("--pass", question.pass, "Print only the program after this lowering pass");
  });
}
CommandAction make_passes(Arguments& arguments) {
  return make_topic(arguments, "passes", explain_passes, [](Arguments& to, Question& question) {
    add_model(to, question);
    add_precision(to, question.rounding, "As for tuning: with f16 and bf16 a last pass stores so what products read");
  });
}
CommandAction make_layout(Arguments& arguments) {
  const auto ask = [given = arguments.given()](const Question& question) -> Result<int> {
    if (!question.records.empty()) return explain_plan(question);
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--contains", "--exact", "--precision", "--device", "--fleet"},
                                      "explain layout", "asks about measured layouts; give --records FILE too"));
    return explain_layout(question);
  };
  return make_topic(arguments, "layout", ask, add_node);
}
CommandAction make_size_topic(Arguments& arguments) {
  const auto ask = [given = arguments.given()](const Question& question) -> Result<int> {
    if (question.records.empty())
      WHET_RETURN_IF_ERROR(
          refuse_given(given, {"--tuning-sizes", "--lengths", "--hot-sizes", "--exact", "--target", "--threads"},
                       "explain sizes", "asks about schedules; give --records FILE too"));
    return explain_sizes(question);
  };
  return make_topic(arguments, "sizes", ask, [](Arguments& to, Question& question) {
    add_model(to, question);
    add_sizes(to, question.model);
    to.add("--records", question.records, "Its record file: by which schedules a library for ranges runs, and why");
    add_tuning_sizes(to, question.tuning_sizes);
    add_hot_sizes(to, question.tuning_sizes);
    add_options(to, question.rounding, "schedules");
    add_options(to, question.place);
  });
}
CommandAction make_precision(Arguments& arguments) {
  return make_topic(arguments, "precision", explain_precision, [](Arguments& to, Question& question) {
    to.add("node", question.what, "The layer's name, or a part that only it has; without it, all are listed");
    add_model(to, question);
    to.add("--records", question.records, "Its record file, of whet tune --precision auto or int8");
    add_options(to, question.place);
  });
}
CommandAction make_cover(Arguments& arguments) { return make_topic(arguments, "cover", explain_plan, add_node); }

}  // namespace

Status needs_model(const Question& question) {
  if (!question.model.model.empty()) return ok_status();
  return Error{"explain " + question.topic + ": no model is given; give --model MODEL", ErrorKind::wrong_use};
}

Status needs_records(const Question& question) {
  if (!question.records.empty()) return ok_status();
  return Error{"explain " + question.topic + ": no records are given; give --records FILE (of `whet tune`)",
               ErrorKind::wrong_use};
}

int print(const Json& json) {
  fmt::print("{}\n", dump(json, 2));
  return kDone;
}

CommandAction make_explain(Arguments& arguments) {
  return arguments.commands(
      "topic",
      {{"error", "What became of a candidate that gave no time", make_error},
       {"progress", "The columns while tuning", make_progress},
       {"metrics", "The other numbers", make_metrics},
       {"task", "A task: its limits, its best candidates, what similar tasks say", make_task},
       {"candidate", "A candidate: its choices, its loops, its times", make_candidate},
       {"passes", "The passes over a model's graph: operators and times", make_passes},
       {"layout", "The order of dimensions of a node's result; with --records the sums that chose it", make_layout},
       {"cover", "The kernels that compute a node together with others", make_cover},
       {"precision", "A row a layer: what bf16 there costs in accuracy and saves in time", make_precision},
       {"sizes", "The structures of a model at all sizes of its ranges, and its numbers as functions",
        make_size_topic}});
}

}  // namespace whet
