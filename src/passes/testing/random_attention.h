#pragma once

#include "graph/graph.h"

namespace whet::testing {

/// Attention as one of its exporters may have written it: tokens [batch, 16..24, heads x 16..20]; queries, keys and
/// values from one product or three, scaled here or there, with or without a mask and a bias.
Graph random_attention(std::uint64_t seed);
/// The same graph of f16 instead of f32.
Graph in_halves(const Graph&);
/// The same graph, whose queries, keys and values are rounded to f16 right in front of their products, and the result right behind
/// the second one.
Graph with_rounded_operands(const Graph&);
/// The same graph, whose outputs are rounded to f16.
Graph with_rounded_outputs(Graph);

}  // namespace whet::testing
