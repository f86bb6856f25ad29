#include "import/parts/shape.h"

#include <algorithm>
#include <limits>

#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/index.h"
#include "import/parts/move_axis.h"
#include "import_mxnet/rows.h"

namespace whet::mxnet {
namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// How places outside are meant; MXNet clips also where it should raise an error.
enum class Beyond : std::uint8_t { clip, wrap, raise };

/// Indices of MXNet may be floats.
Result<ValueId> places_in(NodeSite& site, ValueId indices, std::int64_t extent, Beyond mode) {
  WHET_TRY(ValueId places, site.cast("places", indices, DType::i64));
  if (mode == Beyond::wrap) return with_number(site, "wrapped", BinaryKind::mod, places, static_cast<double>(extent));
  WHET_TRY(places, with_number(site, "above", BinaryKind::max, places, 0));
  return with_number(site, "kept", BinaryKind::min, places, static_cast<double>(extent - 1));
}

/// The codes of a reshape: 0 keeps an extent, -1 is what is left, -2 keeps all that follow, -3 joins two, -4 splits one into
/// the next two.
Result<Shape> shape_by_codes(MxSite& site, ValueId x, Ints codes, bool reverse) {
  Shape from = site.shape(x), shape;
  if (reverse) {
    std::reverse(from.begin(), from.end());
    std::reverse(codes.begin(), codes.end());
  }
  const Error refusal = site.error("reshapes " + to_string(site.type(x)) + " to " + site.written("shape"));
  std::optional<std::size_t> open;
  for (std::size_t i = 0, at = 0; i < codes.size(); ++i) {
    const std::int64_t code = codes[i];
    const std::size_t left = from.size() - at, takes = code == -2 ? left : code == -3 ? 2 : 1;
    if (code < -4 || (code <= 0 && code != -1 && takes > left) || (code == -1 && open)) return refusal;
    const auto taken = from.begin() + static_cast<std::ptrdiff_t>(at);
    at += std::min(takes, left);
    if (code == -1) open = shape.size();
    if (code == 0 || code == -2) {
      shape.insert(shape.end(), taken, taken + static_cast<std::ptrdiff_t>(takes));
    } else if (code == -4) {
      if (i + 2 >= codes.size()) return refusal;
      std::int64_t a = codes[++i], b = codes[++i];
      if (a == -1 && b > 0) a = *taken / b;
      if (b == -1 && a > 0) b = *taken / a;
      if (a < 1 || b < 1) return refusal;
      shape.insert(shape.end(), {a, b});
    } else {
      shape.push_back(code == -3 ? taken[0] * taken[1] : code == -1 ? 1 : code);
    }
  }
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  const std::int64_t whole = num_elements(from), known = num_elements(shape);
  if (open && known > 0) shape[*open] = whole / known;
  if (num_elements(shape) != whole) return refusal;
  if (reverse) std::reverse(shape.begin(), shape.end());
  return shape;
}

Status import_reshape(MxSite& site, ValueId x, Ints codes, bool reverse, Ints target, bool keeps_highest) {
  if (!site.has_attribute("shape")) {  // of the first versions
    codes = std::move(target);
    std::replace(codes.begin(), codes.end(), 0, -1);
    if (keeps_highest && !codes.empty()) codes[0] = 0;
  }
  WHET_TRY(const Shape shape, shape_by_codes(site, x, std::move(codes), reverse));
  return site.shape(x) == shape ? site.pass(x) : site.give(ReshapeOperator{shape}, {x});
}
Status import_reshape_like(MxSite& site, ValueId x, ValueId like) {
  for (const char* part : {"lhs_begin", "lhs_end", "rhs_begin", "rhs_end"})
    if (site.has_attribute(part)) return site.error("reshapes a part of its dimensions, which is not supported");
  return site.give(ReshapeOperator{site.shape(like)}, {x});
}
Status import_transpose(NodeSite& site, ValueId x, Ints perm) {
  if (perm.empty()) {
    perm = every_axis(site.rank(x));
    std::reverse(perm.begin(), perm.end());
  }
  for (std::int64_t& axis : perm) {
    WHET_TRY(axis, site.resolve_axis(axis, site.rank(x)));
  }
  return site.give(TransposeOperator{perm}, {x});
}
Status import_swap_axis(NodeSite& site, ValueId x, std::int64_t a, std::int64_t b) {
  TransposeOperator turn{every_axis(site.rank(x))};
  std::swap(turn.perm[static_cast<std::size_t>(a)], turn.perm[static_cast<std::size_t>(b)]);
  return site.give(turn, {x});
}

/// Parts along an axis, which may go.
Result<ValueIds> split_parts(NodeSite& site, ValueId x, std::int64_t axis, const Ints& extents, bool squeeze) {
  WHET_TRY(ValueIds parts, split(site, x, axis, extents));
  for (std::size_t i = 0; squeeze && i < parts.size(); ++i) {
    WHET_TRY(parts[i], squeezed(site, parts[i], Ints{axis}));
  }
  return parts;
}
Result<ValueIds> import_split(NodeSite& site, ValueId x, std::int64_t axis, std::int64_t count, bool squeeze) {
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  if (count < 1 || count > 4096 || extent % count != 0)
    return site.error("splits an extent of " + std::to_string(extent) + " into " + std::to_string(count) + " parts");
  return split_parts(site, x, axis, Ints(static_cast<std::size_t>(count), extent / count), squeeze);
}
/// As many equal parts as there are sections, or parts that begin at indices.
Result<ValueIds> import_split_at(NodeSite& site, ValueId x, std::int64_t axis, std::int64_t sections,
                                 const Ints& indices, bool squeeze) {
  if (sections > 0) return import_split(site, x, axis, sections, squeeze);
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  Ints bounds = indices, extents;
  bounds.push_back(extent);
  if (indices.size() != site.output_count() || bounds[0] != 0 || !std::is_sorted(bounds.begin(), bounds.end()))
    return site.error("splits an extent of " + std::to_string(extent) + " at " + to_string(indices));
  for (std::size_t i = 0; i < indices.size(); ++i) extents.push_back(bounds[i + 1] - bounds[i]);
  return split_parts(site, x, axis, extents, squeeze);
}

Result<ValueId> import_slice(NodeSite& site, ValueId x, const OpenInts& begin, const OpenInts& end, OpenInts step) {
  if (step.empty()) step.resize(begin.size());
  if (begin.size() != end.size() || begin.size() != step.size() || begin.size() > site.rank(x))
    return site.error("has " + std::to_string(begin.size()) + " starts, " + std::to_string(end.size()) + " ends and " +
                      std::to_string(step.size()) + " steps");
  Ints starts, ends, steps;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    steps.push_back(step[d].value_or(1));
    const bool backwards = steps[d] < 0;
    if (steps[d] == 0) return site.error("has a step of 0");
    starts.push_back(begin[d].value_or(backwards ? kToTheEnd : 0));
    ends.push_back(end[d].value_or(backwards ? -kToTheEnd : kToTheEnd));
  }
  return sliced(site, x, starts, ends, std::nullopt, steps);
}
Result<ValueId> import_slice_axis(NodeSite& site, ValueId x, std::int64_t axis, std::int64_t begin,
                                  std::optional<std::int64_t> end) {
  return sliced(site, x, {begin}, {end.value_or(kToTheEnd)}, Ints{axis}, {1});
}
/// As long as the second input in some axes, or in all.
Result<ValueId> import_slice_like(NodeSite& site, ValueId x, ValueId other, Ints axes) {
  if (axes.empty()) axes = every_axis(site.rank(x));
  const Shape like = site.shape(other);
  Ints ends;
  for (const std::int64_t axis : axes) {
    if (axis >= static_cast<std::int64_t>(like.size()))
      return site.error("is cut like " + to_string(like) + " in axis " + std::to_string(axis));
    ends.push_back(like[static_cast<std::size_t>(axis)]);
  }
  return sliced(site, x, Ints(axes.size(), 0), ends, axes, Ints(axes.size(), 1));
}
/// Height and width of the second input, or as the attribute says.
Result<ValueId> import_crop(MxSite& site, ValueId x, std::optional<ValueId> other, bool centre) {
  WHET_TRY(Ints offset, site.entries("offset", 2, 0, 0));
  WHET_TRY(Ints size, site.entries("h_w", 2, 0, 0));
  const Shape shape = site.shape(x), like = other ? site.shape(*other) : shape;
  if (shape.size() != 4 || like.size() != 4)
    return site.error("crops " + to_string(site.type(x)) + (other ? " like " + to_string(like) : ""));
  if (other) size = {like[2], like[3]};
  for (std::size_t d = 0; d < 2; ++d) {
    if (centre) offset[d] = (shape[d + 2] - size[d]) / 2;
    if (size[d] < 1 || offset[d] < 0 || offset[d] + size[d] > shape[d + 2])
      return site.error("takes " + to_string(size) + " of " + to_string(site.type(x)));
  }
  return sliced(site, x, offset, {offset[0] + size[0], offset[1] + size[1]}, Ints{2, 3}, {1, 1});
}
Result<ValueId> import_pad(MxSite& site, ValueId x, PadMode mode, double value) {
  const std::size_t rank = site.rank(x);
  WHET_TRY(const Ints pairs, site.entries("pad_width", 2 * rank, 0, 0));
  Ints pads(2 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    pads[d] = pairs[2 * d];
    pads[d + rank] = pairs[2 * d + 1];
  }
  return padded(site, x, pads, every_axis(rank), mode, value);
}
Result<ValueId> import_tile(NodeSite& site, ValueId x, Ints repeats) {
  const std::size_t rank = site.rank(x);
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  if (repeats.size() > rank) {
    Shape shape = site.shape(x);
    shape.insert(shape.begin(), repeats.size() - rank, 1);
    WHET_TRY(x, site.add("ranks", ReshapeOperator{shape}, {x}));
  }
  return tiled(site, x, repeats);
}
/// Each element several times behind itself.
Result<ValueId> import_repeat(NodeSite& site, ValueId x, std::int64_t count, std::optional<std::int64_t> axis) {
  if (count < 1 || count > kMaxElements) return site.error("repeats " + std::to_string(count) + " times");
  WHET_TRY(x, axis ? x : site.add("flat", ReshapeOperator{{num_elements(site.shape(x))}}, {x}));
  return each_repeated(site, x, axis.value_or(0), count);
}
Result<ValueId> import_reverse(NodeSite& site, ValueId x, Ints axes) {
  if (axes.empty()) axes = every_axis(site.rank(x));
  return sliced(site, x, Ints(axes.size(), -1), Ints(axes.size(), -kToTheEnd), axes, Ints(axes.size(), -1));
}
Result<ValueId> import_broadcast_to(NodeSite& site, ValueId x, Ints shape) {
  const Shape from = site.shape(x);
  if (shape.size() != from.size()) return site.error("broadcasts " + to_string(from) + " to " + to_string(shape));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 0) shape[d] = from[d];
  return expanded(site, x, shape);
}
Result<ValueId> import_broadcast_axis(NodeSite& site, ValueId x, const Ints& axes, const Ints& sizes) {
  Shape shape = site.shape(x);
  if (axes.size() != sizes.size())
    return site.error("names " + std::to_string(axes.size()) + " axes and " + std::to_string(sizes.size()) + " sizes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], shape.size()));
    shape[static_cast<std::size_t>(axis)] = sizes[i];
  }
  return expanded(site, x, shape);
}
Result<ValueId> import_broadcast_like(MxSite& site, ValueId x, ValueId other, const Ints& to, const Ints& of) {
  const Shape like = site.shape(other);
  if (!site.has_attribute("lhs_axes") && !site.has_attribute("rhs_axes")) return expanded(site, x, like);
  if (to.empty() || to.size() != of.size())
    return site.error("names " + std::to_string(to.size()) + " axes of its own and " + std::to_string(of.size()) +
                      " of the second input; expected as many");
  Ints sizes;
  for (const std::int64_t each : of) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(each, like.size()));
    sizes.push_back(like[static_cast<std::size_t>(axis)]);
  }
  return import_broadcast_axis(site, x, to, sizes);
}

