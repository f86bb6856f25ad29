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
  std::vector<ValueId> inputs;   ///< values read from outside the group, each once, in order of first use; no literals
  std::vector<ValueId> outputs;  ///< values that other groups or the user read: one
};

/// The graph and its groups in execution order. A node in no group is an alias (alias_offset): its value is a range of
/// its input's bytes under another shape.
struct FusedGraph {
  Graph graph;
  std::vector<Group> groups;
};

/// Elementwise operators of a kernel, and operands of all of its operators, constants included. The time to make a kernel
/// grows with the cube of its length: a chain of 128 takes some tenths of a second, one of 256 some seconds. A longer
/// chain is cut into kernels of this length, which are one task.
constexpr std::size_t kMostMapped = 128, kMostOperands = 512;
/// Of a concatenation: each of its elements is chosen among all of them.
constexpr std::size_t kMostParts = 128;

struct FuseOptions {
  bool enabled = true;  ///< off: each node is a group of its own
  /// A convolution of single pixels in 16 bits also computes what it reads, where a scale, a shift and a relu of a stored activation
  /// would be a kernel of their own: GPUs compute it on the way into block memory.
  bool computes_operands = false;
};

/// Puts every node except lone aliases into one group, by classes of operators (operator_class.h), never by names:
///   - elementwise operators join the convolution, matmul, window, reduction or softmax that computes their operand,
///     when nothing outside the group reads that operand and the shapes are equal; other operands become inputs;
///   - elementwise and injective operators join each other into one kernel, unless an element would be computed anew
///     for each of many places (before an expand or a broadcast);
///   - elementwise operators join the reduction, softmax or non-overlapping window that reads them;
///   - paddings join their consumer, unless they add channels (pad_pictures.h), and so do a slice of a value that others
///     read as well, the transpose of a picture of a few channels, and the product with a scale of channels before a
///     narrow 1x1 convolution; nothing else is computed inside a convolution's or matmul's loops, unless `computes_operands`;
///   - reductions over the same trailing dimensions (rows) of the same shape, with the elementwise operators between
///     them, are one group: layer normalization, in any form;
///   - a group has at most one anchor (or window, or softmax), and one output; but an attention (attention.h) is one
///     group, and so is a squeeze-and-excite (squeeze_excite.h);
///   - a group has at most kMostMapped elementwise operators, and its operators kMostOperands operands in all.
/// `steps`: how many nodes were looked at, each time anew, which is in proportion to the graph.
Result<FusedGraph> fuse(Graph, const FuseOptions& = {}, std::size_t* steps = nullptr);

/// The nodes, in topological order, as one kernel; the last one computes its output.
Group group_of(const Graph&, const std::vector<NodeId>& nodes);

/// Whether the value is a constant that operators of the group write into their expressions: it has one element, and
/// elementwise operators alone read it. Numbers that a group with bytes, or with numbers of i16, adds, subtracts, multiplies or divides by
/// are no literals: scales and zero points differ from layer to layer, and layers that are equal otherwise are one task.
bool is_literal(const Graph&, const std::vector<NodeId>& group_nodes, ValueId);

constexpr std::uint64_t kCacheLine = 64;  ///< bytes; what a kernel reads or writes begins on one
/// The offset in bytes of an alias' value from the first byte of its input. Aliases are reshapes, and slices that are
/// one range of whole cache lines. Nothing for any other node.
std::optional<std::uint64_t> alias_offset(const Graph&, const Node&);

/// The groups as text, one a line: `conv+add+relu (x, w, b) -> y f32[1x56x56x64]`.
std::string to_text(const FusedGraph&);

}  // namespace whet
