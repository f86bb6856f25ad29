#pragma once

#include <optional>

#include "schedule/steps.h"

namespace whet {

/// An element DAG that reads a tensor across its rows: neighbours in the result lie far apart in the tensor.
struct TurnedRead {
  OpId tensor, reader;
  std::size_t along = 0;   ///< the axis of the result that goes along the tensor's rows
  std::size_t across = 0;  ///< the tensor's dimension that goes along the result's last axis
};
/// Nothing where no tensor is read so, or where a tile would not be filled.
std::optional<TurnedRead> find_turned_read(const ComputeDag&);

/// A block transposes a tile of kTurnedTile by kTurnedTile elements in block memory, so that loads and stores are both contiguous.
/// `s`: of the DAG, without a step.
void build_turned(Scheduler& s, const TurnedRead&);
constexpr std::int64_t kTurnedTile = 32;

}  // namespace whet
