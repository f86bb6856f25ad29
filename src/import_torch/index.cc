#include "import/parts/index.h"

#include <algorithm>

#include "import/parts/arithmetic.h"
#include "import/parts/index_lists.h"
#include "import/parts/non_zero.h"
#include "import/parts/scatter.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"
#include "import_torch/strided.h"

namespace whet::torch {
namespace {

/// x, cut to the extents of the indices along all axes except `d`: torch reads no further.
Result<ValueId> cut_to(TorchSite& site, ValueId x, ValueId indices, std::int64_t d) {
  Shape shape = site.shape(indices);
  if (shape.size() != site.rank(x))
    return site.error("places " + to_string(shape) + " do not fit " + to_string(site.type(x)));
  shape[static_cast<std::size_t>(d)] = site.shape(x)[static_cast<std::size_t>(d)];
  return sliced(site, x, Ints(shape.size(), 0), shape, std::nullopt, Ints(shape.size(), 1));
}

Result<ValueId> import_scatter_reduce(TorchSite& site, ValueId x, std::int64_t d, ValueId indices, ValueId values,
                                      Combine how, bool include_self) {
  const Shape shape = site.shape(indices);
  if (num_elements(shape) == 0) return x;
  if (site.rank(x) == 0) return site.error("writes into a scalar");
  if (site.rank(values) == 0) {
    WHET_TRY(values, expanded(site, values, shape));
  } else if (site.shape(values) != shape) {
    if (site.rank(values) != shape.size())
      return site.error("writes " + to_string(site.type(values)) + " to places " + to_string(shape));
    WHET_TRY(values, sliced(site, values, Ints(shape.size(), 0), shape, std::nullopt, Ints(shape.size(), 1)));
  }
  return scattered(site, x, d, indices, values, how, include_self);
}
template <Combine how>
Result<ValueId> import_scatter(TorchSite& site, ValueId x, std::int64_t d, ValueId indices, ValueId values) {
  return import_scatter_reduce(site, x, d, indices, values, how, true);
}
/// One place for each entry along the axis.
Result<ValueId> import_index_reduce(TorchSite& site, ValueId x, std::int64_t d, ValueId indices, ValueId values,
                                    Combine how, bool include_self) {
  const Shape shape = site.shape(values);
  if (site.rank(indices) != 1 || shape.size() != site.rank(x) || shape.empty())
    return site.error("puts " + to_string(site.type(values)) + " into " + to_string(site.type(x)));
  Shape column(shape.size(), 1);
  column[static_cast<std::size_t>(d)] = site.shape(indices)[0];
  WHET_TRY(indices, site.add("column", ReshapeOperator{column}, {indices}));
  WHET_TRY(indices, expanded(site, indices, shape));
  return import_scatter_reduce(site, x, d, indices, values, how, include_self);
}

/// x with entries of `source` put at, or added to, those along an axis that a list names.
Result<ValueId> entries_put(TorchSite& site, ScatterKind kind, ValueId x, std::int64_t d, ValueId indices,
                            ValueId source) {
  const std::int64_t count = num_elements(site.shape(indices));
  Shape fitting = site.shape(x), column(fitting.size(), 1);
  if (!fitting.empty()) fitting[static_cast<std::size_t>(d)] = count;
  if (fitting.empty() || site.shape(source) != fitting || site.rank(indices) > 1)
    return site.error((kind == ScatterKind::add ? "adds " : "puts ") + to_string(site.type(source)) + " to " +
                      to_string(site.type(x)) + " at places " + to_string(site.type(indices)));
  if (num_elements(fitting) == 0) return x;
  if (site.constant(indices) != nullptr) {
    WHET_TRY(const ValueId list, site.add("list", ReshapeOperator{{count}}, {indices}));
    OptionalIds lists(static_cast<std::size_t>(d));
    lists.emplace_back(list);
    return scatter_by_lists(site, x, lists, source, kind);
  }
  column[static_cast<std::size_t>(d)] = count;
  WHET_TRY(indices, site.add("column", ReshapeOperator{column}, {indices}));
  WHET_TRY(indices, expanded(site, indices, fitting));
  return site.add("put", ScatterElementsOperator{d, kind}, {x, indices, source});
}

/// The same where no place counts from the end.
template <ScatterKind kind>
Result<ValueId> import_entries(TorchSite& site, ValueId x, std::int64_t d, ValueId indices, ValueId source,
                               double alpha) {
  if (alpha != 1) {
    WHET_TRY(source, with_number(site, "scaled", BinaryKind::mul, source, alpha));
  }
  const Tensor* known = site.constant(indices);
  for (std::int64_t i = 0; known != nullptr && !is_float(known->dtype()) && i < known->size(); ++i) {
    if (known->integer(i) < 0)
      return site.error("writes element " + std::to_string(known->integer(i)) + "; expected 0 or more");
  }
  return entries_put(site, kind, x, d, indices, source);
}

/// Lists of places; masks that are known become the places where they hold.
Result<OptionalIds> place_lists(TorchSite& site, const OptionalIds& given) {
  OptionalIds lists;
  for (const auto& each : given) {
    if (!each || site.dtype(*each) != DType::boolean) {
      lists.push_back(each);
      continue;
    }
    WHET_TRY(const Tensor mask, site.known(*each, "mask"));
    const Tensor places = non_zero(mask);
    const std::int64_t count = places.shape()[1];
    for (std::int64_t d = 0; d < places.shape()[0]; ++d) {
      Tensor list(DType::i64, {count});
      for (std::int64_t i = 0; i < count; ++i) list.set_integer(i, places.integer(d * count + i));
      lists.emplace_back(site.add_constant("places", list));
    }
  }
  return lists;
}

/// The only list of places, where it is a mask of values, and the dimension that it begins at.
struct OnlyMask {
  ValueId mask;
  std::size_t at;
};
std::optional<OnlyMask> only_mask(TorchSite& site, ValueId x, const OptionalIds& lists) {
  std::optional<OnlyMask> only;
  for (std::size_t d = 0; d < lists.size(); ++d) {
    if (!lists[d]) continue;
    if (only || site.dtype(*lists[d]) != DType::boolean) return std::nullopt;
    only = OnlyMask{*lists[d], d};
  }
  if (!only) return std::nullopt;
  const Shape &mask = site.shape(only->mask), &whole = site.shape(x);
  const bool fits = only->at + mask.size() <= whole.size() &&
                    std::equal(mask.begin(), mask.end(), whole.begin() + static_cast<std::ptrdiff_t>(only->at));
  return fits ? only : std::nullopt;
}

/// For each place of a mask how many before it hold, which is the row that one takes that holds; `count` rows at most.
Result<ValueId> taken_rows(TorchSite& site, ValueId mask, std::int64_t count) {
  const Shape shape = site.shape(mask);
  WHET_TRY(ValueId rows, site.add("flat", ReshapeOperator{{num_elements(shape)}}, {mask}));
  WHET_TRY(rows, site.cast("ones", rows, DType::i64));
  WHET_TRY(rows, site.add("places", CumSumOperator{0, /*exclusive=*/true}, {rows}));
  // Behind the last one there may be none left, which is not read.
  WHET_TRY(rows, with_number(site, "inside", BinaryKind::min, rows, static_cast<double>(count - 1)));
  return site.add("whole", ReshapeOperator{shape}, {rows});
}

/// The rows of `values` go, in order, where the mask holds: the n-th true one takes row n, or each the only one. What is behind the
/// last row is not read.
Result<ValueId> put_by_mask(TorchSite& site, ValueId x, const OnlyMask& only, ValueId values, bool adds) {
  const Shape mask = site.shape(only.mask), whole = site.shape(x);
  const std::size_t behind = only.at + mask.size();
  const Shape rest(whole.begin() + static_cast<std::ptrdiff_t>(behind), whole.end());
  Shape wide(whole.size(), 1);
  std::copy(mask.begin(), mask.end(), wide.begin() + static_cast<std::ptrdiff_t>(only.at));
  WHET_TRY(const ValueId holds, site.add("mask", ReshapeOperator{wide}, {only.mask}));
  Shape row = site.shape(values);
  const bool one_row = row.size() <= rest.size() || row[row.size() - rest.size() - 1] == 1;
  if (row.empty() || (one_row && only.at == 0)) {
    while (row.size() > rest.size()) row.erase(row.begin());
    WHET_TRY(values, site.add("row", ReshapeOperator{row}, {values}));
  } else {
    if (only.at != 0 || row.size() != rest.size() + 1)
      return site.error("puts " + to_string(site.type(values)) + " into " + to_string(site.type(x)) + " where " +
                        to_string(site.type(only.mask)) + " holds");
    WHET_TRY(values, site.padded_by(values, 0));
    WHET_TRY(const ValueId rows, taken_rows(site, only.mask, row[0]));
    WHET_TRY(values, site.add("placed", GatherOperator{0}, {values, rows}));
  }
  if (adds) {
    WHET_TRY(values, site.add("sum", BinaryOperator{BinaryKind::add}, {x, values}));
  }
  return site.add("put", WhereOperator{}, {holds, values, x});
}

Status import_topk(TorchSite& site, ValueId x, std::int64_t k, std::int64_t d, bool largest) {
  if (site.rank(x) == 0) {
    WHET_RETURN_IF_ERROR(site.give(x));
    return site.give_constant(Tensor(DType::i64, {}), 1);
  }
  if (k < 0 || k > site.extent(x, d))
    return site.error("takes " + std::to_string(k) + " of " + std::to_string(site.extent(x, d)) + " elements");
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{.axis = d, .k = k, .largest = largest}, {x}));
  WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{d}, {x, places}));
  return site.give(places, 1);
}
Status import_sort(TorchSite& site, ValueId x, std::int64_t d, bool descending) {
  return import_topk(site, x, site.rank(x) == 0 ? 0 : site.extent(x, d), d, descending);
}
Status import_argsort(TorchSite& site, ValueId x, std::int64_t d, bool descending) {
  if (site.rank(x) == 0) return site.give_constant(Tensor(DType::i64, {}));
  return site.give(TopKOperator{.axis = d, .k = site.extent(x, d), .largest = descending}, {x});
}

