#include "import/parts/shape.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "import/parts/index.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

using Ints = std::vector<std::int64_t>;
using Sizes = std::vector<Size>;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// A reshape that changes nothing is the value itself.
Status give_shape(TorchSite& site, ValueId x, const Shape& shape) {
  return site.shape(x) == shape ? site.pass(x) : site.give(ReshapeOperator{shape}, {x});
}

Status give_transpose(TorchSite& site, ValueId x, const Ints& perm) {
  return std::is_sorted(perm.begin(), perm.end()) ? site.pass(x) : site.give(TransposeOperator{perm}, {x});
}

/// Where slice begins and ends, by the argument's rules: none is the very end.
struct Range {
  std::int64_t start = 0;
  Size end{kEnd};
  std::int64_t step = 1;
};
Result<Range> read_range(TorchSite& site) {
  Range range;
  if (site.has("start")) {
    WHET_TRY(range.start, site.integer("start"));
  }
  if (site.has("end")) {
    WHET_TRY(range.end, site.size("end"));
  }
  WHET_TRY(range.step, site.integer("step"));
  if (range.step < 1) return site.error("argument \"step\" is " + std::to_string(range.step) + "; expected 1 or more");
  return range;
}

/// Place `index` of axis `d`, counted from 0.
Result<std::int64_t> resolve_place(TorchSite& site, ValueId x, std::int64_t d) {
  WHET_TRY(const std::int64_t index, site.integer("index"));
  if (site.rank(x) == 0) return site.error("selects of a scalar");
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  if (index < -extent || index >= extent)
    return site.error("selects place " + std::to_string(index) + " of an extent of " + std::to_string(extent));
  return index < 0 ? index + extent : index;
}

/// x with the places first, first + step, ... of axis `d` replaced by `part`.
Result<ValueId> with_places(TorchSite& site, ValueId x, ValueId part, std::int64_t d, std::int64_t first,
                            std::int64_t step) {
  const auto at = static_cast<std::size_t>(d);
  const Shape whole = site.shape(x);
  Shape shape = whole;
  WHET_TRY(part, site.cast("typed", part, site.dtype(x)));
  const std::int64_t count = site.rank(part) == whole.size() ? site.shape(part)[at] : 0;
  shape[at] = count;
  const std::int64_t last = first + (count - 1) * step;
  if (broadcast(shape, site.shape(part)) != shape || (count > 0 && last >= whole[at]))
    return site.error("puts " + to_string(site.type(part)) + " into " + to_string(site.type(x)) +
                      ", where it does not fit");
  if (count == 0) return x;
  if (site.shape(part) != shape) {
    WHET_TRY(part, site.add("expanded", ExpandOperator{shape}, {part}));
  }
  if (step == 1 || count == 1) {
    const Ints extents = {first, count, whole[at] - first - count};
    WHET_TRY(const std::vector<ValueId> parts, split(site, x, d, extents));
    std::vector<ValueId> row;
    if (extents[0] > 0) row.push_back(parts[0]);
    row.push_back(part);
    if (extents[2] > 0) row.push_back(parts[2]);
    if (row.size() == 1) return part;
    return site.add("joined", ConcatOperator{d}, row);
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

Status give_parts(TorchSite& site, const std::vector<ValueId>& parts) {
  if (parts.size() < site.output_count())
    return site.error("has " + std::to_string(site.output_count()) + " results; expected " +
                      std::to_string(parts.size()));
  for (std::size_t i = 0; i < site.output_count(); ++i) WHET_RETURN_IF_ERROR(site.give(parts[i], i));
  return ok_status();
}

/// Parts of `size` along "dim", the last one smaller.
Status give_equal_parts(TorchSite& site, ValueId x, std::int64_t d, std::int64_t size) {
  constexpr std::int64_t kMostParts = 65536;
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  if (size < 1 || extent / size > kMostParts)
    return site.error("divides an extent of " + std::to_string(extent) + " into parts of " + std::to_string(size));
  Ints extents;
  for (std::int64_t at = 0; at < extent; at += size) extents.push_back(std::min(size, extent - at));
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, d, extents));
  return give_parts(site, parts);
}

