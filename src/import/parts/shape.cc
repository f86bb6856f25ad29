#include "import/parts/shape.h"

#include <algorithm>
#include <numeric>

namespace whet {
namespace {

constexpr std::int64_t kFar = kMaxElements;  ///< clamps indices before arithmetic

/// One dimension of a slice, by the standard's clamping: start, step and the number of elements.
struct Cut {
  std::int64_t start, step, count;
};

Cut cut(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const auto from_begin = [&](std::int64_t index) { return std::clamp(index, -kFar, kFar) + (index < 0 ? extent : 0); };
  start = from_begin(start);
  end = from_begin(end);
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    return {start, step, std::max<std::int64_t>((end - start + step - 1) / step, 0)};
  }
  if (extent == 0) return {0, step, 0};
  start = std::clamp<std::int64_t>(start, 0, extent - 1);
  end = std::clamp<std::int64_t>(end, -1, extent - 1);
  return {start, step, std::max<std::int64_t>((start - end - step - 1) / -step, 0)};
}

SliceOperator whole_slice(const Shape& x) { return {Shape(x.size(), 0), Shape(x.size(), 1), x}; }

/// Reshape, transpose, reshape.
Result<ValueId> rearranged(NodeSite& site, ValueId x, const Shape& apart, const Shape& perm, const Shape& result) {
  WHET_TRY(const ValueId split, site.add("apart", ReshapeOperator{apart}, {x}));
  WHET_TRY(const ValueId turned, site.add("turned", TransposeOperator{perm}, {split}));
  return site.add("rearranged", ReshapeOperator{result}, {turned});
}

constexpr std::int64_t kMostBlock = 1 << 15;
Error no_blocks(const NodeSite& site, ValueId x, std::int64_t block, const char* wanted) {
  return site.error("makes blocks of " + std::to_string(block) + " of " + to_string(site.type(x)) + "; expected " +
                    wanted);
}

std::int64_t elements_before(const Shape& shape, std::size_t d) {
  return num_elements(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(d)));
}

/// Where dimension `d` of x, whose results are in front of padding, goes in a shape of which `open` dimensions may hold some:
/// the place and how many results each becomes, as a fraction.
struct Moved {
  std::size_t to;
  std::int64_t extent, of;
};
std::optional<Moved> moved_to(const Shape& x, std::size_t d, const Shape& shape, const std::vector<bool>& open,
                              bool is_alone) {
  for (std::size_t to = 0; to < shape.size(); ++to) {
    if (!open[to] || elements_before(shape, to) != elements_before(x, d)) continue;
    const bool fits = shape[to] % x[d] == 0 || x[d] % shape[to] == 0;
    if (shape[to] == x[d] || (is_alone && fits)) return Moved{to, shape[to], x[d]};
  }
  return std::nullopt;
}

/// count * extent / of
Result<ValueId> share_of(NodeSite& site, ValueId count, const Moved& moved) {
  const std::int64_t factor = std::max<std::int64_t>(moved.extent / moved.of, 1);
  const std::int64_t divisor = std::max<std::int64_t>(moved.of / moved.extent, 1);
  for (const auto& [kind, number] : {std::pair(BinaryKind::mul, factor), std::pair(BinaryKind::div, divisor)}) {
    if (number == 1) continue;
    const ValueId each = site.add_constant("of_each", Tensor::of<std::int64_t>(DType::i64, {}, {number}));
    WHET_TRY(count, site.add("number", BinaryOperator{kind}, {count, each}));
  }
  return count;
}

