// How good random candidates of a space are: the measuring side of bench/space, for one problem of a list.
//
//   whet_samples [--threads N] [--draws 10] [--samples 64] "conv NAME 1 64 56 56 64 3 3 1 1 1 1 1 1 1"
//
// Draws `samples` candidates with each of the seeds 1 .. draws, times each different one shortly, and prints
//   samples cpus=0,1 known=US default=US timed=N failed=N draws=US,US,...
// draws: the best time of each draw [us], the default schedule and the aligned seeds excluded; known: the best of
// everything timed, those included.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include "bursts.h"
#include "machine/cores.h"
#include "machine/detect.h"
#include "measure/reference.h"
#include "passes/optimize.h"
#include "problem_graph.h"
#include "space/space.h"
#include "task/task.h"
#include "timed_kernel.h"

namespace whet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Options {
  int threads = 2, draws = 10, samples = 64;
  std::string problem;
};

/// Times candidates of one task, each once.
class Stopwatch {
 public:
  Stopwatch(const Task& task, const DesignSpace& space, const Target& target, const Team& team,
            std::vector<ArgumentSpec> inputs)
      : task_(task), space_(space), target_(target), team_(team), inputs_(std::move(inputs)) {}

  /// [s]; infinite for one that fails, or is hopeless.
  double time(const Candidate& candidate) {
    const auto [entry, fresh] = times_.emplace(candidate, kInfinity);
    if (fresh) {
      entry->second = measure(candidate);
      best_ = std::min(best_, entry->second);
    }
    return entry->second;
  }
  double best() const { return best_; }
  std::size_t timed() const { return times_.size(); }
  int failed() const { return failed_; }

 private:
  double measure(const Candidate& candidate) {
    const auto steps = space_.steps(candidate);
    if (!steps.ok()) return ++failed_, kInfinity;
    const auto compiled = compile_schedule(task_.dag, *steps, target_);
    if (!compiled.ok()) return ++failed_, kInfinity;
    const auto placed = PlacedKernel::make(*compiled, inputs_, team_, false, 1);
    if (!placed.ok()) return ++failed_, kInfinity;
    constexpr double kLook = 0.006, kHopeless = 4;
    burst(team_, {placed->get()}, 0, 10 * kHopeless * best_);  // touches the pages
    double median = burst(team_, {placed->get()}, kLook, kHopeless * best_);
    // One run that something else interrupted looks hopeless, so that nothing is given up at once.
    if (median == kInfinity) median = burst(team_, {placed->get()}, kLook, kHopeless * best_);
    return (*placed)->failure() == 0 ? median : kInfinity;
  }

  const Task& task_;
  const DesignSpace& space_;
  const Target& target_;
  const Team& team_;
  std::vector<ArgumentSpec> inputs_;
  std::map<Candidate, double> times_;
  double best_ = kInfinity;
  int failed_ = 0;
};

Status run(const Options& options) {
  bench::Problem problem;
  if (const std::string wrong = bench::parse(options.problem, &problem); !wrong.empty()) return Error{wrong};
  WHET_TRY(const Target target, resolve_target(fmt::format("cpu -mcpu=native -threads={}", options.threads)));
  WHET_TRY(const Cores cores, choose_cores("", options.threads));
  WHET_TRY(Graph graph, graph_of(problem));
  WHET_TRY(const FusedGraph fused, optimize(std::move(graph), {}));
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, target));
  if (tasks.size() != 1) return Error{fmt::format("{} is {} tasks, expected one", problem.name, tasks.size())};
  Team team;
  WHET_RETURN_IF_ERROR(make_team(team, cores.cpus));
  WHET_TRY(const Reference reference, Reference::make(tasks.front().dag, 1));
  const DesignSpace space = make_space(tasks.front().dag, target);
  Stopwatch stopwatch(tasks.front(), space, target, team, reference.inputs());

  std::vector<double> draws;
  for (int draw = 1; draw <= options.draws; ++draw) {
    Rng rng(static_cast<std::uint64_t>(draw));
    double best = kInfinity;
    for (int i = 0; i < options.samples; ++i) best = std::min(best, stopwatch.time(space.sample(rng)));
    draws.push_back(best * 1e6);
  }
  const double by_default = stopwatch.time(space.default_candidate());
  for (const Candidate& seed : space.seeds()) stopwatch.time(seed);
  fmt::print("samples cpus={} known={:.2f} default={:.2f} timed={} failed={} draws={:.2f}\n",
             fmt::join(cores.cpus, ","), stopwatch.best() * 1e6, by_default * 1e6, stopwatch.timed(),
             stopwatch.failed(), fmt::join(draws, ","));
  return ok_status();
}

/// Empty, or what is wrong.
std::string parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool last = i + 1 == argc;
    if (word == "--threads" && !last)
      options->threads = std::atoi(argv[++i]);
    else if (word == "--draws" && !last)
      options->draws = std::atoi(argv[++i]);
    else if (word == "--samples" && !last)
      options->samples = std::atoi(argv[++i]);
    else if (last && !word.starts_with("--"))
      options->problem = word;
    else
      return word + " means nothing here or lacks its value";
  }
  if (options->problem.empty()) return "a problem is required, one argument: \"mm NAME 512 512 512 1\"";
  if (options->threads < 1 || options->draws < 1 || options->samples < 1)
    return "--threads, --draws and --samples are whole numbers of at least 1";
  return "";
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) {
  whet::Options options;
  std::string sentence = whet::parse(argc, argv, &options);
  if (sentence.empty()) {
    const whet::Status done = whet::run(options);
    if (done.ok()) return 0;
    sentence = done.error().message;
  }
  std::fprintf(stderr, "whet_samples: %s\n", sentence.c_str());
  return 1;
}
