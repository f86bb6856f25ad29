// Default schedules for GPUs, by the estimate and by NVIDIA's assembler: bench/README.md.
//
//   gpu_defaults [--target TARGET]... [--precision PRECISION]... [--memory GB/S] [--each] [--search COUNT] [--assemble] MODEL...
//
// MODEL is one as import_model takes it, with *N behind it one of the zoo in batches of N, or a file of a DAG that ends in .dag. A kernel
// that several models have is looked at once. Prints a JSON row a target and precision:
//   models_us    the sum of the estimates of each model's kernels [µs]
//   kernels      distinct ones; with --assemble also most_registers, and those with `spills` and `remarks` (C75xx)
// --each: a line a kernel before it, with the parts of the estimate of its launches. --search N: also the best of N samples of each
// space by the estimate, `searched_us`. Fails where a kernel is not made, spills or has a remark.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "codegen/gpu/ptxas.h"
#include "codegen/testing/sass.h"
#include "cost/gpu/estimate.h"
#include "formats/import_model.h"
#include "json/json.h"
#include "lower/lower.h"
#include "passes/optimize.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace {

struct Options {
  std::vector<std::string> targets, precisions, models;
  bool each = false, assemble = false;
  int search = 0;
  MachineRates rates;  ///< beside those of the data sheet
};

/// A sum of launches, and what the longest of them is held by.
struct Estimated {
  double us = 0;
  std::string held;
};
Estimated estimate_of(const LoopTree& tree, const Target& target, const MachineRates& rates) {
  Estimated all;
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  for (const LaunchCost& cost : launch_costs(tree, launches, target, rates)) {
    all.us += cost.seconds * 1e6;
    all.held += fmt::format(
        " [issue {:.1f} near {:.1f} latency {:.1f} l2 {:.1f} memory {:.1f}; {} x {} threads, {} registers, {} an SM]",
        cost.issue * 1e6, cost.near * 1e6, cost.latency * 1e6, cost.l2 * 1e6, cost.memory * 1e6, cost.launch->blocks,
        cost.launch->threads, cost.launch->registers, cost.resident_warps);
  }
  return all;
}

struct Searched {
  Candidate candidate;
  Estimated estimate;
};
Searched best_of(const DesignSpace& space, const Target& target, const MachineRates& rates, int count) {
  Searched best{space.default_candidate(), {}};
  Rng rng(1);
  for (int k = 0; k <= count; ++k) {
    const Candidate candidate = k == 0 ? space.default_candidate() : space.sample(rng);
    const Result<Scheduled> scheduled = space.schedule(candidate);
    if (!scheduled.ok()) continue;
    Estimated estimate = estimate_of(scheduled->tree, target, rates);
    if (k == 0 || estimate.us < best.estimate.us) best = {candidate, std::move(estimate)};
  }
  return best;
}

/// All kernels of one target and precision.
class Defaults {
 public:
  Defaults(const Options& options, Target target, Precision precision)
      : options_(options), target_(std::move(target)), precision_(precision) {}

  Status add(const std::string& model) {
    WHET_TRY(const std::vector<Task> tasks, tasks_of(model));
    double us = 0, searched = 0;
    for (const Task& task : tasks) {
      const Kernel& kernel = look_at(task);
      us += task.weight * kernel.us, searched += task.weight * kernel.searched_us;
    }
    models_.set(model, us);
    if (options_.search > 0) searched_.set(model, searched);
    return ok_status();
  }

  bool is_clean() const { return bad_.empty(); }
  Json json() const {
    Json row = Json::object()
                   .set("target", to_string(target_))
                   .set("precision", name_of(precision_))
                   .set("kernels", static_cast<std::int64_t>(kernels_.size()))
                   .set("models_us", models_);
    if (options_.search > 0) row.set("searched_us", searched_);
    if (options_.assemble) row.set("most_registers", most_registers_).set("bad", Json::array_of(bad_));
    return row;
  }

 private:
  struct Kernel {
    double us = 0, searched_us = 0;
  };

  Result<std::vector<Task>> tasks_of(std::string model) const {
    if (model.ends_with(".dag")) {
      std::ifstream file(model);
      std::stringstream text;
      text << file.rdbuf();
      WHET_TRY(ComputeDag dag, parse_dag(text.str()));
      return std::vector<Task>{
          Task{.key = text.str(), .name = model, .dag = std::move(dag), .weight = 1, .groups = {}}};
    }
    ImportOptions options;
    if (const std::size_t star = model.find('*'); star != model.npos) {
      options.zoo.batch = std::atoi(model.c_str() + star + 1);
      model.resize(star);
    }
    WHET_TRY(const Graph graph, import_model(model, options));
    WHET_TRY(const FusedGraph fused,
             optimize(graph, {.halves = precision_ == Precision::f16, .bf16_tensors = precision_ == Precision::bf16}));
    return extract_tasks(fused, target_);
  }

