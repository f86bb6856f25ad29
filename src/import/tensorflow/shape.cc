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
#include "import/tensorflow/rows.h"

namespace whet::tensorflow {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kOpenEnd = std::numeric_limits<std::int64_t>::max();

/// Pairs of paddings, one for each dimension, as those before each and then those behind each.
Result<Ints> read_pads(TfSite& site, std::size_t input) {
  WHET_TRY(const Tensor given, site.known(site.in(input), "list of paddings"));
  const std::size_t rank = site.rank(site.in(0));
  if (is_float(given.dtype()) || given.shape() != Shape{static_cast<std::int64_t>(rank), 2})
    return site.error("its paddings are " + to_string(given.type()) + "; expected a pair for each dimension");
  Ints pads(2 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    pads[d] = given.integer(static_cast<std::int64_t>(2 * d));
    pads[d + rank] = given.integer(static_cast<std::int64_t>(2 * d + 1));
    if (pads[d] < 0 || pads[d + rank] < 0) return site.error("its paddings are negative");
  }
  return pads;
}

/// Pairs for the dimensions that blocks are of.
Result<Ints> read_edges(TfSite& site, std::size_t input, std::size_t count) {
  WHET_TRY(const Tensor given, site.known(site.in(input), "list of edges"));
  if (is_float(given.dtype()) || given.shape() != Shape{static_cast<std::int64_t>(count), 2})
    return site.error("its edges are " + to_string(given.type()) + "; expected a pair for each of " +
                      std::to_string(count) + " dimensions");
  Ints edges;
  for (std::int64_t i = 0; i < given.size(); ++i) edges.push_back(given.integer(i));
  return edges;
}

/// Parts of `x` along an axis; one may be -1, what the others leave.
Status give_parts(TfSite& site, ValueId x, std::int64_t axis, Ints extents) {
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  std::int64_t left = extent;
  bool fits = extents.size() == site.output_count();
  for (const std::int64_t part : extents) {
    fits = fits && part >= -1 && part <= left;
    if (fits && part >= 0) left -= part;
  }
  for (std::int64_t& part : extents)
    if (part == -1) part = std::exchange(left, 0);
  if (!fits || left != 0)
    return site.error("splits an extent of " + std::to_string(extent) + " into " + to_string(extents) + " for " +
                      std::to_string(site.output_count()) + " results");
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, axis, extents));
  for (std::size_t k = 0; k < parts.size(); ++k) WHET_RETURN_IF_ERROR(site.give(parts[k], k));
  return ok_status();
}

Status give_joined(TfSite& site, const std::vector<ValueId>& values, std::int64_t axis) {
  return values.size() == 1 ? site.pass(values[0]) : site.give(ConcatOperator{axis}, values);
}

Result<bool> is_channels_first(TfSite& site) {
  const Result<std::string> format = site.text("data_format", "NHWC");
  if (!format.ok()) return format.error();
  if (*format == "NHWC" || *format == "NCHW") return *format == "NCHW";
  return site.error("its data_format is " + *format + "; expected NHWC or NCHW");
}

Status import_reshape(TfSite& site) {
  WHET_TRY(const std::vector<Size> wanted, site.known_sizes(site.in(1), "shape"));
  return site.give(reshaped(site, site.in(0), wanted, true));
}
Status import_squeeze(TfSite& site) {
  WHET_TRY(const TfList axes, site.list(site.has("squeeze_dims") ? "squeeze_dims" : "axis"));
  return site.give(
      squeezed(site, site.in(0), axes.integers.empty() ? std::optional<Ints>() : std::optional(axes.integers)));
}
Status import_expand_dims(TfSite& site) {
  WHET_TRY(const std::int64_t axis, site.integer(1, "axis"));
  return site.give(unsqueezed(site, site.in(0), {axis}));
}
Status import_transpose(TfSite& site) {
  WHET_TRY(Ints perm, site.integers(1, "order of dimensions"));
  for (std::int64_t& axis : perm) {
    WHET_TRY(axis, site.resolve_axis(axis, site.rank(site.in(0))));
  }
  return site.give(TransposeOperator{perm}, {site.in(0)});
}

