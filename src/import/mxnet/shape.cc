#include "import/parts/shape.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "import/mxnet/rows.h"
#include "import/parts/constant.h"
#include "import/parts/index.h"

namespace whet::mxnet {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// Indices of MXNet may be floats; those outside are kept at the edge (mode clip, which is usual).
Result<ValueId> places_in(MxSite& site, ValueId indices, std::int64_t extent, const std::string& mode) {
  WHET_TRY(ValueId places, site.cast("places", indices, DType::i64));
  const ValueId last = site.add_scalar("last", DType::i64, static_cast<double>(extent - 1));
  if (mode == "wrap")
    return site.add("wrapped", BinaryOperator{BinaryKind::mod},
                    {places, site.add_scalar("extent", DType::i64, static_cast<double>(extent))});
  WHET_TRY(places,
           site.add("above", BinaryOperator{BinaryKind::max}, {places, site.add_scalar("first", DType::i64, 0)}));
  return site.add("kept", BinaryOperator{BinaryKind::min}, {places, last});
}

/// The codes of a reshape: 0 keeps an extent, -1 is what is left, -2 keeps all that follow, -3 joins two, -4 splits one into
/// the next two.
Result<Shape> shape_by_codes(MxSite& site, Shape from, Ints codes, bool reverse) {
  if (reverse) {
    std::reverse(from.begin(), from.end());
    std::reverse(codes.begin(), codes.end());
  }
  const auto refuse = [&] {
    return site.error("reshapes " + to_string(site.type(site.in(0))) + " to " + site.text("shape", ""));
  };
  Shape shape;
  std::size_t at = 0;
  std::int64_t open = -1;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::int64_t code = codes[i];
    if (code < -4 || (code <= 0 && code != -1 && code != -2 && at >= from.size())) return refuse();
    if (code > 0) {
      shape.push_back(code);
      ++at;
    } else if (code == 0) {
      shape.push_back(from[at++]);
    } else if (code == -1) {
      if (open >= 0) return refuse();
      open = static_cast<std::int64_t>(shape.size());
      shape.push_back(1);
      ++at;
    } else if (code == -2) {
      for (; at < from.size(); ++at) shape.push_back(from[at]);
    } else if (code == -3) {
      if (at + 1 >= from.size()) return refuse();
      shape.push_back(from[at] * from[at + 1]);
      at += 2;
    } else {
      if (i + 2 >= codes.size()) return refuse();
      std::int64_t a = codes[i + 1], b = codes[i + 2];
      if (a == -1 && b > 0) a = from[at] / b;
      if (b == -1 && a > 0) b = from[at] / a;
      if (a < 1 || b < 1) return refuse();
      shape.push_back(a);
      shape.push_back(b);
      ++at;
      i += 2;
    }
    for (const std::int64_t extent : shape)
      if (extent < 0 || extent > kMaxElements) return refuse();
  }
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  const std::int64_t whole = num_elements(from), known = num_elements(shape);
  if (open >= 0 && known > 0) shape[static_cast<std::size_t>(open)] = whole / known;
  if (num_elements(shape) != whole) return refuse();
  if (reverse) std::reverse(shape.begin(), shape.end());
  return shape;
}