Result<std::int64_t> axis_of_tensor(TorchSite& site, ValueId x) {
  if (site.rank(x) == 0) return site.error("the input is a scalar; expected dimensions");
  return site.axis("dim", x);
}

Status import_reshape(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Sizes wanted, site.sizes(site.op().find("reshape") != std::string::npos ? "shape" : "size"));
  return site.give(reshaped(site, x, wanted, true));
}
Status import_reshape_as(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId other, site.tensor("other"));
  return site.give(reshaped(site, x, site.sizes(other), true));
}
Status import_flatten(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t first, site.axis("start_dim", x));
  WHET_TRY(const std::int64_t last, site.axis("end_dim", x));
  if (site.rank(x) == 0) return give_shape(site, x, {1});
  if (first > last)
    return site.error("flattens from dimension " + std::to_string(first) + " to " + std::to_string(last));
  const Shape& own = site.shape(x);
  Shape shape(own.begin(), own.begin() + first);
  shape.push_back(num_elements(Shape(own.begin() + first, own.begin() + last + 1)));
  shape.insert(shape.end(), own.begin() + last + 1, own.end());
  return give_shape(site, x, shape);
}
Status import_unflatten(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const Sizes sizes, site.sizes("sizes"));
  Sizes shape = site.sizes(x);
  const auto at = shape.begin() + d;
  shape.insert(shape.erase(at), sizes.begin(), sizes.end());
  return site.give(reshaped(site, x, shape, true));
}
/// Dimensions that are not 1 stay.
Status import_squeeze(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints axes, site.axes("dim", x));
  Shape shape;
  for (std::size_t d = 0; d < site.rank(x); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    if (!named || site.shape(x)[d] != 1) shape.push_back(site.shape(x)[d]);
  }
  return give_shape(site, x, shape);
}
Status import_unsqueeze(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t given, site.integer("dim"));
  WHET_TRY(const std::int64_t d, site.resolve_axis(given, site.rank(x) + 1));
  Shape shape = site.shape(x);
  shape.insert(shape.begin() + d, 1);
  return give_shape(site, x, shape);
}

Status import_permute(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(Ints perm, site.integers("dims"));
  for (std::int64_t& d : perm) {
    WHET_TRY(d, site.resolve_axis(d, site.rank(x)));
  }
  return give_transpose(site, x, perm);
}
Status import_transpose(TorchSite& site) {
  const bool axes = site.op().find("swapaxes") != std::string::npos;
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t a, site.axis(axes ? "axis0" : "dim0", x));
  WHET_TRY(const std::int64_t b, site.axis(axes ? "axis1" : "dim1", x));
  Ints perm = every_axis(site.rank(x));
  if (!perm.empty()) std::swap(perm[static_cast<std::size_t>(a)], perm[static_cast<std::size_t>(b)]);
  return give_transpose(site, x, perm);
}
/// t and mT turn the last two dimensions, numpy_T all.
Status import_t(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  Ints perm = every_axis(site.rank(x));
  const bool all = site.op().find("numpy_T") != std::string::npos;
  if (all) std::reverse(perm.begin(), perm.end());
  if (!all && perm.size() >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return give_transpose(site, x, perm);
}
Status import_movedim(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints from, site.integers("source"));
  WHET_TRY(const Ints to, site.integers("destination"));
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
  return give_transpose(site, x, perm);
}

Status import_expand(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(Sizes wanted, site.sizes("size"));
  for (Size& size : wanted) size.most = size.most == -1 ? 1 : size.most;
  return site.give(expanded(site, x, wanted));
}
Status import_expand_as(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId other, site.tensor("other"));
  return site.give(expanded(site, x, site.sizes(other)));
}
Status import_broadcast_tensors(TorchSite& site) {
  WHET_TRY(const std::vector<ValueId> values, site.tensors("tensors"));
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
  std::vector<ValueId> results;
  for (const ValueId x : values) {
    WHET_TRY(const ValueId each, expanded(site, x, shape));
    results.push_back(each);
  }
  return give_parts(site, results);
}

