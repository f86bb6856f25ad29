#include "import/parts/shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/index.h"
#include "import/parts/resize.h"
#include "import/parts/strided.h"
#include "import_tf/rows.h"

namespace whet::tensorflow {
namespace {

constexpr std::int64_t kOpenEnd = std::numeric_limits<std::int64_t>::max();

/// Pairs of paddings, one for each dimension, as those before each and then those behind each.
Result<Ints> paddings(NodeSite& site, ValueId x, const Tensor& given) {
  const std::size_t rank = site.rank(x);
  if (is_float(given.dtype()) || given.shape() != Shape{static_cast<std::int64_t>(rank), 2})
    return site.error("its paddings are " + to_string(given.type()) + "; expected a pair for each dimension");
  Ints pads(2 * rank);
  for (std::size_t i = 0; i < 2 * rank; ++i) {
    std::int64_t& pad = pads[i / 2 + i % 2 * rank];
    pad = given.integer(static_cast<std::int64_t>(i));
    if (pad < 0) return site.error("its paddings are negative");
  }
  return pads;
}

/// Parts of `x` along an axis; one may be -1, what the others leave.
Result<ValueIds> split_into(CallSite& site, ValueId x, Ints extents, std::int64_t axis) {
  std::int64_t left = site.shape(x)[static_cast<std::size_t>(axis)];
  for (const std::int64_t part : extents)
    if (part >= 0 && left >= part) left -= part;
  for (std::int64_t& part : extents)
    if (part == -1) part = std::exchange(left, 0);
  if (extents.size() != site.output_count())
    return site.error("has " + std::to_string(site.output_count()) + " results for parts " + to_string(extents));
  return split(site, x, axis, extents);
}

Result<ValueId> squeeze(NodeSite& site, ValueId x, const Ints& dims, const Ints& axes) {
  const Ints& those = dims.empty() ? axes : dims;
  return squeezed(site, x, those.empty() ? std::nullopt : std::optional(those));
}
Status transpose(NodeSite& site, ValueId x, Ints perm) {
  for (std::int64_t& axis : perm) {
    WHET_TRY(axis, site.resolve_axis(axis, site.rank(x)));
  }
  return site.give(TransposeOperator{perm}, {x});
}

Result<ValueId> concat(NodeSite& site, std::int64_t axis, const ValueIds& values) { return joined(site, values, axis); }
Result<ValueId> concat_v2(CallSite& site, ValueIds values) {
  values.pop_back();
  if (values.empty()) return site.error("joins nothing");
  WHET_TRY(const std::int64_t given, site.known_integer(values.size(), "axis"));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(values[0])));
  return joined(site, values, axis);
}
Result<ValueIds> unpack(CallSite& site, ValueId x, std::int64_t axis) {
  if (site.shape(x)[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(site.output_count()))
    return site.error("takes " + to_string(site.type(x)) + " apart into " + std::to_string(site.output_count()) +
                      " results");
  return unstacked(site, x, axis);
}
Result<ValueIds> split_evenly(CallSite& site, std::int64_t axis, ValueId x) {
  const auto count = static_cast<std::int64_t>(site.output_count());
  if (count < 1) return site.error("splits into nothing");
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  return split_into(site, x, Ints(site.output_count(), extent / count), axis);
}

Result<ValueId> slice(NodeSite& site, ValueId x, const Ints& begin, const Ints& size) {
  const Shape shape = site.shape(x);
  if (begin.size() != size.size() || begin.size() != shape.size())
    return site.error("has " + std::to_string(begin.size()) + " starts and " + std::to_string(size.size()) +
                      " sizes for " + to_string(site.type(x)));
  Ints end;
  for (std::size_t d = 0; d < size.size(); ++d) {
    const bool inside = begin[d] >= 0 && begin[d] <= shape[d] && size[d] >= -1 && size[d] <= shape[d] - begin[d];
    if (!inside)
      return site.error("takes " + to_string(size) + " from " + to_string(begin) + " on of " + to_string(shape));
    end.push_back(size[d] == -1 ? kOpenEnd : begin[d] + size[d]);
  }
  return sliced(site, x, begin, end, std::nullopt, Ints(begin.size(), 1));
}
/// `from_starts`: ends are counted from the starts.
Result<ValueId> slice_in_steps(NodeSite& site, ValueId x, const Ints& starts, Ints ends, const Ints& steps,
                               std::int64_t open_starts, std::int64_t open_ends, std::int64_t ellipsis,
                               std::int64_t is_new, std::int64_t goes, bool from_starts) {
  for (std::size_t d = 0; from_starts && d < std::min(starts.size(), ends.size()); ++d)
    ends[d] = std::clamp(starts[d], -kMaxElements, kMaxElements) + std::clamp(ends[d], -kMaxElements, kMaxElements);
  return strided_slice(site, x, {starts, ends, steps, open_starts, open_ends, ellipsis, is_new, goes});
}

Result<ValueId> pad(NodeSite& site, ValueId x, const Tensor& pairs, double value) {
  WHET_TRY(const Ints pads, paddings(site, x, pairs));
  return padded(site, x, pads, every_axis(site.rank(x)), PadMode::constant, value);
}
Result<ValueId> mirror_pad(NodeSite& site, ValueId x, const Tensor& pairs, std::int64_t symmetric) {
  WHET_TRY(const Ints pads, paddings(site, x, pairs));
  if (symmetric != 0) return symmetric_pad(site, x, pads);
  return padded(site, x, pads, every_axis(site.rank(x)), PadMode::reflect, 0);
}
Result<ValueId> broadcast_to(NodeSite& site, ValueId x, const std::vector<Size>& shape) {
  return expanded(site, x, shape);
}
Result<ValueId> reverse(NodeSite& site, ValueId x, const Ints& axes) {
  return sliced(site, x, Ints(axes.size(), -1), Ints(axes.size(), -kOpenEnd), axes, Ints(axes.size(), -1));
}
/// A pair of edges for each of the dimensions that blocks are of.
template <auto move>
Result<ValueId> moved_blocks(NodeSite& site, ValueId x, const Ints& block, const Tensor& given) {
  if (is_float(given.dtype()) || given.shape() != Shape{static_cast<std::int64_t>(block.size()), 2})
    return site.error("its edges are " + to_string(given.type()) + "; expected a pair for each of " +
                      std::to_string(block.size()) + " dimensions");
  Ints edges;
  for (std::int64_t i = 0; i < given.size(); ++i) edges.push_back(given.integer(i));
  return move(site, x, block, edges);
}

// ---- Other sizes of images [N, H, W, C].

/// Where pixels are: corner to corner, or their centres.
struct Pixels {
  bool align = false, half = false;
  CoordinateMode coordinates(CoordinateMode of_half) const {
    return align ? CoordinateMode::align_corners : half ? of_half : CoordinateMode::asymmetric;
  }
};

Status fill_in_sizes(NodeSite& site, ValueId x, const Ints& sizes, ResizeOperator& op) {
  const Shape shape = site.shape(x);
  if (shape.size() == 4 && sizes.size() == 2) return scale_to(site, x, {shape[0], sizes[0], sizes[1], shape[3]}, op);
  return site.error("resizes " + to_string(site.type(x)) + " to " + to_string(sizes));
}

/// The result is of f32 whatever the image is of.
Status resize_bilinear(NodeSite& site, ValueId x, const Ints& sizes, bool align, bool half) {
  ResizeOperator op{};
  op.mode = ResizeMode::linear;
  op.coordinates = Pixels{align, half}.coordinates(CoordinateMode::half_pixel);
  WHET_TRY(x, site.cast("floats", x, DType::f32));
  WHET_RETURN_IF_ERROR(fill_in_sizes(site, x, sizes, op));
  return site.give(op, {x});
}
Status resize_nearest(NodeSite& site, ValueId x, const Ints& sizes, bool align, bool half) {
  ResizeOperator op{};
  op.mode = ResizeMode::nearest;
  op.coordinates = Pixels{align, half}.coordinates(CoordinateMode::tf_half_pixel_for_nn);
  op.nearest = align ? NearestMode::round_prefer_ceil : NearestMode::floor;
  WHET_RETURN_IF_ERROR(fill_in_sizes(site, x, sizes, op));
  return site.give(op, {x});
}

/// The four pixels that each of the result is made of, in one dimension.
struct CubicTaps {
  std::vector<Ints> places = std::vector<Ints>(4);
  std::vector<std::vector<double>> weights = std::vector<std::vector<double>>(4);
};

/// Keys' weights at a distance, which TensorFlow takes from a table of 1024 steps. In f32, as there.
std::array<float, 4> cubic_weights(float distance, float a) {
  const float t = std::nearbyint(distance * 1024) / 1024;
  const auto near = [&](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [&](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// Of half pixels those outside have no weight; otherwise the edge has theirs.
CubicTaps cubic_taps(std::int64_t in, std::int64_t out, const Pixels& pixels) {
  const bool corners = pixels.align && out > 1;
  const float scale = static_cast<float>(corners ? in - 1 : in) / static_cast<float>(corners ? out - 1 : out);
  CubicTaps taps;
  for (std::int64_t i = 0; i < out; ++i) {
    const auto at = static_cast<float>(i);
    const float place = pixels.half ? (at + 0.5F) * scale - 0.5F : at * scale;
    const auto first = static_cast<std::int64_t>(std::floor(place));
    std::array<float, 4> weights = cubic_weights(place - static_cast<float>(first), pixels.half ? -0.5F : -0.75F);
    float total = 0;
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t kept = std::clamp<std::int64_t>(first + k - 1, 0, in - 1);
      float& weight = weights[static_cast<std::size_t>(k)];
      if (pixels.half && kept != first + k - 1) weight = 0;
      total += weight;
      taps.places[static_cast<std::size_t>(k)].push_back(kept);
    }
    for (std::size_t k = 0; k < 4; ++k) taps.weights[k].push_back(pixels.half ? weights[k] / total : weights[k]);
  }
  return taps;
}

Result<ValueId> cubic_along(NodeSite& site, ValueId x, std::int64_t axis, std::int64_t out, const Pixels& pixels) {
  const std::int64_t in = site.shape(x)[static_cast<std::size_t>(axis)];
  if (in == out) return x;
  const CubicTaps taps = cubic_taps(in, out, pixels);
  const Shape along = shape_along(static_cast<std::size_t>(axis), 4, out);
  std::vector<ValueId> parts;
  for (std::size_t k = 0; k < 4; ++k) {
    const ValueId places = site.add_constant("places", Tensor::of(DType::i64, {out}, taps.places[k]));
    const ValueId weights = site.add_constant("weights", Tensor::of(DType::f32, along, taps.weights[k]));
    WHET_TRY(const ValueId pixel, site.add("pixel", GatherOperator{axis}, {x, places}));
    WHET_TRY(const ValueId part, site.add("part", BinaryOperator{BinaryKind::mul}, {pixel, weights}));
    parts.push_back(part);
  }
  return chained(site, BinaryKind::add, parts);
}

Result<ValueId> resize_bicubic(NodeSite& site, ValueId x, const Ints& sizes, bool align, bool half) {
  WHET_TRY(x, site.cast("floats", x, DType::f32));
  ResizeOperator op{};  // checks the sizes
  WHET_RETURN_IF_ERROR(fill_in_sizes(site, x, sizes, op));
  WHET_RETURN_IF_ERROR(expect_small(site, sizes, "the image"));
  WHET_TRY(x, cubic_along(site, x, 1, sizes[0], {align, half}));
  return cubic_along(site, x, 2, sizes[1], {align, half});
}

// ---- Sizes and constants.

Result<ValueId> typed(NodeSite& site, const Result<ValueId>& sizes, DType dtype) {
  return sizes.ok() ? site.cast("typed", *sizes, dtype) : sizes;
}
Status shapes(NodeSite& site, const ValueIds& values, DType dtype) {
  for (std::size_t i = 0; i < values.size(); ++i)
    WHET_RETURN_IF_ERROR(site.give(typed(site, site.size_list(site.sizes(values[i])), dtype), i));
  return ok_status();
}
Result<ValueId> size_of(NodeSite& site, ValueId x, DType dtype) {
  return typed(site, site.size_product(site.sizes(x)), dtype);
}
Result<ValueId> rank_of(NodeSite& site, ValueId x, DType dtype) {
  return typed(site, site.size_product({Size{static_cast<std::int64_t>(site.rank(x))}}), dtype);
}
Result<ValueId> fill(NodeSite& site, const std::vector<Size>& shape, ValueId value) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(shape)));
  WHET_TRY(const ValueId scalar, site.add("value", ReshapeOperator{Shape{}}, {value}));
  return expanded(site, scalar, shape);
}
template <int number>
Result<ValueId> filled_like(NodeSite& site, ValueId x) {
  return filled(site, site.sizes(x), Tensor::of<double>(site.dtype(x), {}, {number}));
}
Result<ValueId> range_of(NodeSite& site, ValueId start, ValueId limit, ValueId delta) {
  return range(site, start, limit, delta);
}
Status lin_space(NodeSite& site, const Tensor& start, double stop, std::int64_t count) {
  if (start.size() != 1 || count < 1 || count > (1 << 24))
    return site.error("has " + std::to_string(count) + " elements from " + to_string(start.type()) + " on");
  Tensor numbers(start.dtype(), {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    numbers.set(i, start.get(0) + (stop - start.get(0)) * part);
  }
  return site.give_constant(numbers);
}
/// Constants of bodies; those of the main graph are no nodes.
Status constant_value(NodeSite& site, const TfTensor& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) return site.give_constant(*tensor);
  if (const auto* unread = std::get_if<TfUnread>(&value)) return site.error(unread->reason);
  return ok_status();  // a text: an error where it is read
}