  const Kernel& look_at(const Task& task) {
    const auto [entry, fresh] = kernels_.try_emplace(task.key + to_string(task.within));
    Kernel& kernel = entry->second;
    if (!fresh) return kernel;
    const DesignSpace space = make_space(task.dag, target_, {.precision = precision_});
    const Candidate candidate = space.default_candidate();
    const Result<Scheduled> scheduled = space.schedule(candidate);
    if (!scheduled.ok()) return report(kernel, task, scheduled.error().message);
    const Estimated estimate = estimate_of(scheduled->tree, target_, options_.rates);
    kernel.us = estimate.us;
    if (options_.each)
      fmt::print("{:3} x {:8.2f} us  {} {}{}\n", task.weight, kernel.us, task.name, to_json(candidate), estimate.held);
    if (options_.search > 0) {
      const Searched best = best_of(space, target_, options_.rates, options_.search);
      kernel.searched_us = best.estimate.us;
      if (options_.each && best.estimate.us < kernel.us)
        fmt::print("      {:8.2f} us  {}{}\n", best.estimate.us, to_json(best.candidate), best.estimate.held);
    }
    if (options_.assemble) assemble(kernel, task, scheduled->tree, to_json(candidate));
    std::fflush(stdout);
    return kernel;
  }

  void assemble(Kernel& kernel, const Task& task, const LoopTree& tree, const std::string& candidate) {
    const Result<Lowered> lowered = lower(tree, target_, task.within);
    if (!lowered.ok()) return void(report(kernel, task, lowered.error().message));
    const Result<whet::Kernel> made = compile_kernel(lowered->program, target_);
    if (!made.ok()) return void(report(kernel, task, made.error().message));
    const int arch = target_.gpu().arch;
    const Result<AssembledPtx> assembled = assemble_ptx(installed_ptxas(), made->code, arch);
    if (!assembled.ok()) return void(report(kernel, task, assembled.error().message));
    const std::int64_t registers = assembled->report.registers, spills = assembled->report.spill_bytes;
    most_registers_ = std::max(most_registers_, registers);
    if (spills > 0) report(kernel, task, fmt::format("{} bytes of spills: {}", spills, candidate));
    if (!assembled->remarks.empty()) report(kernel, task, assembled->remarks);
    if (!options_.each) return;
    const testing::LoopCount loop = testing::longest_loop(testing::text_of_entry(assembled->cubin), arch);
    fmt::print("      {} registers, longest loop: {} instructions, {} on tensor cores, {} multiply-adds\n", registers,
               loop.instructions, loop.tiles, loop.multiply_adds);
  }

  const Kernel& report(const Kernel& kernel, const Task& task, const std::string& why) {
    bad_.push_back(task.name + ": " + why);
    fmt::print(stderr, "{}: {}\n", to_string(target_), bad_.back());
    return kernel;
  }

  const Options& options_;
  const Target target_;
  const Precision precision_;
  std::map<std::string, Kernel> kernels_;
  Json models_ = Json::object(), searched_ = Json::object();
  std::int64_t most_registers_ = 0;
  std::vector<std::string> bad_;
};

int fail(const std::string& sentence) {
  fmt::print(stderr, "gpu_defaults: {}\n", sentence);
  return 2;
}

int run(int count, char** words) {
  Options options;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    const bool takes_value = word == "--target" || word == "--precision" || word == "--search" || word == "--memory";
    if (takes_value && k + 1 == count) return fail(word + " needs a value");
    if (word == "--target")
      options.targets.emplace_back(words[++k]);
    else if (word == "--precision")
      options.precisions.emplace_back(words[++k]);
    else if (word == "--search")
      options.search = std::max(0, std::atoi(words[++k]));
    else if (word == "--memory")
      options.rates.memory_gbs = std::atof(words[++k]);
    else if (word == "--each")
      options.each = true;
    else if (word == "--assemble")
      options.assemble = true;
    else if (word.starts_with("--"))
      return fail(word + " means nothing");
    else
      options.models.push_back(word);
  }
  if (options.models.empty()) return fail("expected a model, as zoo:resnet-18 or zoo:resnet-50*32");
  if (options.targets.empty()) options.targets = {"cuda -model=h100"};
  if (options.precisions.empty()) options.precisions = {"f32"};
  if (options.assemble && installed_ptxas().path.empty())
    return fail("--assemble needs NVIDIA's ptxas, which is not installed");
  bool clean = true;
  for (const std::string& text : options.targets)
    for (const std::string& name : options.precisions) {
      const Result<Target> target = parse_target(text);
      if (!target.ok()) return fail(target.error().message);
      if (!target->is_gpu()) return fail(text + " is no GPU");
      const std::optional<Precision> precision = parse_precision(name);
      if (!precision) return fail("--precision " + name + ": expected f32, tf32, f16 or bf16");
      if (*precision != Precision::f32 && !limits_of(target->gpu()).mma) continue;  // it rounds nothing
      Defaults defaults(options, *target, *precision);
      for (const std::string& model : options.models)
        if (const Status status = defaults.add(model); !status.ok()) return fail(model + ": " + status.error().message);
      fmt::print("{}\n", dump(defaults.json()));
      std::fflush(stdout);
      clean = clean && defaults.is_clean();
    }
  return clean ? 0 : 1;
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