Status import_flatten(MxSite& site) {
  if (site.rank(site.in(0)) == 0) return site.error("the input is a scalar");
  return site.give(flattened(site, site.in(0), 1));
}
Status import_reshape(MxSite& site) {
  WHET_TRY(const bool reverse, site.flag("reverse", false));
  const Shape from = site.shape(site.in(0));
  Ints codes;
  if (site.has("shape")) {
    WHET_TRY(codes, site.integers("shape"));
  } else {  // of the first versions
    WHET_TRY(codes, site.integers("target_shape"));
    for (std::int64_t& code : codes)
      if (code == 0) code = -1;
    WHET_TRY(const bool keeps, site.flag("keep_highest", false));
    if (keeps && !codes.empty()) codes[0] = 0;
  }
  WHET_TRY(const Shape shape, shape_by_codes(site, from, codes, reverse));
  return from == shape ? site.pass(site.in(0)) : site.give(ReshapeOperator{shape}, {site.in(0)});
}
Status import_reshape_like(MxSite& site) {
  if (site.has("lhs_begin") || site.has("lhs_end") || site.has("rhs_begin") || site.has("rhs_end"))
    return site.error("reshapes a part of its dimensions, which is not supported");
  const Shape shape = site.shape(site.in(1));
  return site.give(ReshapeOperator{shape}, {site.in(0)});
}
Status import_transpose(MxSite& site) {
  WHET_TRY(Ints perm, site.integers("axes"));
  const std::size_t rank = site.rank(site.in(0));
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  for (std::int64_t& axis : perm) {
    WHET_TRY(axis, site.resolve_axis(axis, rank));
  }
  return site.give(TransposeOperator{perm}, {site.in(0)});
}
Status import_swap_axis(MxSite& site) {
  const std::size_t rank = site.rank(site.in(0));
  WHET_TRY(const std::int64_t a, site.axis("dim1", 0, rank));
  WHET_TRY(const std::int64_t b, site.axis("dim2", 0, rank));
  TransposeOperator turn;
  turn.perm.resize(rank);
  std::iota(turn.perm.begin(), turn.perm.end(), 0);
  std::swap(turn.perm[static_cast<std::size_t>(a)], turn.perm[static_cast<std::size_t>(b)]);
  return site.give(turn, {site.in(0)});
}
Status import_expand_dims(MxSite& site) {
  WHET_TRY(const std::int64_t axis, site.integer("axis", 0));
  return site.give(unsqueezed(site, site.in(0), {axis}));
}
Status import_squeeze(MxSite& site) {
  WHET_TRY(const Ints axes, site.integers("axis"));
  return site.give(squeezed(site, site.in(0), axes.empty() ? std::optional<Ints>() : std::optional(axes)));
}
Status import_concat(MxSite& site) {
  WHET_TRY(const std::int64_t axis, site.axis("dim", 1, site.rank(site.in(0))));
  return site.input_count() == 1 ? site.pass(site.in(0)) : site.give(ConcatOperator{axis}, site.ins());
}
Status import_stack(MxSite& site) {
  WHET_TRY(const std::int64_t axis, site.axis("axis", 0, site.rank(site.in(0)) + 1));
  std::vector<ValueId> values;
  for (const ValueId x : site.ins()) {
    WHET_TRY(const ValueId value, unsqueezed(site, x, {axis}));
    values.push_back(value);
  }
  return values.size() == 1 ? site.give(values[0]) : site.give(ConcatOperator{axis}, values);
}
Status import_split(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.axis("axis", 1, site.rank(x)));
  WHET_TRY(const std::int64_t count, site.integer("num_outputs", 1));
  WHET_TRY(const bool squeeze, site.flag("squeeze_axis", false));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  if (count < 1 || count > 4096 || extent % count != 0)
    return site.error("splits an extent of " + std::to_string(extent) + " into " + std::to_string(count) + " parts");
  WHET_TRY(const std::vector<ValueId> parts,
           split(site, x, axis, Ints(static_cast<std::size_t>(count), extent / count)));
  for (std::size_t i = 0; i < parts.size(); ++i)
    WHET_RETURN_IF_ERROR(squeeze ? site.give(squeezed(site, parts[i], Ints{axis}), i) : site.give(parts[i], i));
  return ok_status();
}

/// As many equal parts as there are sections, or parts that begin at indices.
Status import_split_at(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.axis("axis", 1, site.rank(x)));
  WHET_TRY(const std::int64_t sections, site.integer("sections", 0));
  WHET_TRY(const bool squeeze, site.flag("squeeze_axis", false));
  WHET_TRY(Ints starts, site.integers("indices"));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  const auto count = static_cast<std::int64_t>(site.output_count());
  if (sections > 0) {
    starts.clear();
    for (std::int64_t i = 0; i < std::min(sections, count); ++i) starts.push_back(i * (extent / sections));
  }
  bool fits = !starts.empty() && starts[0] == 0 && (sections <= 0 || extent % sections == 0) &&
              static_cast<std::int64_t>(starts.size()) == (sections > 0 ? sections : count);
  starts.push_back(extent);
  Ints extents;
  for (std::size_t i = 0; fits && i + 1 < starts.size(); ++i) {
    fits = starts[i] <= starts[i + 1];
    extents.push_back(starts[i + 1] - starts[i]);
  }
  if (!fits)
    return site.error("splits an extent of " + std::to_string(extent) +
                      (sections > 0 ? " into " + std::to_string(sections) + " parts"
                                    : " at " + to_string(site.integers("indices").value())));
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, axis, extents));
  for (std::size_t i = 0; i < parts.size(); ++i)
    WHET_RETURN_IF_ERROR(squeeze ? site.give(squeezed(site, parts[i], Ints{axis}), i) : site.give(parts[i], i));
  return ok_status();
}