Status import_concat(TfSite& site) {
  const bool axis_first = site.op() == "Concat";
  std::vector<ValueId> values = site.ins();
  values.erase(axis_first ? values.begin() : values.end() - 1);
  WHET_TRY(const std::int64_t axis, site.axis(axis_first ? 0 : site.input_count() - 1, site.rank(values[0])));
  return give_joined(site, values, axis);
}
Status import_pack(TfSite& site) {
  WHET_TRY(const std::int64_t given, site.integer("axis", 0));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(site.in(0)) + 1));
  std::vector<ValueId> values;
  for (const ValueId x : site.ins()) {
    if (site.shape(x) != site.shape(site.in(0)))
      return site.error("packs " + to_string(site.type(site.in(0))) + " and " + to_string(site.type(x)));
    WHET_TRY(const ValueId value, unsqueezed(site, x, {axis}));
    values.push_back(value);
  }
  return values.size() == 1 ? site.give(values[0]) : site.give(ConcatOperator{axis}, values);
}
Status import_unpack(TfSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t given, site.integer("axis", 0));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(x)));
  if (site.shape(x)[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(site.output_count()))
    return site.error("takes " + to_string(site.type(x)) + " apart into " + std::to_string(site.output_count()) +
                      " results");
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, axis, Ints(site.output_count(), 1)));
  for (std::size_t i = 0; i < parts.size(); ++i)
    WHET_RETURN_IF_ERROR(site.give(squeezed(site, parts[i], Ints{axis}), i));
  return ok_status();
}
Status import_split(TfSite& site) {
  const ValueId x = site.in(1);
  WHET_TRY(const std::int64_t axis, site.axis(0, site.rank(x)));
  const auto count = static_cast<std::int64_t>(site.output_count());
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  if (count < 1) return site.error("splits into nothing");
  return give_parts(site, x, axis, Ints(site.output_count(), extent / count));
}
Status import_split_v(TfSite& site) {
  WHET_TRY(const Ints extents, site.integers(1, "list of parts"));
  WHET_TRY(const std::int64_t axis, site.axis(2, site.rank(site.in(0))));
  return give_parts(site, site.in(0), axis, extents);
}

Status import_slice(TfSite& site) {
  WHET_TRY(const Ints begin, site.integers(1, "list of starts"));
  WHET_TRY(const Ints size, site.integers(2, "list of sizes"));
  if (begin.size() != size.size() || begin.size() != site.rank(site.in(0)))
    return site.error("has " + std::to_string(begin.size()) + " starts and " + std::to_string(size.size()) +
                      " sizes for " + to_string(site.type(site.in(0))));
  const Shape shape = site.shape(site.in(0));
  Ints end;
  for (std::size_t d = 0; d < size.size(); ++d) {
    const bool inside = begin[d] >= 0 && begin[d] <= shape[d] && size[d] >= -1 && size[d] <= shape[d] - begin[d];
    if (!inside)
      return site.error("takes " + to_string(size) + " from " + to_string(begin) + " on of " + to_string(shape));
    end.push_back(size[d] == -1 ? kOpenEnd : begin[d] + size[d]);
  }
  return site.give(sliced(site, site.in(0), begin, end, std::nullopt, Ints(begin.size(), 1)));
}
Status import_strided_slice(TfSite& site) {
  StridedSlice form;
  WHET_TRY(form.starts, site.integers(1, "list of starts"));
  WHET_TRY(form.ends, site.integers(2, "list of ends"));
  WHET_TRY(form.steps, site.integers(3, "list of steps"));
  WHET_TRY(form.open_starts, site.integer("begin_mask", 0));
  WHET_TRY(form.open_ends, site.integer("end_mask", 0));
  WHET_TRY(form.ellipsis, site.integer("ellipsis_mask", 0));
  WHET_TRY(form.is_new, site.integer("new_axis_mask", 0));
  WHET_TRY(form.goes, site.integer("shrink_axis_mask", 0));
  WHET_TRY(const bool from_starts, site.flag("offset", false));  // ends are counted from the starts
  for (std::size_t d = 0; from_starts && d < std::min(form.starts.size(), form.ends.size()); ++d)
    form.ends[d] =
        std::clamp(form.starts[d], -kMaxElements, kMaxElements) + std::clamp(form.ends[d], -kMaxElements, kMaxElements);
  return site.give(strided_slice(site, site.in(0), form));
}

