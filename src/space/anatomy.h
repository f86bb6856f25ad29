#pragma once

#include <optional>
#include <vector>

#include "compute/dag.h"
#include "schedule/loop_tree.h"

namespace whet {

/// The parts of a DAG with one reduction: the element ops before it (its pads), the reduction, and the element ops after
/// it, up to one output.
struct Anatomy {
  std::vector<OpId> before;     ///< the ops that the anchor depends on, to be inlined into it
  OpId anchor;                  ///< the only op with a reducer
  std::vector<OpId> after;      ///< the other ops that the output depends on, to be inlined into it
  std::optional<OpId> output;   ///< reads the anchor at its own axes; empty when the anchor is the output
  std::vector<OpId> constants;  ///< constant placeholders that the anchor's body reads, once each, after inlining
};

/// Returns nothing where the DAG is not of this form.
std::optional<Anatomy> find_anatomy(const ComputeDag&);

/// Returns the cost of computing a body once: 1 for an arithmetic operation, 4 for a division, 12 for exp and the like.
double body_cost(const Expr& body);

bool is_output(const ComputeDag&, OpId);
/// True where the op reads contiguous memory along its last reduce axis and is therefore vectorized along it. False where
/// it also reads contiguous memory along the last axis of its result and never across it, because vectors of results
/// need no sum of their lanes.
bool reduces_innermost(const ComputeDag&, OpId);
/// True for an element op where computing the value at each read costs less than storing it.
bool cheap_to_inline(const LoopTree&, OpId);

}  // namespace whet
