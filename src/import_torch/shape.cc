#include "import/parts/shape.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "import/parts/index.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// A reshape that changes nothing is the value itself.
Result<ValueId> shaped(TorchSite& site, ValueId x, const Shape& shape) {
  return site.shape(x) == shape ? Result<ValueId>(x) : site.add("shaped", ReshapeOperator{shape}, {x});
}

Result<ValueId> permuted(TorchSite& site, ValueId x, const Ints& perm) {
  return std::is_sorted(perm.begin(), perm.end()) ? Result<ValueId>(x)
                                                  : site.add("turned", TransposeOperator{perm}, {x});
}

Status expect_step(TorchSite& site, std::int64_t step) {
  if (step >= 1) return ok_status();
  return site.error("argument \"step\" is " + std::to_string(step) + "; expected 1 or more");
}

/// Place `index` of axis `d`, counted from 0.
Result<std::int64_t> resolve_place(TorchSite& site, ValueId x, std::int64_t d, std::int64_t index) {
  const std::int64_t extent = site.extent(x, d);
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  return site.error("selects place " + std::to_string(index) + " of an extent of " + std::to_string(extent));
}

/// x with the places first, first + step, ... of axis `d` replaced by `part`, which has the type of x.
Result<ValueId> with_places(TorchSite& site, ValueId x, ValueId part, std::int64_t d, std::int64_t first,
                            std::int64_t step) {
  const auto at = static_cast<std::size_t>(d);
  const Shape whole = site.shape(x);
  Shape shape = whole;
  const std::int64_t count = site.rank(part) == whole.size() ? site.shape(part)[at] : 0;
  shape[at] = count;
  const std::int64_t last = first + (count - 1) * step;
  if (broadcast(shape, site.shape(part)) != shape || (count > 0 && last >= whole[at]))
    return site.error("puts " + to_string(site.type(part)) + " into " + to_string(site.type(x)) +
                      ", where it does not fit");
  if (count == 0) return x;
  WHET_TRY(part, expanded(site, part, shape));
  if (step == 1 || count == 1) {
    const Ints extents = {first, count, whole[at] - first - count};
    WHET_TRY(const ValueIds parts, split(site, x, d, extents));
    ValueIds row;
    if (extents[0] > 0) row.push_back(parts[0]);
    row.push_back(part);
    if (extents[2] > 0) row.push_back(parts[2]);
    return row.size() == 1 ? Result<ValueId>(part) : site.add("joined", ConcatOperator{d}, row);
  }
  Tensor owner(DType::i64, {whole[at]});
  Shape column(whole.size(), 1);
  column[at] = whole[at];
  Tensor written(DType::boolean, column);
  for (std::int64_t i = 0; i < count; ++i) {
    owner.set_integer(first + i * step, i);
    written.set_integer(first + i * step, 1);
  }
  WHET_TRY(const ValueId moved, site.add("moved", GatherOperator{d}, {part, site.add_constant("places", owner)}));
  return site.add("joined", WhereOperator{}, {site.add_constant("written", written), moved, x});
}

Status expect_results(TorchSite& site, std::int64_t count) {
  if (count == static_cast<std::int64_t>(site.output_count())) return ok_status();
  return site.error("has " + std::to_string(site.output_count()) + " results; expected " + std::to_string(count));
}

Result<ValueId> import_reshape_as(TorchSite& site, ValueId x, ValueId other) {
  return reshaped(site, x, site.sizes(other), true);
}
Result<ValueId> import_flatten(TorchSite& site, ValueId x, std::int64_t first, std::int64_t last) {
  if (site.rank(x) == 0) return shaped(site, x, {1});
  if (first > last)
    return site.error("flattens from dimension " + std::to_string(first) + " to " + std::to_string(last));
  const Shape& own = site.shape(x);
  Shape shape(own.begin(), own.begin() + first);
  shape.push_back(num_elements(Shape(own.begin() + first, own.begin() + last + 1)));
  shape.insert(shape.end(), own.begin() + last + 1, own.end());
  return shaped(site, x, shape);
}
Result<ValueId> import_unflatten(TorchSite& site, ValueId x, std::int64_t d, const Sizes& sizes) {
  Sizes shape = site.sizes(x);
  shape.insert(shape.erase(shape.begin() + d), sizes.begin(), sizes.end());
  return reshaped(site, x, shape, true);
}
/// Dimensions that are not 1 stay.
Result<ValueId> import_squeeze(TorchSite& site, ValueId x, const Ints& axes) {
  Shape shape;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(site.rank(x)); ++d)
    if (site.extent(x, d) != 1 || !std::binary_search(axes.begin(), axes.end(), d)) shape.push_back(site.extent(x, d));
  return shaped(site, x, shape);
}

