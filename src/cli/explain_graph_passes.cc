// whet explain passes: what each pass over a model's graph leaves, and how long it takes.

#include <fmt/format.h>

#include "base/counted.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "cli/table.h"

namespace whet {
namespace {

/// One run of a pass: some passes run several times.
struct PassRun {
  std::string_view pass;
  std::size_t before = 0, after = 0;  ///< operators
  double seconds = 0;
};

struct PassRuns {
  std::vector<PassRun> runs;
  std::size_t groups = 0;
  double fuse_seconds = 0;
};

Result<PassRuns> time_passes(const Graph& graph, const PassOptions& options) {
  PassRuns timed;
  std::size_t operators = graph.nodes.size();
  double begin = seconds_now();
  WHET_TRY(Graph optimized, run_passes(graph, options, [&](std::string_view pass, const Graph& left) {
             const double end = seconds_now();
             timed.runs.push_back({pass, operators, left.nodes.size(), end - begin});
             operators = left.nodes.size(), begin = end;
             return ok_status();
           }));
  begin = seconds_now();
  WHET_TRY(const FusedGraph fused, fuse(std::move(optimized), fuse_options(options)));
  timed.fuse_seconds = seconds_now() - begin;
  timed.groups = fused.groups.size();
  return timed;
}

Json to_json(const PassRuns& timed) {
  Json passes = Json::array();
  for (const PassRun& run : timed.runs)
    passes.add(Json::object()
                   .set("pass", std::string(run.pass))
                   .set("operators_before", static_cast<std::int64_t>(run.before))
                   .set("operators_after", static_cast<std::int64_t>(run.after))
                   .set("seconds", run.seconds));
  return Json::object()
      .set("passes", passes)
      .set("groups", static_cast<std::int64_t>(timed.groups))
      .set("fuse_seconds", timed.fuse_seconds);
}

}  // namespace

Result<int> explain_passes(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(Graph graph, load_graph(question.model, files));
  WHET_TRY(const PassRuns timed, time_passes(graph, question.rounding.passes()));
  if (question.json) return print(to_json(timed));
  Table table({{"Pass", false}, {"Operators before"}, {"After"}, {"Time (ms)"}});
  double all = 0;
  for (const PassRun& run : timed.runs) {
    table.add({std::string(run.pass), std::to_string(run.before), std::to_string(run.after),
               exact_milliseconds(run.seconds)});
    all += run.seconds;
  }
  print(table);
  fmt::print("{} in {} ms, then fused into {} in {} ms. Next: whet tasks MODEL\n",
             counted(std::ssize(timed.runs), "pass", "passes"), exact_milliseconds(all),
             counted(static_cast<std::int64_t>(timed.groups), "group"), exact_milliseconds(timed.fuse_seconds));
  return kDone;
}

}  // namespace whet
