// whet bench: how long an inference takes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "cli/command.h"
#include "cli/opened.h"
#include "cli/remote.h"
#include "json/json.h"
#include "machine/placement.h"
#include "machine/stolen.h"

namespace whet {
namespace {

struct BenchCommand {
  RunnableOptions runnable;
  int runs = 0;
  double seconds = 1, warmup = 0.2;
  bool on_device = false, json = false;
};

struct Latency {
  std::vector<double> sorted;  ///< seconds, ascending
  double mean = 0, deviation = 0;
  double back_to_back = 0;  ///< of an inference behind the one before without a wait between them; 0: not measured
  double stolen = 0;        ///< part of the processors' time that other machines of the host had meanwhile

  double percentile(double share) const {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  }
};

Latency describe(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Latency latency{std::move(times)};
  const double count = static_cast<double>(latency.sorted.size());
  latency.mean = std::accumulate(latency.sorted.begin(), latency.sorted.end(), 0.0) / count;
  double squares = 0;
  for (double time : latency.sorted) squares += (time - latency.mean) * (time - latency.mean);
  latency.deviation = std::sqrt(squares / count);
  return latency;
}

/// The fastest of several series.
Result<double> time_back_to_back(OpenedModel& model) {
  constexpr int kSeries = 10, kRuns = 20;
  double fastest = std::numeric_limits<double>::infinity();
  for (int series = 0; series < kSeries; ++series) {
    const double before = model.clock();
    WHET_RETURN_IF_ERROR(model.run_back_to_back(kRuns));
    fastest = std::min(fastest, (model.clock() - before) / kRuns);
  }
  return fastest;
}

Result<Latency> time_runs(OpenedModel& model, const BenchCommand& command) {
  WHET_RETURN_IF_ERROR(model.warm_up(command.warmup));
  std::optional<StolenTime> stolen;
  if (!model.is_elsewhere()) stolen.emplace(cores_of(model));
  WHET_TRY(std::vector<double> times, model.time_runs(command.runs, command.seconds));
  Latency latency = describe(std::move(times));
  if (stolen) latency.stolen = stolen->share();
  if (command.on_device) {
    WHET_TRY(latency.back_to_back, time_back_to_back(model));
  }
  return latency;
}

std::string predicted_text(double predicted, double median) {
  if (predicted <= 0) return "";
  return fmt::format(" · predicted {:.3f} ({:+.1f}%)", predicted * 1e3, 100 * (median / predicted - 1));
}

/// `emulator`: one ran it, on a device elsewhere.
void print_text(const OpenedModel& model, const Latency& latency, bool emulator) {
  const double median = latency.percentile(0.5);
  fmt::print("{} · {}\n", model.info().name, model.info().target);
  fmt::print("{}\n", model.info().records);
  if (model.is_emulated()) fmt::print("{}\n", kEstimates);
  if (emulator) fmt::print("{}\n", kEmulatorTimes);
  fmt::print("Execution time summary:\n{:>12} {:>13} {:>13} {:>13} {:>13}\n", "mean (ms)", "median (ms)", "max (ms)",
             "min (ms)", "std (ms)");
  fmt::print("{:>12.4f} {:>13.4f} {:>13.4f} {:>13.4f} {:>13.4f}\n", latency.mean * 1e3, median * 1e3,
             latency.sorted.back() * 1e3, latency.sorted.front() * 1e3, latency.deviation * 1e3);
  fmt::print(" p50 {:.3f}  p90 {:.3f}  p99 {:.3f} · {:.0f} inferences/s{} · {}\n", median * 1e3,
             latency.percentile(0.9) * 1e3, latency.percentile(0.99) * 1e3, 1 / latency.mean,
             predicted_text(model.info().predicted_seconds, median), threads_text(model));
  if (latency.back_to_back > 0)
    fmt::print(" inputs and outputs on the device; one behind the other without waiting: {:.4f} ms an inference\n",
               latency.back_to_back * 1e3);
  if (const std::string stolen = stolen_text(latency.stolen); !stolen.empty())
    fmt::print(" {}: the fastest runs say more than the median\n", stolen);
}

void print_json(const OpenedModel& model, const Latency& latency) {
  Json out = Json::object();
  out.set("model", model.info().name).set("target", model.info().target).set("records", model.info().records);
  out.set("median_ms", latency.percentile(0.5) * 1e3).set("mean_ms", latency.mean * 1e3);
  out.set("min_ms", latency.sorted.front() * 1e3).set("max_ms", latency.sorted.back() * 1e3);
  out.set("std_ms", latency.deviation * 1e3).set("p50_ms", latency.percentile(0.5) * 1e3);
  out.set("p90_ms", latency.percentile(0.9) * 1e3).set("p99_ms", latency.percentile(0.99) * 1e3);
  out.set("runs", static_cast<std::int64_t>(latency.sorted.size()))
      .set("threads", static_cast<int>(model.pool().threads));
  const std::vector<int> cores = cores_of(model);
  out.set("cores", Json::array_of(cores)).set("predicted_ms", model.info().predicted_seconds * 1e3);
  out.set("flops", model.info().flops).set("note", model.note());
  out.set("stolen", latency.stolen);
  if (latency.back_to_back > 0) out.set("back_to_back_ms", latency.back_to_back * 1e3);
  if (cores.size() > 1 && !model.is_elsewhere())
    out.set("round_trip_ns", measure_placement(cores[0], cores[1]).round_trip_ns);
  fmt::print("{}\n", dump(out, 2));
}

int run(BenchCommand& command) {
  if (command.runnable.model.fill.empty()) command.runnable.model.fill = "random";
  command.runnable.times_alone = true;
  const Result<InputFiles> files = read_inputs(command.runnable.model.inputs);
  if (!files.ok()) return fail(files.error());
  Result<Runnable> runnable = open_runnable(command.runnable, *files);
  if (!runnable.ok()) return fail(runnable.error());
  Result<std::vector<Tensor>> inputs = inputs_of(runnable->model, command.runnable.model, *files);
  if (!inputs.ok()) return fail(inputs.error());
  const Status set = runnable->model.set_inputs(std::move(*inputs));
  if (!set.ok()) return fail(set.error());
  if (command.on_device)
    if (const Status moved = runnable->model.move_to_device(); !moved.ok()) return wrong_use(moved.error());
  const Result<Latency> latency = time_runs(runnable->model, command);
  if (!latency.ok()) return fail(latency.error());
  command.json ? print_json(runnable->model, *latency) : print_text(runnable->model, *latency, runnable->emulator);
  return kDone;
}

}  // namespace

std::function<int()> make_bench(Arguments& arguments) {
  auto command = std::make_shared<BenchCommand>();
  command->runnable.add_to(arguments);
  arguments.add("--seconds", command->seconds, 0, 86400, "Time to measure [s]");
  arguments.add("--runs", command->runs, 1, 1000000000,
                "Inferences to measure (default: as many as fit into --seconds)", 0);
  arguments.add("--warmup", command->warmup, 0, 86400, "Time to run before measuring [s]");
  arguments.flag("--on-device", command->on_device,
                 "For a GPU: keep inputs and outputs in its memory, and also time inferences one behind the other");
  arguments.flag("--json", command->json, "Print JSON");
  return [command] { return run(*command); };
}

}  // namespace whet
