#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "problem.h"

namespace whet {

/// The problem as a model would have it: weights constant, bias and relu after convolutions and dense layers, the
/// activations stored channels last already. With `factors` bf16, input, weights (of depthwise convolutions f32) and result are bf16, bias
/// and sums f32; an error for what is neither a convolution nor a product with weights.
Result<Graph> graph_of(const bench::Problem&, DType factors = DType::f32);

/// A convolution whose activations are stored in blocks of `block` channels ([N, C/block, spatial..., block]), the input in
/// one block where it has no more channels. An error for other problems, and where the blocks do not divide the channels.
Result<Graph> blocked_graph_of(const bench::Problem&, std::int64_t block);

}  // namespace whet