// ---- Places.

/// Rows of weights by numbers, which may be floats.
Result<ValueId> import_embedding(NodeSite& site, ValueId indices, ValueId weights) {
  const Shape w = site.shape(weights);
  if (w.size() != 2 || w[0] < 1) return site.error("its weights are " + to_string(w));
  WHET_TRY(const ValueId places, places_in(site, indices, w[0], Beyond::clip));
  return gather(site, weights, places, 0);
}
Result<ValueId> import_take(NodeSite& site, ValueId x, ValueId indices, std::int64_t axis, Beyond mode) {
  WHET_TRY(const ValueId places, places_in(site, indices, site.shape(x)[static_cast<std::size_t>(axis)], mode));
  return gather(site, x, places, axis);
}
/// One element along an axis for each of the others.
Result<ValueId> import_pick(MxSite& site, ValueId x, ValueId indices, std::int64_t axis, bool keep, Beyond mode) {
  if (site.written("axis") == "None") return site.error("its axis is None; expected one");
  Shape column = site.shape(x);
  const std::int64_t extent = std::exchange(column[static_cast<std::size_t>(axis)], 1);
  if (num_elements(site.shape(indices)) != num_elements(column))
    return site.error("picks from " + to_string(site.type(x)) + " by " + to_string(site.type(indices)));
  WHET_TRY(ValueId places, places_in(site, indices, extent, mode));
  WHET_TRY(places, site.add("column", ReshapeOperator{column}, {places}));
  WHET_TRY(const ValueId y, site.add("picked", GatherElementsOperator{axis}, {x, places}));
  return keep ? y : squeezed(site, y, Ints{axis});
}
/// The first dimension of the indices is one of coordinates.
Status import_gather_nd(NodeSite& site, ValueId x, ValueId indices) {
  WHET_TRY(ValueId places, site.cast("places", indices, DType::i64));
  const std::size_t rank = site.rank(places);
  if (rank == 0) return site.error("the indices are a scalar");
  WHET_TRY(places, site.add("turned", move_axis(rank, 0, rank - 1), {places}));
  return site.give(GatherNdOperator{0}, {x, places});
}
Result<ValueId> import_one_hot(NodeSite& site, ValueId x, std::int64_t depth, double on, double off, DType dtype) {
  if (depth < 1 || depth > kMaxElements) return site.error("has a depth of " + std::to_string(depth));
  WHET_TRY(const ValueId places, site.cast("places", x, DType::i64));
  const ValueId values = site.add_constant("values", Tensor::of<double>(dtype, {2}, {off, on}));
  return one_hot(site, places, {depth, static_cast<std::int64_t>(site.rank(places)), values});
}
/// The elements behind the end of each sequence become a number.
Status import_sequence_mask(MxSite& site, ValueId x, std::optional<ValueId> ends, bool by_lengths, std::int64_t given,
                            double value) {
  if (!by_lengths) return site.pass(x);
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, 2));
  const std::size_t rank = site.rank(x);
  const TensorType lengths = site.type(*ends);
  if (rank < 2 || lengths.shape.size() != 1)
    return site.error("masks " + to_string(site.type(x)) + " by " + to_string(lengths));
  const auto d = static_cast<std::size_t>(axis);
  const Shape steps = shape_along(d, rank, site.shape(x)[d]), batch = shape_along(1 - d, rank, lengths.shape[0]);
  if (num_elements(steps) > (1 << 24)) return site.error("masks " + to_string(site.type(x)));
  const ValueId places = site.add_constant("steps", numbered(steps, lengths.dtype));
  WHET_TRY(const ValueId column, site.add("ends", ReshapeOperator{batch}, {*ends}));
  WHET_TRY(const ValueId inside, site.add("inside", BinaryOperator{BinaryKind::less}, {places, column}));
  return site.give(WhereOperator{}, {inside, x, site.add_scalar("value", site.dtype(x), value)});
}

