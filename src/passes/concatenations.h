#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Loops over the rows of a tensor are exported as one copy of it after another, each with another row replaced:
///   o1 = concat(slice(o0, [0, a)), row, slice(o0, [b, n))), o2 = concat(slice(o1, ...), ...), ...
/// What is read of such a chain of kFewestWrites or more becomes one concatenation of the rows, and of what is left of
/// o0. A row that is read again on the way is the row itself.
Result<Graph> join_written_parts(const Graph&);

/// Shorter chains stay: one kernel computes them.
constexpr int kFewestWrites = 8;

/// A concatenation of more than kMostParts (fuse.h) becomes one of concatenations.
Result<Graph> split_long_concats(const Graph&);

}  // namespace whet
