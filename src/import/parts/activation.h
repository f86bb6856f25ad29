#pragma once

#include "base/result.h"
#include "import/site.h"

/// Activations that the graph has no operator of: parts (see arithmetic.h) of one tensor of floats. The result has its
/// type.
namespace whet {

/// Refuses every type except floats: "the input is ...".
Status expect_floats(const NodeSite&, ValueId x);

/// x * (1 + f) / 2, where f is erf(x / sqrt 2), or tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
enum class Gelu : std::uint8_t { erf, tanh };
Result<ValueId> gelu(NodeSite&, ValueId x, Gelu form);

/// gamma * (max(x, 0) + alpha * (exp(min(x, 0) / width) - 1)): ELU, SELU (alpha and gamma) and CELU (alpha = width).
/// Needs: width is not 0.
struct Elu {
  double alpha = 1, gamma = 1, width = 1;
};
Result<ValueId> elu(NodeSite&, ValueId x, const Elu&);

/// x * sigmoid(alpha * x); alpha 1 is SiLU.
Result<ValueId> swish(NodeSite&, ValueId x, double alpha);
/// x * tanh(softplus(x))
Result<ValueId> mish(NodeSite&, ValueId x);

/// max(x, 0) + slope * min(x, 0). Needs: the slope broadcasts to x. Any type.
Result<ValueId> prelu(NodeSite&, ValueId x, ValueId slope);
/// One slope, or a list of one for each channel, which are dimension 1 of x.
Result<ValueId> prelu_of_channels(NodeSite&, ValueId x, ValueId slopes);

/// x where it is above `threshold`, else `rest`.
Result<ValueId> thresholded(NodeSite&, ValueId x, double threshold, double rest);
/// x + bias below -lambda, x - bias above lambda, 0 between. Any type.
Result<ValueId> shrunk(NodeSite&, ValueId x, double lambda, double bias);

}  // namespace whet
