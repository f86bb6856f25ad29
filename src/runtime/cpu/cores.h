#pragma once

#include <cstdint>

namespace whet {

constexpr std::uint32_t kMaxCores = 1024;

/// What this process may use, as the runtime needs to know it. (The tools' own view is the room `machine`.)
struct UsableCores {
  std::uint32_t count = 0;
  std::uint32_t core[kMaxCores];  ///< one a physical core of the big kind, ascending; the first `count` are set
  std::uint32_t allowed = 0;      ///< logical cores of every kind in the affinity mask
  double quota = 0;               ///< CPUs' worth of time that a cgroup grants; 0: no limit
};

/// Reads affinity mask, topology and cgroup limits.
void find_usable_cores(UsableCores* cores);

/// The list of core numbers in the kernel's notation ("0-3,8"): writes up to `capacity` numbers, gives how many there
/// are.
std::uint32_t parse_core_list(const char* text, std::uint32_t* numbers, std::uint32_t capacity);
/// The limit in a cgroup v2 `cpu.max` ("200000 100000", "max 100000") in CPUs; 0 for none.
double parse_cpu_max(const char* text);

}  // namespace whet
