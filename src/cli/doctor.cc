// whet doctor: is this machine fit for measuring?

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "device/local/gpus.h"
#include "device/make_device.h"
#include "json/json.h"
#include "machine/detect.h"
#include "machine/fitness.h"
#include "measure/cpu/peak.h"
#include "workflow/fleet.h"
#include "workflow/opened.h"
#include "workflow/options.h"
#include "workflow/remote.h"

namespace whet {
namespace {

struct DoctorCommand {
  TargetOptions place;
  std::string device;
  FleetOptions fleet;
  bool json = false;
};

/// "load, speed": what was judged so.
std::string named(const std::vector<Finding>& findings, Finding::Verdict verdict) {
  std::string names;
  for (const Finding& f : findings)
    if (f.verdict == verdict) names += (names.empty() ? "" : ", ") + f.what;
  return names;
}

void print_text(const TargetOnCores& place, const std::vector<Finding>& findings) {
  fmt::print("{} · {}\n", to_string(place.target), cores_text(place.cores));
  if (!place.note.empty()) fmt::print("{}\n", place.note);
  Table table({{"", false}, {"Found", false}, {"Verdict", false}});
  for (const Finding& f : findings) table.add({f.what, f.found, name_of(f.verdict)});
  print(table);
  for (const Finding& f : findings)
    if (!f.advice.empty()) fmt::print("{}: {}\n", f.what, f.advice);
  const std::string bad = named(findings, Finding::Verdict::bad), beware = named(findings, Finding::Verdict::beware);
  if (!bad.empty())
    fmt::print("Not fit for measuring just now: {}\n", bad);
  else if (!beware.empty())
    fmt::print("Fit for measuring, with care: {}\n", beware);
  else
    fmt::print("Fit for measuring\n");
}

void print_json(const TargetOnCores& place, const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& f : findings)
    list.add(Json::object()
                 .set("what", f.what)
                 .set("verdict", name_of(f.verdict))
                 .set("found", f.found)
                 .set("advice", f.advice));
  Json out = Json::object();
  out.set("target", to_string(place.target)).set("cores", Json::array_of(place.cores.cpus)).set("findings", list);
  fmt::print("{}\n", dump(out, 2));
}

/// What is there of the GPUs that a target asks for.
std::vector<Finding> judge_gpus(const std::vector<LocalGpu>& gpus, const GpuTarget& wanted) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const LocalGpu& gpu = gpus[i];
    const bool fits = gpu.target == wanted;
    findings.push_back({fits ? Finding::Verdict::good : Finding::Verdict::beware, "cuda:" + std::to_string(i),
                        fmt::format("{}: sm_{}, {} SMs, {:.1f} GB", gpu.name, gpu.target.arch, gpu.target.sms,
                                    static_cast<double>(gpu.memory) / 1e9),
                        fits ? "" : fmt::format("the target is sm_{} with {} SMs", wanted.arch, wanted.sms)});
  }
  return findings;
}

/// What can be told of a device elsewhere without running anything there.
std::vector<Finding> judge_device(const DeviceDescription& device) {
  using Verdict = Finding::Verdict;
  std::vector<Finding> findings;
  const bool emulated = !device.emulator.empty();
  findings.push_back({emulated ? Verdict::bad : Verdict::good, "processor",
                      emulated ? device.emulator : "is not emulated", emulated ? "its times are no processor's" : ""});
  std::string governors;
  bool steady = true;
  for (const std::string& governor : device.governors) {
    governors += (governors.empty() ? "" : ", ") + governor;
    steady = steady && governor == "performance";
  }
  findings.push_back({steady ? Verdict::good : Verdict::beware, "governor",
                      governors.empty() ? "not reported" : governors,
                      steady ? "" : "clocks follow the load: set the governor performance on the device"});
  const bool limited = device.quota > 0;
  findings.push_back({limited ? Verdict::beware : Verdict::good, "quota",
                      limited ? fmt::format("{:.2f} processors", device.quota) : "none",
                      limited ? "kernels are stopped when the quota is used up" : ""});
  return findings;
}

Result<int> examine_device(const DoctorCommand& command, const DeviceName& name) {
  WHET_TRY(const DeviceDescription device, describe_device(name, command.fleet, tell_user));
  const Result<TargetOnCores> place = choose_target_there(command.place, device);
  if (!place.ok()) return wrong_use(place.error());
  const std::vector<Finding> findings = judge_device(device);
  command.json ? print_json(*place, findings) : print_text(*place, findings);
  return named(findings, Finding::Verdict::bad).empty() ? kDone : kFailed;
}

Result<int> run(const DoctorCommand& command) {
  const Result<DeviceName> device = parse_device_name(command.device);
  if (!device.ok()) return wrong_use(device.error());
  WHET_RETURN_IF_ERROR(check_fleet(command.fleet, device->kind == DeviceName::Kind::fleet));
  if (device->is_remote()) return examine_device(command, *device);
  const Result<TargetOnCores> place = choose_target(command.place, *device);
  if (!place.ok()) return wrong_use(place.error());
  WHET_RETURN_IF_ERROR(device_for(command.device, place->target));
  WHET_RETURN_IF_ERROR(has_device(place->target));
  if (place->target.is_gpu()) {
    WHET_TRY(const std::vector<LocalGpu> gpus, find_gpus());
    const std::vector<Finding> findings = judge_gpus(gpus, place->target.gpu());
    command.json ? print_json(*place, findings) : print_text(*place, findings);
    return std::ranges::count(findings, Finding::Verdict::good, &Finding::verdict) > 0 ? kDone : kFailed;
  }
  WHET_RETURN_IF_ERROR(can_run(place->target));
  Conditions conditions = read_conditions(place->cores.cpus);
  WHET_TRY(const PeakBurst burst, PeakBurst::compile(place->target));
  watch(conditions, [&] { return burst.measure(place->cores.cpus); });
  const std::vector<Finding> findings = judge(conditions);
  command.json ? print_json(*place, findings) : print_text(*place, findings);
  return named(findings, Finding::Verdict::bad).empty() ? kDone : kFailed;
}

}  // namespace

CommandAction make_doctor(Arguments& arguments) {
  auto command = std::make_shared<DoctorCommand>();
  add_options(arguments, command->place);
  arguments.add("--device", command->device,
                "Look at a device elsewhere: ssh://user@host:port, exec:COMMAND or fleet:KEY");
  add_options(arguments, command->fleet);
  arguments.flag("--json", command->json, "Print JSON");
  return [command] { return run(*command); };
}

}  // namespace whet