/// Missing factors are 1 in front; missing dimensions too.
Status import_repeat(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(Ints repeats, site.integers(site.op().find("tile") != std::string::npos ? "dims" : "repeats"));
  if (repeats.size() < site.rank(x)) repeats.insert(repeats.begin(), site.rank(x) - repeats.size(), 1);
  Shape shape = site.shape(x);
  shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  if (shape != site.shape(x)) {
    WHET_TRY(x, site.add("deep", ReshapeOperator{shape}, {x}));
  }
  return site.give(tiled(site, x, repeats));
}
Status import_repeat_interleave(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t repeats, site.integer("repeats"));
  if (repeats < 0) return site.error("argument \"repeats\" is " + std::to_string(repeats));
  std::int64_t d = 0;
  if (site.has("dim")) {
    WHET_TRY(d, axis_of_tensor(site, x));
  } else {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(site.shape(x))}}, {x}));
  }
  Shape shape = site.shape(x), deep = shape;
  deep.insert(deep.begin() + d + 1, 1);
  Ints counts(deep.size(), 1);
  counts[static_cast<std::size_t>(d) + 1] = repeats;
  WHET_TRY(x, site.add("deep", ReshapeOperator{deep}, {x}));
  WHET_TRY(x, tiled(site, x, counts));
  shape[static_cast<std::size_t>(d)] *= repeats;
  return site.give(ReshapeOperator{shape}, {x});
}

Status import_slice(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const Range range, read_range(site));
  return site.give(sliced_to(site, x, {range.start}, Sizes{range.end}, Ints{d}, {range.step}));
}
Status import_narrow(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(std::int64_t start, site.integer("start"));
  WHET_TRY(const Size places, site.size("length"));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)], length = places.most;
  if (start < 0) start += extent;
  if (start < 0 || length < 0 || length > extent || start > extent - length)
    return site.error("takes " + std::to_string(length) + " places from " + std::to_string(start) +
                      " on of an extent of " + std::to_string(extent));
  return site.give(sliced_to(site, x, {start}, Sizes{{start + length, places.count}}, Ints{d}, {1}));
}
Status import_select(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const std::int64_t place, resolve_place(site, x, d));
  WHET_TRY(const ValueId one, sliced(site, x, {place}, {place + 1}, Ints{d}, {1}));
  return site.give(squeezed(site, one, Ints{d}));
}
Status import_unbind(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  if (extent != static_cast<std::int64_t>(site.output_count()))
    return site.error("has " + std::to_string(site.output_count()) + " results; expected " + std::to_string(extent));
  WHET_TRY(std::vector<ValueId> parts, split(site, x, d, Ints(static_cast<std::size_t>(extent), 1)));
  for (ValueId& part : parts) {
    WHET_TRY(part, squeezed(site, part, Ints{d}));
  }
  return give_parts(site, parts);
}
Status import_split(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const Ints sizes, site.integers("split_size"));
  if (sizes.size() == 1) return give_equal_parts(site, x, d, sizes[0]);
  return site.error("argument \"split_size\" has " + std::to_string(sizes.size()) + " entries; expected one");
}
Status import_split_sizes(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const Ints sizes, site.integers("split_sizes"));
  std::int64_t left = site.shape(x)[static_cast<std::size_t>(d)];
  bool fits = true;
  for (const std::int64_t size : sizes) {
    fits = fits && size >= 0 && size <= left;
    if (fits) left -= size;
  }
  if (!fits || left != 0)
    return site.error("splits an extent of " + std::to_string(site.shape(x)[static_cast<std::size_t>(d)]) +
                      " into parts " + to_string(sizes));
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, d, sizes));
  return give_parts(site, parts);
}
Status import_chunk(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const std::int64_t chunks, site.integer("chunks"));
  if (chunks < 1) return site.error("argument \"chunks\" is " + std::to_string(chunks));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  return give_equal_parts(site, x, d, extent / chunks + (extent % chunks != 0 ? 1 : 0));
}
/// The first parts are one larger where the extent is no multiple.
Status import_tensor_split(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const std::int64_t count, site.integer("sections"));
  if (count != static_cast<std::int64_t>(site.output_count()) || count < 1)
    return site.error("has " + std::to_string(site.output_count()) + " results; expected " + std::to_string(count));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  Ints extents;
  for (std::int64_t i = 0; i < count; ++i) extents.push_back(extent / count + (i < extent % count ? 1 : 0));
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, d, extents));
  return give_parts(site, parts);
}

