// What a candidate for a GPU costs this machine before anything is measured: bench/README.md.
//
//   gpu_candidates [--network zoo:resnet-18] [--target "cuda -model=h100"] [--each 20]
//
// Draws `each` candidates of each task of the network besides its default, and prints one JSON row. All times are of this
// thread's processor: other work on the machine makes them no longer.
//   schedule_us, estimate_us, features_us   means over the candidates
//   scored_a_second                         candidates that the estimate ranks, their schedules there
//   lower_ms, ptx_ms                        the median, and the slowest of ten: the passes, and IR to PTX
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "cost/features.h"
#include "import/zoo/zoo.h"
#include "json/json.h"
#include "lower/lower.h"
#include "passes/optimize.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace {

struct Options {
  std::string network = "zoo:resnet-18", target = "cuda -model=h100";
  int each = 20;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds that `work` takes of this thread's processor.
template <typename Work>
double seconds_of(const Work& work) {
  const double begin = processor_seconds();
  work();
  return processor_seconds() - begin;
}

double part_of(std::vector<double> seconds, double part) {
  std::sort(seconds.begin(), seconds.end());
  return seconds.empty() ? 0 : seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1))];
}

class Costs {
 public:
  void add(const Task& task, const Target& target, int each) {
    std::optional<DesignSpace> space;
    spaces_ += seconds_of([&] { space.emplace(make_space(task.dag, target)); });
    ++tasks_;
    Rng rng(1);
    std::vector<Candidate> candidates{space->default_candidate()};
    for (int k = 0; k < each; ++k) candidates.push_back(space->sample(rng));
    std::vector<LoopTree> trees;
    for (const Candidate& candidate : candidates) {
      ++candidates_;
      std::optional<Result<Scheduled>> scheduled;
      schedules_ += seconds_of([&] { scheduled = space->schedule(candidate); });
      if (scheduled->ok())
        trees.push_back((*scheduled)->tree), ++scheduled_;
      else
        ++refused_;
    }
    // A tuner scores many candidates one behind the other, and builds few of them.
    for (const LoopTree& tree : trees) estimates_ += seconds_of([&] { analytic_seconds(tree, target); });
    for (const LoopTree& tree : trees) features_ += seconds_of([&] { features(tree, target); });
    for (const LoopTree& tree : trees) build(task, target, tree);
  }

  Json json(const Options& options) const {
    const auto mean_us = [](double seconds, std::int64_t count) { return seconds / static_cast<double>(count) * 1e6; };
    return Json::object()
        .set("network", options.network)
        .set("target", options.target)
        .set("tasks", tasks_)
        .set("candidates", candidates_)
        .set("refused", refused_)
        .set("space_ms", spaces_ / static_cast<double>(tasks_) * 1e3)
        .set("schedule_us", mean_us(schedules_, candidates_))
        .set("estimate_us", mean_us(estimates_, scheduled_))
        .set("features_us", mean_us(features_, scheduled_))
        .set("scored_a_second", static_cast<double>(scheduled_) / estimates_)
        .set("lower_ms", part_of(lowered_, 0.5) * 1e3)
        .set("lower_ms_p90", part_of(lowered_, 0.9) * 1e3)
        .set("ptx_ms", part_of(ptx_, 0.5) * 1e3)
        .set("ptx_ms_p90", part_of(ptx_, 0.9) * 1e3);
  }

 private:
  void build(const Task& task, const Target& target, const LoopTree& tree) {
    std::optional<Result<Lowered>> lowered;
    const double passes = seconds_of([&] { lowered = lower(tree, target, task.within); });
    if (!lowered->ok()) return void(++refused_);
    bool made = false;
    const double ptx = seconds_of([&] { made = compile_kernel((*lowered)->program, target).ok(); });
    if (!made) return void(++refused_);
    lowered_.push_back(passes), ptx_.push_back(ptx);
  }

  std::int64_t tasks_ = 0, candidates_ = 0, scheduled_ = 0, refused_ = 0;
  double spaces_ = 0, schedules_ = 0, estimates_ = 0, features_ = 0;
  std::vector<double> lowered_, ptx_;
};

int fail(const std::string& sentence) {
  fmt::print(stderr, "gpu_candidates: {}\n", sentence);
  return 2;
}

int run(int count, char** words) {
  Options options;
  for (int k = 1; k < count; k += 2) {
    const std::string word = words[k];
    if (k + 1 == count) return fail(word + " needs a value");
    if (word == "--network")
      options.network = words[k + 1];
    else if (word == "--target")
      options.target = words[k + 1];
    else if (word == "--each")
      options.each = std::max(0, std::atoi(words[k + 1]));
    else
      return fail(word + " means nothing");
  }
  const Result<Target> target = parse_target(options.target);
  if (!target.ok()) return fail(target.error().message);
  if (!target->is_gpu()) return fail(options.target + " is no GPU");
  if (!options.network.starts_with("zoo:")) return fail("--network is one of `whet zoo list`");
  Result<Graph> graph = zoo_model(options.network.substr(4));
  if (!graph.ok()) return fail(graph.error().message);
  const Result<FusedGraph> fused = optimize(*std::move(graph), {});
  if (!fused.ok()) return fail(fused.error().message);
  const Result<std::vector<Task>> tasks = extract_tasks(*fused, *target);
  if (!tasks.ok()) return fail(tasks.error().message);
  Costs costs;
  for (const Task& task : *tasks) costs.add(task, *target, options.each);
  fmt::print("{}\n", dump(costs.json(options)));
  return 0;
}

}  // namespace
}  // namespace whet

int main(int count, char** words) { return whet::run(count, words); }
