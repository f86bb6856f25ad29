#pragma once

#include <cstdint>
#include <vector>

#include "base/message.h"

namespace whet {

/// Where the workers of a CPU run.
struct CpuPlacement {
  std::vector<std::uint32_t> cores;  ///< one a worker at least, the first worker's first; empty: chosen
  bool no_pin = false;               ///< the system moves the workers as it likes
  friend bool operator==(const CpuPlacement&, const CpuPlacement&) = default;
};

template <>
inline constexpr auto kRow<CpuPlacement> = row<&CpuPlacement::cores, &CpuPlacement::no_pin>;

/// Whether `workers` workers can be placed.
bool has_room_for(const CpuPlacement&, std::uint32_t workers);

}  // namespace whet