/// The parts between the places, as Python's slices have them: places from the end, behind the end and out of order.
Status import_tensor_split_places(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(Ints places, site.integers("indices"));
  if (places.size() + 1 != site.output_count())
    return site.error("has " + std::to_string(site.output_count()) + " results; expected " +
                      std::to_string(places.size() + 1));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  places.push_back(extent);
  std::vector<ValueId> parts;
  std::int64_t from = 0;
  for (std::int64_t to : places) {
    to = std::clamp<std::int64_t>(to < 0 ? to + extent : to, 0, extent);
    WHET_TRY(const ValueId part, sliced(site, x, {from}, {std::max(from, to)}, Ints{d}, {1}));
    parts.push_back(part);
    from = to;
  }
  return give_parts(site, parts);
}

/// Empty lists of older code have one dimension, whatever the others have.
Status import_cat(TorchSite& site) {
  WHET_TRY(std::vector<ValueId> values, site.tensors("tensors"));
  if (values.empty()) return site.error("joins no tensors");
  const auto many = [&](ValueId x) { return site.shape(x) != Shape{0}; };
  if (std::any_of(values.begin(), values.end(), many)) std::erase_if(values, [&](ValueId x) { return !many(x); });
  DType dtype = site.dtype(values[0]);
  for (const ValueId x : values) dtype = wider(dtype, site.dtype(x));
  for (ValueId& x : values) {
    WHET_TRY(x, site.cast("typed", x, dtype));
  }
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, values[0]));
  return values.size() == 1 ? site.pass(values[0]) : site.give(ConcatOperator{d}, values);
}
Status import_stack(TorchSite& site) {
  WHET_TRY(std::vector<ValueId> values, site.tensors("tensors"));
  if (values.empty()) return site.error("joins no tensors");
  WHET_TRY(const std::int64_t given, site.integer("dim"));
  WHET_TRY(const std::int64_t d, site.resolve_axis(given, site.rank(values[0]) + 1));
  for (ValueId& x : values) {
    WHET_TRY(x, unsqueezed(site, x, {d}));
  }
  return values.size() == 1 ? site.give(values[0]) : site.give(ConcatOperator{d}, values);
}

Status import_flip(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints dims, site.integers("dims"));
  if (dims.empty() || site.rank(x) == 0) return site.pass(x);
  return site.give(sliced(site, x, Ints(dims.size(), -1), Ints(dims.size(), -kEnd), dims, Ints(dims.size(), -1)));
}
Status import_roll(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(const Ints shifts, site.integers("shifts"));
  WHET_TRY(Ints dims, site.integers("dims"));
  const Shape shape = site.shape(x);
  const bool flat = dims.empty();
  if (flat) {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(shape)}}, {x}));
    dims = {0};
  }
  if (dims.size() != shifts.size())
    return site.error("has " + std::to_string(shifts.size()) + " shifts for " + std::to_string(dims.size()) +
                      " dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    WHET_TRY(const std::int64_t d, site.resolve_axis(dims[i], site.rank(x)));
    const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
    const std::int64_t by = extent == 0 ? 0 : (shifts[i] % extent + extent) % extent;
    if (by == 0) continue;
    WHET_TRY(const std::vector<ValueId> parts, split(site, x, d, {extent - by, by}));
    WHET_TRY(x, site.add("rolled", ConcatOperator{d}, {parts[1], parts[0]}));
  }
  return flat ? give_shape(site, x, shape) : site.give(x);
}

Status import_slice_scatter(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId part, site.tensor("src"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const Range range, read_range(site));
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(d)];
  std::int64_t first = std::clamp(range.start, -extent, extent);
  if (first < 0) first += extent;
  return site.give(with_places(site, x, part, d, first, std::min(range.step, extent + 1)));
}
Status import_select_scatter(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(ValueId part, site.tensor("src"));
  WHET_TRY(const std::int64_t d, axis_of_tensor(site, x));
  WHET_TRY(const std::int64_t place, resolve_place(site, x, d));
  if (site.rank(part) + 1 == site.rank(x)) {
    WHET_TRY(part, unsqueezed(site, part, {d}));
  }
  return site.give(with_places(site, x, part, d, place, 1));
}

