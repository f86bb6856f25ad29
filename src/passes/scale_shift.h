#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Moves constant scales and shifts of channels into the weights and biases of convolutions and matmuls:
///   conv(x) * s, / s, + b, - b   with one value a channel (or one for all), when nothing else reads conv(x);
///   conv(x * s)                  the same of the input channels;
///   conv(x + b)                  when the convolution pads nothing (padding is 0, not b).
/// Needs:  channels last; constant weights, 2-D for a matmul.
Result<Graph> fold_scale_shift(const Graph&);

}  // namespace whet
