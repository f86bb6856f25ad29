#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Nodes that become one kernel.
struct Group {
  std::vector<NodeId> nodes;     ///< in topological order
  std::vector<ValueId> inputs;   ///< what the nodes read from outside, each once, in order of first use; no literals
  std::vector<ValueId> outputs;  ///< what others, or the user, read of it: one value
};

/// The graph and its groups in execution order. A node in no group is an alias (alias_offset): its value is some bytes
/// of its input's under another shape.
struct FusedGraph {
  Graph graph;
  std::vector<Group> groups;
};

/// Puts every node but lone aliases into one group, by classes of operators (operator_class.h), never by names:
///   - elementwise operators join the convolution, matmul, window, reduction or softmax that computes their operand,
///   when
///     nothing outside the group reads that operand and the shapes are equal; other operands become inputs;
///   - elementwise and injective operators join each other into one kernel, unless an element would be computed anew
///   for
///     each of many places (before an expand or a broadcast);
///   - elementwise operators join the reduction, softmax or non-overlapping window that reads them; paddings join their
///     consumer, and so do a slice of what others read as well, the transpose of a picture of a few channels, and the
///     product with a scale of channels before a narrow 1x1 convolution; nothing else is computed inside a convolution
///     or matmul's loops;
///   - reductions over the same trailing dimensions (rows) of the same shape, with the elementwise operators between
///     them, are one group: layer normalization, however it is written;
///   - at most one anchor (or window, or softmax) a group, and one output; but an attention (attention.h) is one group,
///     and so is a squeeze-and-excite (squeeze_excite.h).
/// `enabled` = false: one group a node.
Result<FusedGraph> fuse(Graph, bool enabled = true);

/// A constant that operators of the group write into their expressions: one element, read by elementwise operators
/// alone.
bool is_literal(const Graph&, const std::vector<NodeId>& group_nodes, ValueId);

/// How many bytes behind its input's first one the value of an alias begins: a reshape, or a slice that is one range of
/// whole cache lines. Nothing for any other node.
std::optional<std::uint64_t> alias_offset(const Graph&, const Node&);

/// One group a line: `conv+add+relu (x, w, b) -> y f32[1x56x56x64]`.
std::string to_text(const FusedGraph&);

}  // namespace whet
