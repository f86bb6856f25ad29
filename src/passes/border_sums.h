#pragma once

#include <optional>

#include "graph/graph.h"

namespace whet {

/// The sums of the weights `w` of each output channel over the taps that lie in the picture `x`, of the result `y`: i32
/// [places..., O], as a bias for the borders (graph/border.h). Of one group, or depthwise. Nothing where taps and places are
/// too many for the sums to be computed in less than seconds.
std::optional<Tensor> border_sums(const ConvOperator&, const Shape& x, const Tensor& w, const Shape& y);

}  // namespace whet
