// Measures the best schedules of several record files for one task, alternately. Used by bench/tuning.
//   whet_choices MODEL TASK FILE...     prints a line a file: the best time of its best record [ms], - where it has none

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "device/make_device.h"
#include "formats/import_model.h"
#include "machine/cores.h"
#include "machine/detect.h"
#include "measure/device_measurer.h"
#include "passes/optimize.h"
#include "records/record_file.h"
#include "task/task.h"
#include "tuner/footprint.h"

namespace whet {
namespace {

constexpr double kBurstSeconds = 0.1;
constexpr int kBursts = 4;

int fail(const std::string& message) {
  fmt::print(stderr, "whet_choices: {}\n", message);
  return 1;
}

int run(int argc, char** argv) {
  if (argc < 4) return fail("usage: whet_choices MODEL TASK FILE...");
  Result<Zygote> zygote = Zygote::start();
  if (!zygote.ok()) return fail(zygote.error().message);
  Result<Graph> graph = import_model(argv[1], {});
  if (!graph.ok()) return fail(graph.error().message);
  const Result<FusedGraph> fused = optimize(std::move(*graph), {});
  if (!fused.ok()) return fail(fused.error().message);
  const Result<Cores> cores = choose_cores("", 0);
  if (!cores.ok()) return fail(cores.error().message);
  Target target = detect_target();
  target.threads = static_cast<int>(cores->cpus.size());
  const Result<std::vector<Task>> tasks = extract_tasks(*fused, target);
  if (!tasks.ok()) return fail(tasks.error().message);
  const auto id = static_cast<std::size_t>(std::atoi(argv[2]));
  if (id >= tasks->size()) return fail(fmt::format("there is no task {}", argv[2]));
  const Task& task = (*tasks)[id];

  std::vector<std::string> steps;
  std::vector<bool> known;
  for (int i = 3; i < argc; ++i) {
    const Result<RecordsRead> read = read_records(argv[i]);
    if (!read.ok()) return fail(read.error().message);
    const auto best = read->records.best(task.key, task.within, target, {});
    known.push_back(best.has_value());
    steps.push_back(best ? best->record->steps : "");
  }
  MeasureOptions options;
  options.cpu.cores.assign(cores->cpus.begin(), cores->cpus.end());
  options.policy.cache = CacheMode::network;
  options.network_bytes = laid_out(network_footprint(*fused, *tasks, false), target);
  options.burst_seconds = kBurstSeconds;
  const Result<std::unique_ptr<Device>> device = make_device(target, {.zygote = &*zygote});
  if (!device.ok()) return fail(device.error().message);
  BuilderPool builders(*zygote, 0);
  DeviceMeasurer measurer(builders, {device->get()}, options);
  const std::vector<Outcome> seen =
      measurer.compare({task.key, task.name, task.dag, target, task.within}, steps, kBursts);
  for (std::size_t i = 0; i < seen.size(); ++i)
    fmt::print("{}\n", known[i] && seen[i].ok() ? fmt::format("{:.6f}", seen[i].best_seconds() * 1e3) : "-");
  return 0;
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
