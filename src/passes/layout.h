#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "passes/permutation.h"

namespace whet {

/// Stores activations channels last. Every value keeps the order of dimensions in which its producer writes it:
/// convolutions and pools read and write channels last (except a pool of disjoint windows of a value in the file's
/// order), a transpose only renames dimensions, and every other operator follows its operands, with its axes renamed. A
/// transpose is written only where an order is needed that the value does not have: before a convolution that reads a
/// graph input, before a matmul or a reshape that merges dimensions which are not adjacent, and at outputs, which keep
/// the file's order. Constants are turned at once.
/// Needs:  no BatchNormOperator.
/// Leaves: no channels-first convolution; weights in the order that ConvOperator has for channels last.
Result<Graph> convert_to_channels_last(const Graph&);

/// The reason for the order in which a node's result is stored.
enum class OrderReason : std::uint8_t {
  prescribed,  ///< convolutions and pools write channels last
  file,        ///< the operator reads and writes the file's order
  operands,    ///< the order of its operand, or of most elements of its operands
  renamed,     ///< a transpose: nothing moves
};
struct StoredOrder {
  Permutation order;  ///< dimension i as stored is the file's dimension order[i]
  OrderReason reason = OrderReason::operands;
  std::vector<ValueId> turned;  ///< operands that are stored in other orders and turned for the node
};
/// The stored order of each node of the graph, in order, for people.
Result<std::vector<StoredOrder>> stored_orders(const Graph&);

}  // namespace whet
