#include "board/describe.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "artifact/cpu/isa.h"
#include "base/hash.h"
#include "device/protocol/bounds.h"
#include "machine/cores.h"
#include "machine/processor.h"
#include "machine/system_files.h"
#include "machine/topology.h"
#include "target/cpu_isa.h"

namespace whet {
namespace {

constexpr const char* kCpuSlot = "cpu";
constexpr std::size_t kLongestName = 200;

std::string unit_of(const std::string& name) {
  // Boards without a machine's id are told apart by their names.
  const std::string machine = read_line("/etc/machine-id").value_or(name);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash_bytes(kCpuSlot, hash_bytes(machine))));
  return digits;
}

std::vector<std::string> names_of(IsaSet features) {
  std::vector<std::string> names;
  for (int bit = 0; bit < kIsaCount; ++bit)
    if ((features >> bit & 1) != 0) names.emplace_back(kIsaTable[bit].name);
  return names;
}

/// Which processor a core is, by its MIDR; 0 where the system does not tell.
std::uint32_t midr_of(int cpu) {
#if defined(__aarch64__)
  const std::string path = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/regs/identification/midr_el1";
  if (const auto text = read_line(path)) {
    std::uint64_t midr = 0;  // "0x00000000410fd083"
    const char* const end = text->data() + text->size();
    if (text->starts_with("0x") && std::from_chars(text->data() + 2, end, midr, 16).ec == std::errc())
      return static_cast<std::uint32_t>(midr);
  }
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return 0;
  const ScopedPin pin(cpu);
  std::uint64_t midr = 0;
  asm("mrs %0, midr_el1" : "=r"(midr));
  return static_cast<std::uint32_t>(midr);
#else
  (void)cpu;
  return 0;
#endif
}

std::vector<DeviceCore> read_cores() {
  const std::vector<int> allowed = allowed_cpus();
  const auto is_allowed = [&](int cpu) { return std::ranges::find(allowed, cpu) != allowed.end(); };
  std::vector<DeviceCore> cores;
  for (const LogicalCpu& cpu : read_topology()) {
    DeviceCore core{static_cast<std::uint32_t>(cpu.id), static_cast<std::uint32_t>(cpu.package),
                    static_cast<std::uint32_t>(cpu.core), cpu.strength, cpu.little};
    core.usable = is_allowed(cpu.id);
    if (core.usable) core.midr = midr_of(cpu.id);
    cores.push_back(core);
  }
  if (cores.empty())  // a container without /sys
    for (const int cpu : allowed)
      cores.push_back(
          {static_cast<std::uint32_t>(cpu), 0, static_cast<std::uint32_t>(cpu), 0, false, true, midr_of(cpu)});
  return cores;
}

std::vector<std::string> governors_of(const std::vector<DeviceCore>& cores) {
  std::vector<std::string> governors;
  for (const DeviceCore& core : cores) {
    const auto governor =
        read_line("/sys/devices/system/cpu/cpu" + std::to_string(core.id) + "/cpufreq/scaling_governor");
    if (core.usable && governor && std::ranges::find(governors, *governor) == governors.end())
      governors.push_back(printable(*governor, kLongestName));
  }
  return governors;
}

using FileIdentity = std::pair<dev_t, ino_t>;
/// By opening the file: emulators answer that with the program's own file.
std::optional<FileIdentity> file_at(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat found{};
  const bool known = fstat(file, &found) == 0;
  close(file);
  return known ? std::optional(FileIdentity{found.st_dev, found.st_ino}) : std::nullopt;
}

}  // namespace

DeviceDescription describe_board() {
  DeviceDescription board;
  char name[256] = {};
  board.name = gethostname(name, sizeof name - 1) == 0 && *name != '\0' ? printable(name, kLongestName) : "unknown";
  board.unit = unit_of(board.name);
  board.slot = kCpuSlot;
  utsname system{};
  uname(&system);
  board.machine = printable(system.machine, kLongestName);
  board.system = printable(std::string(system.sysname) + " " + system.release, kLongestName);
#if defined(__aarch64__)
  board.machine = "aarch64";  // what this program is for; under some emulators uname tells of the host
#endif
  const Processor processor = read_processor();
  board.brand = printable(processor.brand, kLongestName);
  board.features = names_of(host_isa());
#if defined(__x86_64__)
  board.processor = llvm_name(processor);
#endif
  board.page_bytes = sysconf(_SC_PAGESIZE);
  board.memory_bytes = sysconf(_SC_PHYS_PAGES) * board.page_bytes;
  if (const std::int64_t granted = cgroup_memory(); granted > 0)
    board.memory_bytes = std::min(board.memory_bytes, granted);
  board.cores = read_cores();
  const auto first = std::ranges::find_if(board.cores, &DeviceCore::usable);
  const CacheSizes caches = read_caches(first == board.cores.end() ? 0 : static_cast<int>(first->id));
  board.l1_bytes = caches.l1_bytes;
  board.l2_bytes = caches.l2_bytes;
  board.l3_bytes = caches.l3_bytes;
  board.quota = cgroup_quota();
  board.governors = governors_of(board.cores);
  const auto usable = std::ranges::count_if(board.cores, &DeviceCore::usable);
  board.limits.threads = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(1, usable));
  return board;
}

std::string emulator_of_this_program(pid_t other) {
  const std::string of_other = "/proc/" + std::to_string(other) + "/exe";
  const auto own = file_at("/proc/self/exe"), seen = file_at(of_other);
  if (!own || !seen || *own == *seen) return "";
  char path[512] = {};
  if (readlink(of_other.c_str(), path, sizeof path - 1) <= 0) return "an emulator";
  const std::string file = path;
  return printable(file.substr(file.rfind('/') + 1), kLongestName);
}

}  // namespace whet
