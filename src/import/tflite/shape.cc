#include "import/parts/shape.h"

#include <limits>

#include "import/parts/index.h"
#include "import/tflite/rows.h"

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// Moves operand `i` as it is stored where the results mean the same by the same numbers, else what it means.
template <typename Move>
Status give_moved(TfliteSite& site, std::size_t i, Move move) {
  const bool stored = site.moves_as_stored(i);
  WHET_TRY(const ValueId x, stored ? Result<ValueId>(site.in(i)) : site.real(i));
  const Result<ValueId> y = move(x);
  if (!y.ok()) return y.error();
  return stored ? site.give(*y) : site.give_real(*y);
}

Status import_reshape(TfliteSite& site) {
  std::vector<Size> wanted;
  if (site.has(1) && (site.constant(site.in(1)) != nullptr || site.bounds(site.in(1)) != nullptr)) {
    WHET_TRY(wanted, site.known_sizes(site.in(1), "shape"));
  } else {
    for (const std::int32_t extent : site.options().numbers<std::int32_t>(0)) wanted.push_back({extent});
    if (wanted.empty() && site.has(1)) {
      WHET_TRY(wanted, site.known_sizes(site.in(1), "shape"));
    }
  }
  return give_moved(site, 0, [&](ValueId x) { return reshaped(site, x, wanted, true); });
}
Status import_concatenation(TfliteSite& site) {
  bool stored = site.options().number<std::int8_t>(1) == 0;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    stored = stored && site.moves_as_stored(i);
  }
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    WHET_TRY(const ValueId x, stored ? Result<ValueId>(site.in(i)) : site.real(i));
    values.push_back(x);
  }
  WHET_TRY(const std::int64_t axis, site.resolve_axis(site.options().number<std::int32_t>(0), site.rank(values[0])));
  if (values.size() == 1) return stored ? site.pass(values[0]) : site.give_real(values[0]);
  WHET_TRY(ValueId y, site.add("joined", ConcatOperator{axis}, values));
  if (stored) return site.give(y);
  return site.give_real(site.activated(y, site.options().number<std::int8_t>(1)));
}
Status import_slice(TfliteSite& site) {
  WHET_TRY(const Ints begin, site.integers(1, "list of starts"));
  WHET_TRY(const Ints size, site.integers(2, "list of sizes"));
  if (begin.size() != size.size())
    return site.error("has " + std::to_string(begin.size()) + " starts and " + std::to_string(size.size()) + " sizes");
  Ints end;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (begin[d] < 0 || begin[d] > kMaxElements || size[d] < -1 || size[d] > kMaxElements)
      return site.error("takes " + to_string(size) + " from " + to_string(begin) + " on");
    end.push_back(size[d] == -1 ? kEnd : begin[d] + size[d]);
  }
  return give_moved(site, 0,
                    [&](ValueId x) { return sliced(site, x, begin, end, std::nullopt, Ints(begin.size(), 1)); });
}

Status import_embedding(TfliteSite& site) {  // (rows, table)
  return give_moved(site, 1, [&](ValueId x) -> Result<ValueId> {
    if (site.rank(x) == 0) return site.error("looks up rows of a scalar");
    return gather(site, x, site.in(0), 0);
  });
}
}  // namespace

TfliteRows shape_rows() {
  static constexpr TfliteRow kRows[] = {
      {"BATCH_TO_SPACE_ND", as_moved, "BatchToSpaceND"},
      {"BROADCAST_TO", as_moved, "BroadcastTo"},
      {"CONCATENATION", {1, 65536}, import_concatenation},
      {"DEPTH_TO_SPACE", as_moved, "DepthToSpace", "block_size=int#0"},
      {"EMBEDDING_LOOKUP", 2, import_embedding},
      {"EXPAND_DIMS", as_moved, "ExpandDims"},
      {"FILL", as_plain, "Fill"},
      {"GATHER", as_moved, "Gather", "axis=int#0 batch_dims=int#1"},
      {"GATHER_ND", as_moved, "GatherNd"},
      {"MIRROR_PAD", as_moved, "MirrorPad", "mode=REFLECT|SYMMETRIC#0"},
      {"PACK", as_moved, "Pack", "axis=int#1"},
      {"PAD", as_real, "Pad"},
      {"PADV2", as_real, "PadV2"},
      {"RANGE", as_plain, "Range"},
      {"RANK", as_plain, "Rank", "out_type=type#0"},
      {"RESHAPE", {1, 2}, import_reshape},
      {"RESIZE_BILINEAR", as_real, "ResizeBilinear", "align_corners=bool#2 half_pixel_centers=bool#3"},
      {"RESIZE_NEAREST_NEIGHBOR", as_real, "ResizeNearestNeighbor", "align_corners=bool#0 half_pixel_centers=bool#1"},
      {"REVERSE_SEQUENCE", as_moved, "ReverseSequence", "seq_dim=int#0 batch_dim=int#1"},
      {"REVERSE_V2", as_moved, "ReverseV2"},
      {"SCATTER_ND", as_real, "ScatterNd"},
      {"SEGMENT_SUM", as_real, "SegmentSum"},
      {"SHAPE", as_plain, "Shape", "out_type=type#0"},
      {"SLICE", 3, import_slice},
      {"SPACE_TO_BATCH_ND", as_real, "SpaceToBatchND"},
      {"SPACE_TO_DEPTH", as_moved, "SpaceToDepth", "block_size=int#0"},
      {"SPLIT", as_moved, "Split"},
      {"SPLIT_V", as_moved, "SplitV"},
      {"SQUEEZE", as_moved, "Squeeze", "squeeze_dims=ints#0"},
      {"STRIDED_SLICE", as_moved, "StridedSlice",
       "begin_mask=int#0 end_mask=int#1 ellipsis_mask=int#2 new_axis_mask=int#3 shrink_axis_mask=int#4 offset=bool#5"},
      {"TILE", as_moved, "Tile"},
      {"TRANSPOSE", as_moved, "Transpose"},
      {"UNPACK", as_moved, "Unpack", "axis=int#1"},
      {"UNSORTED_SEGMENT_PROD", as_real, "UnsortedSegmentProd"},
      {"UNSORTED_SEGMENT_SUM", as_real, "UnsortedSegmentSum"},
      {"ZEROS_LIKE", as_plain, "ZerosLike"},
  };
  return kRows;
}

}  // namespace whet::tflite