/// What is copied takes the type and the shape of what it is copied into.
Status import_copy(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(ValueId source, site.tensor("src"));
  const Sizes shape = site.sizes(x);
  WHET_TRY(source, site.cast("typed", source, site.dtype(x)));
  return site.give(expanded(site, source, shape));
}

/// Pairs from the last dimension on, before and behind.
Status give_padded(TorchSite& site, ValueId x, const Ints& pairs, PadMode mode, double value) {
  const std::size_t count = pairs.size() / 2, rank = site.rank(x);
  if (pairs.size() % 2 != 0 || count > rank)
    return site.error("has " + std::to_string(pairs.size()) + " paddings for " + to_string(site.type(x)));
  Ints axes, pads(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back(static_cast<std::int64_t>(rank - 1 - i));
    pads[i] = pairs[2 * i];
    pads[i + count] = pairs[2 * i + 1];
  }
  return site.give(padded(site, x, pads, axes, mode, value));
}

Status give_padded(TorchSite& site, PadMode mode) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints pairs, site.integers("padding"));
  return give_padded(site, x, pairs, mode, 0);
}

Status import_pad(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints pairs, site.integers("pad"));
  WHET_TRY(const std::string mode, site.text("mode"));
  double value = 0;
  if (site.has("value")) {
    WHET_TRY(value, site.number("value"));
  }
  if (mode == "constant") return give_padded(site, x, pairs, PadMode::constant, value);
  if (mode == "reflect") return give_padded(site, x, pairs, PadMode::reflect, 0);
  if (mode == "replicate") return give_padded(site, x, pairs, PadMode::edge, 0);
  if (mode == "circular") return give_padded(site, x, pairs, PadMode::wrap, 0);
  return site.error("argument \"mode\" is " + mode + "; expected constant, reflect, replicate or circular");
}
Status import_pad_constant(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints pairs, site.integers("pad"));
  WHET_TRY(const double value, site.number("value"));
  return give_padded(site, x, pairs, PadMode::constant, value);
}
Status import_pad_reflect(TorchSite& site) { return give_padded(site, PadMode::reflect); }
Status import_pad_replicate(TorchSite& site) { return give_padded(site, PadMode::edge); }

/// [..., C, H, W] as [N, C, H, W].
struct Image {
  ValueId x;
  Shape leading;
};
Result<Image> as_image(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  const Shape own = site.shape(x);
  if (own.size() < 3 || num_elements(own) == 0)
    return site.error("the input is " + to_string(site.type(x)) + "; expected channels, rows and columns");
  Image image{x, Shape(own.begin(), own.end() - 3)};
  if (own.size() != 4) {
    WHET_TRY(
        image.x,
        site.add("image",
                 ReshapeOperator{{num_elements(image.leading), own[own.size() - 3], own[own.size() - 2], own.back()}},
                 {x}));
  }
  return image;
}
Status give_image(TorchSite& site, const Image& image, ValueId y) {
  Shape shape = image.leading;
  const Shape& own = site.shape(y);
  shape.insert(shape.end(), own.begin() + 1, own.end());
  return shape == own ? site.give(y) : site.give(ReshapeOperator{shape}, {y});
}

Status import_pixel_shuffle(TorchSite& site) {
  WHET_TRY(const Image image, as_image(site));
  WHET_TRY(const std::int64_t r, site.integer("upscale_factor"));
  const std::int64_t channels = site.shape(image.x)[1];
  if (r < 1 || r > channels || channels % (r * r) != 0)
    return site.error("makes blocks of " + std::to_string(r) + " of " + std::to_string(channels) + " channels");
  WHET_TRY(const ValueId y, depth_to_space(site, image.x, r, DepthOrder::column_row_depth));
  return give_image(site, image, y);
}
Status import_pixel_unshuffle(TorchSite& site) {
  WHET_TRY(const Image image, as_image(site));
  WHET_TRY(const std::int64_t r, site.integer("downscale_factor"));
  const Shape x = site.shape(image.x);
  if (r < 1 || x[2] % r != 0 || x[3] % r != 0)
    return site.error("takes blocks of " + std::to_string(r) + " of " + to_string(x));
  WHET_TRY(const ValueId y, space_to_depth(site, image.x, r, DepthOrder::column_row_depth));
  return give_image(site, image, y);
}
Status import_channel_shuffle(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t groups, site.integer("groups"));
  const Shape own = site.shape(x);
  if (own.size() < 3 || groups < 1 || own[1] % groups != 0)
    return site.error("shuffles " + std::to_string(groups) + " groups of channels of " + to_string(site.type(x)));
  const std::int64_t rest = num_elements(Shape(own.begin() + 2, own.end()));
  WHET_TRY(x, site.add("apart", ReshapeOperator{{own[0], groups, own[1] / groups, rest}}, {x}));
  WHET_TRY(x, site.add("turned", TransposeOperator{{0, 2, 1, 3}}, {x}));
  return site.give(ReshapeOperator{own}, {x});
}

