#pragma once

#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Images of other sizes: parts, see arithmetic.h. `ResizeOperator` says how places are found and combined.
namespace whet {

/// Fills shape and scales of `op` from one factor for each dimension of the image. Errors: a size below 1.
Status scale_by(NodeSite&, ValueId image, const std::vector<double>& factors, ResizeOperator& op);
/// The same from the sizes that are wanted.
Status scale_to(NodeSite&, ValueId image, const std::vector<std::int64_t>& sizes, ResizeOperator& op);

/// Where the image shrinks, the kernel widens by as much: linear and cubic. Shape and scales of `op` are filled.
Result<ValueId> antialiased(NodeSite&, ValueId image, const ResizeOperator& op);
/// The image by `op`. Numbers between integers are cut off, as ONNX Runtime does, with its rounding where the mode is linear; those of
/// an antialiased image are rounded. What leaves the range of the type is its last number.
Result<ValueId> resized(NodeSite&, ValueId image, const ResizeOperator& op, bool antialias);

}  // namespace whet
