#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// What a task is mostly about: its convolutions and products, or where it has none its largest reduction. Schedules of tasks
/// with equal kinds may be fitted to each other.
struct Anchor {
  /// Family, dtypes, reducer and roles of the axes of each op, in the order in which they run:
  /// "conv f32(f32,f32)+= batch,row,column,out_channel; in_channel,tap,tap", several joined by " > ". Stored in record bases.
  std::string kind;
  std::vector<std::int64_t> extents;  ///< of the axes, in the order in which `kind` names them
  std::int64_t stride = 1;            ///< the largest step of a window
  bool padded = false;                ///< it reads what was padded
  std::uint64_t structure =
      0;  ///< of the whole task (its key without extents): tasks of one structure have the same epilogue
  friend auto operator<=>(const Anchor&, const Anchor&) = default;
};

/// Nothing for a task without a reduction: there is nothing to learn, since all its schedules wait for memory.
std::optional<Anchor> anchor_of(const ComputeDag&);

/// How far tasks are apart: Σ |log2| of the ratios of their extents, 2 |log2| of their strides' ratio, 0.5 for padding, 0.25 for
/// another structure. Infinity for other kinds.
double anchor_distance(const Anchor&, const Anchor&);

/// "conv 1x56x56x64 of 3x3x64, stride 2", for people.
std::string describe(const Anchor&);

}  // namespace whet
