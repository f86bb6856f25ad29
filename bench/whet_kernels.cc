// whet's kernels for one problem of a list, timed in bursts: one side of bench/kernels.
//
//   whet_kernels [--threads N] [--grid N] [--candidates FILE] [--cold] [--block N | --bf16 | --weights f16|bf16] "conv NAME 1 64 56 56 64 3 3 1 1 1 1 1 1 1"
//
// Compiles the default schedule and a fixed grid of others, times each shortly, checks the answers of the fastest, and
// prints one line `ready KEY=VALUE ...`; FILE gets a line for every candidate. Then it answers
//   burst ALGORITHM SECONDS   the median time of a run [us]
//   peak now                  multiply-add peak of the threads [GFLOPS]
//   placement now             round trip of a cache line between the first two threads [ns]; `-` for one thread
// --cold: each run reads another copy of the weights, together beyond the caches.
// --block N: a convolution is also computed on activations in blocks of N channels: the algorithm "blocked".
// --bf16: input, weights and result are bf16. --weights: only the weights of a product of few rows lie in memory so.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

#include "bursts.h"
#include "machine/bandwidth.h"
#include "machine/cores.h"
#include "machine/detect.h"
#include "machine/placement.h"
#include "measure/cpu/peak.h"
#include "measure/reference.h"
#include "passes/optimize.h"
#include "problem_graph.h"
#include "space/space.h"
#include "task/task.h"
#include "timed_kernel.h"

namespace whet {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Options {
  int threads = 2, grid = 24;
  bool cold = false, bf16 = false;
  std::int64_t block = 0;
  std::string weights, candidates, problem;

  DType factors() const { return bf16 ? DType::bf16 : DType::f32; }
  PassOptions passes() const { return {.f16_weights = weights == "f16", .bf16_weights = weights == "bf16"}; }
};

/// A schedule of a task, by one algorithm.
struct Proposal {
  std::string algorithm;  ///< "direct" or "winograd"
  std::string text;       ///< the candidate, for people
  ComputeDag dag;         ///< placeholders and outputs are the task's
  Steps steps;
};

std::string algorithm_of(const Candidate& candidate) {
  return candidate.sketch.find("winograd") != std::string::npos ? "winograd" : "direct";
}

/// For every algorithm up to `count` different schedules: the default one, each sketch's preferred one, the space's own
/// guesses, and samples from a fixed seed. This is the one place that knows how a task becomes candidates.
std::vector<Proposal> proposals(const ComputeDag& dag, const Target& target, const Options& options) {
  const int count = options.grid;
  const DesignSpace space = make_space(dag, target, {.precision = options.bf16 ? Precision::bf16 : Precision::f32});
  std::vector<Candidate> candidates = {space.default_candidate()};
  for (const Sketch& sketch : space.sketches()) candidates.push_back({sketch.name, sketch.preferred});
  for (Candidate& seed : space.seeds()) candidates.push_back(std::move(seed));
  Rng rng(kSeed);
  for (int i = 0; i < 20 * count; ++i) candidates.push_back(space.sample(rng));

  std::vector<Proposal> result;
  std::set<Candidate> seen;
  std::map<std::string, int> taken;
  for (const Candidate& candidate : candidates) {
    const std::string algorithm = algorithm_of(candidate);
    if (taken[algorithm] >= count || !seen.insert(candidate).second) continue;
    auto steps = space.steps(candidate);
    if (!steps.ok()) continue;
    ++taken[algorithm];
    result.push_back({algorithm, to_json(candidate), dag, std::move(*steps)});
  }
  if (taken["direct"] > 0) return result;
  if (auto steps = default_steps(dag, target); steps.ok())
    result.push_back({"direct", "the untuned schedule", dag, std::move(*steps)});
  return result;
}

/// A candidate that was compiled.
struct Contender {
  std::string text;
  CompiledKernel compiled;
  Precision precision = Precision::f32;
  double seconds = kInfinity;
};

/// What is told of all candidates of a problem.
struct Tally {
  int tried = 0, failed = 0, wrong = 0;
  std::vector<double> lower_seconds, codegen_seconds;
};

/// Finds the fastest kernel of every algorithm for one task.
class Contest {
 public:
  Contest(const Task& task, const Target& target, const Team& team, const Options& options, std::FILE* log,
          Tally& tally)
      : task_(task), target_(target), team_(team), options_(options), log_(log), tally_(tally) {}

