#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compute/size.h"

namespace whet {

/// How many combinations the sizes have.
std::int64_t count_points(const std::vector<SizeRange>&);
/// All combinations where there are `most` or fewer; else each size's values with the others at their ends, and `seeded` combinations.
/// Ascending.
std::vector<SizeValues> points_to_read(const std::vector<SizeRange>&, std::int64_t most, std::int64_t seeded,
                                       std::uint64_t seed);

/// A part of the combinations, between values at which some neighbours differ in kind.
struct Cell {
  SizeBox box;
  std::optional<int> kind;  ///< of its points that were read; nothing: none was
  bool mixed = false;       ///< its points have several kinds
};
/// Cuts all combinations into cells, by the kinds of those that were read. Empty: there would be more than 4096.
std::vector<Cell> cells_of(const std::vector<SizeRange>&, const std::map<SizeValues, int>& kinds);
/// Joins boxes that have a side in common into larger ones.
std::vector<SizeBox> joined(const std::vector<SizeRange>&, std::vector<SizeBox>);

}  // namespace whet
