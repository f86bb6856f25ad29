#pragma once

// What the primitives share: refusals in the user's terms, and moving loops about.

#include <string>
#include <string_view>

#include "schedule/loop_tree.h"

namespace whet {

/// "loop oc.0 (l7) <why>"
Error refuse(const LoopTree&, LoopId, std::string_view why);
Error refuse(const LoopTree&, OpId, std::string_view why);

Status check_loop(const LoopTree&, LoopId);
/// Exists, is serial and not frozen.
Status check_changeable(const LoopTree&, LoopId);
/// Exists and is an element op (not a placeholder) that is not inlined.
Status check_op(const LoopTree&, OpId);

/// Puts `first` where `old` stood under its parent and makes `last` the parent of old's children. `old` dies.
void replace_loop(LoopTree&, LoopId old, LoopId first, LoopId last);
/// Takes the own nest (or the bare leaf) of `op` out of the forest; its loops die.
void remove_nest(LoopTree&, OpId op);
/// Gives `op` fresh loops, one an axis of the given extents, as the item at `position` under `parent`.
void insert_nest(LoopTree&, OpId op, const std::vector<std::int64_t>& extents, LoopId parent, std::size_t position);
/// The position under `parent` of the item that holds the leaf of `op`.
std::size_t position_of(const LoopTree&, LoopId parent, OpId op);

}  // namespace whet
