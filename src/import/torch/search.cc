#include <algorithm>

#include "import/parts/shape.h"
#include "import/torch/rows.h"

// Elements that are looked for in lists: each is compared with all of a list.

namespace whet::torch {
namespace {

using B = BinaryKind;

struct Search {
  bool right = false;  ///< behind elements that are equal; else before them
  DType result = DType::i64;
};
/// At how many elements of a rising row [n] or rows [..., n] each of `values` [..., m] is behind. NaN is behind all.
Status give_ranks(TorchSite& site, ValueId rows, ValueId values, const Search& search) {
  constexpr std::int64_t kMost = 4096;
  const Shape shape = site.shape(rows), wanted = site.shape(values);
  const std::int64_t count = shape.empty() ? 0 : shape.back();
  if (count < 1 || count > kMost)
    return site.error("looks in rows " + to_string(site.type(rows)) + "; 1 to " + std::to_string(kMost) +
                      " elements are supported");
  const bool fits = shape.size() == 1 ||
                    (shape.size() == wanted.size() && std::equal(shape.begin(), shape.end() - 1, wanted.begin()));
  if (!fits) return site.error("looks for " + to_string(site.type(values)) + " in rows " + to_string(site.type(rows)));
  WHET_TRY(values, unsqueezed(site, values, {-1}));
  if (shape.size() > 1) {
    WHET_TRY(rows, unsqueezed(site, rows, {-2}));
  }
  const B reached = search.right ? B::greater : B::greater_equal;
  WHET_TRY(const ValueId before, site.add("before", BinaryOperator{reached}, {rows, values}));
  WHET_TRY(const ValueId behind, site.add("behind", UnaryOperator{UnaryKind::logical_not}, {before}));
  WHET_TRY(const ValueId ones, site.cast("ones", behind, DType::i32));
  const auto last = static_cast<std::int64_t>(wanted.size());
  WHET_TRY(const ValueId sum, site.add("rank", ReduceOperator{ReduceKind::sum, {last}, false}, {ones}));
  return site.give(site.cast("number", sum, search.result));
}

Result<Search> read_search(TorchSite& site) {
  Search search;
  WHET_TRY(search.right, site.flag("right"));
  WHET_TRY(const bool short_numbers, site.flag("out_int32"));
  if (short_numbers) search.result = DType::i32;
  return search;
}

Status import_bucketize(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"self", "boundaries"}));
  WHET_TRY(const ValueId x, site.operand("self", dtype));
  WHET_TRY(const ValueId bounds, site.operand("boundaries", dtype));
  WHET_TRY(const Search search, read_search(site));
  if (site.rank(bounds) != 1)
    return site.error("its boundaries are " + to_string(site.type(bounds)) + "; expected one dimension");
  return give_ranks(site, bounds, x, search);
}

/// `side` says in a word what `right` says. A sorter is the order that makes the rows rise.
Status import_searchsorted(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"sorted_sequence", "self"}));
  WHET_TRY(ValueId rows, site.operand("sorted_sequence", dtype));
  WHET_TRY(const ValueId x, site.operand("self", dtype));
  WHET_TRY(Search search, read_search(site));
  if (site.has("side")) {
    WHET_TRY(const std::string side, site.text("side"));
    if ((side != "left" && side != "right") || (search.right && side == "left"))
      return site.error("argument \"side\" is " + side +
                        (search.right ? "; expected right" : "; expected left or right"));
    search.right = side == "right";
  }
  WHET_TRY(const auto sorter, site.optional_tensor("sorter"));
  if (sorter) {
    if (site.rank(rows) == 0 || site.shape(*sorter) != site.shape(rows))
      return site.error("sorts " + to_string(site.type(rows)) + " by places " + to_string(site.type(*sorter)));
    const auto last = static_cast<std::int64_t>(site.rank(rows)) - 1;
    WHET_TRY(rows, site.add("sorted", GatherElementsOperator{last}, {rows, *sorter}));
  }
  return give_ranks(site, rows, x, search);
}

/// Each element beside all of a short list.
Status import_isin(TorchSite& site) {
  constexpr std::int64_t kMost = 64;
  WHET_TRY(const DType dtype, site.common_type({"elements", "test_elements"}));
  WHET_TRY(ValueId x, site.operand("elements", dtype));
  WHET_TRY(ValueId list, site.operand("test_elements", dtype));
  WHET_TRY(const bool invert, site.flag("invert"));
  const std::int64_t count = num_elements(site.shape(list));
  if (count < 1 || count > kMost)
    return site.error("looks for " + std::to_string(count) + " elements; 1 to " + std::to_string(kMost) +
                      " are supported");
  const auto last = static_cast<std::int64_t>(site.rank(x));
  WHET_TRY(x, unsqueezed(site, x, {last}));
  WHET_TRY(list, site.add("list", ReshapeOperator{{count}}, {list}));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{BinaryKind::equal}, {x, list}));
  WHET_TRY(const ValueId counts, site.cast("counts", equal, DType::u8));
  WHET_TRY(const ValueId any, site.add("any", ReduceOperator{ReduceKind::max, {last}, false}, {counts}));
  WHET_TRY(const ValueId found, site.add("found", CastOperator{DType::boolean}, {any}));
  return invert ? site.give(UnaryOperator{UnaryKind::logical_not}, {found}) : site.give(found);
}

}  // namespace

TorchRows search_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.bucketize", "Tensor", "self boundaries out_int32=false right=false", import_bucketize},
      {"aten.isin", "Tensor_Tensor", "elements test_elements assume_unique=false invert=false", import_isin},
      {"aten.searchsorted", "Tensor", "sorted_sequence self out_int32=false right=false side=none sorter=none",
       import_searchsorted},
  };
  return kRows;
}

}  // namespace whet::torch
