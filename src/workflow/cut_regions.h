#pragma once

#include <cstddef>
#include <vector>

#include "compute/size.h"
#include "tensor/shape.h"
#include "transfer/across_sizes.h"

namespace whet {

/// Points at which every task has one kernel, and the values of the sizes for which they stand.
struct SizeRegion {
  std::vector<std::size_t> points;  ///< their numbers
  SizeBox box;                      ///< 0 and kLargestSize where it is not cut
};

/// Cuts points into regions, at each of which every task has one kernel, so that all together take the least time: slabs along one size,
/// each perhaps cut along another one. Of these exactly the best, by dynamic programming. At most `most` regions; one more only where it
/// saves `worth` of the seconds that there are with one less.
///   tasks  [kernel][point] of each, at least one kernel
///   at     the points, at least one
///   along  the sizes along which may be cut
std::vector<SizeRegion> cut_regions(const std::vector<ExpectedSeconds>& tasks, const std::vector<SizeValues>& at,
                                    const std::vector<std::size_t>& along, std::size_t most, double worth);

}  // namespace whet