Status import_tril(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t k, site.integer("diagonal"));
  if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected matrices");
  return site.give(trilu(site, x, k, false));
}
Status import_triu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t k, site.integer("diagonal"));
  if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected matrices");
  return site.give(trilu(site, x, k, true));
}

/// The two dimensions side by side at the end; the diagonal's places in them are known.
Status import_diagonal(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t offset, site.integer("offset"));
  WHET_TRY(const std::int64_t a, site.axis("dim1", x));
  WHET_TRY(const std::int64_t b, site.axis("dim2", x));
  const Shape own = site.shape(x);
  if (own.size() < 2 || a == b) return site.error("takes the diagonal of " + to_string(site.type(x)));
  Ints perm;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(own.size()); ++d)
    if (d != a && d != b) perm.push_back(d);
  perm.insert(perm.end(), {a, b});
  const std::int64_t rows = own[static_cast<std::size_t>(a)], columns = own[static_cast<std::size_t>(b)];
  Ints places;
  for (std::int64_t i = std::max<std::int64_t>(-std::max(offset, -rows), 0); i < rows && i + offset < columns; ++i)
    places.push_back(i * columns + i + offset);
  if (places.empty())
    return site.error("its diagonal " + std::to_string(offset) + " of " + to_string(own) + " is empty");
  WHET_TRY(x, site.add("turned", TransposeOperator{perm}, {x}));
  const Shape turned = site.shape(x);
  Shape flat(turned.begin(), turned.end() - 2);
  flat.push_back(rows * columns);
  WHET_TRY(x, site.add("flat", ReshapeOperator{flat}, {x}));
  const auto last = static_cast<std::int64_t>(flat.size()) - 1;
  return site.give(GatherOperator{last}, {x, site.add_constant("places", integer_list(places))});
}

Status import_meshgrid(TorchSite& site) {
  WHET_TRY(std::vector<ValueId> values, site.tensors("tensors"));
  WHET_TRY(const std::string indexing, site.text("indexing"));
  if (indexing != "ij" && indexing != "xy")
    return site.error("argument \"indexing\" is " + indexing + "; expected ij or xy");
  Shape shape;
  for (const ValueId x : values) {
    if (site.rank(x) > 1) return site.error("makes a grid of " + to_string(site.type(x)) + "; expected lists");
    shape.push_back(num_elements(site.shape(x)));
  }
  const bool swapped = indexing == "xy" && shape.size() >= 2;
  if (swapped) std::swap(shape[0], shape[1]);
  std::vector<ValueId> grids;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Shape own(shape.size(), 1);
    const std::size_t d = swapped && i < 2 ? 1 - i : i;
    own[d] = shape[d];
    WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{own}, {values[i]}));
    WHET_TRY(const ValueId grid, expanded(site, row, shape));
    grids.push_back(grid);
  }
  return give_parts(site, grids);
}

}  // namespace

