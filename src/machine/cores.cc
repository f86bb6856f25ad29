#include "machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/nearest.h"

namespace whet {
namespace {

/// Restricts the calling thread to `cpus`.
bool set_mask(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// One logical processor a physical core, of the kind wanted, that is allowed.
std::vector<int> physical_cores(const std::vector<LogicalCpu>& machine, const std::vector<int>& allowed,
                                CoreKind kind) {
  std::vector<int> cpus;
  std::set<std::pair<int, int>> taken;
  for (const LogicalCpu& cpu : machine) {
    const bool may = std::find(allowed.begin(), allowed.end(), cpu.id) != allowed.end();
    const CoreKind its = cpu.little ? CoreKind::little : cpu.prime ? CoreKind::prime : CoreKind::big;
    if (may && its == kind && taken.insert({cpu.package, cpu.core}).second) cpus.push_back(cpu.id);
  }
  return cpus;
}

/// Whole processors that a quota keeps busy, at least one.
std::size_t cores_within(double quota) { return std::max<std::size_t>(1, static_cast<std::size_t>(quota + 1e-6)); }

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool pin_this_thread(int cpu) { return set_mask({cpu}); }

ScopedPin::ScopedPin(int cpu) : before_(allowed_cpus()) { pin_this_thread(cpu); }
ScopedPin::~ScopedPin() { set_mask(before_); }

Result<Cores> choose_cores(std::string_view wanted, int threads, const std::vector<LogicalCpu>& machine,
                           const std::vector<int>& allowed, double quota) {
  Cores cores;
  cores.quota = quota;
  cores.mixed = std::any_of(machine.begin(), machine.end(), [](const LogicalCpu& cpu) { return cpu.little; });
  const std::string text(wanted);
  const std::optional<CoreKind> wanted_kind = text.empty() ? CoreKind::big : parse_core_kind(text);
  const bool by_kind = wanted_kind.has_value();
  if (by_kind) {
    // An affinity mask may leave cores of other kinds alone.
    for (const CoreKind kind : {*wanted_kind, CoreKind::prime, CoreKind::little}) {
      if (!cores.cpus.empty() || (!text.empty() && kind != *wanted_kind)) continue;
      cores.kind = kind;
      cores.cpus = physical_cores(machine, allowed, kind);
    }
    if (cores.cpus.empty() && text.empty()) cores.cpus = {allowed.front()};
    if (cores.cpus.empty()) return Error{"--cores " + text + ": this process may use no " + text + " core"};
  } else {
    cores.cpus = parse_cpu_list(text);
    if (cores.cpus.empty()) {
      return Error{"--cores is \"" + text + "\"; expected big, little, prime or processors like 0-3" +
                   did_you_mean(text, {"big", "little", "prime"})};
    }
    for (int cpu : cores.cpus) {
      if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
        return Error{
            "--cores names processor " + std::to_string(cpu) + "; this process may use " + cpu_list_text(allowed),
            ErrorKind::wrong_use};
    }
  }
  if (threads < 0 || threads > kMaxThreads)
    return Error{
        "--threads is " + std::to_string(threads) + "; expected a number from 1 to " + std::to_string(kMaxThreads),
        ErrorKind::wrong_use};
  if (threads > static_cast<int>(cores.cpus.size())) {
    return Error{"--threads is " + std::to_string(threads) + ", but there " +
                     std::string(for_count(std::ssize(cores.cpus), "is ", "are ")) +
                     counted(std::ssize(cores.cpus), "usable core") + " (" + cpu_list_text(cores.cpus) + ")",
                 ErrorKind::wrong_use};
  }
  std::size_t count = cores.cpus.size();
  if (threads > 0)
    count = static_cast<std::size_t>(threads);
  else if (by_kind && quota > 0)
    count = std::min(count, cores_within(quota));
  cores.cpus.resize(count);
  return cores;
}

Result<Cores> choose_cores(std::string_view cores, int threads) {
  return choose_cores(cores, threads, read_topology(), allowed_cpus(), cgroup_quota());
}

Cores usable_cores() { return *choose_cores("", 0); }

}  // namespace whet