Result<ValueId> import_permute(TorchSite& site, ValueId x, Ints perm) {
  for (std::int64_t& d : perm) {
    WHET_TRY(d, site.resolve_axis(d, site.rank(x)));
  }
  return permuted(site, x, perm);
}
Result<ValueId> import_transpose(TorchSite& site, ValueId x, std::int64_t a, std::int64_t b) {
  Ints perm = every_axis(site.rank(x));
  if (!perm.empty()) std::swap(perm[static_cast<std::size_t>(a)], perm[static_cast<std::size_t>(b)]);
  return permuted(site, x, perm);
}
/// The last two dimensions turned, or `all`.
template <bool all>
Result<ValueId> import_t(TorchSite& site, ValueId x) {
  Ints perm = every_axis(site.rank(x));
  std::reverse(all || perm.size() < 2 ? perm.begin() : perm.end() - 2, perm.end());
  return permuted(site, x, perm);
}
Result<ValueId> import_movedim(TorchSite& site, ValueId x, const Ints& from, const Ints& to) {
  const std::size_t rank = site.rank(x);
  if (from.size() != to.size() || from.size() > rank)
    return site.error("moves " + std::to_string(from.size()) + " dimensions to " + std::to_string(to.size()) +
                      " places");
  Ints perm(rank, -1);
  std::vector<bool> moves(rank, false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    WHET_TRY(const std::int64_t source, site.resolve_axis(from[i], rank));
    WHET_TRY(const std::int64_t target, site.resolve_axis(to[i], rank));
    if (moves[static_cast<std::size_t>(source)] || perm[static_cast<std::size_t>(target)] >= 0)
      return site.error("names a dimension twice");
    moves[static_cast<std::size_t>(source)] = true;
    perm[static_cast<std::size_t>(target)] = source;
  }
  std::size_t next = 0;
  for (std::int64_t& place : perm) {
    if (place >= 0) continue;
    while (moves[next]) ++next;
    place = static_cast<std::int64_t>(next++);
  }
  return permuted(site, x, perm);
}

Result<ValueId> import_expand(TorchSite& site, ValueId x, Sizes wanted) {
  for (Size& size : wanted) size.most = size.most == -1 ? 1 : size.most;
  return expanded(site, x, wanted);
}
Result<ValueId> import_expand_as(TorchSite& site, ValueId x, ValueId other) {
  return expanded(site, x, site.sizes(other));
}
/// What is copied has the type of what it is copied into, and takes its shape.
Result<ValueId> import_copy(TorchSite& site, ValueId x, ValueId source) { return import_expand_as(site, source, x); }
Result<ValueIds> import_broadcast_tensors(TorchSite& site, ValueIds values) {
  Shape extents;
  for (const ValueId x : values) {
    const auto both = broadcast(extents, site.shape(x));
    if (!both)
      return site.error("its tensors do not broadcast: " + to_string(extents) + " and " + to_string(site.type(x)));
    extents = *both;
  }
  Sizes shape;
  for (const std::int64_t extent : extents) shape.push_back({extent});
  for (const ValueId x : values)
    for (const auto& [d, count] : site.counted(x)) shape[extents.size() - site.rank(x) + d].count = count;
  for (ValueId& x : values) {
    WHET_TRY(x, expanded(site, x, shape));
  }
  return values;
}

/// Missing factors are 1 in front; missing dimensions too.
Result<ValueId> import_repeat(TorchSite& site, ValueId x, Ints repeats) {
  if (repeats.size() < site.rank(x)) repeats.insert(repeats.begin(), site.rank(x) - repeats.size(), 1);
  Shape shape = site.shape(x);
  shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  WHET_TRY(x, shaped(site, x, shape));
  return tiled(site, x, repeats);
}
Result<ValueId> import_repeat_interleave(TorchSite& site, ValueId x, std::int64_t repeats,
                                         std::optional<std::int64_t> dim) {
  if (repeats < 0) return site.error("argument \"repeats\" is " + std::to_string(repeats));
  if (!dim) {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(site.shape(x))}}, {x}));
  }
  return each_repeated(site, x, dim.value_or(0), repeats);
}

