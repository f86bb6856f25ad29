#pragma once

#include <map>
#include <vector>

#include "passes/fuse.h"
#include "task/task.h"

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
};

/// A concatenation is in place when each of its operands is what one kernel computes, in the operand's own shape, for
/// the concatenation alone, begins on a cache line of the whole, and either is contiguous there or lies along its last
/// axis; and when the whole is no output of the graph under its own name.
InPlace find_in_place(const FusedGraph&, const std::vector<Task>&);

/// The tasks of a model that kernels run: all but concatenations in place. Numbers of tasks count these.
Result<std::vector<Task>> kernel_tasks(const FusedGraph&, const Target&);

/// Tasks as kernels: groups that write into wholes of different shapes part, those that are done go.
struct PlacedTasks {
  std::vector<Task> tasks;
  std::vector<Shape> within;  ///< one a task: the whole that its output is a part of; empty where it is whole itself
};
PlacedTasks placed(const FusedGraph&, const std::vector<Task>&, const InPlace&);

}  // namespace whet
