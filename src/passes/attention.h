#pragma once

#include <vector>

#include "graph/graph.h"

namespace whet {

/// The nodes of each attention in the graph, in topological order: a product of queries and keys, the elementwise
/// operators on its scores (scale, mask, bias), the softmax along the last dimension, the product with the values, the
/// moves (transposes, reshapes, slices, with scales among them) of queries, keys, values and result, and the rounding of
/// the result to f16.
/// An attention is found by structure: a value between its nodes has one reader, its operands are activations of f32 or f16,
/// and the heads come out with contiguous dimensions. Small attentions are left out: one query at a time reads each key
/// once, and turning the keys for it would cost more than the product.
std::vector<std::vector<NodeId>> find_attentions(const Graph&);

}  // namespace whet
