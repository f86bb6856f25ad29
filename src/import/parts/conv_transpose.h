#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/parts/window.h"
#include "import/site.h"

/// Transposed convolutions: parts, see arithmetic.h.
namespace whet {

/// One entry a spatial dimension. The result's extent is
/// stride * (extent - 1) + output_padding + dilation * (kernel - 1) + 1 less the padding, which `output_extents` decide
/// where they are given, and which else is as given.
struct ConvTranspose {
  std::int64_t groups = 1;
  Window window;
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> output_extents = {};  ///< wanted; empty: as the padding says
  SamePadding odd = SamePadding::lower;           ///< where the odd pixel of a decided padding goes
};

/// The transposed convolution of x [N, C, spatial...] by weights [C, O / groups, kernel...], plus a bias [O]. Needs: one to
/// three spatial dimensions; strides and dilations of at most 4096; weights that become at most 2^28, counted with the zeros
/// that fill whole strides. Errors: extents that do not fit; a result without pixels.
Result<ValueId> conv_transposed(NodeSite&, ValueId x, ValueId weights, std::optional<ValueId> bias,
                                const ConvTranspose&);

/// The transpose of a convolution that makes x of an image of `extents`; groups are one. x and the result are in the form's layout,
/// weights in its order. Errors: shapes that do not fit.
Result<ValueId> transposed_convolution(NodeSite&, ValueId x, ValueId weights, std::optional<ValueId> bias, ConvForm,
                                       const Shape& extents);

}  // namespace whet
