#pragma once

#include <optional>

#include "base/result.h"
#include "import/site.h"

/// Convolutions whose taps read the image at places of their own: a part, see arithmetic.h.
namespace whet {

/// x [N, C, H, W]; weights as of a convolution; offsets [N, parts * taps * 2, rows, columns], row before column; mask [N,
/// parts * taps, rows, columns].
struct DeformInputs {
  ValueId x, weights, offsets;
  std::optional<ValueId> bias = std::nullopt, mask = std::nullopt;
};
/// `parts`: groups of channels that share their offsets.
Result<ValueId> deform_convolved(NodeSite&, const DeformInputs&, const ConvOperator&, std::int64_t parts);

}  // namespace whet