  /// By algorithm; `direct` is always there.
  Result<std::map<std::string, Contender>> winners() {
    WHET_TRY(Reference reference, Reference::make(task_.dag, kSeed));
    inputs_ = reference.inputs();
    std::map<std::string, std::vector<Contender>> contenders;
    for (const Proposal& proposal : proposals(task_.dag, target_, options_)) look(proposal, contenders);
    std::map<std::string, Contender> winners;
    for (auto& [algorithm, list] : contenders) {
      rank(list);
      for (Contender& contender : list) {
        if (const std::string wrong = difference(contender, reference); !wrong.empty()) {
          ++tally_.wrong;
          std::fprintf(stderr, "%s: %s: %s\n", task_.name.c_str(), contender.text.c_str(), wrong.c_str());
          continue;
        }
        winners.emplace(algorithm, std::move(contender));
        break;
      }
    }
    if (!winners.contains("direct")) return Error{task_.name + ": no candidate could be compiled and is right"};
    return winners;
  }

  const std::vector<ArgumentSpec>& inputs() const { return inputs_; }

 private:
  void look(const Proposal& proposal, std::map<std::string, std::vector<Contender>>& contenders) {
    ++tally_.tried;
    auto compiled = compile_schedule(proposal.dag, proposal.steps, target_);
    if (!compiled.ok()) {
      ++tally_.failed;
      note(proposal, compiled.error().message);
      return;
    }
    tally_.lower_seconds.push_back(compiled->built.lower_seconds);
    tally_.codegen_seconds.push_back(compiled->built.codegen_seconds);
    Contender contender{proposal.text, std::move(*compiled), numerics_of(proposal.steps).precision};
    double& fastest = fastest_.emplace(proposal.algorithm, kInfinity).first->second;
    // An interrupt makes any kernel of microseconds look hopeless for a run.
    constexpr double kLook = 0.008, kHopeless = 3, kShort = 1e-3;
    contender.seconds = time(contender, kLook, std::max(kHopeless * fastest, kShort));
    std::vector<Contender>& list = contenders[proposal.algorithm];
    // A machine that was slow for a while would else choose those that it saw before and after.
    if (!list.empty() && contender.seconds < kInfinity)
      contender.seconds *= list.front().seconds / time(list.front(), kLook, kInfinity);
    fastest = std::min(fastest, contender.seconds);
    note(proposal,
         fmt::format("{:.2f} us\tlower {:.3f} ms\tcodegen {:.3f} ms", contender.seconds * 1e6,
                     contender.compiled.built.lower_seconds * 1e3, contender.compiled.built.codegen_seconds * 1e3));
    if (contender.seconds < kInfinity) list.push_back(std::move(contender));
  }

  void note(const Proposal& proposal, const std::string& outcome) {
    if (!log_) return;
    std::fprintf(log_, "%s\t%s\t%s\n", proposal.algorithm.c_str(), proposal.text.c_str(), outcome.c_str());
    std::fflush(log_);  // the next candidate may crash
  }

  double time(const Contender& contender, double seconds, double hopeless) const {
    auto placed = PlacedKernel::make(contender.compiled, inputs_, team_, false, 1);
    if (!placed.ok()) return kInfinity;
    // The first run touches the pages, so that it says nothing, unless it is beyond all measure.
    burst(team_, {placed->get()}, 0, 10 * hopeless);
    const double median = burst(team_, {placed->get()}, seconds, hopeless);
    return (*placed)->failure() == 0 ? median : kInfinity;
  }

  /// Fastest first; the first few are timed again, for longer and alternately.
  void rank(std::vector<Contender>& list) const {
    const auto faster = [](const Contender& a, const Contender& b) { return a.seconds < b.seconds; };
    std::sort(list.begin(), list.end(), faster);
    const std::size_t few = std::min<std::size_t>(list.size(), 4);
    if (few < 2) return;
    constexpr double kLook = 0.03;
    constexpr int kRounds = 3;
    std::vector<std::vector<double>> times(few);
    for (int round = 0; round < kRounds; ++round)
      for (std::size_t i = 0; i < few; ++i) times[i].push_back(time(list[i], kLook, kInfinity));
    for (std::size_t i = 0; i < few; ++i) list[i].seconds = bench::median(times[i]);
    std::sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(few), faster);
  }

  std::string difference(const Contender& contender, Reference& reference) const {
    auto placed = PlacedKernel::make(contender.compiled, inputs_, team_, true, 1);
    if (!placed.ok()) return placed.error().message;
    burst(team_, {placed->get()}, 0, kInfinity);
    if ((*placed)->failure() != 0) return fmt::format("the kernel reported error {}", (*placed)->failure());
    return reference.compare((*placed)->outputs(), contender.precision);
  }

