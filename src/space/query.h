#pragma once

#include <string>
#include <vector>

#include "space/space.h"

namespace whet {

/// Asks a space whether it has candidates that satisfy all of these conditions:
///   oc=32         a decision with one number, or the innermost level of a tile
///   oc.inner=16   a tile's innermost level; `outer` its outermost; 0, 1, ... counted from the outermost
///   oc=64x32x16   all levels of a tile, outermost first
///   sketch=tiles  only of this sketch
/// Commas separate the conditions.
struct Query {
  struct Condition {
    std::string decision;
    std::string level;  ///< "", "inner", "outer" or a number
    Choice values;
    std::string text;
  };
  std::string sketch;
  std::vector<Condition> conditions;
  std::string text;
};
/// Errors: a condition that has another form; the message names it.
Result<Query> parse_query(const std::string& text);

struct QueryAnswer {
  bool inside = false;
  double candidates = 0;
  std::string sentence;  ///< "yes" with the number of candidates, or "no" with the nearest reason
};
/// Errors: no sketch of the space has such a decision or such a level.
Result<QueryAnswer> ask(const DesignSpace&, const Query&);

/// Writes 1234567 as "1 234 567", and an estimate as "about 1 200 000".
std::string count_text(const SpaceSize&);

}  // namespace whet
