// whet bench: how long an inference takes.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "machine/placement.h"
#include "machine/processor.h"
#include "machine/stolen.h"
#include "workflow/latency.h"
#include "workflow/lengths.h"
#include "workflow/opened.h"
#include "workflow/remote.h"

namespace whet {
namespace {

struct BenchCommand {
  RunnableOptions runnable;
  LatencyOptions timing;
  std::string lengths;  ///< of a library for several sizes: a file of requests; "": none
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
  if (const std::string sizes = sizes_text(model); !sizes.empty()) fmt::print("at {}\n", sizes);
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
  if (!latency.disturbed() && is_off_record(median, model.info().predicted_seconds))
    if (const std::string line = placement_line(placement_of(model), model.info().records); !line.empty())
      fmt::print(" {}\n", line);
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

/// One size of a library for several.
struct SizeTimed {
  std::vector<std::int64_t> at;
  Latency latency;
  std::int64_t requests = 0;  ///< of --lengths
};

/// What all requests take, by the medians of their sizes.
struct RequestsTimed {
  std::int64_t count = 0;
  double seconds = 0, p50 = 0, p90 = 0, p99 = 0;
};
RequestsTimed all_requests(const std::vector<SizeTimed>& timed) {
  std::vector<std::pair<double, std::int64_t>> order;  // seconds of an inference, and how many there are
  RequestsTimed all;
  for (const SizeTimed& each : timed) {
    order.emplace_back(each.latency.percentile(0.5), each.requests);
    all.count += each.requests;
    all.seconds += static_cast<double>(each.requests) * order.back().first;
  }
  std::ranges::sort(order);
  for (const auto& [part, seconds] : {std::pair(0.5, &all.p50), std::pair(0.9, &all.p90), std::pair(0.99, &all.p99)}) {
    double before = 0;
    for (const auto& [own, count] : order) {
      *seconds = own;
      if (before += static_cast<double>(count); before >= part * static_cast<double>(all.count)) break;
    }
  }
  return all;
}

/// Times a model at the shapes that it has.
Result<Latency> time_model(OpenedModel& model, const BenchCommand& command, const InputFiles& files) {
  WHET_TRY(std::vector<Tensor> inputs, inputs_of(model, command.runnable.model, files));
  WHET_RETURN_IF_ERROR(model.set_inputs(std::move(inputs)));
  if (command.timing.on_device)
    if (const Status moved = model.move_to_device(); !moved.ok())
      return Error{moved.error().message, ErrorKind::wrong_use};
  return time_latency(model, command.timing);
}

void print_text(const OpenedModel& model, const std::vector<SizeTimed>& timed) {
  fmt::print("{} · {}\n{}\n", model.info().name, model.info().target, model.info().records);
  std::vector<Table::Column> columns;
  const RequestsTimed all = all_requests(timed);
  for (const ModelSize& size : model.sizes()) columns.push_back({size.name});
  if (all.count > 0) columns.push_back({"Requests"});
  for (const char* title : {"median (ms)", "mean (ms)", "p90 (ms)", "p99 (ms)", "min (ms)", "inferences/s"})
    columns.push_back({title});
  Table table(columns);
  bool disturbed = false;
  for (const SizeTimed& row : timed) {
    std::vector<std::string> cells;
    for (const std::int64_t value : row.at) cells.push_back(std::to_string(value));
    if (all.count > 0) cells.push_back(std::to_string(row.requests));
    for (const double seconds : {row.latency.percentile(0.5), row.latency.mean, row.latency.percentile(0.9),
                                 row.latency.percentile(0.99), row.latency.sorted.front()})
      cells.push_back(fmt::format("{:.4f}", seconds * 1e3));
    cells.push_back(fmt::format("{:.0f}", 1 / row.latency.mean));
    table.add(std::move(cells));
    disturbed = disturbed || row.latency.disturbed();
  }
  print(table);
  if (all.count > 0)
    fmt::print("{} take {:.3f} ms, by the medians: p50 {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms\n",
               counted(all.count, "request"), all.seconds * 1e3, all.p50 * 1e3, all.p90 * 1e3, all.p99 * 1e3);
  fmt::print("{}\n", threads_text(model));
  if (disturbed) fmt::print("Other programs ran: where a median is far above its min, the min says more\n");
}

void print_json(const OpenedModel& model, const std::vector<SizeTimed>& timed) {
  Json rows = Json::array();
  const RequestsTimed all = all_requests(timed);
  for (const SizeTimed& row : timed)
    rows.add(Json::object()
                 .set("at", Json::array_of(row.at))
                 .set("requests", all.count > 0 ? Json(row.requests) : Json())
                 .set("median_ms", row.latency.percentile(0.5) * 1e3)
                 .set("mean_ms", row.latency.mean * 1e3)
                 .set("min_ms", row.latency.sorted.front() * 1e3)
                 .set("max_ms", row.latency.sorted.back() * 1e3)
                 .set("std_ms", row.latency.deviation * 1e3)
                 .set("p90_ms", row.latency.percentile(0.9) * 1e3)
                 .set("p99_ms", row.latency.percentile(0.99) * 1e3)
                 .set("runs", static_cast<std::int64_t>(row.latency.sorted.size()))
                 .set("disturbed", row.latency.disturbed()));
  Json sizes = Json::array();
  for (const ModelSize& size : model.sizes()) sizes.add(size.name);
  Json out = Json::object();
  out.set("model", model.info().name).set("target", model.info().target).set("records", model.info().records);
  out.set("threads", static_cast<int>(model.pool().threads)).set("cores", Json::array_of(cores_of(model)));
  if (all.count > 0)
    out.set("requests", all.count)
        .set("seconds", all.seconds)
        .set("p50_ms", all.p50 * 1e3)
        .set("p90_ms", all.p90 * 1e3)
        .set("p99_ms", all.p99 * 1e3);
  fmt::print("{}\n", dump(out.set("sizes", sizes).set("rows", rows), 2));
}

/// A row a size of the requests, which share the time.
Result<int> run_requests(BenchCommand command, OpenedModel& model, const InputFiles& files) {
  WHET_TRY(const std::vector<RequestCount> requests, read_lengths(command.lengths, wanted_sizes(model)));
  const auto count = static_cast<double>(requests.size());
  command.timing.seconds /= count, command.timing.warmup /= count;
  std::vector<SizeTimed> timed;
  for (const RequestCount& each : requests) {
    WHET_RETURN_IF_ERROR(model.set_sizes(each.at));
    WHET_TRY(Latency latency, time_model(model, command, files));
    timed.push_back({each.at, std::move(latency), each.count});
  }
  command.json ? print_json(model, timed) : print_text(model, timed);
  return kDone;
}

/// A row a size, of a library whose size no option and no file says.
Result<int> run_sizes(const BenchCommand& command, OpenedModel& model, const InputFiles& files) {
  if (!command.lengths.empty()) return run_requests(command, model, files);
  std::vector<SizeTimed> timed;
  for (const std::vector<std::int64_t>& at : choices_of(model)) {
    WHET_RETURN_IF_ERROR(model.set_sizes(at));
    WHET_TRY(Latency latency, time_model(model, command, files));
    timed.push_back({at, std::move(latency)});
  }
  command.json ? print_json(model, timed) : print_text(model, timed);
  return kDone;
}

Result<int> run(BenchCommand& command) {
  if (command.runnable.model.fill.empty()) command.runnable.model.fill = "random";
  command.runnable.times_alone = true;
  WHET_TRY(const InputFiles files, read_inputs(command.runnable.model));
  WHET_TRY(Runnable runnable, open_runnable(command.runnable, files));
  const bool is_given = !command.runnable.model.shapes.empty() || !command.runnable.model.inputs.empty();
  if (!command.lengths.empty() && (runnable.model.sizes().empty() || is_given))
    return Error{
        runnable.model.sizes().empty()
            ? "bench: " + command.runnable.model.model + " is for one size; --lengths is for libraries for several"
            : "bench: --lengths says at which sizes it is timed, and so do --shape and --input; give one of them",
        ErrorKind::wrong_use};
  if (!runnable.model.sizes().empty() && !is_given) return run_sizes(command, runnable.model, files);
  WHET_TRY(const Latency latency, time_model(runnable.model, command, files));
  command.json ? print_json(runnable.model, latency) : print_text(runnable.model, latency, runnable.emulator);
  return kDone;
}

}  // namespace

CommandAction make_bench(Arguments& arguments) {
  auto command = std::make_shared<BenchCommand>();
  add_options(arguments, command->runnable);
  arguments.add("--seconds", command->timing.seconds, 0, 86400, "Time to measure [s]");
  arguments.add("--runs", command->timing.runs, 1, 1000000000,
                "Inferences to measure (default: as many as fit into --seconds)", 0);
  arguments.add("--warmup", command->timing.warmup, 0, 86400, "Time to run before measuring [s]");
  arguments.add(
      "--lengths", command->lengths,
      "Of a library for several sizes: time it at those of these requests, which share the time, and say what "
      "all take (docs/formats/lengths.md)");
  arguments.reads(command->lengths);
  arguments.flag("--on-device", command->timing.on_device,
                 "For a GPU: keep inputs and outputs in its memory, and also time inferences one behind the other");
  arguments.flag("--json", command->json, "Print JSON");
  return [command, given = arguments.given()]() -> Result<int> {
    if (command->timing.runs > 0)
      WHET_RETURN_IF_ERROR(refuse_given(given, {"--seconds"}, "bench", "counts only without --runs"));
    return run(*command);
  };
}

}  // namespace whet
