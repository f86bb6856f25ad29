#include "codegen/machine_loops.h"

#include <algorithm>

namespace whet {

std::vector<MachineLoop> main_loops(std::vector<MachineLoop> innermost) {
  std::int64_t most = 1;
  for (const MachineLoop& loop : innermost) most = std::max(most, loop.multiply_adds);
  std::erase_if(innermost, [&](const MachineLoop& loop) { return 2 * loop.multiply_adds < most; });
  return innermost;
}

}  // namespace whet