Result<ValueId> import_slice(TorchSite& site, ValueId x, std::int64_t d, std::optional<std::int64_t> start,
                             std::optional<Size> end, std::int64_t step) {
  WHET_RETURN_IF_ERROR(expect_step(site, step));
  return sliced_to(site, x, {start.value_or(0)}, Sizes{end.value_or(Size{kEnd})}, Ints{d}, {step});
}
Result<ValueId> import_narrow(TorchSite& site, ValueId x, std::int64_t d, std::int64_t start, const Size& places) {
  const std::int64_t extent = site.extent(x, d), length = places.most;
  if (start < 0) start += extent;
  if (start < 0 || length < 0 || length > extent || start > extent - length)
    return site.error("takes " + std::to_string(length) + " places from " + std::to_string(start) +
                      " on of an extent of " + std::to_string(extent));
  return sliced_to(site, x, {start}, Sizes{{start + length, places.count}}, Ints{d}, {1});
}
Result<ValueId> import_select(TorchSite& site, ValueId x, std::int64_t d, std::int64_t index) {
  WHET_TRY(const std::int64_t place, resolve_place(site, x, d, index));
  WHET_TRY(const ValueId one, sliced(site, x, {place}, {place + 1}, Ints{d}, {1}));
  return squeezed(site, one, Ints{d});
}

/// Parts of `size` along an axis, the last one smaller.
Result<ValueIds> import_split(TorchSite& site, ValueId x, std::int64_t size, std::int64_t d) {
  WHET_TRY(const Ints extents, extents_of_parts(site, site.extent(x, d), size));
  return split(site, x, d, extents);
}
Result<ValueIds> import_chunk(TorchSite& site, ValueId x, std::int64_t chunks, std::int64_t d) {
  if (chunks < 1) return site.error("argument \"chunks\" is " + std::to_string(chunks));
  const std::int64_t extent = site.extent(x, d);
  return import_split(site, x, extent / chunks + (extent % chunks != 0 ? 1 : 0), d);
}
Result<ValueIds> import_split_sizes(TorchSite& site, ValueId x, const Ints& sizes, std::int64_t d) {
  return split(site, x, d, sizes);
}
Result<ValueIds> import_unbind(TorchSite& site, ValueId x, std::int64_t d) {
  WHET_RETURN_IF_ERROR(expect_results(site, site.extent(x, d)));
  return unstacked(site, x, d);
}
/// The first parts are one larger where the extent is no multiple.
Result<ValueIds> import_tensor_split(TorchSite& site, ValueId x, std::int64_t count, std::int64_t d) {
  WHET_RETURN_IF_ERROR(expect_results(site, count));
  const std::int64_t extent = site.extent(x, d);
  Ints extents;
  for (std::int64_t i = 0; i < count; ++i) extents.push_back(extent / count + (i < extent % count ? 1 : 0));
  return split(site, x, d, extents);
}
/// The parts between the places, as Python's slices have them: places from the end, behind the end and out of order.
Result<ValueIds> import_tensor_split_places(TorchSite& site, ValueId x, Ints places, std::int64_t d) {
  WHET_RETURN_IF_ERROR(expect_results(site, static_cast<std::int64_t>(places.size()) + 1));
  const std::int64_t extent = site.extent(x, d);
  places.push_back(extent);
  ValueIds parts;
  std::int64_t from = 0;
  for (std::int64_t to : places) {
    to = std::clamp<std::int64_t>(to < 0 ? to + extent : to, 0, extent);
    WHET_TRY(const ValueId part, sliced(site, x, {from}, {std::max(from, to)}, Ints{d}, {1}));
    parts.push_back(part);
    from = to;
  }
  return parts;
}

/// Along dimension 1 (lists have one alone), or 0.
template <std::int64_t axis, auto split_by, typename By>
Result<ValueIds> import_side_split(TorchSite& site, ValueId x, const By& by) {
  if (site.rank(x) == 0) return site.error("splits a scalar");
  return split_by(site, x, by, site.rank(x) == 1 ? 0 : axis);
}

