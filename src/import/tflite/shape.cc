#include "import/parts/shape.h"

#include <algorithm>
#include <limits>

#include "import/parts/constant.h"
#include "import/parts/index.h"
#include "import/parts/resize.h"
#include "import/parts/strided.h"
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

Status give_parts(TfliteSite& site, std::size_t i, std::int64_t given, std::vector<std::int64_t> extents) {
  const bool stored = site.moves_as_stored(i);
  WHET_TRY(const ValueId x, stored ? Result<ValueId>(site.in(i)) : site.real(i));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(x)));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  const auto count = static_cast<std::int64_t>(site.output_count());
  if (extents.empty() && count > 0) extents.assign(site.output_count(), extent / count);
  std::int64_t left = extent;
  bool fits = static_cast<std::int64_t>(extents.size()) == count;
  for (std::int64_t& part : extents) {
    fits = fits && part >= -1 && part <= left;
    if (fits && part >= 0) left -= part;
  }
  // One part may be what the others leave.
  for (std::int64_t& part : extents)
    if (part == -1) part = std::exchange(left, 0);
  if (!fits || left != 0)
    return site.error("splits an extent of " + std::to_string(extent) + " into " + to_string(extents) + " for " +
                      std::to_string(count) + " results");
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, axis, extents));
  for (std::size_t k = 0; k < parts.size(); ++k)
    WHET_RETURN_IF_ERROR(stored ? site.give(parts[k], k) : site.give_real(parts[k], k));
  return ok_status();
}

/// Pairs of paddings, one for each dimension.
Result<Ints> read_pads(TfliteSite& site) {
  WHET_TRY(const Tensor given, site.known(site.in(1), "list of paddings"));
  const std::size_t rank = site.rank(site.in(0));
  if (is_float(given.dtype()) || given.shape() != Shape{static_cast<std::int64_t>(rank), 2})
    return site.error("its paddings are " + to_string(given.type()) + "; expected a pair for each dimension");
  Ints pads(2 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    pads[d] = given.integer(static_cast<std::int64_t>(2 * d));
    pads[d + rank] = given.integer(static_cast<std::int64_t>(2 * d + 1));
  }
  return pads;
}

Status give_resized(TfliteSite& site, ResizeOperator op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Ints sizes, site.integers(1, "size"));
  WHET_TRY(const ValueId x, site.real(0));
  const Shape shape = site.shape(x);
  if (shape.size() != 4 || sizes.size() != 2)
    return site.error("resizes " + to_string(site.type(x)) + " to " + to_string(sizes));
  WHET_RETURN_IF_ERROR(scale_to(site, x, {shape[0], sizes[0], sizes[1], shape[3]}, op));
  return site.give_real(site.add("resized", op, {x}));
}

/// Pairs for the dimensions that blocks are of.
Result<Ints> read_edges(TfliteSite& site, std::size_t count) {
  WHET_TRY(const Tensor given, site.known(site.in(2), "list of edges"));
  if (is_float(given.dtype()) || given.size() != 2 * static_cast<std::int64_t>(count))
    return site.error("its edges are " + to_string(given.type()) + "; expected a pair for each of " +
                      std::to_string(count) + " dimensions");
  Ints edges;
  for (std::int64_t i = 0; i < given.size(); ++i) edges.push_back(given.integer(i));
  return edges;
}

