#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Stores activations channels last. Every value is kept in whatever order of dimensions its producer writes:
/// convolutions and pools read and write channels last, a transpose only renames dimensions, and every other operator
/// follows its operands, its axes renamed. A transpose is written only where an order is asked for that is not there:
/// before a convolution that reads a graph input, before a matmul or a reshape that merges dimensions which do not
/// stand together, and at outputs, which keep the file's order. Constants are turned at once. Needs:  no
/// BatchNormOperator. Leaves: no channels-first convolution or pool; weights in the order that ConvOperator states for
/// channels last.
Result<Graph> convert_to_channels_last(const Graph&);

}  // namespace whet