/// Side by side along an axis, in the type that holds all.
Result<ValueId> joined(TorchSite& site, ValueIds values, std::int64_t d) {
  if (values.empty()) return site.error("joins no tensors");
  DType dtype = site.dtype(values[0]);
  for (const ValueId x : values) dtype = wider(dtype, site.dtype(x));
  for (ValueId& x : values) {
    WHET_TRY(x, site.cast("typed", x, dtype));
  }
  return values.size() == 1 ? Result<ValueId>(values[0]) : site.add("joined", ConcatOperator{d}, values);
}
/// Empty lists of older code have one dimension, whatever the others have.
Result<ValueId> import_cat(TorchSite& site, ValueIds values, std::int64_t dim) {
  const auto many = [&](ValueId x) { return site.shape(x) != Shape{0}; };
  if (std::any_of(values.begin(), values.end(), many)) std::erase_if(values, [&](ValueId x) { return !many(x); });
  WHET_TRY(const std::int64_t d, site.resolve_axis(dim, values.empty() ? 1 : site.rank(values[0])));
  return joined(site, values, d);
}
Result<ValueId> import_stack(TorchSite& site, ValueIds values, std::int64_t dim) {
  WHET_TRY(const std::int64_t d, site.resolve_axis(dim, values.empty() ? 1 : site.rank(values[0]) + 1));
  for (ValueId& x : values) {
    WHET_TRY(x, unsqueezed(site, x, {d}));
  }
  return joined(site, values, d);
}
/// Along `axis`, after those of fewer dimensions got as many as `rank`.
Result<ValueId> side_by_side(TorchSite& site, ValueIds values, std::int64_t axis, std::size_t rank) {
  for (ValueId& x : values) {
    Shape shape = site.shape(x);
    shape.insert(shape.begin(), std::max(rank, shape.size()) - shape.size(), 1);
    WHET_TRY(x, shaped(site, x, shape));
  }
  return joined(site, values, axis);
}
Result<ValueId> import_hstack(TorchSite& site, const ValueIds& values) {
  return side_by_side(site, values, values.empty() || site.rank(values[0]) <= 1 ? 0 : 1, 1);
}
Result<ValueId> import_vstack(TorchSite& site, const ValueIds& values) { return side_by_side(site, values, 0, 2); }

/// Lists are columns.
Result<ValueId> import_column_stack(TorchSite& site, ValueIds values) {
  for (ValueId& x : values) {
    const std::int64_t rows = num_elements(site.shape(x));
    if (site.rank(x) > 1) continue;
    WHET_TRY(x, shaped(site, x, {rows, 1}));
  }
  return joined(site, values, 1);
}

Result<ValueId> import_flip(TorchSite& site, ValueId x, const Ints& dims) {
  if (dims.empty() || site.rank(x) == 0) return x;
  return sliced(site, x, Ints(dims.size(), -1), Ints(dims.size(), -kEnd), dims, Ints(dims.size(), -1));
}
Result<ValueId> import_roll(TorchSite& site, ValueId x, const Ints& shifts, Ints dims) {
  const Shape shape = site.shape(x);
  if (dims.empty()) {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(shape)}}, {x}));
    dims = {0};
  }
  if (dims.size() != shifts.size())
    return site.error("has " + std::to_string(shifts.size()) + " shifts for " + std::to_string(dims.size()) +
                      " dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    WHET_TRY(const std::int64_t d, site.resolve_axis(dims[i], site.rank(x)));
    const std::int64_t extent = site.extent(x, d);
    const std::int64_t by = extent == 0 ? 0 : (shifts[i] % extent + extent) % extent;
    if (by == 0) continue;
    WHET_TRY(const ValueIds parts, split(site, x, d, {extent - by, by}));
    WHET_TRY(x, site.add("rolled", ConcatOperator{d}, {parts[1], parts[0]}));
  }
  return shaped(site, x, shape);
}

Result<ValueId> import_slice_scatter(TorchSite& site, ValueId x, ValueId part, std::int64_t d,
                                     std::optional<std::int64_t> start, std::int64_t step) {
  WHET_RETURN_IF_ERROR(expect_step(site, step));
  const std::int64_t extent = site.extent(x, d), first = std::clamp(start.value_or(0), -extent, extent);
  return with_places(site, x, part, d, first < 0 ? first + extent : first, std::min(step, extent + 1));
}
Result<ValueId> import_select_scatter(TorchSite& site, ValueId x, ValueId part, std::int64_t d, std::int64_t index) {
  WHET_TRY(const std::int64_t place, resolve_place(site, x, d, index));
  if (site.rank(part) + 1 == site.rank(x)) {
    WHET_TRY(part, unsqueezed(site, part, {d}));
  }
  return with_places(site, x, part, d, place, 1);
}

