#include "import/parts/index_lists.h"

#include <algorithm>
#include <numeric>

#include "import/parts/index.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;

/// Listed dimensions first, and the way back.
struct Listed {
  Ints dims;           ///< that have a list
  Ints perm;           ///< of x: the listed ones, then the others
  Shape places;        ///< the broadcast shape of the lists
  ValueId indices;     ///< [places..., number of listed dimensions]
  std::size_t at = 0;  ///< where the places are among the result's dimensions
};

Result<Listed> listed_of(NodeSite& site, ValueId x, const PlaceLists& lists) {
  const std::size_t rank = site.rank(x);
  Listed result;
  if (lists.size() > rank)
    return site.error("has " + std::to_string(lists.size()) + " lists of places for " + to_string(site.type(x)));
  for (std::size_t d = 0; d < lists.size(); ++d) {
    if (!lists[d]) continue;
    const DType dtype = site.dtype(*lists[d]);
    if (is_float(dtype) || dtype == DType::boolean)
      return site.error("a list of places is " + to_string(site.type(*lists[d])));
    const auto both = broadcast(result.places, site.shape(*lists[d]));
    if (!both)
      return site.error("lists of places " + to_string(result.places) + " and " + to_string(site.type(*lists[d])) +
                        " do not broadcast");
    result.places = *both;
    result.dims.push_back(static_cast<std::int64_t>(d));
  }
  if (result.dims.empty()) return site.error("has no list of places");
  result.perm = result.dims;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(rank); ++d)
    if (std::find(result.dims.begin(), result.dims.end(), d) == result.dims.end()) result.perm.push_back(d);
  const bool neighbours = result.dims.back() - result.dims.front() + 1 == static_cast<std::int64_t>(result.dims.size());
  result.at = neighbours ? static_cast<std::size_t>(result.dims.front()) : 0;
  Shape column = result.places;
  column.push_back(1);
  std::vector<ValueId> columns;
  for (const std::int64_t d : result.dims) {
    WHET_TRY(ValueId list, site.cast("places", *lists[static_cast<std::size_t>(d)], DType::i64));
    WHET_TRY(list, expanded(site, list, result.places));
    WHET_TRY(list, site.add("column", ReshapeOperator{column}, {list}));
    columns.push_back(list);
  }
  result.indices = columns[0];
  if (columns.size() > 1) {
    WHET_TRY(result.indices,
             site.add("indices", ConcatOperator{static_cast<std::int64_t>(result.places.size())}, columns));
  }
  return result;
}

/// Of a tensor [places..., others...]: the places at `at` among the others. `back`: the other way.
Ints places_moved(std::size_t places, std::size_t others, std::size_t at, bool back) {
  Ints perm;
  for (std::size_t d = 0; d < at; ++d) perm.push_back(static_cast<std::int64_t>(places + d));
  for (std::size_t d = 0; d < places; ++d) perm.push_back(static_cast<std::int64_t>(d));
  for (std::size_t d = at; d < others; ++d) perm.push_back(static_cast<std::int64_t>(places + d));
  if (!back) return perm;
  Ints inverse(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d)
    inverse[static_cast<std::size_t>(perm[d])] = static_cast<std::int64_t>(d);
  return inverse;
}

Result<ValueId> turned_by(NodeSite& site, const char* part, ValueId x, const Ints& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return site.add(part, TransposeOperator{perm}, {x});
}

}  // namespace

Result<ValueId> gather_by_lists(NodeSite& site, ValueId x, const PlaceLists& lists) {
  const auto given = std::count_if(lists.begin(), lists.end(), [](const auto& list) { return list.has_value(); });
  if (given == 1 && lists.size() <= site.rank(x)) {
    const auto d = std::find_if(lists.begin(), lists.end(), [](const auto& list) { return list.has_value(); });
    if (!is_float(site.dtype(**d)) && site.dtype(**d) != DType::boolean) {
      WHET_TRY(const ValueId list, site.cast("places", **d, DType::i64));
      return gather(site, x, list, d - lists.begin());
    }
  }
  WHET_TRY(const Listed listed, listed_of(site, x, lists));
  const std::size_t others = site.rank(x) - listed.dims.size();
  WHET_TRY(const ValueId turned, turned_by(site, "turned", x, listed.perm));
  WHET_TRY(const ValueId gathered, site.add("gathered", GatherNdOperator{0}, {turned, listed.indices}));
  return turned_by(site, "placed", gathered, places_moved(listed.places.size(), others, listed.at, false));
}

Result<ValueId> scatter_by_lists(NodeSite& site, ValueId x, const PlaceLists& lists, ValueId values, ScatterKind kind) {
  WHET_TRY(const Listed listed, listed_of(site, x, lists));
  const Shape whole = site.shape(x);
  const std::size_t others = whole.size() - listed.dims.size();
  Shape rows = listed.places, wanted;
  for (std::size_t d = listed.dims.size(); d < whole.size(); ++d)
    rows.push_back(whole[static_cast<std::size_t>(listed.perm[d])]);
  for (const std::int64_t d : places_moved(listed.places.size(), others, listed.at, false))
    wanted.push_back(rows[static_cast<std::size_t>(d)]);
  if (broadcast(wanted, site.shape(values)) != wanted)
    return site.error("puts " + to_string(site.type(values)) + " to places of shape " + to_string(wanted));
  if (num_elements(wanted) == 0) return x;
  WHET_TRY(values, expanded(site, values, wanted));
  WHET_TRY(values, turned_by(site, "rows", values, places_moved(listed.places.size(), others, listed.at, true)));
  WHET_TRY(x, turned_by(site, "turned", x, listed.perm));
  WHET_TRY(const ValueId put, scatter_nd(site, x, listed.indices, values, kind));
  Ints back(listed.perm.size());
  for (std::size_t d = 0; d < back.size(); ++d)
    back[static_cast<std::size_t>(listed.perm[d])] = static_cast<std::int64_t>(d);
  return turned_by(site, "back", put, back);
}

}  // namespace whet