Status import_slice(MxSite& site) {
  WHET_TRY(const auto begin, site.open_integers("begin"));
  WHET_TRY(const auto end, site.open_integers("end"));
  WHET_TRY(auto step, site.open_integers("step"));
  if (step.empty()) step.resize(begin.size());
  if (begin.size() != end.size() || begin.size() != step.size() || begin.size() > site.rank(site.in(0)))
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
  return site.give(sliced(site, site.in(0), starts, ends, std::nullopt, steps));
}
Status import_slice_axis(MxSite& site) {
  WHET_TRY(const std::int64_t axis, site.axis("axis", 0, site.rank(site.in(0))));
  WHET_TRY(const std::int64_t begin, site.integer("begin", 0));
  WHET_TRY(const std::int64_t end, site.integer("end", kToTheEnd));
  return site.give(sliced(site, site.in(0), {begin}, {end}, Ints{axis}, {1}));
}
/// As long as the second input in some axes.
Status import_slice_like(MxSite& site) {
  WHET_TRY(const Ints axes, site.axes("axes", site.in(0)));
  const Shape like = site.shape(site.in(1));
  Ints starts(axes.size(), 0), ends;
  for (const std::int64_t axis : axes) {
    if (axis >= static_cast<std::int64_t>(like.size()))
      return site.error("is cut like " + to_string(like) + " in axis " + std::to_string(axis));
    ends.push_back(like[static_cast<std::size_t>(axis)]);
  }
  return site.give(sliced(site, site.in(0), starts, ends, axes, Ints(axes.size(), 1)));
}
/// Height and width of the second input, or as the attribute says.
Status import_crop(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(Ints offset, site.entries("offset", 2, 0, 0));
  WHET_TRY(Ints size, site.entries("h_w", 2, 0, 0));
  WHET_TRY(const bool centre, site.flag("center_crop", false));
  const Shape shape = site.shape(x);
  if (shape.size() != 4) return site.error("crops " + to_string(site.type(x)));
  if (site.input_count() == 2) {
    const Shape& like = site.shape(site.in(1));
    if (like.size() != 4) return site.error("crops " + to_string(site.type(x)) + " like " + to_string(like));
    size = {like[2], like[3]};
  }
  for (std::size_t d = 0; d < 2; ++d) {
    if (centre) offset[d] = (shape[d + 2] - size[d]) / 2;
    if (size[d] < 1 || offset[d] < 0 || offset[d] + size[d] > shape[d + 2])
      return site.error("takes " + to_string(size) + " of " + to_string(site.type(x)));
  }
  return site.give(sliced(site, x, offset, {offset[0] + size[0], offset[1] + size[1]}, Ints{2, 3}, {1, 1}));
}
Status import_pad(MxSite& site) {
  const ValueId x = site.in(0);
  const std::size_t rank = site.rank(x);
  WHET_TRY(const Ints pairs, site.entries("pad_width", 2 * rank, 0, 0));
  WHET_TRY(const double value, site.number("constant_value", 0));
  const std::string mode = site.text("mode", "constant");
  Ints pads(2 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    pads[d] = pairs[2 * d];
    pads[d + rank] = pairs[2 * d + 1];
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    return site.error("its mode is " + mode + "; expected constant, edge or reflect");
  const PadMode pad = mode == "edge" ? PadMode::edge : mode == "reflect" ? PadMode::reflect : PadMode::constant;
  return site.give(padded(site, x, pads, every_axis(rank), pad, value));
}
Status import_tile(MxSite& site) {
  WHET_TRY(Ints repeats, site.integers("reps"));
  ValueId x = site.in(0);
  const std::size_t rank = site.rank(x);
  while (repeats.size() < rank) repeats.insert(repeats.begin(), 1);
  if (repeats.size() > rank) {
    Shape shape = site.shape(x);
    shape.insert(shape.begin(), repeats.size() - rank, 1);
    WHET_TRY(x, site.add("ranks", ReshapeOperator{shape}, {x}));
  }
  return site.give(tiled(site, x, repeats));
}
/// Each element several times behind itself.
Status import_repeat(MxSite& site) {
  ValueId x = site.in(0);
  WHET_TRY(const std::int64_t count, site.integer("repeats", 1));
  if (count < 1 || count > kMaxElements) return site.error("repeats " + std::to_string(count) + " times");
  if (!site.has("axis")) {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(site.shape(x))}}, {x}));
  }
  WHET_TRY(const std::int64_t axis, site.axis("axis", 0, site.rank(x)));
  const auto d = static_cast<std::size_t>(axis);
  Shape apart = site.shape(x), joined = apart;
  apart.insert(apart.begin() + axis + 1, 1);
  Ints repeats(apart.size(), 1);
  repeats[d + 1] = count;
  joined[d] *= count;
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", joined));
  WHET_TRY(const ValueId column, site.add("apart", ReshapeOperator{apart}, {x}));
  WHET_TRY(const ValueId more, tiled(site, column, repeats));
  return site.give(ReshapeOperator{joined}, {more});
}
Status import_reverse(MxSite& site) {
  WHET_TRY(const Ints axes, site.axes("axis", site.in(0)));
  return site.give(
      sliced(site, site.in(0), Ints(axes.size(), -1), Ints(axes.size(), -kToTheEnd), axes, Ints(axes.size(), -1)));
}
Status import_broadcast_to(MxSite& site) {
  WHET_TRY(Ints shape, site.integers("shape"));
  const Shape from = site.shape(site.in(0));
  if (shape.size() != from.size()) return site.error("broadcasts " + to_string(from) + " to " + to_string(shape));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 0) shape[d] = from[d];
  return site.give(expanded(site, site.in(0), shape));
}
Status import_broadcast_axis(MxSite& site) {
  WHET_TRY(const Ints axes, site.integers("axis"));
  WHET_TRY(const Ints sizes, site.integers("size"));
  Shape shape = site.shape(site.in(0));
  if (axes.size() != sizes.size())
    return site.error("names " + std::to_string(axes.size()) + " axes and " + std::to_string(sizes.size()) + " sizes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], shape.size()));
    shape[static_cast<std::size_t>(axis)] = sizes[i];
  }
  return site.give(expanded(site, site.in(0), shape));
}
Status import_broadcast_like(MxSite& site) {
  const Shape from = site.shape(site.in(0)), like = site.shape(site.in(1));
  if (!site.has("lhs_axes") && !site.has("rhs_axes")) return site.give(expanded(site, site.in(0), like));
  WHET_TRY(const Ints to, site.integers("lhs_axes"));
  WHET_TRY(const Ints of, site.integers("rhs_axes"));
  if (to.empty() || to.size() != of.size())
    return site.error("names " + std::to_string(to.size()) + " axes of its own and " + std::to_string(of.size()) +
                      " of the second input; expected as many");
  Shape shape = from;
  for (std::size_t i = 0; i < to.size(); ++i) {
    WHET_TRY(const std::int64_t own, site.resolve_axis(to[i], from.size()));
    WHET_TRY(const std::int64_t other, site.resolve_axis(of[i], like.size()));
    shape[static_cast<std::size_t>(own)] = like[static_cast<std::size_t>(other)];
  }
  return site.give(expanded(site, site.in(0), shape));
}
Status import_depth_to_space(MxSite& site) {
  WHET_TRY(const std::int64_t block, site.integer("block_size", 0));
  const Shape s = site.shape(site.in(0));
  if (s.size() != 4 || block < 1 || block > 4096 || s[1] % (block * block) != 0)
    return site.error("makes blocks of " + std::to_string(block) + " of " + to_string(site.type(site.in(0))));
  return site.give(depth_to_space(site, site.in(0), block, DepthOrder::depth_column_row));
}
Status import_space_to_depth(MxSite& site) {
  WHET_TRY(const std::int64_t block, site.integer("block_size", 0));
  const Shape s = site.shape(site.in(0));
  if (s.size() != 4 || block < 1 || block > 4096 || s[2] % block != 0 || s[3] % block != 0)
    return site.error("makes blocks of " + std::to_string(block) + " of " + to_string(site.type(site.in(0))));
  return site.give(space_to_depth(site, site.in(0), block));
}

