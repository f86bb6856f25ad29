#pragma once

#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Evaluates one node's operator on given tensors, by the reference evaluation of its definition.
Result<Tensor> evaluate_operator(const Operator&, const std::vector<Tensor>& inputs, const TensorType& output,
                                 const std::string& node_name);

/// The slow reference: evaluates every node, naively and in order. `inputs` has one tensor for each graph input, in
/// order. Returns one tensor for each ValueId.
Result<std::vector<Tensor>> evaluate_graph(const Graph&, const std::vector<Tensor>& inputs);

}  // namespace whet
