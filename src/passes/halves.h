#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Convolutions (of one group, or depthwise) and products of f32 become such of f16 with f32 results, where tensor cores are to
/// compute them: constants are rounded here, and an activation that a product reads is rounded and stored as f16 by the kernel that
/// computes it. Whatever else reads it reads it so rounded: x + f(x) adds the rounded x. So is the sum of two activations that element
/// operators and products alone read, as those of residual blocks, and what a maximum over windows reads: they pass through memory as
/// often as what products read.
/// An activation stays f32, and so do the products that read it, where storing it as f16 took a kernel of its own: inputs and outputs
/// of the graph, what only moves these, what squeeze-and-excites read, and what a mean over windows reads. An attention reads f16
/// where all its operands can be stored so; its weights are rounded as well.
Result<Graph> store_halves(const Graph&);

/// The same of bf16, for CPUs whose instructions add up pairs of products of bf16. These compute products by constants, dense or of one
/// group, of an even number of terms for 16 results or more. Others would be slower and stay f32, except depthwise convolutions. Attentions
/// read bf16 where all their operands are moved and can be stored so, and compute f32. A product of many multiply-adds that reads f32 has
/// it rounded by a kernel of its own.
Result<Graph> store_bf16(const Graph&);

/// The same of a network that runs at these sizes alone: attentions of an even number of keys round the weights of their softmax as well,
/// and add up pairs of their products with the values. (At all sizes of a range networks are to be of one structure.)
Result<Graph> store_bf16_of_fixed_sizes(const Graph&);

/// As store_halves, of bf16: for GPUs whose tensor cores multiply them.
Result<Graph> store_bf16_tensors(const Graph&);

}  // namespace whet