Result<ValueId> import_index_select(TorchSite& site, ValueId x, std::int64_t d, ValueId indices) {
  return gather(site, x, indices, d);
}
Result<ValueId> import_embedding(TorchSite& site, ValueId weight, ValueId indices) {
  if (site.rank(weight) == 0) return site.error("takes rows of a scalar");
  return gather(site, weight, indices, 0);
}
/// The rows of bags; what else torch gives is for training.
Result<ValueId> import_embedding_bag(TorchSite& site, ValueId weight, ValueId indices, ValueId starts,
                                     std::int64_t mode, OptionalId factors, bool with_last,
                                     std::optional<std::int64_t> padding) {
  if (mode < 0 || mode > 2) return site.error("argument \"mode\" is " + std::to_string(mode) + "; expected 0 to 2");
  constexpr Combine kModes[] = {Combine::sum, Combine::mean, Combine::largest};
  if (with_last && site.rank(starts) == 1) {
    WHET_TRY(starts, sliced(site, starts, {0}, {-1}, Ints{0}, {1}));
  }
  if (padding && *padding < 0) padding = std::nullopt;  // the core form says so
  return embedded_bags(site, weight, {kModes[mode], indices, starts, factors, padding});
}
Result<ValueId> import_take(TorchSite& site, ValueId x, ValueId indices) {
  WHET_TRY(const ValueId list, site.add("list", ReshapeOperator{{num_elements(site.shape(x))}}, {x}));
  return gather(site, list, indices, 0);
}
Status import_take_along(TorchSite& site, ValueId x, ValueId indices, std::int64_t d) {
  WHET_TRY(const ValueId cut, cut_to(site, x, indices, d));
  return site.give(GatherElementsOperator{d}, {cut, indices});
}
Status import_gather(TorchSite& site, ValueId x, std::int64_t d, ValueId indices) {
  return import_take_along(site, x, indices, d);
}