/// What leaves at one end comes in at the other.
Result<ValueId> roll(NodeSite& site, ValueId x, const Ints& shifts, const Ints& axes) {
  if (shifts.size() != axes.size())
    return site.error("has " + std::to_string(shifts.size()) + " shifts for " + std::to_string(axes.size()) + " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], site.rank(x)));
    const std::int64_t extent = std::max<std::int64_t>(site.shape(x)[static_cast<std::size_t>(axis)], 1);
    const std::int64_t shift = (shifts[i] % extent + extent) % extent;
    if (shift == 0) continue;
    WHET_TRY(const ValueIds parts, split(site, x, axis, {extent - shift, shift}));
    WHET_TRY(x, site.add("rolled", ConcatOperator{axis}, {parts[1], parts[0]}));
  }
  return x;
}

}  // namespace

TfRows shape_rows() {
  static constexpr std::string_view kResize = "x size @align_corners=0 @half_pixel_centers=0",
                                    kBlocks = "x @block_size=0 @data_format:NCHW|NHWC=NHWC";
  static constexpr TfRow kRows[] = {
      {"BatchToSpaceND", "x list_of_blocks list_of_edges", calls<moved_blocks<batch_to_space>>},
      {"BroadcastTo", "x shape", calls<broadcast_to>},
      {"Concat", "axis(values) values...", calls<concat>},
      {"ConcatV2", "values_and_axis...", calls<concat_v2>},
      {"Const", "@value", calls<constant_value>},
      {"DepthToSpace", kBlocks, calls<blocks_to_pixels>},
      {"ExpandDims", "x axis", calls<unsqueezed>},
      {"Fill", "shape value", calls<fill>},
      {"LinSpace", "start end number_of_elements", calls<lin_space>},
      {"MirrorPad", "x list_of_paddings @mode:REFLECT|SYMMETRIC=REFLECT", calls<mirror_pad>},
      {"OnesLike", "x", calls<filled_like<1>>},
      {"Pack", "values... @axis=0", calls<stacked>},
      {"Pad PadV2", "x list_of_paddings value=0", calls<pad>},
      {"Range", "start limit delta", calls<range_of>},
      {"Rank", "x @out_type=i32", calls<rank_of>},
      {"Reshape", "x shape =1", calls<reshaped>},
      {"ResizeBicubic", kResize, calls<resize_bicubic>},
      {"ResizeBilinear", kResize, calls<resize_bilinear>},
      {"ResizeNearestNeighbor", kResize, calls<resize_nearest>},
      {"ReverseV2", "x list_of_axes(x)", calls<reverse>},
      {"Roll", "x shift list_of_axes", calls<roll>},
      {"Shape ShapeN", "values... @out_type=i32", calls<shapes>},
      {"Size", "x @out_type=i32", calls<size_of>},
      {"Slice", "x list_of_starts list_of_sizes", calls<slice>},
      {"SpaceToBatchND", "x list_of_blocks list_of_edges", calls<moved_blocks<space_to_batch>>},
      {"SpaceToDepth", kBlocks, calls<pixels_to_blocks>},
      {"Split", "axis(x) x", calls<split_evenly>},
      {"SplitV", "x list_of_parts axis(x)", calls<split_into>},
      {"Squeeze", "x @squeeze_dims= @axis=", calls<squeeze>},
      {"StridedSlice",
       "x list_of_starts list_of_ends list_of_steps @begin_mask=0 @end_mask=0 @ellipsis_mask=0 @new_axis_mask=0 "
       "@shrink_axis_mask=0 @offset=0",
       calls<slice_in_steps>},
      {"Tile", "x list_of_repeats", calls<tiled>},
      {"Transpose", "x order_of_dimensions", calls<transpose>},
      {"Unpack", "x @axis(x)=0", calls<unpack>},
      {"ZerosLike", "x", calls<filled_like<0>>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
