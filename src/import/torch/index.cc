#include "import/parts/index.h"

#include <algorithm>

#include "import/parts/index_lists.h"
#include "import/parts/shape.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

using Ints = std::vector<std::int64_t>;

/// x, cut to the extents of the indices along all axes except `d`: torch reads no further.
Result<ValueId> cut_to(TorchSite& site, ValueId x, ValueId indices, std::int64_t d) {
  Shape shape = site.shape(indices);
  if (shape.size() != site.rank(x))
    return site.error("places " + to_string(shape) + " do not fit " + to_string(site.type(x)));
  shape[static_cast<std::size_t>(d)] = site.shape(x)[static_cast<std::size_t>(d)];
  return sliced(site, x, Ints(shape.size(), 0), shape, std::nullopt, Ints(shape.size(), 1));
}

Status give_scattered(TorchSite& site, ScatterKind kind, std::string_view source) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId indices, site.tensor("index"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  WHET_TRY(ValueId values, site.operand(source, site.dtype(x)));
  const Shape shape = site.shape(indices);
  if (num_elements(shape) == 0) return site.pass(x);
  if (site.rank(x) == 0) return site.error("writes into a scalar");
  if (site.rank(values) == 0) {
    WHET_TRY(values, expanded(site, values, shape));
  } else if (site.shape(values) != shape) {
    if (site.rank(values) != shape.size())
      return site.error("writes " + to_string(site.type(values)) + " to places " + to_string(shape));
    WHET_TRY(values, sliced(site, values, Ints(shape.size(), 0), shape, std::nullopt, Ints(shape.size(), 1)));
  }
  return site.give(ScatterElementsOperator{d, kind}, {x, indices, values});
}

/// x with entries of `source` put at, or added to, those along "dim" that the list "index" names.
Result<ValueId> entries_put(TorchSite& site, ScatterKind kind, ValueId x, ValueId source) {
  WHET_TRY(ValueId indices, site.tensor("index"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  const std::int64_t count = num_elements(site.shape(indices));
  Shape fitting = site.shape(x), column(fitting.size(), 1);
  if (!fitting.empty()) fitting[static_cast<std::size_t>(d)] = count;
  if (fitting.empty() || site.shape(source) != fitting || site.rank(indices) > 1)
    return site.error((kind == ScatterKind::add ? "adds " : "puts ") + to_string(site.type(source)) + " to " +
                      to_string(site.type(x)) + " at places " + to_string(site.type(indices)));
  if (num_elements(fitting) == 0) return x;
  if (site.constant(indices) != nullptr) {
    WHET_TRY(const ValueId list, site.add("list", ReshapeOperator{{count}}, {indices}));
    std::vector<std::optional<ValueId>> lists(static_cast<std::size_t>(d));
    lists.emplace_back(list);
    return scatter_by_lists(site, x, lists, source, kind);
  }
  column[static_cast<std::size_t>(d)] = count;
  WHET_TRY(indices, site.add("column", ReshapeOperator{column}, {indices}));
  WHET_TRY(indices, expanded(site, indices, fitting));
  return site.add("put", ScatterElementsOperator{d, kind}, {x, indices, source});
}

/// The same where no place counts from the end.
Status give_entries_put(TorchSite& site, ScatterKind kind, ValueId x, ValueId source) {
  WHET_TRY(const ValueId indices, site.tensor("index"));
  const Tensor* known = site.constant(indices);
  for (std::int64_t i = 0; known != nullptr && !is_float(known->dtype()) && i < known->size(); ++i) {
    if (known->integer(i) < 0)
      return site.error("writes element " + std::to_string(known->integer(i)) + "; expected 0 or more");
  }
  return site.give(entries_put(site, kind, x, source));
}

/// Lists of places; masks that are known become the places where they hold.
Result<std::vector<std::optional<ValueId>>> place_lists(TorchSite& site) {
  WHET_TRY(const auto given, site.optional_tensors("indices"));
  std::vector<std::optional<ValueId>> lists;
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

/// One value put where a mask holds needs no places.
Result<std::optional<ValueId>> put_by_mask(TorchSite& site, ValueId x, ValueId value) {
  WHET_TRY(const auto given, site.optional_tensors("indices"));
  const bool one = given.size() == 1 && given[0] && site.dtype(*given[0]) == DType::boolean;
  if (!one || num_elements(site.shape(value)) != 1) return std::optional<ValueId>();
  Shape mask = site.shape(*given[0]);
  const Shape& whole = site.shape(x);
  if (mask.size() > whole.size() || !std::equal(mask.begin(), mask.end(), whole.begin()))
    return std::optional<ValueId>();
  mask.resize(whole.size(), 1);
  WHET_TRY(const ValueId wide, site.add("mask", ReshapeOperator{mask}, {*given[0]}));
  WHET_TRY(const ValueId scalar, site.add("scalar", ReshapeOperator{Shape{}}, {value}));
  WHET_TRY(const ValueId y, site.add("put", WhereOperator{}, {wide, scalar, x}));
  return std::optional(y);
}

Status give_top(TorchSite& site, ValueId x, const TopKOperator& op) {
  if (site.rank(x) == 0) {
    WHET_RETURN_IF_ERROR(site.pass(x));
    return site.give_constant(Tensor(DType::i64, {}), 1);
  }
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(op.axis)];
  if (op.k < 0 || op.k > extent)
    return site.error("takes " + std::to_string(op.k) + " of " + std::to_string(extent) + " elements");
  WHET_TRY(const ValueId places, site.add("places", op, {x}));
  WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{op.axis}, {x, places}));
  return site.give(places, 1);
}