Result<ValueId> import_index_fill(TorchSite& site, ValueId x, std::int64_t d, ValueId indices, ValueId value) {
  if (site.rank(value) != 0)
    return site.error("fills places of " + to_string(site.type(x)) + " with " + to_string(site.type(value)) +
                      "; expected one number");
  Shape shape = site.shape(x);
  shape[static_cast<std::size_t>(d)] = num_elements(site.shape(indices));
  if (num_elements(shape) == 0) return x;
  WHET_TRY(const ValueId source, expanded(site, value, shape));
  return entries_put(site, ScatterKind::replace, x, d, indices, source);
}

/// The first elements of the source go, in order, where the mask holds: the n-th true one takes the n-th element.
Status import_masked_scatter(TorchSite& site, ValueId x, ValueId mask, ValueId source) {
  const auto shape = broadcast(site.shape(x), site.shape(mask));
  if (!shape || site.dtype(mask) != DType::boolean || num_elements(site.shape(source)) == 0)
    return site.error("puts elements of " + to_string(site.type(source)) + " into " + to_string(site.type(x)) +
                      " where " + to_string(site.type(mask)) + " holds");
  WHET_TRY(x, expanded(site, x, *shape));
  WHET_TRY(mask, expanded(site, mask, *shape));
  const std::int64_t count = num_elements(site.shape(source));
  if (const Tensor* known = site.constant(mask)) {
    std::int64_t wanted = 0;
    for (std::int64_t i = 0; i < known->size(); ++i) wanted += known->integer(i) != 0 ? 1 : 0;
    if (wanted > count)
      return site.error("takes " + std::to_string(wanted) + " elements of " + to_string(site.type(source)));
  }
  WHET_TRY(const ValueId places, taken_rows(site, mask, count));
  WHET_TRY(source, site.add("list", ReshapeOperator{{count}}, {source}));
  WHET_TRY(const ValueId moved, gather(site, source, places, 0));
  return site.give(WhereOperator{}, {mask, moved, x});
}