/// The counted dimensions of x in `shape`, which `wanted` became.
Result<Counted> counted_in_shape(NodeSite& site, ValueId x, const Shape& shape, const std::vector<Size>& wanted,
                                 bool allow_zero) {
  const Shape own = site.shape(x);
  const Counted counted = site.counted(x);
  const auto decided =
      std::count_if(wanted.begin(), wanted.end(), [](const Size& each) { return each.count.has_value(); });
  const bool infers = static_cast<std::size_t>(decided) < counted.size();
  std::vector<bool> open;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    open.push_back(wanted[i].count || (infers && (wanted[i].most == -1 || (wanted[i].most == 0 && !allow_zero))));
  Counted result;
  for (const auto& [d, count] : counted) {
    const std::optional<Moved> moved = moved_to(own, d, shape, open, counted.size() == 1);
    if (!moved || result.contains(moved->to))
      return site.error("its shape " + to_string(shape) + " would mix results with padding: values decide how many " +
                        "entries of dimension " + std::to_string(d) + " of " + to_string(site.type(x)) +
                        " are results; expected -1 or their number in its place");
    ValueId number = count;
    if (wanted[moved->to].count) {
      number = *wanted[moved->to].count;
    } else {
      WHET_TRY(number, share_of(site, count, *moved));
    }
    result.emplace(moved->to, number);
  }
  if (result.size() < static_cast<std::size_t>(decided))
    return site.error("its shape is decided by values, and " + to_string(site.type(x)) +
                      " has no dimension of as many results");
  return result;
}

/// As x is, for what changes its count.
Result<ValueId> copied(NodeSite& site, ValueId x) {
  const Shape shape = site.shape(x);
  const Counted counted = site.counted(x);
  WHET_TRY(const ValueId copy, site.add("copy", ReshapeOperator{shape}, {x}));
  site.set_counted(copy, counted);
  return copy;
}

}  // namespace

std::vector<std::int64_t> every_axis(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape shape_along(std::size_t d, std::size_t rank, std::int64_t extent) {
  Shape shape(rank, 1);
  shape[d] = extent;
  return shape;
}

Tensor integer_list(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
}

Result<Shape> resolve_shape(NodeSite& site, ValueId input, const std::vector<std::int64_t>& wanted, bool allow_zero) {
  const Shape& x = site.shape(input);
  Shape shape = wanted;
  std::int64_t open = -1, product = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= x.size())
        return site.error("the shape copies dimension " + std::to_string(i) + ", which the input does not have");
      shape[i] = x[i];
    }
    if (shape[i] == -1) {
      if (open >= 0) return site.error("the shape " + to_string(wanted) + " has -1 twice");
      open = static_cast<std::int64_t>(i);
      continue;
    }
    if (shape[i] < 0 || (product > 0 && shape[i] > kMaxElements / product)) {
      return site.error("the shape " + to_string(wanted) + " is not possible for " + to_string(site.type(input)));
    }
    product *= shape[i];
  }
  if (open < 0) return shape;
  if (product == 0 || num_elements(x) % product != 0) {
    return site.error("the shape " + to_string(wanted) + " is not possible for " + to_string(site.type(input)));
  }
  shape[static_cast<std::size_t>(open)] = num_elements(x) / product;
  return shape;
}

Result<ValueId> reshaped(NodeSite& site, ValueId x, const std::vector<Size>& wanted, bool allow_zero) {
  WHET_TRY(const Shape shape, resolve_shape(site, x, most_of(wanted), allow_zero));
  WHET_TRY(Counted result, counted_in_shape(site, x, shape, wanted, allow_zero));
  const Counted before = site.counted(x);
  if (site.shape(x) == shape && result == before) return x;
  // The counts are known: the operator itself need not find them.
  site.set_counted(x, {});
  const Result<ValueId> y = site.add("reshaped", ReshapeOperator{shape}, {x});
  site.set_counted(x, before);
  if (y.ok()) site.set_counted(*y, std::move(result));
  return y;
}

Result<ValueId> squeezed(NodeSite& site, ValueId input, const std::optional<std::vector<std::int64_t>>& given) {
  const Shape& x = site.shape(input);
  std::vector<std::int64_t> axes;
  if (given) {
    WHET_TRY(axes, site.resolve_axes(*given, x.size()));
  }
  Shape shape;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (named && x[i] != 1) {
      return site.error("drops dimension " + std::to_string(i) + " of " + to_string(site.type(input)) +
                        "; expected an extent of 1");
    }
    if (given ? !named : x[i] != 1) shape.push_back(x[i]);
  }
  return site.add("squeezed", ReshapeOperator{shape}, {input});
}