Status import_index_select(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId indices, site.tensor("index"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.error("takes places of a scalar");
  return site.give(gather(site, x, indices, d));
}
Status import_embedding(TorchSite& site) {
  WHET_TRY(const ValueId weight, site.tensor("weight"));
  WHET_TRY(const ValueId indices, site.tensor("indices"));
  if (site.rank(weight) == 0) return site.error("takes rows of a scalar");
  return site.give(gather(site, weight, indices, 0));
}

Status import_gather(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId indices, site.tensor("index"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.error("takes places of a scalar");
  WHET_TRY(const ValueId cut, cut_to(site, x, indices, d));
  return site.give(GatherElementsOperator{d}, {cut, indices});
}

Status import_scatter(TorchSite& site) {
  return give_scattered(site, ScatterKind::replace, site.op().ends_with(".value") ? "value" : "src");
}
Status import_scatter_add(TorchSite& site) { return give_scattered(site, ScatterKind::add, "src"); }
Status import_scatter_reduce(TorchSite& site) {
  WHET_TRY(const std::string reduce, site.text("reduce"));
  WHET_TRY(const bool include, site.flag("include_self"));
  if (!include) return site.error("argument \"include_self\" is false; only true is supported");
  if (reduce == "sum") return give_scattered(site, ScatterKind::add, "src");
  if (reduce == "prod") return give_scattered(site, ScatterKind::mul, "src");
  if (reduce == "amax") return give_scattered(site, ScatterKind::max, "src");
  if (reduce == "amin") return give_scattered(site, ScatterKind::min, "src");
  return site.error("argument \"reduce\" is " + reduce + "; expected sum, prod, amax or amin");
}

Status import_index_add(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(ValueId source, site.operand("source", site.dtype(x)));
  WHET_TRY(const double alpha, site.number("alpha"));
  if (alpha != 1) {
    const ValueId factor = site.add_scalar("alpha", site.dtype(x), alpha);
    WHET_TRY(source, site.add("scaled", BinaryOperator{BinaryKind::mul}, {source, factor}));
  }
  return give_entries_put(site, ScatterKind::add, x, source);
}
Status import_index_copy(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId source, site.operand("source", site.dtype(x)));
  return give_entries_put(site, ScatterKind::replace, x, source);
}
Status import_index_fill(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId indices, site.tensor("index"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  WHET_TRY(const ValueId value, site.operand("value", site.dtype(x)));
  if (site.rank(x) == 0 || site.rank(value) != 0)
    return site.error("fills places of " + to_string(site.type(x)) + " with " + to_string(site.type(value)) +
                      "; expected dimensions, and one number");
  Shape shape = site.shape(x);
  shape[static_cast<std::size_t>(d)] = num_elements(site.shape(indices));
  if (num_elements(shape) == 0) return site.pass(x);
  WHET_TRY(const ValueId source, expanded(site, value, shape));
  return site.give(entries_put(site, ScatterKind::replace, x, source));
}

/// The first elements of the source go, in order, where the mask holds: the n-th true one takes the n-th element.
Status import_masked_scatter(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(ValueId mask, site.tensor("mask"));
  WHET_TRY(ValueId source, site.operand("source", site.dtype(x)));
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
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{{num_elements(*shape)}}, {mask}));
  WHET_TRY(const ValueId ones, site.cast("ones", flat, DType::i64));
  // How many hold before each: one that holds is the next of the source.
  WHET_TRY(ValueId places, site.add("places", CumSumOperator{0, /*exclusive=*/true}, {ones}));
  WHET_TRY(places, site.add("whole", ReshapeOperator{*shape}, {places}));
  // Behind the last one there may be none left, which is not read.
  const ValueId last = site.add_constant("last", Tensor::of<std::int64_t>(DType::i64, {}, {count - 1}));
  WHET_TRY(places, site.add("inside", BinaryOperator{BinaryKind::min}, {places, last}));
  WHET_TRY(source, site.add("list", ReshapeOperator{{count}}, {source}));
  WHET_TRY(const ValueId moved, gather(site, source, places, 0));
  return site.give(WhereOperator{}, {mask, moved, x});
}

