// whet profile: where the time of an inference goes.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "base/counted.h"
#include "base/spread.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "measure/cpu/peak.h"
#include "target/gpu_rates.h"
#include "tensor_files/file.h"
#include "workflow/opened.h"
#include "workflow/remote.h"

namespace whet {
namespace {

struct ProfileCommand {
  RunnableOptions runnable;
  int runs = 100;
  std::string trace;
  bool json = false;
};

/// Wider names are cut in the table, not in JSON.

struct Profiled {
  whet_profile profile;
  UsualRun usual;
  std::vector<const whet_step_profile*> steps = {};  ///< the slowest first
  double steps_ns = 0;                               ///< of the usual run
  double flops = 0;                                  ///< of a run
  double peak_gflops = 0;                            ///< of the threads that run it, or of a GPU

  double usual_ns(const whet_step_profile& step) const {
    return usual.step_ns[static_cast<std::size_t>(&step - profile.step)];
  }
};

double mean_ns(const whet_step_profile& step, const whet_profile& profile) {
  return static_cast<double>(step.total_ns) / static_cast<double>(profile.runs);
}

Profiled describe(const OpenedModel& model) {
  Profiled out{model.profile(), model.usual_run()};
  for (std::uint32_t i = 0; i < out.profile.steps; ++i) {
    out.steps.push_back(out.profile.step + i);
    out.steps_ns += out.usual.step_ns[i];
    out.flops += out.profile.step[i].flops;
  }
  std::ranges::stable_sort(out.steps, std::greater(),
                           [&](const whet_step_profile* step) { return out.usual_ns(*step); });
  // The host's time says nothing of a run that is emulated.
  if (model.is_emulated()) out.usual.whole_ns = out.steps_ns;
  const Result<Target> target = parse_target(model.info().target);
  const std::vector<int> cores = cores_of(model);
  if (target.ok() && target->is_cpu() && !cores.empty() && !model.is_elsewhere())
    out.peak_gflops = measure_peak_gflops(*target, cores);
  if (target.ok() && target->is_gpu()) out.peak_gflops = with_data_sheet({}, target->gpu()).gflops;
  return out;
}

/// Its usual time is far above its fastest run: what it is off its prediction says nothing.
bool is_disturbed(const Profiled& profiled, const whet_step_profile& step) {
  return is_far_above(profiled.usual_ns(step), static_cast<double>(step.min_ns));
}
std::string off_of(const Profiled& profiled, const whet_step_profile& step) {
  if (step.predicted_seconds <= 0 || is_disturbed(profiled, step)) return "–";
  return off_text(profiled.usual_ns(step), step.predicted_seconds * 1e9, 0);
}

/// One line where a busy machine made the times; "" where it did not.
std::string busy_line(const Profiled& profiled) {
  const double fastest = static_cast<double>(profiled.profile.min_ns);
  const auto disturbed = std::ranges::count_if(
      profiled.steps, [&](const whet_step_profile* step) { return is_disturbed(profiled, *step); });
  if (is_far_above(profiled.usual.whole_ns, fastest))
    return busy_text("The usual run", profiled.usual.whole_ns, fastest) + "; Off is left out of such operations\n";
  if (disturbed == 0) return "";
  return fmt::format("{} usually took far longer than in {} fastest run: Off is left out there\n",
                     counted(disturbed, "operation"), for_count(disturbed, "its", "their"));
}

/// One line where an operation that matters is off its record: a time belongs to a placement of the processors.
std::string placement_text(const OpenedModel& model, const Profiled& profiled) {
  constexpr double kMatters = 0.02;
  const bool off = std::ranges::any_of(profiled.steps, [&](const whet_step_profile* step) {
    const double ns = profiled.usual_ns(*step);
    return ns >= kMatters * profiled.steps_ns && !is_disturbed(profiled, *step) &&
           is_off_record(ns, step->predicted_seconds * 1e9);
  });
  const std::string line = off ? placement_line(placement_of(model), model.info().records) : "";
  return line.empty() ? "" : line + "\n";
}

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "–"; }

/// `emulator`: one ran it, on a device elsewhere.
void print_text(const OpenedModel& model, const Profiled& profiled, bool emulator) {
  fmt::print("{} · {} · {} · {}\n", model.info().name, model.info().target,
             counted(std::int64_t(profiled.profile.runs), "run"), threads_text(model));
  if (const std::string sizes = sizes_text(model); !sizes.empty()) fmt::print("at {}\n", sizes);
  if (model.is_emulated()) fmt::print("{}\n", kEstimates);
  if (emulator) fmt::print("{}\n", kEmulatorTimes);
  Table table({{"Node", false},
               {"Op", false},
               {"Time (us)"},
               {"Share"},
               {"GFLOPS"},
               {"% peak"},
               {"Min (us)"},
               {"Predicted (us)"},
               {"Off"}});
  for (const whet_step_profile* step : profiled.steps) {
    const double ns = profiled.usual_ns(*step), gflops = step->flops / ns;
    const double predicted = step->predicted_seconds * 1e6;
    table.add({step->node, step->op, fmt::format("{:.1f}", ns / 1e3), percent(ns, profiled.steps_ns),
               fmt::format("{:.1f}", gflops), percent(gflops, profiled.peak_gflops),
               step->min_ns > 0 ? fmt::format("{:.1f}", static_cast<double>(step->min_ns) / 1e3) : "–",
               predicted > 0 ? fmt::format("{:.1f}", predicted) : "–", off_of(profiled, *step)});
  }
  print(table);
  fmt::print("{}{}", busy_line(profiled), placement_text(model, profiled));
  fmt::print(
      "Total: {:.1f} us in {}; whole run {:.1f} us ({:.1f}% outside of operations; copies of inputs and "
      "outputs {:.1f} us)\n",
      profiled.steps_ns / 1e3, counted(profiled.profile.steps, "operation"), profiled.usual.whole_ns / 1e3,
      100 * (1 - profiled.steps_ns / profiled.usual.whole_ns),
      static_cast<double>(profiled.profile.copy_total_ns) / static_cast<double>(profiled.profile.runs) / 1e3);
  if (profiled.peak_gflops > 0)
    fmt::print("Peak {}: {:.1f} GFLOPS; {:.1f} reached by the whole\n",
               model.device() != nullptr ? "by the data sheet" : "of these threads, measured now", profiled.peak_gflops,
               profiled.flops / profiled.usual.whole_ns);
}

void print_json(const OpenedModel& model, const Profiled& profiled) {
  Json steps = Json::array();
  for (const whet_step_profile* step : profiled.steps) {
    const double ns = profiled.usual_ns(*step);
    steps.add(Json::object()
                  .set("node", step->node)
                  .set("op", step->op)
                  .set("us", ns / 1e3)
                  .set("mean_us", mean_ns(*step, profiled.profile) / 1e3)
                  .set("min_us", static_cast<double>(step->min_ns) / 1e3)
                  .set("share", ns / profiled.steps_ns)
                  .set("gflops", step->flops / ns)
                  .set("flops", step->flops)
                  .set("bytes", step->bytes)
                  .set("parallel", step->parallel != 0)
                  .set("predicted_us", step->predicted_seconds * 1e6)
                  .set("disturbed", is_disturbed(profiled, *step)));
  }
  Json out = Json::object();
  out.set("model", model.info().name).set("target", model.info().target);
  if (const std::string sizes = sizes_text(model); !sizes.empty()) out.set("at", sizes);
  out.set("runs", static_cast<std::int64_t>(profiled.profile.runs)).set("whole_us", profiled.usual.whole_ns / 1e3);
  out.set("min_us", static_cast<double>(profiled.profile.min_ns) / 1e3)
      .set("disturbed", is_far_above(profiled.usual.whole_ns, static_cast<double>(profiled.profile.min_ns)));
  if (const ProcessorPlacement now = placement_of(model); now.is_known()) out.set("round_trip_ns", now.round_trip_ns);
  out.set("steps_us", profiled.steps_ns / 1e3).set("peak_gflops", profiled.peak_gflops).set("steps", steps);
  fmt::print("{}\n", dump(out, 2));
}

/// A piece of a lane in Chrome's tracing format.
Json trace_event(const whet_step_profile& step, double begin_us, double us, std::size_t lane) {
  return Json::object()
      .set("name", step.op)
      .set("cat", step.node)
      .set("ph", "X")
      .set("ts", begin_us)
      .set("dur", us)
      .set("pid", 1)
      .set("tid", static_cast<std::int64_t>(lane) + 1)
      .set("args", Json::object().set("node", step.node).set("flops", step.flops));
}

/// A run as its workers were watched, a lane a worker. Where none was watched (on a GPU, elsewhere): its steps one after
/// another at their mean times, in one lane.
Result<Json> events_of(OpenedModel& model, int runs) {
  WHET_TRY(const InferenceTrace trace, model.trace_runs(std::min(runs, 10), runs));
  const whet_profile profile = model.profile();
  Json events = Json::array();
  double start_us = 0;
  for (std::uint32_t i = 0; trace.stretches.empty() && i < profile.steps; ++i) {
    const double us = mean_ns(profile.step[i], profile) / 1e3;
    events.add(trace_event(profile.step[i], start_us, us, 0));
    start_us += us;
  }
  const std::vector<std::string> workers = worker_names(model);
  for (std::size_t lane = 0; !trace.stretches.empty() && lane < workers.size(); ++lane)
    events.add(Json::object()
                   .set("name", "thread_name")
                   .set("ph", "M")
                   .set("pid", 1)
                   .set("tid", static_cast<std::int64_t>(lane) + 1)
                   .set("args", Json::object().set("name", workers[lane])));
  for (const InferenceTrace::Stretch& stretch : trace.stretches)
    events.add(trace_event(profile.step[stretch.step], stretch.begin * 1e6, (stretch.end - stretch.begin) * 1e6,
                           stretch.worker));
  return events;
}

Status write_trace(const std::string& path, OpenedModel& model, int runs) {
  WHET_TRY(Json events, events_of(model, runs));
  return write_file(path, dump(Json::object().set("traceEvents", std::move(events))));
}

Result<int> run(ProfileCommand& command) {
  if (command.runnable.model.fill.empty()) command.runnable.model.fill = "random";
  command.runnable.times_alone = true;
  WHET_TRY(const InputFiles files, read_inputs(command.runnable.model));
  WHET_TRY(Runnable runnable, open_runnable(command.runnable, files));
  OpenedModel& model = runnable.model;
  WHET_TRY(std::vector<Tensor> inputs, inputs_of(model, command.runnable.model, files));
  WHET_RETURN_IF_ERROR(model.set_inputs(std::move(inputs)));
  WHET_RETURN_IF_ERROR(model.profile_runs(std::min(command.runs, 10), command.runs));
  const Profiled profiled = describe(model);
  if (!command.trace.empty()) WHET_RETURN_IF_ERROR(write_trace(command.trace, model, command.runs));
  command.json ? print_json(model, profiled) : print_text(model, profiled, runnable.emulator);
  return kDone;
}

}  // namespace

CommandAction make_profile(Arguments& arguments) {
  auto command = std::make_shared<ProfileCommand>();
  add_options(arguments, command->runnable);
  arguments.add("--runs", command->runs, 1, 1000000000, "Inferences to measure");
  arguments.add("--trace", command->trace, "Also write a file for Chrome's tracing view: a lane a core");
  arguments.writes("--trace", command->trace, FileKind::trace);
  arguments.flag("--json", command->json, "Print JSON");
  return [command] { return run(*command); };
}

}  // namespace whet
