#pragma once

#include "base/result.h"
#include "import/site.h"

/// The different elements of a list: a part, see arithmetic.h.
namespace whet {

/// Of x with n elements. Values, firsts and counts are counted in dimension 0: as many as there are different elements.
struct Unique {
  ValueId values;   ///< [n]
  ValueId firsts;   ///< i64 [n]: the place of the first element with each value
  ValueId inverse;  ///< i64 [n]: for each element the place of its value
  ValueId counts;   ///< i64 [n]: how many elements have each value
};
/// `sorted`: the least value first and NaNs last; else in the order of their first elements. No NaN equals another. Where values
/// decide how many elements of x are results, `inverse` is counted too. Errors: more than 4096 elements, or none; results that
/// are not before all padding.
Result<Unique> unique_elements(NodeSite&, ValueId x, bool sorted);
/// The same of the rows of x [n, ...], of which `values` are [n, ...] too: sorted by their first element, then by their second, and
/// so on. Needs: no NaN. Errors: more than 4096 rows, or 2^26 elements of pairs of rows; rows that values decide.
Result<Unique> unique_rows(NodeSite&, ValueId x);

}  // namespace whet