Result<ValueId> unsqueezed(NodeSite& site, ValueId input, const std::vector<std::int64_t>& given) {
  const Shape& x = site.shape(input);
  WHET_TRY(const std::vector<std::int64_t> axes, site.resolve_axes(given, x.size() + given.size()));
  Shape shape;
  auto next = x.begin();
  for (std::size_t i = 0; i < x.size() + axes.size(); ++i) {
    const bool added = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    shape.push_back(added ? 1 : *next++);
  }
  return site.add("unsqueezed", ReshapeOperator{shape}, {input});
}

Result<ValueId> flattened(NodeSite& site, ValueId input, std::int64_t axis) {
  const Shape& x = site.shape(input);
  const auto rank = static_cast<std::int64_t>(x.size());
  if (axis < -rank || axis > rank) {
    return site.error("axis " + std::to_string(axis) + " does not exist in " + to_string(site.type(input)));
  }
  if (axis < 0) axis += rank;
  const Shape flat = {num_elements(Shape(x.begin(), x.begin() + axis)), num_elements(Shape(x.begin() + axis, x.end()))};
  return site.add("flat", ReshapeOperator{flat}, {input});
}

Result<ValueId> expanded(NodeSite& site, ValueId x, const std::vector<std::int64_t>& wanted) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", wanted));
  const auto shape = broadcast(site.shape(x), wanted);
  if (!shape) return site.error(to_string(site.type(x)) + " cannot be expanded to " + to_string(wanted));
  if (*shape == site.shape(x)) return x;
  return site.add("expanded", ExpandOperator{*shape}, {x});
}

Result<ValueId> expanded(NodeSite& site, ValueId x, const std::vector<Size>& wanted) {
  WHET_TRY(ValueId y, expanded(site, x, most_of(wanted)));
  const std::size_t first = site.rank(y) - wanted.size();
  std::vector<Size> sizes = site.sizes(y);
  bool changes = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].count || sizes[first + i].count) continue;
    sizes[first + i].count = wanted[i].count;
    changes = true;
  }
  if (!changes) return y;
  if (y == x) {
    WHET_TRY(y, copied(site, x));
  }
  site.set_sizes(y, sizes);
  return y;
}

/// [a, b] repeated [r, s] times: [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r*a, s*b].
Result<ValueId> tiled(NodeSite& site, ValueId input, const std::vector<std::int64_t>& repeats) {
  const Shape x = site.shape(input);
  if (repeats.size() != x.size()) {
    return site.error("has " + std::to_string(repeats.size()) + " repeats for " + to_string(site.type(input)));
  }
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the list of repeats", repeats));
  Shape apart, repeated, result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    apart.insert(apart.end(), {1, x[i]});
    repeated.insert(repeated.end(), {repeats[i], x[i]});
    result.push_back(repeats[i] * x[i]);
  }
  WHET_TRY(const ValueId split, site.add("apart", ReshapeOperator{apart}, {input}));
  WHET_TRY(const ValueId copies, site.add("copies", ExpandOperator{repeated}, {split}));
  return site.add("tiled", ReshapeOperator{result}, {copies});
}

Result<ValueId> each_repeated(NodeSite& site, ValueId x, std::int64_t axis, std::int64_t count) {
  Shape whole = site.shape(x), apart = whole, copies = whole;
  apart.insert(apart.begin() + axis + 1, 1);
  copies.insert(copies.begin() + axis + 1, count);
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", copies));
  whole[static_cast<std::size_t>(axis)] *= count;
  WHET_TRY(x, site.add("apart", ReshapeOperator{apart}, {x}));
  WHET_TRY(x, site.add("copies", ExpandOperator{copies}, {x}));
  return site.add("repeated", ReshapeOperator{whole}, {x});
}