Status import_index(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const auto given, site.optional_tensors("indices"));
  const bool one = given.size() == 1 && given[0] && site.dtype(*given[0]) == DType::boolean;
  if (one && site.constant(*given[0]) == nullptr) return site.give(rows_where(site, x, *given[0]));
  WHET_TRY(const auto lists, place_lists(site));
  return site.give(gather_by_lists(site, x, lists));
}
Status import_index_put(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(ValueId values, site.operand("values", site.dtype(x)));
  WHET_TRY(const bool accumulate, site.flag("accumulate"));
  if (!accumulate) {
    WHET_TRY(const auto put, put_by_mask(site, x, values));
    if (put) return site.give(*put);
  }
  WHET_TRY(const auto lists, place_lists(site));
  return site.give(scatter_by_lists(site, x, lists, values, accumulate ? ScatterKind::add : ScatterKind::replace));
}

Status import_one_hot(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(std::int64_t classes, site.integer("num_classes"));
  if (classes == -1) {
    WHET_TRY(const Tensor known, site.known(x, "largest class"));
    for (std::int64_t i = 0; i < known.size(); ++i) classes = std::max(classes, known.integer(i) + 1);
  }
  if (classes < 1 || classes > kMaxElements)
    return site.error("argument \"num_classes\" is " + std::to_string(classes));
  const ValueId values = site.add_constant("values", Tensor::of<double>(DType::i64, {2}, {0, 1}));
  return site.give(one_hot(site, x, {classes, static_cast<std::int64_t>(site.rank(x)), values}));
}

Status import_topk(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  TopKOperator op{};
  WHET_TRY(op.axis, site.axis("dim", x));
  WHET_TRY(op.k, site.integer("k"));
  WHET_TRY(op.largest, site.flag("largest"));
  return give_top(site, x, op);
}

Result<TopKOperator> read_order(TorchSite& site, ValueId x) {
  TopKOperator op{};
  WHET_TRY(op.axis, site.axis("dim", x));
  op.k = site.rank(x) == 0 ? 0 : site.shape(x)[static_cast<std::size_t>(op.axis)];
  WHET_TRY(op.largest, site.flag("descending"));
  return op;
}

Status import_sort(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const TopKOperator op, read_order(site, x));
  return give_top(site, x, op);
}
Status import_argsort(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const TopKOperator op, read_order(site, x));
  if (site.rank(x) == 0) return site.give_constant(Tensor(DType::i64, {}));
  return site.give(op, {x});
}