/// Pairs from the last dimension on, before and behind.
Result<ValueId> import_pad(TorchSite& site, ValueId x, const Ints& pairs, PadMode mode, std::optional<double> value) {
  const std::size_t count = pairs.size() / 2, rank = site.rank(x);
  if (pairs.size() % 2 != 0 || count > rank)
    return site.error("has " + std::to_string(pairs.size()) + " paddings for " + to_string(site.type(x)));
  Ints axes, pads(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back(static_cast<std::int64_t>(rank - 1 - i));
    pads[i] = pairs[2 * i];
    pads[i + count] = pairs[2 * i + 1];
  }
  return padded(site, x, pads, axes, mode, mode == PadMode::constant ? value.value_or(0) : 0);
}
template <PadMode mode>
Result<ValueId> import_pad_by(TorchSite& site, ValueId x, const Ints& pairs, std::optional<double> value) {
  return import_pad(site, x, pairs, mode, value);
}

/// [..., C, H, W] as [N, C, H, W], and the leading dimensions of `x` back.
Result<ValueId> as_image(TorchSite& site, ValueId x) {
  const Shape own = site.shape(x);
  if (own.size() < 3 || num_elements(own) == 0)
    return site.error("the input is " + to_string(site.type(x)) + "; expected channels, rows and columns");
  return shaped(site, x, {num_elements(Shape(own.begin(), own.end() - 3)), own.end()[-3], own.end()[-2], own.back()});
}
Result<ValueId> as_before(TorchSite& site, ValueId x, ValueId y) {
  Shape shape(site.shape(x).begin(), site.shape(x).end() - 3);
  shape.insert(shape.end(), site.shape(y).begin() + 1, site.shape(y).end());
  return shaped(site, y, shape);
}
Result<ValueId> import_pixel_shuffle(TorchSite& site, ValueId x, std::int64_t r) {
  WHET_TRY(const ValueId image, as_image(site, x));
  const std::int64_t channels = site.shape(image)[1];
  if (r < 1 || r > channels || channels % (r * r) != 0)
    return site.error("makes blocks of " + std::to_string(r) + " of " + std::to_string(channels) + " channels");
  WHET_TRY(const ValueId y, depth_to_space(site, image, r, DepthOrder::column_row_depth));
  return as_before(site, x, y);
}
Result<ValueId> import_pixel_unshuffle(TorchSite& site, ValueId x, std::int64_t r) {
  WHET_TRY(const ValueId image, as_image(site, x));
  const Shape shape = site.shape(image);
  if (r < 1 || shape[2] % r != 0 || shape[3] % r != 0)
    return site.error("takes blocks of " + std::to_string(r) + " of " + to_string(shape));
  WHET_TRY(const ValueId y, space_to_depth(site, image, r, DepthOrder::column_row_depth));
  return as_before(site, x, y);
}
Result<ValueId> import_channel_shuffle(TorchSite& site, ValueId x, std::int64_t groups) {
  const Shape own = site.shape(x);
  if (own.size() < 3 || groups < 1 || own[1] % groups != 0)
    return site.error("shuffles " + std::to_string(groups) + " groups of channels of " + to_string(site.type(x)));
  const std::int64_t rest = num_elements(Shape(own.begin() + 2, own.end()));
  WHET_TRY(x, site.add("apart", ReshapeOperator{{own[0], groups, own[1] / groups, rest}}, {x}));
  WHET_TRY(x, site.add("turned", TransposeOperator{{0, 2, 1, 3}}, {x}));
  return site.add("shuffled", ReshapeOperator{own}, {x});
}