TorchRows shape_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._unsafe_view", "default", "self size", import_reshape},
      {"aten.broadcast_tensors", "default", "tensors", import_broadcast_tensors},
      {"aten.broadcast_to", "default", "self size", import_expand},
      {"aten.cat", "default", "tensors dim=0", import_cat},
      {"aten.channel_shuffle", "default", "self groups", import_channel_shuffle},
      {"aten.chunk", "default", "self chunks dim=0", import_chunk},
      {"aten.concat", "default", "tensors dim=0", import_cat},
      {"aten.concatenate", "default", "tensors dim=0", import_cat},
      {"aten.constant_pad_nd", "default", "self pad value=0", import_pad_constant},
      {"aten.copy", "default", "self src non_blocking=none", import_copy},
      {"aten.diagonal", "default", "self offset=0 dim1=0 dim2=1", import_diagonal},
      {"aten.expand", "default", "self size", import_expand},
      {"aten.expand_as", "default", "self other", import_expand_as},
      {"aten.flatten", "using_ints", "self start_dim=0 end_dim=-1", import_flatten},
      {"aten.flip", "default", "self dims", import_flip},
      {"aten.mT", "default", "self", import_t},
      {"aten.meshgrid", "indexing default", "tensors indexing=ij", import_meshgrid},
      {"aten.moveaxis", "int intlist", "self source destination", import_movedim},
      {"aten.movedim", "int intlist", "self source destination", import_movedim},
      {"aten.narrow", "default", "self dim start length", import_narrow},
      {"aten.numpy_T", "default", "self", import_t},
      {"aten.pad", "default", "self pad mode=constant value=none", import_pad},
      {"aten.permute", "default", "self dims", import_permute},
      {"aten.pixel_shuffle", "default", "self upscale_factor", import_pixel_shuffle},
      {"aten.pixel_unshuffle", "default", "self downscale_factor", import_pixel_unshuffle},
      {"aten.ravel", "default", "self start_dim=0 end_dim=-1", import_flatten},
      {"aten.reflection_pad1d", "default", "self padding", import_pad_reflect},
      {"aten.reflection_pad2d", "default", "self padding", import_pad_reflect},
      {"aten.reflection_pad3d", "default", "self padding", import_pad_reflect},
      {"aten.repeat", "default", "self repeats", import_repeat},
      {"aten.repeat_interleave", "self_int", "self repeats dim=none output_size=none", import_repeat_interleave},
      {"aten.replication_pad1d", "default", "self padding", import_pad_replicate},
      {"aten.replication_pad2d", "default", "self padding", import_pad_replicate},
      {"aten.replication_pad3d", "default", "self padding", import_pad_replicate},
      {"aten.reshape", "default", "self shape", import_reshape},
      {"aten.reshape_as", "default", "self other", import_reshape_as},
      {"aten.roll", "default", "self shifts dims=[]", import_roll},
      {"aten.select", "int", "self dim index", import_select},
      {"aten.select_scatter", "default", "self src dim index", import_select_scatter},
      {"aten.slice", "Tensor", "self dim=0 start=none end=none step=1", import_slice},
      {"aten.slice_scatter", "default", "self src dim=0 start=none end=none step=1", import_slice_scatter},
      {"aten.split", "Tensor", "self split_size dim=0", import_split},
      {"aten.split", "sizes", "self split_size dim=0", import_split},
      {"aten.split_with_sizes", "default", "self split_sizes dim=0", import_split_sizes},
      {"aten.squeeze", "default dim dims", "self dim=none", import_squeeze},
      {"aten.stack", "default", "tensors dim=0", import_stack},
      {"aten.swapaxes", "default", "self axis0 axis1", import_transpose},
      {"aten.swapdims", "default", "self dim0 dim1", import_transpose},
      {"aten.t", "default", "self", import_t},
      {"aten.tensor_split", "indices", "self indices dim=0", import_tensor_split_places},
      {"aten.tensor_split", "sections", "self sections dim=0", import_tensor_split},
      {"aten.tile", "default", "self dims", import_repeat},
      {"aten.transpose", "int", "self dim0 dim1", import_transpose},
      {"aten.tril", "default", "self diagonal=0", import_tril},
      {"aten.triu", "default", "self diagonal=0", import_triu},
      {"aten.unbind", "int", "self dim=0", import_unbind},
      {"aten.unflatten", "int", "self dim sizes", import_unflatten},
      {"aten.unsafe_chunk", "default", "self chunks dim=0", import_chunk},
      {"aten.unsafe_split", "Tensor", "self split_size dim=0", import_split},
      {"aten.unsafe_split_with_sizes", "default", "self split_sizes dim=0", import_split_sizes},
      {"aten.unsqueeze", "default", "self dim", import_unsqueeze},
      {"aten.view", "default", "self size", import_reshape},
      {"aten.view_as", "default", "self other", import_reshape_as},
  };
  return kRows;
}

}  // namespace whet::torch
