// Tunes covers of a network, and the usual kernels that each stands for, for as many trials, and times the best of both alternately.
// Traffic between the levels of the caches is that of the ranking models' features (cost/features.h), which no machine has counted; cycles
// are times at the clock with which the multiply-add peak was reached just before.
//   whet_covers [--batch N] [--image N] [--trials N] [--bursts N] [--json] MODEL COVER...
//   COVER: a part of its name; a table, or a JSON object a line

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cost/features.h"
#include "measure/cpu/peak.h"
#include "measured_network.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "tuner/tuner.h"

namespace whet {
namespace {

constexpr double kBurstSeconds = 0.05;

int fail(const std::string& message) {
  fmt::print(stderr, "whet_covers: {}\n", message);
  return 1;
}

struct Words {
  ImportOptions import;
  int trials = 128, bursts = 9;
  bool json = false;
  std::string model;
  std::vector<std::string> covers;
};

Words words_of(int argc, char** argv) {
  Words words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (word == "--batch")
      words.import.zoo.batch = number();
    else if (word == "--image")
      words.import.zoo.image = number();
    else if (word == "--trials")
      words.trials = number();
    else if (word == "--bursts")
      words.bursts = number();
    else if (word == "--json")
      words.json = true;
    else if (words.model.empty())
      words.model = word;
    else
      words.covers.push_back(word);
  }
  return words;
}

/// What one kernel took, and the bytes that its schedule takes from the second level, the third, and memory.
struct Kernel {
  Task task;
  std::string steps;
  std::vector<double> traffic;
  double flops = 0;
  std::vector<double> seconds = {};  ///< one a burst
};

std::vector<double> traffic_of(const Task& task, const std::string& steps, const Target& target) {
  const Result<Steps> parsed = parse_steps(steps);
  if (!parsed.ok()) return {};
  const Result<LoopTree> tree = replay(task.dag, *parsed);
  if (!tree.ok()) return {};
  const std::vector<float> row = features(*tree, target);
  const std::vector<std::string>& names = feature_names(target);
  std::vector<double> bytes;
  for (const char* level : {"from L2", "from L3", "from memory"}) {
    double sum = 0;  // of all operations
    for (std::size_t column = 0; column < names.size(); ++column)
      if (names[column].ends_with(level)) sum += std::exp2(row[column]) - 1;
    bytes.push_back(sum);
  }
  return bytes;
}

class Bench {
 public:
  Bench(const FusedGraph& fused, const Target& target, Measurer& measurer, const Words& words, double peak_gflops)
      : fused_(fused), target_(target), measurer_(measurer), words_(words), peak_gflops_(peak_gflops) {}

  Status run() {
    WHET_TRY(alternatives_, find_alternatives(fused_, target_, {.forms = {}}));
    if (!words_.json) print_heading();
    std::vector<char> seen(alternatives_.tasks.size(), 0);
    for (const Alternative& cover : alternatives_.all)
      if (cover.kind == AlternativeKind::cover && is_asked_for(cover.name) &&
          !std::exchange(seen[static_cast<std::size_t>(cover.task)], 1))
        WHET_RETURN_IF_ERROR(measure(cover));
    return ok_status();
  }

 private:
  bool is_asked_for(const std::string& name) const {
    return words_.covers.empty() ||
           std::any_of(words_.covers.begin(), words_.covers.end(),
                       [&](const std::string& part) { return name.find(part) != std::string::npos; });
  }
  const Task& task_at(int number) const { return alternatives_.tasks[static_cast<std::size_t>(number)]; }

  Status measure(const Alternative& cover) {
    std::vector<Task> tasks = {task_at(cover.task)};
    for (std::size_t a = 0; a < alternatives_.usual; ++a)
      if (std::count(cover.instead.begin(), cover.instead.end(), alternatives_.all[a].group) > 0)
        tasks.push_back(task_at(alternatives_.all[a].task));
    WHET_TRY(std::vector<Kernel> kernels, tuned(tasks));
    for (int burst = 0; burst < words_.bursts; ++burst)
      for (Kernel& kernel : kernels) {
        const MeasureTask task{kernel.task.key, kernel.task.name, kernel.task.dag, target_, kernel.task.within};
        const Outcome outcome = measurer_.compare(task, {kernel.steps}, 1).front();
        if (!outcome.ok()) return Error{kernel.task.name + " does not run any more"};
        kernel.seconds.push_back(outcome.best_seconds());
      }
    print(cover, kernels);
    return ok_status();
  }

  /// One search a task: all get equally many trials.
  Result<std::vector<Kernel>> tuned(const std::vector<Task>& tasks) {
    std::vector<Kernel> kernels;
    for (const Task& task : tasks) {
      const std::string path = "/tmp/whet_covers_" + std::to_string(std::rand()) + ".jsonl";
      WHET_TRY(RecordFile file, RecordFile::open(path));
      TuneOptions options;
      options.trials = words_.trials, options.least_gain = 0;
      WHET_TRY(const TuneProgress progress,
               tune({task}, target_, measurer_, file, options, [](const TuneProgress&) {}));
      const auto best = file.records().best(task.key, task.within, target_, {});
      std::remove(path.c_str());
      if (!best || progress.trials == 0) return Error{task.name + ": no candidate ran"};
      kernels.push_back({task, best->record->steps, traffic_of(task, best->record->steps, target_), flops(task.dag)});
    }
    return kernels;
  }

