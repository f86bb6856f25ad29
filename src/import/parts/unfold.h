#pragma once

#include <vector>

#include "base/result.h"
#include "import/parts/window.h"
#include "import/site.h"

/// Windows as columns, and back: parts, see arithmetic.h.
namespace whet {

struct FoldForm {
  std::vector<std::int64_t> image, block;  ///< extents, one a spatial dimension
  Window window;
};
/// Adds up overlapping blocks: x [N, C * taps of a block, blocks] to [N, C, image...] (Col2Im, torch's fold). Errors: shapes
/// that do not fit.
Result<ValueId> fold(NodeSite&, ValueId x, const FoldForm&);

struct UnfoldForm {
  std::vector<std::int64_t> block;  ///< extents, one a spatial dimension
  Window window;
};
/// The way there: the blocks of images [N, C, H, W] as columns [N, C * taps of a block, blocks] (torch's unfold). Errors: blocks
/// that do not fit; more than 1024 taps.
Result<ValueId> unfold(NodeSite&, ValueId x, const UnfoldForm&);

}  // namespace whet