Status import_reshape(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 2));
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
Status import_squeeze(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  Ints axes;
  for (const std::int32_t axis : site.options().numbers<std::int32_t>(0)) axes.push_back(axis);
  return give_moved(site, 0, [&](ValueId x) { return squeezed(site, x, axes.empty() ? std::optional<Ints>() : axes); });
}
Status import_expand_dims(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t axis, site.integer(1, "axis"));
  return give_moved(site, 0, [&](ValueId x) { return unsqueezed(site, x, {axis}); });
}
Status import_transpose(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Ints perm, site.integers(1, "order of dimensions"));
  return give_moved(site, 0, [&](ValueId x) { return site.add("turned", TransposeOperator{perm}, {x}); });
}
Status import_concatenation(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 65536));
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
Status import_pack(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 65536));
  std::vector<ValueId> values;
  bool stored = true;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    stored = stored && site.moves_as_stored(i);
  }
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    WHET_TRY(ValueId x, stored ? Result<ValueId>(site.in(i)) : site.real(i));
    WHET_TRY(x, unsqueezed(site, x, {site.options().number<std::int32_t>(1)}));
    values.push_back(x);
  }
  WHET_TRY(const std::int64_t axis, site.resolve_axis(site.options().number<std::int32_t>(1), site.rank(values[0])));
  if (values.size() > 1) {
    WHET_TRY(values[0], site.add("joined", ConcatOperator{axis}, values));
  }
  return stored ? site.give(values[0]) : site.give_real(values[0]);
}
Status import_unpack(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.resolve_axis(site.options().number<std::int32_t>(1), site.rank(x)));
  if (site.shape(x)[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(site.output_count()) ||
      !site.moves_as_stored(0))
    return site.error("takes " + to_string(site.type(x)) + " apart into " + std::to_string(site.output_count()) +
                      " results");
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, axis, Ints(site.output_count(), 1)));
  for (std::size_t i = 0; i < parts.size(); ++i)
    WHET_RETURN_IF_ERROR(site.give(squeezed(site, parts[i], Ints{axis}), i));
  return ok_status();
}
Status import_split(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t axis, site.integer(0, "axis"));
  return give_parts(site, 1, axis, {});
}
Status import_split_v(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Ints extents, site.integers(1, "list of parts"));
  WHET_TRY(const std::int64_t axis, site.integer(2, "axis"));
  return give_parts(site, 0, axis, extents);
}
Status import_slice(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
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

/// With an offset, ends are counted from the starts.
Status import_strided_slice(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(4));
  const FlatTable& o = site.options();
  StridedSlice form{.open_starts = o.number<std::int32_t>(0),
                    .open_ends = o.number<std::int32_t>(1),
                    .ellipsis = o.number<std::int32_t>(2),
                    .is_new = o.number<std::int32_t>(3),
                    .goes = o.number<std::int32_t>(4)};
  WHET_TRY(form.starts, site.integers(1, "list of starts"));
  WHET_TRY(form.ends, site.integers(2, "list of ends"));
  WHET_TRY(form.steps, site.integers(3, "list of steps"));
  for (std::size_t d = 0; o.flag(5) && d < std::min(form.starts.size(), form.ends.size()); ++d)
    form.ends[d] =
        std::clamp(form.starts[d], -kMaxElements, kMaxElements) + std::clamp(form.ends[d], -kMaxElements, kMaxElements);
  return give_moved(site, 0, [&](ValueId x) { return strided_slice(site, x, form); });
}

Status import_pad(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  double value = 0;
  if (site.has(2)) {
    WHET_TRY(const ValueId given, site.real(2));
    WHET_TRY(value, site.known_number(given, "value"));
  }
  WHET_TRY(const Ints pads, read_pads(site));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(padded(site, x, pads, every_axis(site.rank(x)), PadMode::constant, value));
}
Status import_mirror_pad(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Ints pads, read_pads(site));
  const bool repeats_edge = site.options().number<std::int8_t>(0) == 1;
  return give_moved(site, 0, [&](ValueId x) -> Result<ValueId> {
    return repeats_edge ? symmetric_pad(site, x, pads)
                        : padded(site, x, pads, every_axis(site.rank(x)), PadMode::reflect, 0);
  });
}
Status import_tile(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Ints repeats, site.integers(1, "list of repeats"));
  return give_moved(site, 0, [&](ValueId x) { return tiled(site, x, repeats); });
}
Status import_broadcast_to(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<Size> shape, site.known_sizes(site.in(1), "shape"));
  return give_moved(site, 0, [&](ValueId x) { return expanded(site, x, shape); });
}
Status import_reverse(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Ints axes, site.integers(1, "list of axes"));
  return give_moved(site, 0, [&](ValueId x) {
    return sliced(site, x, Ints(axes.size(), -1), Ints(axes.size(), -kEnd), axes, Ints(axes.size(), -1));
  });
}
Status import_gather(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  const std::int64_t batches = site.options().number<std::int32_t>(1);
  return give_moved(site, 0, [&](ValueId x) -> Result<ValueId> {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(site.options().number<std::int32_t>(0), site.rank(x)));
    if (batches != 0) return gather_in_batches(site, x, site.in(1), axis, batches);
    return gather(site, x, site.in(1), axis);
  });
}
Status import_gather_nd(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return give_moved(site, 0, [&](ValueId x) { return site.add("gathered", GatherNdOperator{0}, {x, site.in(1)}); });
}

