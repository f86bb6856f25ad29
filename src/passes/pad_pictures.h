#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// A picture of at most three channels that a convolution of f16 or bf16 reads by an even stride gets channels of zeros up to four, and the
/// border of zeros that the convolution pads it with; the weights get zeros for these channels, and for one tap more where a row of taps
/// is odd. Two neighbouring pixels are then one of eight channels, 16 bytes, by which tensor cores' operands are copied, and no tap is
/// beside the picture. The kernel that rounds the picture stores it so. Where the picture is an f32 input, a kernel of its own is worth it for many multiply-adds.
/// Needs: channels last, weights that are constants; as `store_halves` and `store_bf16_tensors` leave the graph.
Result<Graph> pad_pictures(const Graph&);

constexpr std::int64_t kPictureChannels = 4;
/// Of a convolution of f32 which a kernel that rounds and pads its picture is worth.
constexpr std::int64_t kMultiplyAddsForAKernel = std::int64_t{1} << 30;

/// The padding adds channels to a picture of 16 bits: the convolution behind it does not compute it in its loops.
bool pads_channels(const Graph&, const Node&);

}  // namespace whet
