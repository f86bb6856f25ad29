// whet bench: how long an inference takes.

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/table.h"
#include "json/json.h"
#include "machine/placement.h"
#include "machine/processor.h"
#include "machine/stolen.h"
#include "workflow/latency.h"
#include "workflow/opened.h"
#include "workflow/remote.h"

namespace whet {
namespace {

struct BenchCommand {
  RunnableOptions runnable;
  LatencyOptions timing;
  bool json = false;
};

/// A median that other programs made is not held against the prediction.
std::string predicted_text(double predicted, const Latency& latency) {
  if (predicted <= 0) return "";
  const std::string off =
      latency.disturbed() ? "" : fmt::format(" ({})", off_text(latency.percentile(0.5), predicted, 1));
  return fmt::format(" · predicted {:.3f}{}", predicted * 1e3, off);
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
             predicted_text(model.info().predicted_seconds, latency), threads_text(model));
  if (latency.back_to_back > 0)
    fmt::print(" inputs and outputs on the device; one behind the other without waiting: {:.4f} ms an inference\n",
               latency.back_to_back * 1e3);
  if (latency.disturbed()) fmt::print(" {}\n", busy_text("The median", median, latency.sorted.front()));
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
  out.set("stolen", latency.stolen).set("disturbed", latency.disturbed());
  if (latency.back_to_back > 0) out.set("back_to_back_ms", latency.back_to_back * 1e3);
  if (!model.is_elsewhere()) out.set("machine", read_processor().brand);
  if (cores.size() > 1 && !model.is_elsewhere())
    out.set("round_trip_ns", measure_placement(cores[0], cores[1]).round_trip_ns);
  fmt::print("{}\n", dump(out, 2));
}

int run(BenchCommand& command) {
  if (command.runnable.model.fill.empty()) command.runnable.model.fill = "random";
  command.runnable.times_alone = true;
  const Result<InputFiles> files = read_inputs(command.runnable.model);
  if (!files.ok()) return fail(files.error());
  Result<Runnable> runnable = open_runnable(command.runnable, *files);
  if (!runnable.ok()) return fail(runnable.error());
  Result<std::vector<Tensor>> inputs = inputs_of(runnable->model, command.runnable.model, *files);
  if (!inputs.ok()) return fail(inputs.error());
  const Status set = runnable->model.set_inputs(std::move(*inputs));
  if (!set.ok()) return fail(set.error());
  if (command.timing.on_device)
    if (const Status moved = runnable->model.move_to_device(); !moved.ok()) return wrong_use(moved.error());
  const Result<Latency> latency = time_latency(runnable->model, command.timing);
  if (!latency.ok()) return fail(latency.error());
  command.json ? print_json(runnable->model, *latency) : print_text(runnable->model, *latency, runnable->emulator);
  return kDone;
}

}  // namespace

std::function<int()> make_bench(Arguments& arguments) {
  auto command = std::make_shared<BenchCommand>();
  add_options(arguments, command->runnable);
  arguments.add("--seconds", command->timing.seconds, 0, 86400, "Time to measure [s]");
  arguments.add("--runs", command->timing.runs, 1, 1000000000,
                "Inferences to measure (default: as many as fit into --seconds)", 0);
  arguments.add("--warmup", command->timing.warmup, 0, 86400, "Time to run before measuring [s]");
  arguments.flag("--on-device", command->timing.on_device,
                 "For a GPU: keep inputs and outputs in its memory, and also time inferences one behind the other");
  arguments.flag("--json", command->json, "Print JSON");
  return [command, given = arguments.given()] {
    if (command->timing.runs > 0)
      if (const Status fits = refuse_given(given, {"--seconds"}, "bench", "counts only without --runs"); !fits.ok())
        return fail(fits.error());
    return run(*command);
  };
}

}  // namespace whet
