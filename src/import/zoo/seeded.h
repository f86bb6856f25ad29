#pragma once

#include "base/rng.h"
#include "tensor/tensor.h"

namespace whet {

/// Weights of the next numbers of the stream, uniform in [low, high). They are drawn when somebody reads them.
Tensor seeded_uniform(const Shape&, Rng&, double low, double high);

}  // namespace whet