Result<ValueId> sliced(NodeSite& site, ValueId input, const std::vector<std::int64_t>& starts,
                       const std::vector<std::int64_t>& ends, const std::optional<std::vector<std::int64_t>>& axes,
                       const std::vector<std::int64_t>& steps) {
  const Shape x = site.shape(input);
  const std::size_t count = starts.size();
  if (ends.size() != count || (axes && axes->size() != count) || steps.size() != count || count > x.size()) {
    return site.error("has " + std::to_string(count) + " starts, " + std::to_string(ends.size()) + " ends, " +
                      std::to_string(axes ? axes->size() : count) + " axes and " + std::to_string(steps.size()) +
                      " steps for " + to_string(site.type(input)));
  }
  SliceOperator op = whole_slice(x);
  std::vector<bool> named(x.size(), false);
  for (std::size_t i = 0; i < count; ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), x.size()));
    const auto d = static_cast<std::size_t>(axis);
    if (named[d]) return site.error("axis " + std::to_string(axis) + " is named twice");
    named[d] = true;
    if (steps[i] == 0) return site.error("a step is 0");
    if ((starts[i] < 0 || ends[i] < 0) && steps[i] > 0 && site.counted(input).contains(d))
      return site.error("counts from the end of a dimension whose number of results depends on values");
    const Cut c = cut(starts[i], ends[i], std::clamp(steps[i], -kFar, kFar), x[d]);
    op.starts[d] = c.count == 0 ? 0 : c.start;
    op.steps[d] = c.count <= 1 ? 1 : c.step;
    op.shape[d] = c.count;
  }
  if (op.shape == x && op.starts == std::vector<std::int64_t>(x.size(), 0)) return input;
  return site.add("sliced", op, {input});
}

Result<ValueId> sliced_to(NodeSite& site, ValueId x, const std::vector<std::int64_t>& starts,
                          const std::vector<Size>& ends, const std::optional<std::vector<std::int64_t>>& axes,
                          const std::vector<std::int64_t>& steps) {
  WHET_TRY(ValueId y, sliced(site, x, starts, most_of(ends), axes, steps));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].count) continue;
    const ValueId end = *ends[i].count;
    const Bounds* bounds = site.bounds(end);
    if (starts[i] != 0 || steps[i] != 1 || bounds == nullptr || bounds->low.integer(0) < 0)
      return site.error("ends at a number of results, which depends on values; expected to begin with the first one");
    WHET_TRY(const std::int64_t axis,
             site.resolve_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), site.rank(x)));
    const auto d = static_cast<std::size_t>(axis);
    const auto before = site.counted(y).find(d);
    if (before != site.counted(y).end() && before->second == end) continue;
    const ValueId there =
        before != site.counted(y).end()
            ? before->second
            : site.add_constant("extent", Tensor::of<std::int64_t>(DType::i64, {}, {site.shape(y)[d]}));
    WHET_TRY(const ValueId count, site.add("count", BinaryOperator{BinaryKind::min}, {end, there}));
    if (y == x) {
      WHET_TRY(y, copied(site, x));
    }
    std::vector<Size> sizes = site.sizes(y);
    sizes[d].count = count;
    site.set_sizes(y, sizes);
  }
  return y;
}

SliceOperator part_along(const Shape& x, std::size_t d, std::int64_t first, std::int64_t count) {
  SliceOperator op = whole_slice(x);
  op.starts[d] = first;
  op.shape[d] = count;
  return op;
}
Result<ValueId> columns_of(NodeSite& site, ValueId x, std::int64_t first, std::int64_t count) {
  return site.add("columns", part_along(site.shape(x), site.rank(x) - 1, first, count), {x});
}

Result<std::vector<std::int64_t>> extents_of_parts(NodeSite& site, std::int64_t extent, std::int64_t size) {
  constexpr std::int64_t kMostParts = 65536;
  if (size < 1 || extent / size > kMostParts)
    return site.error("divides an extent of " + std::to_string(extent) + " into parts of " + std::to_string(size) +
                      "; at most " + std::to_string(kMostParts) + " parts are supported");
  std::vector<std::int64_t> extents;
  for (std::int64_t at = 0; at < extent; at += size) extents.push_back(std::min(size, extent - at));
  return extents;
}