// ---- Places.

/// Rows of weights by numbers, which may be floats.
Status import_embedding(MxSite& site) {
  const Shape w = site.shape(site.in(1));
  if (w.size() != 2 || w[0] < 1) return site.error("its weights are " + to_string(w));
  WHET_TRY(const ValueId places, places_in(site, site.in(0), w[0], "clip"));
  return site.give(gather(site, site.in(1), places, 0));
}
Status import_take(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.axis("axis", 0, site.rank(x)));
  WHET_TRY(const ValueId places,
           places_in(site, site.in(1), site.shape(x)[static_cast<std::size_t>(axis)], site.text("mode", "clip")));
  return site.give(gather(site, x, places, axis));
}
/// One element along an axis for each of the others.
Status import_pick(MxSite& site) {
  const ValueId x = site.in(0);
  if (site.is_none("axis")) return site.error("its axis is None; expected one");
  WHET_TRY(const std::int64_t axis, site.axis("axis", -1, site.rank(x)));
  WHET_TRY(const bool keep, site.flag("keepdims", false));
  Shape column = site.shape(x);
  column[static_cast<std::size_t>(axis)] = 1;
  WHET_TRY(ValueId places,
           places_in(site, site.in(1), site.shape(x)[static_cast<std::size_t>(axis)], site.text("mode", "clip")));
  if (num_elements(site.shape(places)) != num_elements(column))
    return site.error("picks from " + to_string(site.type(x)) + " by " + to_string(site.type(site.in(1))));
  WHET_TRY(places, site.add("column", ReshapeOperator{column}, {places}));
  WHET_TRY(const ValueId y, site.add("picked", GatherElementsOperator{axis}, {x, places}));
  return keep ? site.give(y) : site.give(squeezed(site, y, Ints{axis}));
}
/// The first dimension of the indices is one of coordinates.
Status import_gather_nd(MxSite& site) {
  WHET_TRY(ValueId places, site.cast("places", site.in(1), DType::i64));
  const std::size_t rank = site.rank(places);
  if (rank == 0) return site.error("the indices are a scalar");
  TransposeOperator turn;
  for (std::size_t d = 1; d < rank; ++d) turn.perm.push_back(static_cast<std::int64_t>(d));
  turn.perm.push_back(0);
  WHET_TRY(places, site.add("turned", turn, {places}));
  return site.give(GatherNdOperator{0}, {site.in(0), places});
}
Status import_one_hot(MxSite& site) {
  WHET_TRY(const std::int64_t depth, site.integer("depth", 0));
  WHET_TRY(const double on, site.number("on_value", 1));
  WHET_TRY(const double off, site.number("off_value", 0));
  WHET_TRY(const DType dtype, site.dtype_attribute("dtype", "float32"));
  if (depth < 1 || depth > kMaxElements) return site.error("has a depth of " + std::to_string(depth));
  WHET_TRY(const ValueId places, site.cast("places", site.in(0), DType::i64));
  const ValueId values = site.add_constant("values", Tensor::of<double>(dtype, {2}, {off, on}));
  return site.give(one_hot(site, places, {depth, static_cast<std::int64_t>(site.rank(places)), values}));
}
/// The elements behind the end of each sequence become a number.
Status import_sequence_mask(MxSite& site) {
  WHET_TRY(const bool by_lengths, site.flag("use_sequence_length", false));
  if (!by_lengths) return site.pass(site.in(0));
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  const ValueId x = site.in(0), lengths = site.in(1);
  WHET_TRY(const std::int64_t axis, site.axis("axis", 0, 2));
  WHET_TRY(const double value, site.number("value", 0));
  const std::size_t rank = site.rank(x);
  if (rank < 2 || site.rank(lengths) != 1)
    return site.error("masks " + to_string(site.type(x)) + " by " + to_string(site.type(lengths)));
  Shape steps(rank, 1), batch(rank, 1);
  steps[static_cast<std::size_t>(axis)] = site.shape(x)[static_cast<std::size_t>(axis)];
  batch[static_cast<std::size_t>(1 - axis)] = site.shape(lengths)[0];
  if (num_elements(steps) > (1 << 24)) return site.error("masks " + to_string(site.type(x)));
  Tensor numbers(site.dtype(lengths), steps);
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, static_cast<double>(i));
  WHET_TRY(const ValueId ends, site.add("ends", ReshapeOperator{batch}, {lengths}));
  WHET_TRY(const ValueId inside,
           site.add("inside", BinaryOperator{BinaryKind::less}, {site.add_constant("steps", numbers), ends}));
  return site.give(WhereOperator{}, {inside, x, site.add_scalar("value", site.dtype(x), value)});
}