Result<ValueId> import_index(TorchSite& site, ValueId x, const OptionalIds& given) {
  const auto only = only_mask(site, x, given);
  if (only && site.constant(only->mask) == nullptr) {
    if (only->at == 0) return rows_where(site, x, only->mask);
    if (site.rank(only->mask) == 1) return counted_where(site, x, only->mask, static_cast<std::int64_t>(only->at));
  }
  WHET_TRY(const OptionalIds lists, place_lists(site, given));
  return gather_by_lists(site, x, lists);
}
Result<ValueId> import_index_put(TorchSite& site, ValueId x, const OptionalIds& given, ValueId values,
                                 bool accumulate) {
  const auto only = only_mask(site, x, given);
  const bool is_one = num_elements(site.shape(values)) == 1;
  if (only && (is_one || site.constant(only->mask) == nullptr)) {
    if (is_one) {
      WHET_TRY(values, site.add("scalar", ReshapeOperator{Shape{}}, {values}));
    }
    return put_by_mask(site, x, *only, values, accumulate);
  }
  WHET_TRY(const OptionalIds lists, place_lists(site, given));
  return scatter_by_lists(site, x, lists, values, accumulate ? ScatterKind::add : ScatterKind::replace);
}

Result<ValueId> import_one_hot(TorchSite& site, ValueId x, std::int64_t classes) {
  if (classes == -1) {
    WHET_TRY(classes, count_of_segments(site, x));
  }
  if (classes < 1 || classes > kMaxElements)
    return site.error("argument \"num_classes\" is " + std::to_string(classes));
  const ValueId values = site.add_constant("values", Tensor::of<double>(DType::i64, {2}, {0, 1}));
  return one_hot(site, x, {classes, static_cast<std::int64_t>(site.rank(x)), values});
}

/// Elements of the storage by their places. Needs: the input is the whole of its storage, row by row.
Result<ValueId> import_as_strided(TorchSite& site, ValueId x, const Shape& size, const Ints& steps,
                                  std::optional<std::int64_t> offset) {
  if (!site.lies_row_by_row("self"))
    return site.error(
        "takes elements by their places in memory of a tensor that is perhaps a view of another; in Python: "
        ".contiguous() before as_strided");
  WHET_RETURN_IF_ERROR(expect_small(site, size, "the result"));
  if (size.size() != steps.size())
    return site.error("has " + std::to_string(steps.size()) + " strides for " + to_string(size));
  const std::int64_t count = num_elements(site.shape(x)), first = offset.value_or(0);
  const Strided form{{}, size, steps, first};
  if (num_elements(size) == 0 || !is_inside(form, count))
    return site.error("takes " + to_string(size) + " by steps of " + to_string(steps) + " from " +
                      std::to_string(first) + " on of " + std::to_string(count) + " elements");
  const Ints places = places_of(form);
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{{count}}, {x}));
  if (!is_row_major(form))
    return gather(site, flat, site.add_constant("places", Tensor::of(DType::i64, size, places)), 0);
  WHET_TRY(const ValueId part, site.add("part", SliceOperator{{first}, {1}, {num_elements(size)}}, {flat}));
  return site.add("strided", ReshapeOperator{size}, {part});
}

}  // namespace

