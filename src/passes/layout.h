#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "passes/permutation.h"

namespace whet {

/// Stores activations channels last. Every value is kept in whatever order of dimensions its producer writes:
/// convolutions and pools read and write channels last (but for a pool of disjoint windows of what is stored in the
/// file's order), a transpose only renames dimensions, and every other operator follows its operands, its axes renamed.
/// A transpose is written only where an order is asked for that is not there: before a convolution that reads a graph
/// input, before a matmul or a reshape that merges dimensions which do not stand together, and at outputs, which keep
/// the file's order. Constants are turned at once. Needs: no BatchNormOperator. Leaves: no channels-first convolution;
/// weights in the order that ConvOperator states for channels last.
Result<Graph> convert_to_channels_last(const Graph&);

/// What decided the order in which a node's result is stored.
enum class OrderReason : std::uint8_t {
  prescribed,  ///< convolutions and pools write channels last
  file,        ///< the operator reads and writes the file's order
  operands,    ///< as its operand is stored, or most elements of its operands
  renamed,     ///< a transpose: nothing moves
};
struct StoredOrder {
  Permutation order;  ///< dimension i as stored is the file's dimension order[i]
  OrderReason reason = OrderReason::operands;
  std::vector<ValueId> turned;  ///< operands that are stored in other orders, and turned for it
};
/// The same walk for people: one entry for each node of the graph, in order.
Result<std::vector<StoredOrder>> stored_orders(const Graph&);

}  // namespace whet
