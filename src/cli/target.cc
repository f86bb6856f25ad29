// whet target: what was detected on this machine, and the peak measured; of a GPU, what a kernel may use.

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "artifact/code_format.h"
#include "artifact/kernel.h"
#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/target_gpu.h"
#include "json/json.h"
#include "machine/bandwidth.h"
#include "machine/detect.h"
#include "machine/placement.h"
#include "measure/cpu/peak.h"
#include "workflow/fleet.h"
#include "workflow/opened.h"
#include "workflow/options.h"
#include "workflow/remote.h"

namespace whet {
namespace {

struct TargetCommand {
  TargetOptions place;
  std::string device;
  FleetOptions fleet;
  bool list = false, json = false, no_measure = false;
};

/// Prints the description of a device elsewhere.
Result<int> print_device(const TargetCommand& command, const DeviceName& name) {
  WHET_TRY(const DeviceDescription there, describe_device(name, command.fleet, tell_user));
  const Result<TargetOnCores> place = choose_target_there(command.place, there);
  if (!place.ok()) return wrong_use(place.error());
  const std::string target = to_string(place->target);
  if (command.json)
    fmt::print("{}\n", dump(to_json(there).set("target", target), 2));
  else
    fmt::print("{}\n{}", target, device_lines(there));
  return kDone;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{} KiB", bytes >> 10);
}

struct MeasuredRates {
  double peak_one = 0, peak_all = 0;  ///< GFLOPS
  double bf16_one = 0, bf16_all = 0;  ///< the same of pairs of bf16; 0: there are no such instructions
  std::vector<Bandwidth> bandwidth;
};

MeasuredRates measure(const TargetOnCores& place) {
  const auto& cpus = place.cores.cpus;
  const auto peak = [&](const std::vector<int>& threads, DType factors) {
    return measure_peak_gflops(place.target, threads, factors);
  };
  MeasuredRates rates{peak({cpus.front()}, DType::f32), peak(cpus, DType::f32), 0, 0, {}};
  if (place.target.cpu().bf16_products)
    rates.bf16_one = peak({cpus.front()}, DType::bf16), rates.bf16_all = peak(cpus, DType::bf16);
  rates.bandwidth = measure_bandwidth(place.target, cpus);
  return rates;
}

void print_measured(const TargetOnCores& place) {
  const auto& cpus = place.cores.cpus;
  const MeasuredRates measured = measure(place);
  const auto print_peak = [&](const char* what, double one, double all, const char* of) {
    fmt::print("  {:<11} {:.1f} GFLOPS on 1 thread", what, one);
    if (cpus.size() > 1) fmt::print(", {:.1f} on {}", all, cpus.size());
    fmt::print(" ({})\n", of);
  };
  print_peak("peak", measured.peak_one, measured.peak_all, "float multiply-adds");
  if (measured.bf16_one > 0)
    print_peak("peak, bf16", measured.bf16_one, measured.bf16_all,
               place.target.cpu().bf16_tiles ? "multiply-adds of bf16 in tiles, sums in f32"
                                             : "multiply-adds of bf16 in pairs, sums in f32");
  fmt::print("  bandwidth  ");
  for (const Bandwidth& level : measured.bandwidth) fmt::print(" {} {:.1f}", level.level, level.gb_per_second);
  fmt::print(" GB/s (reading, {})\n", counted(std::ssize(cpus), "thread"));
  if (cpus.size() > 1) {
    const CorePlacement placement = measure_placement(cpus[0], cpus[1]);
    fmt::print("  placement   cores {} and {}: {:.0f} ns there and back ({})\n", cpus[0], cpus[1],
               placement.round_trip_ns, name_of(placement.kind));
  }
}

void print_text(const TargetOnCores& place, bool measuring) {
  const Processor processor = read_processor();
  const Target& target = place.target;
  const CpuTarget& cpu = target.cpu();
  fmt::print("{}\n", to_string(target));
  if (is_foreign(target))
    fmt::print("  processor   {}, which is none of this machine\n", cpu.mcpu);
  else
    fmt::print("  processor   {} ({} family {} model {})\n", processor.brand, processor.vendor, processor.family,
               processor.model);
  fmt::print("  vectors     {} bytes, {} registers, {}\n", cpu.vector_bytes, cpu.vector_registers,
             cpu.fma ? "fused multiply-add" : "no fused multiply-add");
  fmt::print("  caches      L1 {}, L2 {} a core; L3 {} shared\n", bytes_text(cpu.l1_bytes), bytes_text(cpu.l2_bytes),
             bytes_text(cpu.l3_bytes));
  const std::string quota =
      place.cores.quota > 0 ? fmt::format("cgroup quota {:.2f}", place.cores.quota) : "no cgroup quota";
  if (is_foreign(target))
    fmt::print("  threads     {}\n", target.threads);
  else
    fmt::print("  threads     {} on {} (affinity mask {}; {})\n", target.threads, cores_text(place.cores),
               cpu_list_text(allowed_cpus()), quota);
  if (!place.note.empty()) fmt::print("              {}\n", place.note);
  if (const Status status = can_run(target); !status.ok()) {
    fmt::print("  peak        not measured: {}\n", status.error().message);
  } else if (measuring) {
    print_measured(place);
  }
}

void print_json(const TargetOnCores& place, bool measuring) {
  const Processor processor = read_processor();
  const Target& target = place.target;
  const CpuTarget& cpu = target.cpu();
  Json out = Json::object();
  out.set("target", to_string(target)).set("processor", processor.brand).set("vendor", processor.vendor);
  out.set("family", processor.family).set("model", processor.model);
  out.set("codegen", codegen_version(code_format(target)));
  out.set("vector_bytes", cpu.vector_bytes).set("vector_registers", cpu.vector_registers).set("fma", cpu.fma);
  out.set("l1_bytes", cpu.l1_bytes).set("l2_bytes", cpu.l2_bytes).set("l3_bytes", cpu.l3_bytes);
  out.set("threads", target.threads).set("cores", Json::array_of(place.cores.cpus)).set("quota", place.cores.quota);
  if (measuring && can_run(target).ok()) {
    const MeasuredRates measured = measure(place);
    out.set("peak_gflops_1", measured.peak_one).set("peak_gflops", measured.peak_all);
    if (measured.bf16_one > 0)
      out.set("peak_bf16_gflops_1", measured.bf16_one).set("peak_bf16_gflops", measured.bf16_all);
    Json levels = Json::object();
    for (const Bandwidth& level : measured.bandwidth) levels.set(level.level, level.gb_per_second);
    out.set("read_gb_per_s", levels);
    if (place.cores.cpus.size() > 1)
      out.set("round_trip_ns", measure_placement(place.cores.cpus[0], place.cores.cpus[1]).round_trip_ns);
  }
  fmt::print("{}\n", dump(out, 2));
}

Result<int> run(const TargetCommand& command, const std::function<bool(const std::string&)>& given) {
  if (command.list) {
    WHET_RETURN_IF_ERROR(
        refuse_given(given, {"--target", "--threads", "--cores", "--device", "--fleet", "--json", "--no-measure"},
                     "target --list", "counts only without --list, which prints names alone"));
    for (const std::string& name : known_processors()) fmt::print("{}\n", name);
    for (const GpuModel& model : gpu_models()) fmt::print("cuda -model={}\n", model.name);
    return kDone;
  }
  const Result<DeviceName> device = parse_device_name(command.device);
  if (!device.ok()) return wrong_use(device.error());
  WHET_RETURN_IF_ERROR(check_fleet(command.fleet, device->kind == DeviceName::Kind::fleet));
  if (device->is_remote()) {
    WHET_RETURN_IF_ERROR(
        refuse_given(given, {"--no-measure"}, "target", "is for this machine; nothing is measured on --device"));
    return print_device(command, *device);
  }
  const Result<TargetOnCores> place = choose_target(command.place, *device);
  if (!place.ok()) return wrong_use(place.error());
  WHET_RETURN_IF_ERROR(device_for(command.device, place->target));
  if (place->target.is_gpu()) {
    command.json ? fmt::print("{}\n", dump(gpu_json(place->target), 2)) : print_gpu(place->target);
    return kDone;
  }
  command.json ? print_json(*place, !command.no_measure) : print_text(*place, !command.no_measure);
  return kDone;
}

}  // namespace

CommandAction make_target(Arguments& arguments) {
  auto command = std::make_shared<TargetCommand>();
  add_options(arguments, command->place);
  arguments.add("--device", command->device,
                "Describe a device elsewhere: ssh://user@host:port, exec:COMMAND or fleet:KEY");
  add_options(arguments, command->fleet);
  arguments.flag("--list", command->list, "List the processors that -mcpu knows, and the GPUs that -model knows");
  arguments.flag("--json", command->json, "Print JSON");
  arguments.flag("--no-measure", command->no_measure, "Print the detected properties and measure nothing");
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
