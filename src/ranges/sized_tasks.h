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
  std::vector<SizeBox> boxes;      ///< all its points
  std::vector<Expr> functions;     ///< one a number; undefined: the same at all points
};

/// The tasks of a structure, in the order in which the model first needs them, each with sizes of its own, whose ranges are those of
/// the structure's boxes. Groups are one task exactly when their DAGs and what they are a part of are equal at all sizes.
/// Errors: a task whose numbers are functions of no three sizes that the verifier accepts.
Result<std::vector<SizedTask>> sized_tasks(const Reading&, const SizeValues& at, const Fitted&);

}  // namespace whet