// ---- Constants.

Result<ValueId> import_constant(NodeSite& site, double value, const Ints& shape, DType dtype) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  return filled(site, shape, Tensor::of<double>(dtype, {}, {value}));
}
Result<ValueId> import_like(NodeSite& site, double value, ValueId x) {
  return import_constant(site, value, site.shape(x), site.dtype(x));
}
/// Up to the one number that is given, or from it on.
Status import_arange(NodeSite& site, double start, std::optional<double> stop, double step, std::int64_t repeat,
                     DType dtype) {
  if (repeat != 1) return site.error("repeats its numbers, which is not supported");
  const auto one = [&](double value) { return Tensor::of<double>(dtype, {}, {value}); };
  WHET_TRY(const Tensor numbers, range(site, one(stop ? start : 0), one(stop.value_or(start)), one(step)));
  return site.give_constant(numbers);
}

}  // namespace

MxRows shape_rows() {
  static constexpr MxRow kRows[] = {
      {"Concat _rnn_param_concat concat", "values... @dim(values)=1", calls<joined>},
      {"Crop", "x like? @center_crop=0 @offset? @h_w?", calls<import_crop>},
      {"Embedding _npx_embedding", "indices weights", calls<import_embedding>},
      {"Flatten flatten", "x =1", calls<flattened>},
      {"Pad pad", "x @mode:constant|reflect|edge=constant @constant_value=0 @pad_width?", calls<import_pad>},
      {"Reshape reshape", "x @shape= @reverse=0 @target_shape= @keep_highest=0", calls<import_reshape>},
      {"SequenceMask", "x lengths? @use_sequence_length=0 @axis=0 @value=0", calls<import_sequence_mask>},
      {"SliceChannel split", "x @axis(x)=1 @num_outputs=1 @squeeze_axis=0", calls<import_split>},
      {"SwapAxis swapaxes", "x @dim1(x)=0 @dim2(x)=0", calls<import_swap_axis>},
      {"_arange", "@start=0 @stop? @step=1 @repeat=1 @dtype=float32", calls<import_arange>},
      {"_ones", "=1 @shape= @dtype=float32", calls<import_constant>},
      {"_split_v2", "x @axis(x)=1 @sections=0 @indices= @squeeze_axis=0", calls<import_split_at>},
      {"_zeros", "=0 @shape= @dtype=float32", calls<import_constant>},
      {"broadcast_axes broadcast_axis", "x @axis= @size=", calls<import_broadcast_axis>},
      {"broadcast_like", "x like @lhs_axes= @rhs_axes=", calls<import_broadcast_like>},
      {"broadcast_to", "x @shape=", calls<import_broadcast_to>},
      {"depth_to_space", "x @block_size =0", calls<depth_to_space>},
      {"expand_dims", "x @axis=0", calls<unsqueezed>},
      {"flip reverse", "x @axis(x)=", calls<import_reverse>},
      {"gather_nd", "x indices", calls<import_gather_nd>},
      {"one_hot", "x @depth @on_value=1 @off_value=0 @dtype=float32", calls<import_one_hot>},
      {"ones_like", "=1 x", calls<import_like>},
      {"pick", "x indices @axis(x)=-1 @keepdims=0 @mode:clip|wrap|raise=clip", calls<import_pick>},
      {"repeat", "x @repeats=1 @axis(x)?", calls<import_repeat>},
      {"reshape_like", "x like @lhs_begin? @lhs_end? @rhs_begin? @rhs_end?", calls<import_reshape_like>},
      {"slice", "x @begin= @end= @step=", calls<import_slice>},
      {"slice_axis", "x @axis(x)=0 @begin=0 @end?", calls<import_slice_axis>},
      {"slice_like", "x like @axes(x)=", calls<import_slice_like>},
      {"space_to_depth", "x @block_size =0", calls<space_to_depth>},
      {"squeeze", "x @axis?", calls<squeezed>},
      {"stack", "values... @axis=0", calls<stacked>},
      {"take", "x indices @axis(x)=0 @mode:clip|wrap|raise=clip", calls<import_take>},
      {"tile", "x @reps=", calls<import_tile>},
      {"transpose", "x @axes=", calls<import_transpose>},
      {"zeros_like", "=0 x", calls<import_like>},
  };
  return kRows;
}

}  // namespace whet::mxnet