/// Elements of the storage by their places. Needs: the input is the whole of its storage, row by row.
Status import_as_strided(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Shape size, site.integers("size"));
  WHET_TRY(const std::vector<std::int64_t> strides, site.integers("stride"));
  std::int64_t offset = 0;
  if (site.has("storage_offset")) {
    WHET_TRY(offset, site.integer("storage_offset"));
  }
  if (!site.lies_row_by_row("self"))
    return site.error(
        "takes elements by their places in memory of a tensor that is perhaps a view of another; in Python: "
        ".contiguous() before as_strided");
  WHET_RETURN_IF_ERROR(expect_small(site, size, "the result"));
  if (size.size() != strides.size())
    return site.error("has " + std::to_string(strides.size()) + " strides for " + to_string(size));
  const std::int64_t count = num_elements(site.shape(x));
  // Places grow with every index, so that the last one is the largest.
  std::int64_t last = offset;
  bool inside = offset >= 0 && offset < count;
  for (std::size_t d = 0; d < size.size() && inside; ++d) {
    inside = strides[d] >= 0 && strides[d] <= count &&
             (size[d] <= 1 || strides[d] == 0 || size[d] - 1 <= count / strides[d]);
    if (inside) last += (std::max<std::int64_t>(size[d], 1) - 1) * strides[d];
    inside = inside && last < count;
  }
  if (!inside || num_elements(size) == 0)
    return site.error("takes " + to_string(size) + " by steps of " + to_string(strides) + " from " +
                      std::to_string(offset) + " on of " + std::to_string(count) + " elements");
  Tensor places(DType::i64, size);
  bool in_order = true;
  for (std::int64_t i = 0; i < places.size(); ++i) {
    std::int64_t rest = i, place = offset;
    for (std::size_t d = size.size(); d-- > 0; rest /= size[d]) place += rest % size[d] * strides[d];
    places.set_integer(i, place);
    in_order = in_order && place == offset + i;
  }
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{{count}}, {x}));
  if (in_order) {
    WHET_TRY(const ValueId part, site.add("part", SliceOperator{{offset}, {1}, {places.size()}}, {flat}));
    return site.give(ReshapeOperator{size}, {part});
  }
  return site.give(gather(site, flat, site.add_constant("places", places), 0));
}

}  // namespace

TorchRows index_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._unsafe_index", "Tensor", "self indices", import_index},
      {"aten._unsafe_index_put", "default", "self indices values accumulate=false", import_index_put},
      {"aten.argsort", "default", "self dim=-1 descending=false", import_argsort},
      {"aten.argsort", "stable", "self stable dim=-1 descending=false", import_argsort},
      {"aten.as_strided", "default", "self size stride storage_offset=none", import_as_strided},
      {"aten.embedding", "default", "weight indices padding_idx=-1 scale_grad_by_freq=false sparse=false",
       import_embedding},
      {"aten.gather", "default", "self dim index sparse_grad=false", import_gather},
      {"aten.index", "Tensor", "self indices", import_index},
      {"aten.index_add", "default", "self dim index source alpha=1", import_index_add},
      {"aten.index_copy", "default", "self dim index source", import_index_copy},
      {"aten.index_fill", "int_Scalar int_Tensor", "self dim index value", import_index_fill},
      {"aten.index_put", "default", "self indices values accumulate=false", import_index_put},
      {"aten.index_select", "default", "self dim index", import_index_select},
      {"aten.masked_scatter", "default", "self mask source", import_masked_scatter},
      {"aten.one_hot", "default", "self num_classes=-1", import_one_hot},
      {"aten.scatter", "src", "self dim index src", import_scatter},
      {"aten.scatter", "value", "self dim index value", import_scatter},
      {"aten.scatter_add", "default", "self dim index src", import_scatter_add},
      {"aten.scatter_reduce", "two", "self dim index src reduce include_self=true", import_scatter_reduce},
      {"aten.sort", "default", "self dim=-1 descending=false", import_sort},
      {"aten.sort", "stable", "self stable=false dim=-1 descending=false", import_sort},
      {"aten.take_along_dim", "default", "self index dim", import_gather},
      {"aten.topk", "default", "self k dim=-1 largest=true sorted=true", import_topk},
  };
  return kRows;
}

}  // namespace whet::torch
