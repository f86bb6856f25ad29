#pragma once

#include <string>
#include <vector>

#include "ranges/numbers.h"
#include "ranges/ranges.h"

namespace whet {

/// The numbers of a structure as functions of the network's sizes.
struct Fitted {
  std::vector<SizeRange> sizes;
  std::vector<SizeValues> points;  ///< of the structure that were read
  bool all_points = false;         ///< no point of the structure is unread
  std::vector<Expr> functions;     ///< one a number; undefined: the same at all points
};

/// The tasks of a structure, in the order in which the model first needs them, each with sizes of its own. Groups are one task exactly
/// when their DAGs and what they are a part of are equal at all sizes.
/// Errors: a task whose numbers are functions of no three sizes, or whose functions the verifier refuses.
Result<std::vector<SizedTask>> sized_tasks(const Reading&, const SizeValues& at, const Fitted&);

}  // namespace whet
