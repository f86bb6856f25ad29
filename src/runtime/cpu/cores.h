#pragma once

#include <stdlib.h>

#include <cstdint>

namespace whet {

constexpr std::uint32_t kMaxCores = 1024;

/// The cores that this process may use, in the form that the runtime needs. (The room `machine` has the tools' view.)
struct UsableCores {
  std::uint32_t count = 0;
  std::uint32_t core[kMaxCores];  ///< one a physical core of the big kind, ascending; the first `count` are set
  long strength[kMaxCores];       ///< of these, as the system grades them; 0 where it does not
  std::uint32_t allowed = 0;      ///< logical cores of every kind in the affinity mask
  double quota = 0;               ///< CPUs' worth of time that a cgroup grants; 0: no limit
};

/// Reads affinity mask, topology and cgroup limits.
void find_usable_cores(UsableCores* cores);

/// Calls each(core) for the numbers below kMaxCores of a list in the kernel's notation ("0-3,8").
template <typename Each>
void for_each_core(const char* text, Each each) {
  while (*text >= '0' && *text <= '9') {
    char* end;
    const unsigned long first = strtoul(text, &end, 10);
    unsigned long last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    for (unsigned long core = first; core <= last && core < kMaxCores; ++core) each(static_cast<std::uint32_t>(core));
    text = *end == ',' ? end + 1 : end;
  }
}
/// The limit in a cgroup v2 `cpu.max` ("200000 100000", "max 100000"), in CPUs; 0: no limit.
double parse_cpu_max(const char* text);

}  // namespace whet