  const Task& task_;
  const Target& target_;
  const Team& team_;
  const Options& options_;
  std::FILE* log_;
  Tally& tally_;
  std::vector<ArgumentSpec> inputs_;
  std::map<std::string, double> fastest_;
};

struct Roofline {
  double seconds = 0;
  std::string level;
};

/// The least time: all bytes through the level of the caches that holds them, or all operations at the peak, whichever
/// takes longer, and a microsecond.
Roofline roofline_of(const bench::Problem& problem, const Graph& graph, const Target& target,
                     const std::vector<int>& cpus, const Options& options) {
  const bool cold = options.cold;
  double weights = 0, activations = 0;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId id(static_cast<std::int64_t>(i));
    const Value& value = graph.values[i];
    const double bytes = static_cast<double>(num_elements(value.type.shape) * size_of(value.type.dtype));
    const auto among = [&](const std::vector<ValueId>& ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    if (value.constant)
      weights += bytes;
    else if (among(graph.inputs) || among(graph.outputs))
      activations += bytes;
  }
  std::map<std::string, double> rate;
  for (const Bandwidth& b : measure_bandwidth(target, cpus)) rate[b.level] = b.gb_per_second * 1e9;
  const double total = cold ? activations : activations + weights, each = total / static_cast<double>(cpus.size());
  Roofline roofline;
  roofline.level = each <= static_cast<double>(target.cpu().l1_bytes)    ? "L1"
                   : each <= static_cast<double>(target.cpu().l2_bytes)  ? "L2"
                   : total <= static_cast<double>(target.cpu().l3_bytes) ? "L3"
                                                                         : "memory";
  double moving = total / rate[roofline.level];
  if (cold) moving += weights / rate["memory"];
  const double computing = bench::operations(problem) / (measure_peak_gflops(target, cpus, options.factors()) * 1e9);
  if (computing > moving) roofline.level = "peak";
  roofline.seconds = std::max(moving, computing) + 1e-6;
  return roofline;
}

std::string placement_text(const std::vector<int>& cpus) {
  if (cpus.size() < 2) return "-";
  return fmt::format("{:.1f}", measure_placement(cpus[0], cpus[1]).round_trip_ns);
}

/// The fastest kernels of a problem, placed for bursts: one a task and algorithm.
class Served {
 public:
  Status add(const Team& team, std::map<std::string, Contender> winners, const std::vector<ArgumentSpec>& inputs,
             bool cold) {
    for (auto& [algorithm, winner] : winners) {
      kept_.push_back(std::make_unique<Contender>(std::move(winner)));
      const Contender& kept = *kept_.back();
      WHET_TRY(auto placed, PlacedKernel::make(kept.compiled, inputs, team, false, 1));
      if (cold && placed->constant_bytes() > 0) {
        const std::size_t copies = bench::copies_of(placed->constant_bytes());
        WHET_TRY(placed, PlacedKernel::make(kept.compiled, inputs, team, false, copies));
      }
      tasks_.back()[algorithm] = placed.get();
      placed_.push_back(std::move(placed));
      std::string& text = texts_[algorithm];
      text += (text.empty() ? "" : "+") + kept.text;
    }
    return ok_status();
  }
  void begin_task() { tasks_.emplace_back(); }

  /// Empty where no task has the algorithm; tasks without it take part with their direct kernel.
  std::vector<PlacedKernel*> kernels(const std::string& algorithm) const {
    std::vector<PlacedKernel*> all;
    if (!texts_.contains(algorithm)) return all;
    for (const auto& task : tasks_) all.push_back(task.contains(algorithm) ? task.at(algorithm) : task.at("direct"));
    return all;
  }
  std::string text(const std::string& algorithm) const {
    const auto found = texts_.find(algorithm);
    if (found == texts_.end()) return "-";
    std::string packed = found->second;
    std::erase(packed, ' ');
    return packed;
  }

 private:
  std::vector<std::unique_ptr<Contender>> kept_;
  std::vector<std::unique_ptr<PlacedKernel>> placed_;
  std::vector<std::map<std::string, PlacedKernel*>> tasks_;
  std::map<std::string, std::string> texts_;
};

/// The fastest direct kernel of the problem in blocks of channels, beside the others.
Status add_blocked(const bench::Problem& problem, const Target& target, const Team& team, const Options& options,
                   Tally& tally, Served& served) {
  Result<Graph> graph = blocked_graph_of(problem, options.block);
  if (!graph.ok()) return graph.error();
  WHET_TRY(const FusedGraph fused, fuse(std::move(*graph)));
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, target));
  Contest contest(tasks.front(), target, team, options, nullptr, tally);
  WHET_TRY(auto winners, contest.winners());
  std::map<std::string, Contender> blocked;
  blocked.emplace("blocked", std::move(winners.at("direct")));
  return served.add(team, std::move(blocked), contest.inputs(), options.cold);
}