Status import_depth_to_space(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return give_moved(site, 0,
                    [&](ValueId x) { return depth_to_space_nhwc(site, x, site.options().number<std::int32_t>(0)); });
}
Status import_space_to_depth(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return give_moved(site, 0,
                    [&](ValueId x) { return space_to_depth_nhwc(site, x, site.options().number<std::int32_t>(0)); });
}
Status import_space_to_batch(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Ints block, site.integers(1, "list of blocks"));
  WHET_TRY(const Ints pads, read_edges(site, block.size()));
  WHET_TRY(const ValueId x, site.real(0));  // what is padded means 0
  return site.give_real(space_to_batch(site, x, block, pads));
}
Status import_batch_to_space(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Ints block, site.integers(1, "list of blocks"));
  WHET_TRY(const Ints crops, read_edges(site, block.size()));
  return give_moved(site, 0, [&](ValueId x) { return batch_to_space(site, x, block, crops); });
}

Status import_resize_bilinear(TfliteSite& site) {
  const bool align = site.options().flag(2), half = site.options().flag(3);
  ResizeOperator op{};
  op.mode = ResizeMode::linear;
  op.coordinates = align  ? CoordinateMode::align_corners
                   : half ? CoordinateMode::half_pixel
                          : CoordinateMode::asymmetric;
  return give_resized(site, op);
}
Status import_resize_nearest(TfliteSite& site) {
  const bool align = site.options().flag(0), half = site.options().flag(1);
  ResizeOperator op{};
  op.mode = ResizeMode::nearest;
  op.coordinates = align  ? CoordinateMode::align_corners
                   : half ? CoordinateMode::tf_half_pixel_for_nn
                          : CoordinateMode::asymmetric;
  op.nearest = align ? NearestMode::round_prefer_ceil : NearestMode::floor;
  return give_resized(site, op);
}

Status import_embedding(TfliteSite& site) {  // (rows, table)
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return give_moved(site, 1, [&](ValueId x) -> Result<ValueId> {
    if (site.rank(x) == 0) return site.error("looks up rows of a scalar");
    return gather(site, x, site.in(0), 0);
  });
}
Status import_scatter_nd(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Ints shape, site.integers(2, "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  WHET_TRY(const ValueId x, site.real(1));
  WHET_TRY(const ValueId zeros, filled(site, shape, Tensor(site.dtype(x), {})));
  return site.give_real(scatter_nd(site, zeros, site.in(0), x, ScatterKind::add));
}
Status give_segments(TfliteSite& site, Segments form) {
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(segments(site, x, site.in(1), form));
}
/// (x, numbers, count)
Status give_unsorted(TfliteSite& site, ScatterKind kind, double start) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Ints count, site.integers(2, "number of segments"));
  if (count.size() != 1) return site.error("has " + std::to_string(count.size()) + " numbers of segments");
  return give_segments(site, {kind, start, count[0]});
}

