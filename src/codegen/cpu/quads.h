#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "codegen/cpu/analysis.h"

namespace whet {

/// Four neighbouring scalars in memory that one load brings, and that products take by lane.
struct Quad {
  BufferId buffer;
  Linear first;  ///< the index of the first one
};
/// The lane of a quad that a load of a scalar becomes.
struct QuadLane {
  std::size_t quad = 0;  ///< its number
  int lane = 0;
};
struct Quads {
  std::vector<Quad> all;
  std::unordered_map<ExprRef, QuadLane> lanes;  ///< by the load of the scalar
};

/// The quads of stores that run one after the other, all of them or none. Each of the four scalars is an f32 that the stores
/// read in any case, that is only broadcast to vectors, and that none of them changes; so a quad reads nothing that is
/// not read without it. None where the quads, the stores' accumulators and their other vectors would need more than
/// `registers` of four lanes.
Quads find_quads(const std::vector<const Store*>& run, Analysis&, const Program&, std::int64_t registers);

}  // namespace whet
