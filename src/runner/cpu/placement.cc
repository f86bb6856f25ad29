#include "runner/cpu/placement.h"

namespace whet {

bool has_room_for(const CpuPlacement& placement, std::uint32_t workers) {
  return placement.cores.empty() || placement.cores.size() >= workers;
}

}  // namespace whet
