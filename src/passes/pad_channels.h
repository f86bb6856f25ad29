#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Pictures of fewer than eight channels that a convolution of f16 or bf16 reads get channels of zeros, and its weights such rows: a pixel is then
/// the 16 bytes that tensor cores' operands are copied by. The kernel that stores the picture so stores the zeros as well. Where
/// none does, one of its own is worth it for convolutions of f32 of many multiply-adds (`kMultiplyAddsForAKernel`), which then multiply
/// f16 or, in a graph that has some, bf16.
/// Needs: channels last, weights that are constants; as `store_halves` and `store_bf16_tensors` leave the graph.
Result<Graph> pad_channels(const Graph&);

constexpr std::int64_t kMultiplyAddsForAKernel = std::int64_t{1} << 30;

/// The padding adds channels behind those of a picture of f16 or bf16: the convolution behind it does not compute it in its loops.
bool pads_channels(const Graph&, const Node&);

}  // namespace whet