Status import_segment_sum(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t count, count_of_segments(site, site.in(1)));
  return give_segments(site, {ScatterKind::add, 0, count});
}
Status import_unsorted_sum(TfliteSite& site) { return give_unsorted(site, ScatterKind::add, 0); }
Status import_unsorted_prod(TfliteSite& site) { return give_unsorted(site, ScatterKind::mul, 1); }
Status import_reverse_sequence(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  const std::int64_t steps = site.options().number<std::int32_t>(0), batch = site.options().number<std::int32_t>(1);
  if ((steps != 0 || batch != 1) && (steps != 1 || batch != 0))
    return site.error("has sequences in dimension " + std::to_string(batch) + " and steps in dimension " +
                      std::to_string(steps) + "; expected 0 and 1, or 1 and 0");
  return give_moved(site, 0, [&](ValueId x) -> Result<ValueId> {
    if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)));
    return reverse_sequence(site, x, site.in(1), static_cast<std::size_t>(steps));
  });
}

// ---- Sizes and constants.

Status give_integers(TfliteSite& site, const Result<ValueId>& sizes) {
  const DType dtype = site.result_info().type == 4 ? DType::i64 : DType::i32;
  return sizes.ok() ? site.give(site.cast("typed", *sizes, dtype)) : sizes.error();
}

Status import_shape(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return give_integers(site, site.size_list(site.sizes(site.in(0))));
}
Status import_rank(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const auto rank = static_cast<std::int64_t>(site.rank(site.in(0)));
  return give_integers(site, site.size_product({Size{rank}}));
}
Status import_fill(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<Size> shape, site.known_sizes(site.in(0), "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(shape)));
  WHET_TRY(const ValueId scalar, site.add("value", ReshapeOperator{Shape{}}, {site.in(1)}));
  return site.give(expanded(site, scalar, shape));
}
Status import_zeros_like(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(filled(site, site.sizes(site.in(0)), Tensor(site.dtype(site.in(0)), {})));
}
Status import_range(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  return site.give(range(site, site.in(0), site.in(1), site.in(2)));
}

}  // namespace

TfliteRows shape_rows() {
  static constexpr TfliteRow kRows[] = {
      {"BATCH_TO_SPACE_ND", import_batch_to_space},
      {"BROADCAST_TO", import_broadcast_to},
      {"CONCATENATION", import_concatenation},
      {"DEPTH_TO_SPACE", import_depth_to_space},
      {"EMBEDDING_LOOKUP", import_embedding},
      {"EXPAND_DIMS", import_expand_dims},
      {"FILL", import_fill},
      {"GATHER", import_gather},
      {"GATHER_ND", import_gather_nd},
      {"MIRROR_PAD", import_mirror_pad},
      {"PACK", import_pack},
      {"PAD", import_pad},
      {"PADV2", import_pad},
      {"RANGE", import_range},
      {"RANK", import_rank},
      {"RESHAPE", import_reshape},
      {"RESIZE_BILINEAR", import_resize_bilinear},
      {"RESIZE_NEAREST_NEIGHBOR", import_resize_nearest},
      {"REVERSE_SEQUENCE", import_reverse_sequence},
      {"REVERSE_V2", import_reverse},
      {"SCATTER_ND", import_scatter_nd},
      {"SEGMENT_SUM", import_segment_sum},
      {"SHAPE", import_shape},
      {"SLICE", import_slice},
      {"SPACE_TO_BATCH_ND", import_space_to_batch},
      {"SPACE_TO_DEPTH", import_space_to_depth},
      {"SPLIT", import_split},
      {"SPLIT_V", import_split_v},
      {"SQUEEZE", import_squeeze},
      {"STRIDED_SLICE", import_strided_slice},
      {"TILE", import_tile},
      {"TRANSPOSE", import_transpose},
      {"UNPACK", import_unpack},
      {"UNSORTED_SEGMENT_PROD", import_unsorted_prod},
      {"UNSORTED_SEGMENT_SUM", import_unsorted_sum},
      {"ZEROS_LIKE", import_zeros_like},
  };
  return kRows;
}

}  // namespace whet::tflite
