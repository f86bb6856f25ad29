// whet explain: what a number on the screen means.

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/explain_layout.h"
#include "cli/explain_plan.h"
#include "cli/explain_tuning.h"
#include "trial/outcome.h"

namespace whet {
namespace {

struct ExplainCommand {
  std::string topic, contains;
  TuningQuestion question;
};

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
  Used time, ETA            seconds since the start; seconds until the trials or the minutes are used up
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

int explain_error(const std::string& what) {
  std::vector<std::string> names;
  for (int code = 0; code < kOutcomeCodes; ++code) {
    const auto outcome = static_cast<OutcomeCode>(code);
    names.emplace_back(name_of(outcome));
    if (what != std::to_string(code) && what != name_of(outcome)) continue;
    fmt::print("{} {}: {}\n", code, name_of(outcome), explain(outcome));
    return kDone;
  }
  if (!what.empty())
    return wrong_use({fmt::format("explain error: \"{}\" is no outcome; expected 0 to {} or a name{}", what,
                                  kOutcomeCodes - 1, did_you_mean(what, names))});
  for (int code = 0; code < kOutcomeCodes; ++code)
    fmt::print("{:2} {}\n", code, name_of(static_cast<OutcomeCode>(code)));
  return kDone;
}

/// The topics that take an option; those of add_shapes are --model's.
struct TopicOption {
  const char* name;
  const char* topics;
};
constexpr const char* kOfModels = "task, candidate, layout, cover";
constexpr TopicOption kTopicOptions[] = {
    {"--model", kOfModels},          {"--input", kOfModels},  {"--records", kOfModels},  {"--exact", kOfModels},
    {"--precision", kOfModels},      {"--target", kOfModels}, {"--threads", kOfModels},  {"--cores", kOfModels},
    {"--contains", "layout, cover"}, {"--code", "candidate"}, {"--passes", "candidate"}, {"--pass", "candidate"},
    {"--device", kOfModels},         {"--fleet", kOfModels}};

Status check_options(const std::string& topic, bool has_records, const std::function<bool(const std::string&)>& given) {
  const auto takes = [&](const std::string& topics) {
    return (", " + topics + ",").find(", " + topic + ",") != std::string::npos;
  };
  for (const TopicOption& option : kTopicOptions)
    if (!takes(option.topics))
      WHET_RETURN_IF_ERROR(
          refuse_given(given, {option.name}, "explain " + topic, "is for explain " + std::string(option.topics)));
  if (!takes(kOfModels))
    return refuse_given(given, shape_options(), "explain " + topic, "is for explain " + std::string(kOfModels));
  if (topic != "layout" || has_records) return ok_status();
  return refuse_given(given, {"--contains", "--exact", "--precision", "--device", "--fleet"}, "explain layout",
                      "asks about measured layouts; give --records FILE too");
}

int run(const ExplainCommand& command, const std::function<bool(const std::string&)>& given) {
  if (const Status fits = check_options(command.topic, !command.question.records.empty(), given); !fits.ok())
    return fail(fits.error());
  if (command.topic == "error") return explain_error(command.question.what);
  if (command.topic == "task") return explain_task(command.question);
  if (command.topic == "candidate") return explain_candidate(command.question);
  const bool of_covers = command.topic == "cover", of_plan = of_covers || command.topic == "layout";
  if (of_covers && command.question.records.empty())
    return wrong_use({"explain cover asks about measured kernels; give --records FILE too"});
  if (of_plan && !command.question.records.empty())
    return explain_plan({command.question.what, command.contains, command.question.model, command.question.place,
                         command.question.device, command.question.fleet, command.question.records, of_covers,
                         command.question.rounding});
  if (command.topic == "layout")
    return explain_layout({command.question.what, command.question.model, command.question.place});
  if (!command.question.what.empty())
    return wrong_use(
        {"explain " + command.topic + ": unexpected \"" + command.question.what + "\"; it takes no further word"});
  fmt::print("{}", command.topic == "progress" ? kProgress : kMetrics);
  return kDone;
}

}  // namespace

std::function<int()> make_explain(Arguments& arguments) {
  auto command = std::make_shared<ExplainCommand>();
  arguments.require_choice(
      "topic", command->topic, {"error", "progress", "metrics", "task", "candidate", "layout", "cover"},
      "error N, progress, metrics; task N: its limits and its best candidates; candidate ID: its "
      "loops; layout NODE: the order of dimensions of its result; with --records the sums that chose it; "
      "cover NODE: the kernels that compute it together with others");
  TuningQuestion& question = command->question;
  arguments.add("what", question.what,
                "The error's number or name, the task's number, the candidate's ID, the node's name");
  arguments.add("--model", question.model.model,
                "task, candidate: the model that was tuned; its options as for tuning; layout: any model");
  add_shapes(arguments, question.model);
  arguments.add("--input", question.model.inputs, "name=x.npy: the value of an input that decides shapes");
  arguments.add("--records", question.records, "task, candidate, layout, cover: its record file");
  arguments.add("--contains", command->contains,
                "layout, cover: the best plan with this form or cover at the node, term by term: nchw16c, merged");
  add_options(arguments, question.rounding, "schedules");
  arguments.flag("--code", question.code,
                 "candidate: also print the hot loop of the machine code, or for a GPU the PTX");
  arguments.flag("--passes", question.passes, "candidate: also print the lines that each lowering pass changed");
  arguments.add("--pass", question.pass, "candidate: print only the program after this lowering pass");
  add_options(arguments, question.place);
  arguments.add(
      "--device", question.device,
      "task, candidate, layout, cover: the device elsewhere that timed the records: its rates are measured there");
  add_options(arguments, question.fleet);
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
