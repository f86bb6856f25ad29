#include "workflow/remote.h"

#include <fmt/format.h>

#include <algorithm>

#include "board/embedded.h"
#include "device/remote/ssh.h"
#include "fleet/fleet_device.h"
#include "machine/detect.h"
#include "machine/processor.h"

namespace whet {
namespace {

std::vector<PushedProgram> programs() {
  std::vector<PushedProgram> all;
  for (const BoardProgram& program : board_programs())
    if (!program.bytes.empty()) all.push_back({std::string(program.machine), std::string(program.hash), program.bytes});
  return all;
}

/// Copies the file for the machine that the error names.
Status bring_program(const DeviceName& name, const Error& error, const ConnectOptions& connect) {
  const std::string machine = missing_machine(error);
  for (const PushedProgram& program : programs()) {
    if (program.machine != machine) continue;
    WHET_RETURN_IF_ERROR(push_over_ssh(name, program, connect.interrupted));
    tell(connect.tell, fmt::format("{}: whet-device for {} ({} KB) was copied there", to_string(name), machine,
                                   program.bytes.size() / 1000));
    return ok_status();
  }
  return error;
}

Isa isa_of(const DeviceDescription& device) { return device.machine == "aarch64" ? Isa::aarch64 : Isa::x86_64; }

IsaSet features_of(const DeviceDescription& device) {
  IsaSet features = 0;
  for (const std::string& name : device.features)
    if (const int bit = isa_bit(name.c_str(), name.size()); bit >= 0) features |= IsaSet{1} << bit;
  return features;
}

std::vector<LogicalCpu> cores_there(const DeviceDescription& device) {
  std::vector<LogicalCpu> cores;
  for (const DeviceCore& core : device.cores)
    cores.push_back({static_cast<int>(core.id), static_cast<int>(core.package), static_cast<int>(core.core),
                     core.strength, core.little, false, core.midr});
  mark_clusters(cores);
  return cores;
}

std::vector<int> usable_there(const DeviceDescription& device) {
  std::vector<int> usable;
  for (const DeviceCore& core : device.cores)
    if (core.usable) usable.push_back(static_cast<int>(core.id));
  return usable;
}

std::string processor_of(const DeviceDescription& device, int cpu) {
  if (!device.processor.empty()) return device.processor;
  const auto core = std::ranges::find(device.cores, static_cast<std::uint32_t>(cpu), &DeviceCore::id);
  return arm_name(core == device.cores.end() ? 0 : core->midr);
}

/// The processor of all these cores.
Result<std::string> one_processor(const DeviceDescription& device, const std::vector<int>& cpus) {
  const std::string first = processor_of(device, cpus.front());
  for (const int cpu : cpus)
    if (const std::string other = processor_of(device, cpu); other != first)
      return Error{fmt::format("{}: core {} is a {} and core {} a {}; name cores of one kind, as in --cores big",
                               device.name, cpus.front(), first, cpu, other)};
  return first;
}

bool has(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// `text` with the device's processor where it names none.
std::string with_processor(std::string text, const std::string& processor) {
  constexpr std::string_view kNative = "-mcpu=native";
  if (text.empty()) text = "cpu";
  if (const std::size_t at = text.find(kNative); at != std::string::npos)
    text.replace(at, kNative.size(), "-mcpu=" + processor);
  return has(text, "-mcpu") ? text : text + " -mcpu=" + processor;
}

std::string joined(const std::vector<std::string>& words, const char* none) {
  return words.empty() ? none : fmt::format("{}", fmt::join(words, ", "));
}

std::string processors_text(const DeviceDescription& device) {
  std::vector<std::string> names;
  for (const int cpu : usable_there(device))
    if (std::string name = processor_of(device, cpu); std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  return joined(names, "no usable core");
}

}  // namespace

Result<std::unique_ptr<RemoteDevice>> connect_device(const DeviceName& name, const ConnectOptions& connect) {
  RemoteOptions options;
  options.has_peers = connect.has_peers;
  options.address = to_string(name);
  options.run_timeout = connect.run_timeout;
  options.interrupted = connect.interrupted;
  options.tell = connect.tell;
  if (name.kind == DeviceName::Kind::exec) {
    options.argv = {"sh", "-c", name.command};
  } else {
    options.argv = ssh_command(name, programs());
    options.push = [name, connect](const Error& error) { return bring_program(name, error, connect); };
  }
  return RemoteDevice::connect(std::move(options));
}

Result<std::shared_ptr<ModelHost>> connect_models(const DeviceName& name, const FleetOptions& fleet,
                                                  const ConnectOptions& connect) {
  if (name.kind != DeviceName::Kind::fleet) {
    WHET_TRY(std::unique_ptr<RemoteDevice> device, connect_device(name, connect));
    return std::shared_ptr<ModelHost>(std::move(device));
  }
  FleetDeviceOptions options;
  WHET_TRY(options.queue, open_fleet(fleet, connect.tell));
  options.key = name.key;
  options.interrupted = connect.interrupted;
  WHET_TRY(const std::vector<FleetUnit> units, units_of(*options.queue, name.key));
  // Any unit may run them: one that an emulator runs speaks for all.
  const auto emulated =
      std::ranges::find_if(units, [](const FleetUnit& unit) { return !unit.presence.device.emulator.empty(); });
  const FleetUnit& unit = emulated == units.end() ? units.front() : *emulated;
  return std::shared_ptr<ModelHost>(std::make_shared<FleetDevice>(std::move(options), unit.presence.device, Target()));
}

Result<DeviceDescription> describe_device(const DeviceName& name, const FleetOptions& fleet, const Tell& tell) {
  if (name.kind == DeviceName::Kind::fleet) {
    WHET_TRY(const std::shared_ptr<FleetQueue> queue, open_fleet(fleet));
    WHET_TRY(const std::vector<FleetUnit> units, units_of(*queue, name.key));
    return units.front().presence.device;
  }
  WHET_TRY(const std::unique_ptr<RemoteDevice> device, connect_device(name, {.tell = tell}));
  return device->description();
}

Result<TargetOnCores> choose_target_there(const TargetOptions& options, const DeviceDescription& device) {
  if (!options.target.empty() && !options.target.starts_with("cpu"))
    return Error{"--target is \"" + options.target + "\"; " + device.name + " runs code for its processor alone"};
  const std::vector<int> usable = usable_there(device);
  if (usable.empty()) return Error{device.name + " has no core that whet-device may use"};
  TargetOnCores place;
  WHET_TRY(const Target asked, parse_target(with_processor(options.target, processor_of(device, usable.front()))));
  int threads = options.threads;
  if (threads == 0 && has(options.target, "-threads")) threads = asked.threads;
  std::string cores = options.cores;
  if (cores.empty() && has(options.target, "-cores")) cores = name_of(asked.cpu().cores);
  Result<Cores> chosen = choose_cores(cores, threads, cores_there(device), usable, device.quota);
  if (!chosen.ok()) return chosen.error().at(device.name);
  place.cores = std::move(*chosen);
  WHET_TRY(const std::string processor, one_processor(device, place.cores.cpus));
  WHET_TRY(place.target, parse_target(with_processor(options.target, processor)));
  CpuTarget& cpu = place.target.cpu();
  if (cpu.mcpu == processor && !cpu.caches_given) {
    if (device.l1_bytes > 0) cpu.l1_bytes = device.l1_bytes;
    if (device.l2_bytes > 0) cpu.l2_bytes = device.l2_bytes;
    if (device.l3_bytes > 0) cpu.l3_bytes = device.l3_bytes;
  }
  place.target.threads = static_cast<int>(place.cores.cpus.size());
  cpu.cores = place.cores.kind;
  WHET_RETURN_IF_ERROR(can_run(place.target, isa_of(device), features_of(device), device.name));
  return place;
}

Result<Cores> choose_cores_there(const TargetOptions& options, const DeviceDescription& device) {
  if (options.threads == 0 && options.cores.empty()) return Cores();
  Result<Cores> chosen =
      choose_cores(options.cores, options.threads, cores_there(device), usable_there(device), device.quota);
  if (!chosen.ok()) return chosen.error().at(device.name);
  return chosen;
}

std::string why_emulated(const DeviceDescription& device) {
  if (device.emulator.empty()) return "";
  return device.name + " is emulated by " + device.emulator +
         ": its times are no processor's; --allow-emulated takes it";
}

std::string device_text(const DeviceDescription& device) {
  return fmt::format("{} · {} · {}", device.name, processors_text(device), device.system);
}

std::string device_lines(const DeviceDescription& device) {
  const std::string quota = device.quota > 0 ? fmt::format("cgroup quota {:.2f}", device.quota) : "no cgroup quota";
  std::string lines = fmt::format("  device      {} ({}, unit {})\n", device.name, device.system, device.unit);
  lines += fmt::format("  processor   {}{}\n", processors_text(device),
                       device.brand.empty() ? "" : " (" + device.brand + ")");
  lines += fmt::format("  memory      {:.1f} GB, pages of {} KiB\n", static_cast<double>(device.memory_bytes) / 1e9,
                       device.page_bytes >> 10);
  lines += fmt::format("  cores       {} usable of {}; governor {}; {}\n", usable_there(device).size(),
                       device.cores.size(), joined(device.governors, "not reported"), quota);
  lines += fmt::format("  sandbox     {}\n", joined(device.sandbox, "none: kernels run as the user of whet-device"));
  if (!device.emulator.empty()) lines += fmt::format("  emulated    by {}: its times mean nothing\n", device.emulator);
  return lines;
}

Json to_json(const DeviceDescription& device) {
  Json cores = Json::array();
  for (const DeviceCore& core : device.cores)
    cores.add(Json::object()
                  .set("id", static_cast<std::int64_t>(core.id))
                  .set("processor", processor_of(device, static_cast<int>(core.id)))
                  .set("little", core.little)
                  .set("usable", core.usable));
  return Json::object()
      .set("name", device.name)
      .set("unit", device.unit)
      .set("machine", device.machine)
      .set("system", device.system)
      .set("memory_bytes", device.memory_bytes)
      .set("page_bytes", device.page_bytes)
      .set("quota", device.quota)
      .set("emulator", device.emulator)
      .set("governors", Json::array_of(device.governors))
      .set("sandbox", Json::array_of(device.sandbox))
      .set("cores", cores);
}

}  // namespace whet
