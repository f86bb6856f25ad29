#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "graph/graph.h"
#include "passes/fuse.h"

namespace whet {

/// A value that its kernel writes where it belongs in a larger one.
struct PartOf {
  ValueId whole;
  Shape shape;               ///< of the whole; empty where the part is contiguous in it
  std::uint64_t offset = 0;  ///< of the part's first element [bytes]
};

/// Concatenations that no kernel has to copy.
struct InPlace {
  std::map<ValueId, PartOf> parts;
  std::vector<bool> done;  ///< by group: a concatenation of parts, which needs no kernel

  /// The shape of the tensor that the group's only output is a part of; empty where the kernel writes a whole tensor.
  Shape within(const Group&) const;
};

/// Finds the concatenations that are written in place, for one choice of groups and layouts.
///   layouts  one a group: the shape in which the group's kernel sees its first output
/// A concatenation is in place when each of its operands is what one kernel computes, in the operand's own shape, for
/// the concatenation alone, begins on a cache line of the whole, and either is contiguous there or lies along its last
/// axis (then the operand is the only output of its kernel); and when the whole is no output of the graph under its own
/// name.
InPlace find_in_place(const Graph&, const std::vector<Group>& groups, const std::vector<Shape>& layouts);

}  // namespace whet