Status import_pad(TfSite& site) {
  double value = 0;
  if (site.input_count() == 3) {
    WHET_TRY(value, site.known_number(site.in(2), "value"));
  }
  WHET_TRY(const Ints pads, read_pads(site, 1));
  const ValueId x = site.in(0);
  return site.give(padded(site, x, pads, every_axis(site.rank(x)), PadMode::constant, value));
}
Status import_mirror_pad(TfSite& site) {
  WHET_TRY(const Ints pads, read_pads(site, 1));
  WHET_TRY(const std::string mode, site.text("mode", "REFLECT"));
  const ValueId x = site.in(0);
  if (mode == "SYMMETRIC") return site.give(symmetric_pad(site, x, pads));
  if (mode == "REFLECT") return site.give(padded(site, x, pads, every_axis(site.rank(x)), PadMode::reflect, 0));
  return site.error("its mode is " + mode + "; expected REFLECT or SYMMETRIC");
}
Status import_tile(TfSite& site) {
  WHET_TRY(const Ints repeats, site.integers(1, "list of repeats"));
  return site.give(tiled(site, site.in(0), repeats));
}
Status import_broadcast_to(TfSite& site) {
  WHET_TRY(const std::vector<Size> shape, site.known_sizes(site.in(1), "shape"));
  return site.give(expanded(site, site.in(0), shape));
}
Status import_reverse(TfSite& site) {
  WHET_TRY(const Ints axes, site.axes(1, site.in(0)));
  return site.give(
      sliced(site, site.in(0), Ints(axes.size(), -1), Ints(axes.size(), -kOpenEnd), axes, Ints(axes.size(), -1)));
}
Status import_space_to_batch(TfSite& site) {
  WHET_TRY(const Ints block, site.integers(1, "list of blocks"));
  WHET_TRY(const Ints pads, read_edges(site, 2, block.size()));
  return site.give(space_to_batch(site, site.in(0), block, pads));
}
Status import_batch_to_space(TfSite& site) {
  WHET_TRY(const Ints block, site.integers(1, "list of blocks"));
  WHET_TRY(const Ints crops, read_edges(site, 2, block.size()));
  return site.give(batch_to_space(site, site.in(0), block, crops));
}
Status import_depth_to_space(TfSite& site) {
  WHET_TRY(const std::int64_t block, site.integer("block_size", 0));
  WHET_TRY(const bool first, is_channels_first(site));
  if (!first) return site.give(depth_to_space_nhwc(site, site.in(0), block));
  const Shape& s = site.shape(site.in(0));
  if (s.size() != 4 || block < 1 || block > 4096 || s[1] % (block * block) != 0)
    return site.error("makes blocks of " + std::to_string(block) + " of " + to_string(site.type(site.in(0))));
  return site.give(depth_to_space(site, site.in(0), block, DepthOrder::depth_column_row));
}
Status import_space_to_depth(TfSite& site) {
  WHET_TRY(const std::int64_t block, site.integer("block_size", 0));
  WHET_TRY(const bool first, is_channels_first(site));
  if (!first) return site.give(space_to_depth_nhwc(site, site.in(0), block));
  const Shape& s = site.shape(site.in(0));
  if (s.size() != 4 || block < 1 || block > 4096 || s[2] % block != 0 || s[3] % block != 0)
    return site.error("makes blocks of " + std::to_string(block) + " of " + to_string(site.type(site.in(0))));
  return site.give(space_to_depth(site, site.in(0), block));
}

// ---- Other sizes of images [N, H, W, C].

Status give_resized(TfSite& site, ResizeOperator op, bool floats) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Ints sizes, site.integers(1, "size"));
  ValueId x = site.in(0);
  if (floats) {  // the result is of f32 whatever the image is of
    WHET_TRY(x, site.cast("floats", x, DType::f32));
  }
  const Shape shape = site.shape(x);
  if (shape.size() != 4 || sizes.size() != 2)
    return site.error("resizes " + to_string(site.type(x)) + " to " + to_string(sizes));
  WHET_RETURN_IF_ERROR(scale_to(site, x, {shape[0], sizes[0], sizes[1], shape[3]}, op));
  return site.give(op, {x});
}