/// The two dimensions side by side at the end; the diagonal's places in them are known.
Result<ValueId> import_diagonal(TorchSite& site, ValueId x, std::int64_t offset, std::int64_t a, std::int64_t b) {
  const Shape own = site.shape(x);
  if (own.size() < 2 || a == b) return site.error("takes the diagonal of " + to_string(site.type(x)));
  Ints perm = every_axis(own.size());
  std::erase_if(perm, [&](std::int64_t d) { return d == a || d == b; });
  perm.insert(perm.end(), {a, b});
  const std::int64_t rows = site.extent(x, a), columns = site.extent(x, b);
  Ints places;
  for (std::int64_t i = std::max<std::int64_t>(-std::max(offset, -rows), 0); i < rows && i + offset < columns; ++i)
    places.push_back(i * columns + i + offset);
  if (places.empty())
    return site.error("its diagonal " + std::to_string(offset) + " of " + to_string(own) + " is empty");
  WHET_TRY(x, site.add("turned", TransposeOperator{perm}, {x}));
  Shape flat(site.shape(x).begin(), site.shape(x).end() - 2);
  const auto last = static_cast<std::int64_t>(flat.size());
  flat.push_back(rows * columns);
  WHET_TRY(x, site.add("flat", ReshapeOperator{flat}, {x}));
  return site.add("diagonal", GatherOperator{last}, {x, site.add_constant("places", integer_list(places))});
}

/// A list becomes a diagonal of a matrix, and a matrix gives it.
Result<ValueId> import_diag(TorchSite& site, ValueId x, std::int64_t offset) {
  return site.rank(x) == 1 ? diagonals(site, x, offset, -2, -1) : import_diagonal(site, x, offset, 0, 1);
}

/// "xy": the first two lists change places.
enum class Indexing : std::uint8_t { ij, xy };
Result<ValueIds> import_meshgrid(TorchSite& site, ValueIds values, Indexing indexing) {
  Shape shape;
  for (const ValueId x : values) {
    if (site.rank(x) > 1) return site.error("makes a grid of " + to_string(site.type(x)) + "; expected lists");
    shape.push_back(num_elements(site.shape(x)));
  }
  const bool swaps = indexing == Indexing::xy && shape.size() >= 2;
  if (swaps) std::swap(shape[0], shape[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Shape own(shape.size(), 1);
    const std::size_t d = swaps && i < 2 ? 1 - i : i;
    own[d] = shape[d];
    WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{own}, {values[i]}));
    WHET_TRY(values[i], expanded(site, row, shape));
  }
  return values;
}

constexpr std::string_view kPart = "self split_size dim(self!)=0", kPads = "self padding value?";

}  // namespace