// ---- Constants.

Status import_constant(MxSite& site, double value) {
  WHET_TRY(const Ints shape, site.integers("shape"));
  WHET_TRY(const DType dtype, site.dtype_attribute("dtype", "float32"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", shape));
  return site.give(filled(site, shape, Tensor::of<double>(dtype, {}, {value})));
}
Status import_like(MxSite& site, double value) {
  const TensorType type = site.type(site.in(0));
  return site.give(filled(site, type.shape, Tensor::of<double>(type.dtype, {}, {value})));
}
Status import_arange(MxSite& site) {
  WHET_TRY(double start, site.number("start", 0));
  WHET_TRY(double stop, site.number("stop", start));
  WHET_TRY(const double step, site.number("step", 1));
  WHET_TRY(const std::int64_t repeat, site.integer("repeat", 1));
  WHET_TRY(const DType dtype, site.dtype_attribute("dtype", "float32"));
  if (!site.has("stop")) start = 0;
  if (repeat != 1) return site.error("repeats its numbers, which is not supported");
  const auto one = [&](double value) { return Tensor::of<double>(dtype, {}, {value}); };
  WHET_TRY(const Tensor numbers, range(site, one(start), one(stop), one(step)));
  return site.give_constant(numbers);
}

Status import_ones(MxSite& site) { return import_constant(site, 1); }
Status import_zeros(MxSite& site) { return import_constant(site, 0); }
Status import_ones_like(MxSite& site) { return import_like(site, 1); }
Status import_zeros_like(MxSite& site) { return import_like(site, 0); }

}  // namespace

MxRows shape_rows() {
  static constexpr MxRow kRows[] = {
      {"Concat", {1, 65536}, import_concat},
      {"Crop", {1, 2}, import_crop},
      {"Embedding", 2, import_embedding},
      {"Flatten", 1, import_flatten},
      {"Pad", 1, import_pad},
      {"Reshape", 1, import_reshape},
      {"SequenceMask", import_sequence_mask},
      {"SliceChannel", 1, import_split},
      {"SwapAxis", 1, import_swap_axis},
      {"_arange", 0, import_arange},
      {"_npx_embedding", 2, import_embedding},
      {"_ones", 0, import_ones},
      {"_rnn_param_concat", {1, 65536}, import_concat},
      {"_split_v2", 1, import_split_at},
      {"_zeros", 0, import_zeros},
      {"broadcast_axes", 1, import_broadcast_axis},
      {"broadcast_axis", 1, import_broadcast_axis},
      {"broadcast_like", 2, import_broadcast_like},
      {"broadcast_to", 1, import_broadcast_to},
      {"concat", {1, 65536}, import_concat},
      {"depth_to_space", 1, import_depth_to_space},
      {"expand_dims", 1, import_expand_dims},
      {"flatten", 1, import_flatten},
      {"flip", 1, import_reverse},
      {"gather_nd", 2, import_gather_nd},
      {"one_hot", 1, import_one_hot},
      {"ones_like", 1, import_ones_like},
      {"pad", 1, import_pad},
      {"pick", 2, import_pick},
      {"repeat", 1, import_repeat},
      {"reshape", 1, import_reshape},
      {"reshape_like", 2, import_reshape_like},
      {"reverse", 1, import_reverse},
      {"slice", 1, import_slice},
      {"slice_axis", 1, import_slice_axis},
      {"slice_like", 2, import_slice_like},
      {"space_to_depth", 1, import_space_to_depth},
      {"split", 1, import_split},
      {"squeeze", 1, import_squeeze},
      {"stack", {1, 65536}, import_stack},
      {"swapaxes", 1, import_swap_axis},
      {"take", 2, import_take},
      {"tile", 1, import_tile},
      {"transpose", 1, import_transpose},
      {"zeros_like", 1, import_zeros_like},
  };
  return kRows;
}

}  // namespace whet::mxnet
