#include "import/parts/shape.h"

#include "import/parts/index.h"
#include "import_tf/tflite/rows.h"

namespace whet::tflite {
namespace {

/// To an operand's shape, or to the one of the options where that is not known.
Result<ValueId> reshape(CallSite& site, ValueId x, std::optional<ValueId> shape, const Ints& said) {
  std::vector<Size> wanted;
  if (shape && (said.empty() || site.constant(*shape) != nullptr || site.bounds(*shape) != nullptr)) {
    WHET_TRY(wanted, site.known_sizes(*shape, "shape"));
  } else {
    for (const std::int64_t extent : said) wanted.push_back({extent});
  }
  return reshaped(site, x, wanted, true);
}

Result<ValueId> looked_up(NodeSite& site, ValueId numbers, ValueId table) {
  if (site.rank(table) == 0) return site.error("looks up rows of a scalar");
  return gather(site, table, numbers, 0);
}

}  // namespace

TfliteRows shape_rows() {
  static constexpr TfliteRow kRows[] = {
      {"PAD SCATTER_ND SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_SUM", as_real},
      {"FILL RANGE WHERE ZEROS_LIKE", as_plain},
      {"BROADCAST_TO EXPAND_DIMS GATHER_ND REVERSE_V2 SLICE SPLIT SPLIT_V TILE TRANSPOSE", as_moved},
      {"BATCH_TO_SPACE_ND", as_moved, "BatchToSpaceND"},
      {"CONCATENATION", as_moved, "values... @axis(values)", calls<joined>, "axis=int#0 activation#1"},
      {"DEPTH_TO_SPACE", as_moved, "DepthToSpace", "block_size=int#0"},
      {"EMBEDDING_LOOKUP", as_moved, "numbers table", calls<looked_up>},
      {"GATHER", as_moved, "Gather", "axis=int#0 batch_dims=int#1"},
      {"MIRROR_PAD", as_moved, "MirrorPad", "mode=REFLECT|SYMMETRIC#0"},
      {"PACK", as_moved, "Pack", "axis=int#1"},
      {"PADV2", as_real, "PadV2"},
      {"RANK", as_plain, "Rank", "out_type=type#0"},
      {"RESHAPE", as_moved, "x shape? @new_shape=", calls<reshape>, "new_shape=ints#0"},
      {"RESIZE_BILINEAR", as_real, "ResizeBilinear", "align_corners=bool#2 half_pixel_centers=bool#3"},
      {"RESIZE_NEAREST_NEIGHBOR", as_real, "ResizeNearestNeighbor", "align_corners=bool#0 half_pixel_centers=bool#1"},
      {"REVERSE_SEQUENCE", as_moved, "ReverseSequence", "seq_dim=int#0 batch_dim=int#1"},
      {"SHAPE", as_plain, "Shape", "out_type=type#0"},
      {"SPACE_TO_BATCH_ND", as_real, "SpaceToBatchND"},
      {"SPACE_TO_DEPTH", as_moved, "SpaceToDepth", "block_size=int#0"},
      {"SQUEEZE", as_moved, "Squeeze", "squeeze_dims=ints#0"},
      {"STRIDED_SLICE", as_moved, "StridedSlice",
       "begin_mask=int#0 end_mask=int#1 ellipsis_mask=int#2 new_axis_mask=int#3 shrink_axis_mask=int#4 offset=bool#5"},
      {"UNIQUE", as_plain, "Unique", "out_idx=type#1"},
      {"UNPACK", as_moved, "Unpack", "axis=int#1"},
  };
  return kRows;
}

}  // namespace whet::tflite
