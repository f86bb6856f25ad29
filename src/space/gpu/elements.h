#pragma once

#include "space/space.h"

namespace whet {

/// The template of DAGs without reductions: each op that is not inlined is a launch, a few elements a thread.
///   vector   elements along the last axis that a thread reads and writes at once
///   each     vectors of a thread; neighbouring threads have neighbouring vectors in each of them
///   threads  of a block
///   across   side of a tile that a block transposes in block memory, where a tensor is read across its rows
/// Empty where an op reduces.
std::optional<Sketch> elements_sketch(const ComputeDag&, const Target&);

struct ElementShares {
  std::int64_t vector, each, threads;
};
/// One launch for an op. A share that does not divide its axis is not used: then there is no vector, or one vector a thread.
void launch_elements(Scheduler&, OpId, const ElementShares&);

}  // namespace whet