Status run(const Options& options) {
  bench::Problem problem;
  if (const std::string wrong = bench::parse(options.problem, &problem); !wrong.empty()) return Error{wrong};
  WHET_TRY(const Target target, resolve_target(fmt::format("cpu -mcpu=native -threads={}", options.threads)));
  WHET_TRY(const Cores cores, choose_cores("", options.threads));
  if (options.bf16 && !target.cpu().bf16_products)
    return Error{"--bf16: this processor (" + to_string(target) + ") has no products of bf16"};
  WHET_TRY(Graph graph, graph_of(problem, options.factors()));
  const Roofline roofline = roofline_of(problem, graph, target, cores.cpus, options);
  WHET_TRY(const FusedGraph fused, optimize(std::move(graph), options.passes()));
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, target));
  Team team;
  WHET_RETURN_IF_ERROR(make_team(team, cores.cpus));

  std::FILE* log = options.candidates.empty() ? nullptr : std::fopen(options.candidates.c_str(), "w");
  if (!options.candidates.empty() && !log) return Error{"--candidates " + options.candidates + " cannot be written"};
  Tally tally;
  Served served;
  for (const Task& task : tasks) {
    Contest contest(task, target, team, options, log, tally);
    WHET_TRY(auto winners, contest.winners());
    served.begin_task();
    WHET_RETURN_IF_ERROR(served.add(team, std::move(winners), contest.inputs(), options.cold));
  }
  if (log) std::fclose(log);
  if (options.block > 0) WHET_RETURN_IF_ERROR(add_blocked(problem, target, team, options, tally, served));

  std::string names;
  for (const Task& task : tasks) names += (names.empty() ? "" : ";") + task.name;
  std::replace(names.begin(), names.end(), ' ', '_');
  const std::string ready = fmt::format(
      "ready cpus={} operations={:.0f} roofline_us={:.4f} level={} kernels={} names={} tried={} failed={} wrong={} "
      "lower_ms={:.3f} codegen_ms={:.3f} direct={} winograd={} blocked={}",
      fmt::join(cores.cpus, ","), bench::operations(problem), roofline.seconds * 1e6, roofline.level, tasks.size(),
      names, tally.tried, tally.failed, tally.wrong, bench::median(tally.lower_seconds) * 1e3,
      bench::median(tally.codegen_seconds) * 1e3, served.text("direct"), served.text("winograd"),
      served.text("blocked"));
  bench::serve(ready, [&](const std::string& command, const std::string& argument, double seconds) -> std::string {
    if (command == "peak") return fmt::format("{:.1f}", measure_peak_gflops(target, cores.cpus, options.factors()));
    if (command == "placement") return placement_text(cores.cpus);
    const std::vector<PlacedKernel*> kernels = served.kernels(argument);
    if (command != "burst" || kernels.empty()) return "error";
    return fmt::format("{:.4f}", burst(team, kernels, seconds, kInfinity) * 1e6);
  });
  return ok_status();
}

/// Empty, or what is wrong.
std::string parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool last = i + 1 == argc;
    if (word == "--cold") {
      options->cold = true;
    } else if (word == "--bf16") {
      options->bf16 = true;
    } else if (word == "--weights" && !last) {
      options->weights = argv[++i];
    } else if (word == "--threads" && !last) {
      options->threads = std::atoi(argv[++i]);
    } else if (word == "--grid" && !last) {
      options->grid = std::atoi(argv[++i]);
    } else if (word == "--block" && !last) {
      options->block = std::atoi(argv[++i]);
    } else if (word == "--candidates" && !last) {
      options->candidates = argv[++i];
    } else if (last && !word.starts_with("--")) {
      options->problem = word;
    } else {
      return word + " means nothing here or lacks its value";
    }
  }
  if (options->problem.empty()) return "a problem is required, one argument: \"mm NAME 512 512 512 1\"";
  if (options->threads < 1 || options->grid < 1) return "--threads and --grid are whole numbers of at least 1";
  if (options->block < 0) return "--block is a whole number of channels";
  if (!options->weights.empty() && options->weights != "f16" && options->weights != "bf16")
    return "--weights is f16 or bf16";
  if (options->bf16 && (options->block > 0 || !options->weights.empty()))
    return "--bf16 stands alone: blocks and --weights are of f32";
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
  std::fprintf(stderr, "whet_kernels: %s\n", sentence.c_str());
  return 1;
}
