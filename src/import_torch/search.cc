#include <algorithm>

#include "import/parts/shape.h"
#include "import_torch/rows.h"

// Elements that are looked for in lists: each is compared with all of a list.

namespace whet::torch {
namespace {

using B = BinaryKind;

/// At how many elements of a rising row [n] or rows [..., n] each of `values` [..., m] is behind, or (`right`) is not before. NaN is
/// behind all.
Result<ValueId> ranks(TorchSite& site, ValueId rows, ValueId values, bool in_i32, bool right) {
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
  const B reached = right ? B::greater : B::greater_equal;
  WHET_TRY(const ValueId before, site.add("before", BinaryOperator{reached}, {rows, values}));
  WHET_TRY(const ValueId behind, site.add("behind", UnaryOperator{UnaryKind::logical_not}, {before}));
  WHET_TRY(const ValueId ones, site.cast("ones", behind, DType::i32));
  const auto last = static_cast<std::int64_t>(wanted.size());
  WHET_TRY(const ValueId sum, site.add("rank", ReduceOperator{ReduceKind::sum, {last}, false}, {ones}));
  return site.cast("number", sum, in_i32 ? DType::i32 : DType::i64);
}

Result<ValueId> import_bucketize(TorchSite& site, ValueId x, ValueId bounds, bool in_i32, bool right) {
  if (site.rank(bounds) == 1) return ranks(site, bounds, x, in_i32, right);
  return site.error("its boundaries are " + to_string(site.type(bounds)) + "; expected one dimension");
}

/// `side` says in a word what `right` says. A sorter is the order that makes the rows rise.
enum class Side : std::uint8_t { left, right };
Result<ValueId> import_searchsorted(TorchSite& site, ValueId rows, ValueId x, bool in_i32, bool right,
                                    std::optional<Side> side, OptionalId sorter) {
  if (right && side == Side::left) return site.error("argument \"side\" is left; expected right");
  if (sorter) {
    if (site.rank(rows) == 0 || site.shape(*sorter) != site.shape(rows))
      return site.error("sorts " + to_string(site.type(rows)) + " by places " + to_string(site.type(*sorter)));
    const auto last = static_cast<std::int64_t>(site.rank(rows)) - 1;
    WHET_TRY(rows, site.add("sorted", GatherElementsOperator{last}, {rows, *sorter}));
  }
  return ranks(site, rows, x, in_i32, right || side == Side::right);
}

/// Each element beside all of a short list.
Status import_isin(TorchSite& site, ValueId x, ValueId list, bool invert) {
  constexpr std::int64_t kMost = 64;
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
      {"aten.bucketize", "Tensor Scalar", "self:common boundaries:common out_int32=false right=false",
       calls<import_bucketize>},
      {"aten.isin", "Tensor_Tensor", "elements:common test_elements:common ~assume_unique invert=false",
       calls<import_isin>},
      {"aten.isin", "Tensor_Scalar", "elements:common test_element:common ~assume_unique invert=false",
       calls<import_isin>},
      {"aten.searchsorted", "Tensor Scalar",
       "sorted_sequence:common self:common out_int32=false right=false side:left|right? sorter?",
       calls<import_searchsorted>},
  };
  return kRows;
}

}  // namespace whet::torch
