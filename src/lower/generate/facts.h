#pragma once

// Internal to generation: questions about a loop tree.

#include <map>
#include <vector>

#include "schedule/loop_tree.h"

namespace whet {

/// Expressions that replace digit variables, where a nest is repeated over variables of its own.
using Values = std::map<VarId, Expr>;
/// A digit variable without an expression stays.
Expr at_values(const Expr&, const Values&);
std::vector<Expr> at_values(std::vector<Expr>, const Values&);

/// Simplified under the ranges of the digits.
Expr simplified(const LoopTree&, const Expr&);

/// The axes of the op as expressions over digit variables.
std::vector<Expr> own_index(const LoopTree&, OpId);

/// The op that a loop or a leaf belongs to.
OpId op_of(const LoopTree&, const Item&);
/// The item is the leaf of `op` or a loop around it.
bool holds_leaf(const LoopTree&, const Item&, OpId op);

/// A reduce loop of an op, with no other reduce loop of this op around it.
bool is_outermost_reduce(const LoopTree&, LoopId);
/// The spatial loops of the op inside `outer`, outermost first.
std::vector<LoopId> spatial_loops_inside(const LoopTree&, OpId, LoopId outer);
/// The digits of the op's reduce loops at or around `loop`.
std::vector<DigitId> reduce_digits_around(const LoopTree&, OpId, LoopId loop);

/// A pipeline computes the op ahead.
bool is_staged(const LoopTree&, OpId);

/// The conditions under which an iteration of the op's nest counts, without those that always hold. An iteration counts where it is
///   inside the axis, for tiles whose factor does not divide it;
///   new to the window of a rolled op, where `only_new`;
///   inside the tensor, for placed ops, unless warps read whole tiles of it.
///   reduce  with the conditions of reduce axes
std::vector<Expr> guards_of(const LoopTree&, OpId, bool reduce, bool only_new);
/// The conditions of a placed op that an element is inside the tensor. Beyond them warps read zeros.
std::vector<Expr> ends_of(const LoopTree&, OpId);

/// `body` where all conditions hold.
Stmt guarded(const std::vector<Expr>& conditions, Stmt body);

}  // namespace whet
