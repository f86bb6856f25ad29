// The main loops of a kernel as machine code, for models of processors (bench/aarch64_model).
//
//   whet_main_loops TARGET "conv NAME 1 64 56 56 64 3 3 1 1 1 1 1 1 1" [DECISION=CHOICE...]
//
// Compiles the default schedule of the problem, with other choices where some are given (`oc=16 ow=4`). For each main loop (codegen/machine_loops.h), the
// fullest one first: a line `loop multiply_adds=N spills=N`, and its instructions, one a line.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "codegen/build.h"
#include "codegen/machine_loops.h"
#include "passes/optimize.h"
#include "problem_graph.h"
#include "space/space.h"
#include "task/task.h"
#include "trial/candidate.h"

namespace whet {
namespace {

Result<std::vector<MachineLoop>> loops_of(const std::string& target_text, const std::string& line,
                                          std::span<char*> changes) {
  WHET_TRY(const Target target, parse_target(target_text));
  bench::Problem problem;
  if (const std::string wrong = bench::parse(line, &problem); !wrong.empty()) return Error{wrong};
  WHET_TRY(Graph graph, graph_of(problem));
  WHET_TRY(const FusedGraph fused, optimize(std::move(graph), {}));
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, target));
  if (tasks.size() != 1) return Error{fmt::format("{}: is {} tasks; expected one", problem.name, tasks.size())};
  const DesignSpace space = make_space(tasks[0].dag, target);
  Candidate candidate = space.default_candidate();
  for (const std::string change : changes) {
    const std::size_t equals = change.find('=');
    const auto decision = candidate.choices.find(change.substr(0, equals));
    if (equals == std::string::npos || decision == candidate.choices.end())
      return Error{change + ": expected DECISION=CHOICE, with a decision of " + to_json(candidate)};
    decision->second = {std::strtoll(change.c_str() + equals + 1, nullptr, 10)};
  }
  WHET_TRY(const Steps steps, space.steps(candidate));
  WHET_TRY(const Built built, build(tasks[0].dag, steps, target));
  WHET_TRY(std::vector<MachineLoop> innermost, innermost_loops(built.kernel, target));
  std::vector<MachineLoop> loops = main_loops(std::move(innermost));
  std::stable_sort(loops.begin(), loops.end(),
                   [](const MachineLoop& a, const MachineLoop& b) { return a.multiply_adds > b.multiply_adds; });
  return loops;
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: whet_main_loops TARGET PROBLEM [DECISION=CHOICE...]\n");
    return 2;
  }
  const auto loops = whet::loops_of(argv[1], argv[2], {argv + 3, argv + argc});
  if (!loops.ok()) {
    std::fprintf(stderr, "whet_main_loops: %s\n", loops.error().message.c_str());
    return 1;
  }
  for (const whet::MachineLoop& loop : *loops)
    fmt::print("loop multiply_adds={} spills={}\n{}", loop.multiply_adds, loop.spills.size(), loop.text);
}
