#pragma once

#include <vector>

#include "graph/graph.h"

namespace whet {

/// The nodes of each attention in the graph, in topological order: a product of queries and keys, what works on its
/// scores element by element (scale, mask, bias), the softmax along the last dimension, the product with the values,
/// and the moves (transposes, reshapes, slices, with scales among them) of queries, keys, values and result.
/// Found by structure: between its nodes a value has one reader, its operands are float32 activations, the heads come
/// out with their dimensions contiguous. Left out where there is too little of it: one query at a time reads each key
/// once, and turning the keys for it would cost more than the product.
std::vector<std::vector<NodeId>> find_attentions(const Graph&);

}  // namespace whet