struct Pixels {
  bool align = false, half = false;
};
Result<Pixels> read_pixels(TfSite& site) {
  Pixels pixels;
  WHET_TRY(pixels.align, site.flag("align_corners", false));
  WHET_TRY(pixels.half, site.flag("half_pixel_centers", false));
  return pixels;
}
CoordinateMode coordinates_of(const Pixels& pixels, CoordinateMode half) {
  return pixels.align ? CoordinateMode::align_corners : pixels.half ? half : CoordinateMode::asymmetric;
}

Status import_resize_bilinear(TfSite& site) {
  WHET_TRY(const Pixels pixels, read_pixels(site));
  ResizeOperator op{};
  op.mode = ResizeMode::linear;
  op.coordinates = coordinates_of(pixels, CoordinateMode::half_pixel);
  return give_resized(site, op, true);
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

Result<ValueId> cubic_along(TfSite& site, ValueId x, std::int64_t axis, std::int64_t out, const Pixels& pixels) {
  const std::int64_t in = site.shape(x)[static_cast<std::size_t>(axis)];
  if (in == out) return x;
  const CubicTaps taps = cubic_taps(in, out, pixels);
  Shape along(4, 1);
  along[static_cast<std::size_t>(axis)] = out;
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

Status import_resize_bicubic(TfSite& site) {
  WHET_TRY(const Pixels pixels, read_pixels(site));
  WHET_TRY(const Ints sizes, site.integers(1, "size"));
  WHET_TRY(ValueId x, site.cast("floats", site.in(0), DType::f32));
  const Shape shape = site.shape(x);
  ResizeOperator op{};  // checks the sizes
  if (shape.size() != 4 || sizes.size() != 2)
    return site.error("resizes " + to_string(site.type(x)) + " to " + to_string(sizes));
  WHET_RETURN_IF_ERROR(scale_to(site, x, {shape[0], sizes[0], sizes[1], shape[3]}, op));
  WHET_RETURN_IF_ERROR(expect_small(site, sizes, "the image"));
  WHET_TRY(x, cubic_along(site, x, 1, sizes[0], pixels));
  WHET_TRY(x, cubic_along(site, x, 2, sizes[1], pixels));
  return x == site.in(0) ? site.pass(x) : site.give(x);
}
Status import_resize_nearest(TfSite& site) {
  WHET_TRY(const Pixels pixels, read_pixels(site));
  ResizeOperator op{};
  op.mode = ResizeMode::nearest;
  op.coordinates = coordinates_of(pixels, CoordinateMode::tf_half_pixel_for_nn);
  op.nearest = pixels.align ? NearestMode::round_prefer_ceil : NearestMode::floor;
  return give_resized(site, op, false);
}

// ---- Sizes and constants.

Status give_integers(TfSite& site, const Result<ValueId>& sizes, std::size_t i = 0) {
  WHET_TRY(const DType dtype, site.dtype_attribute("out_type", {3}));
  return sizes.ok() ? site.give(site.cast("typed", *sizes, dtype), i) : sizes.error();
}

Status import_shape(TfSite& site) {
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    WHET_RETURN_IF_ERROR(give_integers(site, site.size_list(site.sizes(site.in(i))), i));
  }
  return ok_status();
}
Status import_size(TfSite& site) { return give_integers(site, site.size_product(site.sizes(site.in(0)))); }
Status import_rank(TfSite& site) {
  const auto rank = static_cast<std::int64_t>(site.rank(site.in(0)));
  return give_integers(site, site.size_product({Size{rank}}));
}
Status import_fill(TfSite& site) {
  WHET_TRY(const std::vector<Size> shape, site.known_sizes(site.in(0), "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", most_of(shape)));
  WHET_TRY(const ValueId scalar, site.add("value", ReshapeOperator{Shape{}}, {site.in(1)}));
  return site.give(expanded(site, scalar, shape));
}
Status import_zeros_like(TfSite& site) {
  return site.give(filled(site, site.sizes(site.in(0)), Tensor(site.dtype(site.in(0)), {})));
}
Status import_ones_like(TfSite& site) {
  const Tensor one = Tensor::of<double>(site.dtype(site.in(0)), {}, {1});
  return site.give(filled(site, site.sizes(site.in(0)), one));
}
Status import_range(TfSite& site) { return site.give(range(site, site.in(0), site.in(1), site.in(2))); }
Status import_lin_space(TfSite& site) {
  WHET_TRY(const double start, site.known_number(site.in(0), "start"));
  WHET_TRY(const double stop, site.known_number(site.in(1), "end"));
  WHET_TRY(const std::int64_t count, site.integer(2, "number of elements"));
  if (count < 1 || count > (1 << 24)) return site.error("has " + std::to_string(count) + " elements");
  Tensor numbers(site.dtype(site.in(0)), {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    numbers.set(i, start + (stop - start) * part);
  }
  return site.give_constant(numbers);
}
/// Constants of bodies; those of the main graph are no nodes.
Status import_const(TfSite& site) {
  const TfAttribute* value = site.node().find("value");
  const auto* constant = value == nullptr ? nullptr : std::get_if<TfTensor>(value);
  if (constant == nullptr) return site.error("has no value");
  if (const auto* tensor = std::get_if<Tensor>(constant)) return site.give_constant(*tensor);
  if (const auto* unread = std::get_if<TfUnread>(constant)) return site.error(unread->reason);
  return ok_status();  // a text: an error where it is read
}

/// What leaves at one end comes in at the other.
Status import_roll(TfSite& site) {
  ValueId x = site.in(0);
  WHET_TRY(const Ints shifts, site.integers(1, "shift"));
  WHET_TRY(const Ints axes, site.integers(2, "list of axes"));
  if (shifts.size() != axes.size())
    return site.error("has " + std::to_string(shifts.size()) + " shifts for " + std::to_string(axes.size()) + " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], site.rank(x)));
    const std::int64_t extent = std::max<std::int64_t>(site.shape(x)[static_cast<std::size_t>(axis)], 1);
    const std::int64_t shift = (shifts[i] % extent + extent) % extent;
    if (shift == 0) continue;
    WHET_TRY(const std::vector<ValueId> parts, split(site, x, axis, {extent - shift, shift}));
    WHET_TRY(x, site.add("rolled", ConcatOperator{axis}, {parts[1], parts[0]}));
  }
  return site.give(x);
}

}  // namespace

TfRows shape_rows() {
  static constexpr TfRow kRows[] = {
      {"BatchToSpaceND", 3, import_batch_to_space},
      {"BroadcastTo", 2, import_broadcast_to},
      {"Concat", {2, 65536}, import_concat},
      {"ConcatV2", {2, 65536}, import_concat},
      {"Const", import_const},
      {"DepthToSpace", 1, import_depth_to_space},
      {"ExpandDims", 2, import_expand_dims},
      {"Fill", 2, import_fill},
      {"LinSpace", 3, import_lin_space},
      {"MirrorPad", 2, import_mirror_pad},
      {"OnesLike", 1, import_ones_like},
      {"Pack", {1, 65536}, import_pack},
      {"Pad", {2, 3}, import_pad},
      {"PadV2", {2, 3}, import_pad},
      {"Range", 3, import_range},
      {"Rank", 1, import_rank},
      {"Reshape", 2, import_reshape},
      {"ResizeBicubic", 2, import_resize_bicubic},
      {"ResizeBilinear", import_resize_bilinear},
      {"ResizeNearestNeighbor", import_resize_nearest},
      {"ReverseV2", 2, import_reverse},
      {"Roll", 3, import_roll},
      {"Shape", {1, 4096}, import_shape},
      {"ShapeN", {1, 4096}, import_shape},
      {"Size", 1, import_size},
      {"Slice", 3, import_slice},
      {"SpaceToBatchND", 3, import_space_to_batch},
      {"SpaceToDepth", 1, import_space_to_depth},
      {"Split", 2, import_split},
      {"SplitV", 3, import_split_v},
      {"Squeeze", 1, import_squeeze},
      {"StridedSlice", 4, import_strided_slice},
      {"Tile", 2, import_tile},
      {"Transpose", 2, import_transpose},
      {"Unpack", 1, import_unpack},
      {"ZerosLike", 1, import_zeros_like},
  };
  return kRows;
}

}  // namespace whet::tensorflow