constexpr std::string_view kBag =
    "weight indices offsets ~scale_grad_by_freq mode=0 ~sparse per_sample_weights? include_last_offset=false "
    "padding_idx?";

TorchRows index_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.argsort", "default", "self dim(self)=-1 descending=false", calls<import_argsort>},
      {"aten.argsort", "stable", "self ~stable dim(self)=-1 descending=false", calls<import_argsort>},
      {"aten.as_strided", "default", "self size stride storage_offset?", calls<import_as_strided>},
      {"aten._embedding_bag aten._embedding_bag_forward_only", "default", kBag, calls<import_embedding_bag>},
      {"aten.embedding", "default", "weight indices ~padding_idx ~scale_grad_by_freq ~sparse", calls<import_embedding>},
      {"aten.embedding_bag", "default padding_idx", kBag, calls<import_embedding_bag>},
      {"aten.gather", "default", "self dim(self!) index ~sparse_grad", calls<import_gather>, kOfParts},
      {"aten.index aten._unsafe_index", "Tensor", "self indices", calls<import_index>, kOfParts},
      {"aten.index_add", "default", "self dim(self) index source(self) alpha=1",
       calls<import_entries<ScatterKind::add>>},
      {"aten.index_copy", "default", "self dim(self) index source(self) =1",
       calls<import_entries<ScatterKind::replace>>},
      {"aten.index_fill", "int_Scalar int_Tensor", "self dim(self!) index value(self)", calls<import_index_fill>},
      {"aten.index_put aten._unsafe_index_put", "default", "self indices values(self) accumulate=false",
       calls<import_index_put>, kOfParts},
      {"aten.index_reduce", "default",
       "self dim(self) index source(self) reduce:replace|sum|prod|amax|amin|mean include_self=true",
       calls<import_index_reduce>},
      {"aten.index_select", "default", "self dim(self!) index", calls<import_index_select>, kOfParts},
      {"aten.masked_scatter", "default", "self mask source(self)", calls<import_masked_scatter>},
      {"aten.one_hot", "default", "self num_classes=-1", calls<import_one_hot>},
      {"aten.scatter", "reduce", "self dim(self) index src(self) reduce:replace|add|multiply =1",
       calls<import_scatter_reduce>},
      {"aten.scatter", "src", "self dim(self) index src(self)", calls<import_scatter<Combine::replace>>},
      {"aten.scatter", "value", "self dim(self) index value(self)", calls<import_scatter<Combine::replace>>},
      {"aten.scatter", "value_reduce", "self dim(self) index value(self) reduce:replace|add|multiply =1",
       calls<import_scatter_reduce>},
      {"aten.scatter_add", "default", "self dim(self) index src(self)", calls<import_scatter<Combine::sum>>},
      {"aten.scatter_reduce", "two",
       "self dim(self) index src(self) reduce:replace|sum|prod|amax|amin|mean include_self=true",
       calls<import_scatter_reduce>},
      {"aten.sort", "default", "self dim(self)=-1 descending=false", calls<import_sort>},
      {"aten.sort", "stable", "self ~stable dim(self)=-1 descending=false", calls<import_sort>},
      {"aten.take", "default", "self index", calls<import_take>},
      {"aten.take_along_dim", "default", "self index dim(self!)", calls<import_take_along>, kOfParts},
      {"aten.topk", "default", "self k dim(self)=-1 largest=true ~sorted", calls<import_topk>},
  };
  return kRows;
}

}  // namespace whet::torch
