#include "runner/cpu/placement.h"

namespace whet {

void pack(Packer& p, const CpuPlacement& placement) {
  p.u64(placement.cores.size());
  for (const std::uint32_t core : placement.cores) p.u32(core);
  p.u8(placement.no_pin);
}

CpuPlacement unpack_cpu_placement(Unpacker& u) {
  CpuPlacement placement;
  for (std::size_t n = u.count(4); n > 0; --n) placement.cores.push_back(u.u32());
  placement.no_pin = u.u8() != 0;
  return placement;
}

bool has_room_for(const CpuPlacement& placement, std::uint32_t workers) {
  return placement.cores.empty() || placement.cores.size() >= workers;
}

}  // namespace whet
