#pragma once

#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// One node's operator on given tensors, by the reference evaluation of its definition.
Result<Tensor> evaluate_operator(const Operator&, const std::vector<Tensor>& inputs, const TensorType& output,
                                 const std::string& node_name);

/// The slow truth: every node for itself, naively, in order. `inputs`: one tensor a graph input, in order.
/// Gives one tensor a ValueId.
Result<std::vector<Tensor>> evaluate_graph(const Graph&, const std::vector<Tensor>& inputs);

}  // namespace whet