TorchRows shape_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.broadcast_tensors", "default", "tensors", calls<import_broadcast_tensors>},
      {"aten.broadcast_to", "default", "self size", calls<import_expand>, kOfParts},
      {"aten.cat aten.concat aten.concatenate", "default", "tensors dim=0", calls<import_cat>, kOfParts},
      {"aten.channel_shuffle", "default", "self groups", calls<import_channel_shuffle>},
      {"aten.chunk aten.unsafe_chunk", "default", "self chunks dim(self!)=0", calls<import_chunk>, kOfParts},
      {"aten.column_stack", "default", "tensors", calls<import_column_stack>},
      {"aten.constant_pad_nd", "default", "self pad value=0", calls<import_pad_by<PadMode::constant>>, kOfParts},
      {"aten.copy", "default", "self src(self) ~non_blocking", calls<import_copy>, kOfParts},
      {"aten.diagonal", "default", "self offset=0 dim1(self)=0 dim2(self)=1", calls<import_diagonal>, kOfParts},
      {"aten.expand", "default", "self size", calls<import_expand>, kOfParts},
      {"aten.expand_as", "default", "self other", calls<import_expand_as>, kOfParts},
      {"aten.fill", "Scalar Tensor", "self value(self)", calls<import_copy>},
      {"aten.flatten", "using_ints", "self start_dim(self)=0 end_dim(self)=-1", calls<import_flatten>, kOfParts},
      {"aten.flip", "default", "self dims", calls<import_flip>, kOfParts},
      {"aten.mT aten.t", "default", "self", calls<import_t<false>>, kOfParts},
      {"aten.diag", "default", "self diagonal=0", calls<import_diag>},
      {"aten.hsplit", "array", "self indices", calls<import_side_split<1, import_tensor_split_places, Ints>>},
      {"aten.hsplit", "int", "self sections", calls<import_side_split<1, import_tensor_split, std::int64_t>>},
      {"aten.hstack", "default", "tensors", calls<import_hstack>, kOfParts},
      {"aten.adjoint aten.mH aten.matrix_H", "default", "self", calls<import_t<false>>},
      {"aten.meshgrid", "indexing default", "tensors indexing:ij|xy=ij", calls<import_meshgrid>},
      {"aten.moveaxis", "int intlist", "self source destination", calls<import_movedim>, kOfParts},
      {"aten.movedim", "int intlist", "self source destination", calls<import_movedim>, kOfParts},
      {"aten.narrow", "default", "self dim(self!) start length", calls<import_narrow>, kOfParts},
      {"aten.numpy_T", "default", "self", calls<import_t<true>>, kOfParts},
      {"aten.pad", "default", "self pad mode:constant|reflect|replicate|circular=constant value?", calls<import_pad>,
       kOfParts},
      {"aten.permute", "default", "self dims", calls<import_permute>, kOfParts},
      {"aten.pixel_shuffle", "default", "self upscale_factor", calls<import_pixel_shuffle>},
      {"aten.pixel_unshuffle", "default", "self downscale_factor", calls<import_pixel_unshuffle>},
      {"aten.ravel", "default", "self start_dim(self)=0 end_dim(self)=-1", calls<import_flatten>, kOfParts},
      {"aten.reflection_pad1d aten.reflection_pad2d aten.reflection_pad3d", "default", kPads,
       calls<import_pad_by<PadMode::reflect>>},
      {"aten.repeat", "default", "self repeats", calls<import_repeat>, kOfParts},
      {"aten.repeat_interleave", "self_int", "self repeats dim(self!)? ~output_size", calls<import_repeat_interleave>},
      {"aten.replication_pad1d aten.replication_pad2d aten.replication_pad3d", "default", kPads,
       calls<import_pad_by<PadMode::edge>>},
      {"aten.reshape", "default", "self shape =1", calls<reshaped>, kOfParts},
      {"aten.reshape_as aten.view_as", "default", "self other", calls<import_reshape_as>, kOfParts},
      {"aten.roll", "default", "self shifts dims=[]", calls<import_roll>, kOfParts},
      {"aten.select", "int", "self dim(self!) index", calls<import_select>, kOfParts},
      {"aten.select_scatter", "default", "self src(self) dim(self!) index", calls<import_select_scatter>, kOfParts},
      {"aten.slice", "Tensor", "self dim(self!)=0 start? end? step=1", calls<import_slice>, kOfParts},
      {"aten.slice_scatter", "default", "self src(self) dim(self!)=0 start? ~end step=1", calls<import_slice_scatter>,
       kOfParts},
      {"aten.split aten.unsafe_split", "Tensor", kPart, calls<import_split>, kOfParts},
      {"aten.split", "sizes", kPart, calls<import_split_sizes>, kOfParts},
      {"aten.split_with_sizes aten.unsafe_split_with_sizes", "default", "self split_sizes dim(self!)=0",
       calls<import_split_sizes>, kOfParts},
      {"aten.squeeze", "default dim dims", "self dim(self)?", calls<import_squeeze>, kOfParts},
      {"aten.stack", "default", "tensors dim=0", calls<import_stack>, kOfParts},
      {"aten.swapaxes", "default", "self axis0(self) axis1(self)", calls<import_transpose>, kOfParts},
      {"aten.swapdims", "default", "self dim0(self) dim1(self)", calls<import_transpose>, kOfParts},
      {"aten.tensor_split", "indices", "self indices dim(self!)=0", calls<import_tensor_split_places>},
      {"aten.tensor_split", "sections", "self sections dim(self!)=0", calls<import_tensor_split>},
      {"aten.tile", "default", "self dims", calls<import_repeat>, kOfParts},
      {"aten.transpose", "int", "self dim0(self) dim1(self)", calls<import_transpose>, kOfParts},
      {"aten.tril", "default", "self diagonal=0 =0", calls<trilu>, kOfParts},
      {"aten.triu", "default", "self diagonal=0 =1", calls<trilu>, kOfParts},
      {"aten.unbind", "int", "self dim(self!)=0", calls<import_unbind>, kOfParts},
      {"aten.unflatten", "int", "self dim(self!) sizes", calls<import_unflatten>, kOfParts},
      {"aten.unsqueeze", "default", "self dim", calls<unsqueezed>, kOfParts},
      {"aten.view aten._unsafe_view", "default", "self size =1", calls<reshaped>, kOfParts},
      {"aten.vsplit", "array", "self indices", calls<import_side_split<0, import_tensor_split_places, Ints>>},
      {"aten.vsplit", "int", "self sections", calls<import_side_split<0, import_tensor_split, std::int64_t>>},
      {"aten.vstack aten.row_stack", "default", "tensors", calls<import_vstack>, kOfParts},
  };
  return kRows;
}

}  // namespace whet::torch