Result<std::vector<ValueId>> split(NodeSite& site, ValueId x, std::int64_t axis,
                                   const std::vector<std::int64_t>& extents) {
  const auto d = static_cast<std::size_t>(axis);
  SliceOperator op = whole_slice(site.shape(x));
  std::int64_t left = op.shape[d];
  for (const std::int64_t extent : extents)
    if (left >= 0) left = extent < 0 ? -1 : left - extent;
  if (left != 0)
    return site.error("splits an extent of " + std::to_string(op.shape[d]) + " into parts " + to_string(extents));
  std::vector<ValueId> parts;
  for (const std::int64_t extent : extents) {
    op.shape[d] = extent;
    const std::int64_t start = op.starts[d];
    if (extent == 0) op.starts[d] = 0;
    WHET_TRY(const ValueId part, site.add("part", op, {x}));
    parts.push_back(part);
    op.starts[d] = start + extent;
  }
  return parts;
}

Result<std::vector<ValueId>> unstacked(NodeSite& site, ValueId x, std::int64_t axis) {
  const auto count = static_cast<std::size_t>(site.shape(x)[static_cast<std::size_t>(axis)]);
  WHET_TRY(std::vector<ValueId> slices, split(site, x, axis, std::vector<std::int64_t>(count, 1)));
  for (ValueId& each : slices) {
    WHET_TRY(each, squeezed(site, each, std::vector<std::int64_t>{axis}));
  }
  return slices;
}

Result<ValueId> joined(NodeSite& site, const std::vector<ValueId>& values, std::int64_t axis) {
  return values.size() == 1 ? values[0] : site.add("joined", ConcatOperator{axis}, values);
}

Result<ValueId> stacked(NodeSite& site, const std::vector<ValueId>& values, std::int64_t axis) {
  WHET_TRY(axis, site.resolve_axis(axis, site.rank(values[0]) + 1));
  std::vector<ValueId> slices;
  for (const ValueId x : values) {
    if (site.shape(x) != site.shape(values[0]))
      return site.error("packs " + to_string(site.type(values[0])) + " and " + to_string(site.type(x)));
    WHET_TRY(const ValueId slice, unsqueezed(site, x, {axis}));
    slices.push_back(slice);
  }
  return joined(site, slices, axis);
}

Result<ValueId> padded(NodeSite& site, ValueId input, const std::vector<std::int64_t>& pads,
                       const std::vector<std::int64_t>& axes, PadMode mode, double value) {
  const std::size_t rank = site.rank(input), count = axes.size();
  if (pads.size() != 2 * count) {
    return site.error("has " + std::to_string(pads.size()) + " paddings; expected " + std::to_string(2 * count));
  }
  PadOperator op{mode, value, std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  for (std::size_t i = 0; i < count; ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], rank));
    op.begin[static_cast<std::size_t>(axis)] = pads[i];
    op.end[static_cast<std::size_t>(axis)] = pads[i + count];
  }
  const std::vector<std::int64_t> none(rank, 0);
  if (op.begin == none && op.end == none) return input;
  return site.add("padded", op, {input});
}

Result<ValueId> depth_to_space(NodeSite& site, ValueId input, std::int64_t b, DepthOrder order) {
  const Shape x = site.shape(input);
  if (x.size() != 4 || b < 1 || b > kMostBlock || x[1] % (b * b) != 0)
    return no_blocks(site, input, b, "an image whose channels its square divides");
  const std::int64_t n = x[0], c = x[1] / (b * b), h = x[2], w = x[3];
  const bool dcr = order == DepthOrder::depth_column_row;
  const Shape apart = dcr ? Shape{n, b, b, c, h, w} : Shape{n, c, b, b, h, w};
  const Shape perm = dcr ? Shape{0, 3, 4, 1, 5, 2} : Shape{0, 1, 4, 2, 5, 3};
  return rearranged(site, input, apart, perm, {n, c, h * b, w * b});
}

Result<ValueId> space_to_depth(NodeSite& site, ValueId input, std::int64_t b, DepthOrder order) {
  const Shape x = site.shape(input);
  if (x.size() != 4 || b < 1 || b > kMostBlock || x[2] % b != 0 || x[3] % b != 0)
    return no_blocks(site, input, b, "an image whose extents it divides");
  const std::int64_t n = x[0], c = x[1], h = x[2] / b, w = x[3] / b;
  const bool dcr = order == DepthOrder::depth_column_row;
  const Shape perm = dcr ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4};
  return rearranged(site, input, {n, c, h, b, w, b}, perm, {n, c * b * b, h, w});
}

}  // namespace whet
