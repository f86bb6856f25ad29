#pragma once

#include <cstdint>

namespace whet {

constexpr std::uint32_t kMaxCores = 1024;

/// The cores that this process may use, in the form that the runtime needs. (The room `machine` has the tools' view.)
struct UsableCores {
  std::uint32_t count = 0;
  std::uint32_t core[kMaxCores];  ///< one a physical core of the big kind, ascending; the first `count` are set
  std::uint32_t allowed = 0;      ///< logical cores of every kind in the affinity mask
  double quota = 0;               ///< CPUs' worth of time that a cgroup grants; 0: no limit
};

/// Reads affinity mask, topology and cgroup limits.
void find_usable_cores(UsableCores* cores);

/// Parses a list of core numbers in the kernel's notation ("0-3,8"): writes up to `capacity` numbers and returns their
/// count.
std::uint32_t parse_core_list(const char* text, std::uint32_t* numbers, std::uint32_t capacity);
/// The limit in a cgroup v2 `cpu.max` ("200000 100000", "max 100000"), in CPUs; 0: no limit.
double parse_cpu_max(const char* text);

}  // namespace whet
