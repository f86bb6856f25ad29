#pragma once

#include <optional>
#include <vector>

#include "compute/dag.h"
#include "schedule/loop_tree.h"

namespace whet {

/// A DAG seen as: element ops before one reduction (its pads), the reduction, element ops after it up to one output.
struct Anatomy {
  std::vector<OpId> before;     ///< the ops that the anchor depends on, to be inlined into it
  OpId anchor;                  ///< the only op with a reducer
  std::vector<OpId> after;      ///< the other ops that the output depends on, to be inlined into it
  std::optional<OpId> output;   ///< reads the anchor at its own axes; empty when the anchor is the output
  std::vector<OpId> constants;  ///< constant placeholders that the anchor's body reads, once each, after inlining
};

/// Empty when the DAG is not of this form.
std::optional<Anatomy> find_anatomy(const ComputeDag&);

/// The weight of computing a body once: arithmetic 1, a division 4, an exp or the like 12.
double body_cost(const Expr& body);

bool is_output(const ComputeDag&, OpId);
/// True when the op reads contiguous memory along its last reduce axis, so that it is vectorized along that; not where
/// it reads along its result's last axis as well and never across it: vectors of results need no sum of their lanes.
bool reduces_innermost(const ComputeDag&, OpId);
/// An element op whose value is cheaper computed again at each of its reads than stored.
bool cheap_to_inline(const LoopTree&, OpId);

}  // namespace whet