  static std::string list(const std::vector<double>& values, double factor) {
    std::string text;
    for (double value : values) text += fmt::format("{}{:.4g}", text.empty() ? "" : ", ", value * factor);
    return "[" + text + "]";
  }

  /// Of one core, while it did nothing but multiply-adds.
  double clock_ghz() const {
    const CpuTarget& cpu = target_.cpu();
    return peak_gflops_ / (2 * target_.threads * cpu.lanes(4) * cpu.pipes.multiply_adds);
  }

  /// One cover, and what it was compared with.
  struct Row {
    std::vector<double> ratios, fused, separate;  ///< of the bursts, ascending
    std::vector<double> separate_cycles;          ///< of each of the usual kernels
    std::vector<double> separate_traffic = std::vector<double>(3, 0);
  };
  static double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

  Row row_of(const std::vector<Kernel>& kernels) const {
    Row row;
    for (std::size_t burst = 0; burst < kernels.front().seconds.size(); ++burst) {
      double sum = 0;
      for (std::size_t k = 1; k < kernels.size(); ++k) sum += kernels[k].seconds[burst];
      row.fused.push_back(kernels.front().seconds[burst]), row.separate.push_back(sum);
      row.ratios.push_back(row.fused.back() / sum);
    }
    for (std::size_t k = 1; k < kernels.size(); ++k) {
      std::vector<double> seconds = kernels[k].seconds;
      std::sort(seconds.begin(), seconds.end());
      row.separate_cycles.push_back(median(seconds) * clock_ghz() * 1e9);
      for (std::size_t level = 0; level < kernels[k].traffic.size(); ++level)
        row.separate_traffic[level] += kernels[k].traffic[level];
    }
    for (std::vector<double>* values : {&row.ratios, &row.fused, &row.separate})
      std::sort(values->begin(), values->end());
    return row;
  }

  static void print_heading() {
    fmt::print(
        "| kernel | one kernel [us] | its usual kernels [us] | ratio (range) | GFLOPS, one / usual | of peak | cycles "
        "[1000], one | cycles "
        "[1000], each usual one | model: MB from L2, L3, memory, one | model: the same, usual ones |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  }

  void print(const Alternative& cover, const std::vector<Kernel>& kernels) const {
    const Row row = row_of(kernels);
    const Kernel& one = kernels.front();
    const double fused = median(row.fused), separate = median(row.separate), cycles = fused * clock_ghz() * 1e9;
    if (words_.json)
      fmt::print(
          "{{\"cover\": \"{}\", \"task\": \"{}\", \"model\": \"{}\", \"batch\": {}, \"image\": {}, \"trials\": {}, "
          "\"fused_us\": {:.2f}, \"separate_us\": {:.2f}, \"ratio\": {:.4f}, \"least\": {:.4f}, \"largest\": {:.4f}, "
          "\"mflop\": {:.2f}, \"peak_gflops\": {:.1f}, \"fused_kcycles\": {:.1f}, \"separate_kcycles\": {}, "
          "\"model_fused_mb_from_l2_l3_memory\": {}, \"model_separate_mb_from_l2_l3_memory\": {}}}\n",
          cover.name, one.task.name, words_.model, words_.import.zoo.batch, words_.import.zoo.image, words_.trials,
          fused * 1e6, separate * 1e6, median(row.ratios), row.ratios.front(), row.ratios.back(), one.flops * 1e-6,
          peak_gflops_, cycles * 1e-3, list(row.separate_cycles, 1e-3), list(one.traffic, 1e-6),
          list(row.separate_traffic, 1e-6));
    else
      fmt::print(
          "| {} | {:.1f} | {:.1f} | {:.3f} ({:.3f} to {:.3f}) | {:.0f} / {:.0f} | {:.0f}% / {:.0f}% | {:.0f} | {} | {} "
          "| {} |\n",
          one.task.name, fused * 1e6, separate * 1e6, median(row.ratios), row.ratios.front(), row.ratios.back(),
          one.flops / fused * 1e-9, one.flops / separate * 1e-9, 100e-9 * one.flops / fused / peak_gflops_,
          100e-9 * one.flops / separate / peak_gflops_, cycles * 1e-3, list(row.separate_cycles, 1e-3),
          list(one.traffic, 1e-6), list(row.separate_traffic, 1e-6));
    std::fflush(stdout);
    for (const Kernel& kernel : kernels) fmt::print(stderr, "{}: {}\n", kernel.task.name, kernel.steps);
  }

  const FusedGraph& fused_;
  const Target& target_;
  Measurer& measurer_;
  const Words& words_;
  const double peak_gflops_;
  Alternatives alternatives_;
};

int run(int argc, char** argv) {
  const Words words = words_of(argc, argv);
  if (words.model.empty() || words.trials < 1 || words.bursts < 1)
    return fail("usage: whet_covers [--batch N] [--image N] [--trials N] [--bursts N] [--json] MODEL COVER...");
  const Result<std::unique_ptr<MeasuredNetwork>> made = MeasuredNetwork::make(words.model, words.import, kBurstSeconds);
  if (!made.ok()) return fail(made.error().message);
  MeasuredNetwork& network = **made;
  const double peak = measure_peak_gflops(network.target, network.cores.cpus);
  const Status done = Bench(network.fused, network.target, *network.measurer, words, peak).run();
  return done.ok() ? 0 : fail(done.error().message);
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
