#pragma once

// Shared by the primitives: refusals in the user's terms, and changes of the forest.

#include <string>
#include <string_view>

#include "schedule/loop_tree.h"

namespace whet {

/// "loop oc.0 (l7) <why>"
Error refuse(const LoopTree&, LoopId, std::string_view why);
Error refuse(const LoopTree&, OpId, std::string_view why);

Status check_loop(const LoopTree&, LoopId);
/// Exists, is serial and belongs to no tile of an intrinsic: it can be annotated or bound.
Status check_plain(const LoopTree&, LoopId);
/// Its iterations may run in any order: no pipeline and no window moves along it.
Status check_any_order(const LoopTree&, LoopId);
/// The iterations run one after the other: the loop is serial or unrolled.
bool runs_in_order(const LoopTree&, LoopId);
/// Exists, is serial and not frozen.
Status check_changeable(const LoopTree&, LoopId);
/// Exists, and neither it nor a loop around it is vectorized (what is computed inside would need storage of its own for
/// each lane), a tile of an intrinsic or a pipeline.
Status check_holds_ops(const LoopTree&, LoopId);
/// Exists and is an element op (not a placeholder) that is not inlined.
Status check_op(const LoopTree&, OpId);
/// Exists, and has the same number of iterations at all sizes.
Status check_fixed(const LoopTree&, LoopId);
/// The DAG has no sizes. `what` is made for one size alone: "transforms of windows are".
Status check_of_one_size(const LoopTree&, OpId, std::string_view what);
/// The sizes that occur in an expression: "n, which is 2..512", "b and n, which are 1..8 and 2..512".
std::string sizes_in(const LoopTree&, const Expr&);
/// The tree is still the naive one. `what` changes the DAG: "copies are made".
Status check_unscheduled(const LoopTree&, OpId, std::string_view what);

/// The leaf digits of a root digit's tree, outermost part first.
std::vector<DigitId> leaves_of(const LoopTree&, DigitId root);
/// Overlapping tiles of a reduction are legal where their elements are started and finished inside the tile loop: in
/// `order`, the op's own loops outermost first, no reduce loop and no loop with a register cache may enclose a
/// loop over overlapping tiles.
Status check_overlaps(const LoopTree&, OpId op, const std::vector<LoopId>& order);
/// Some op is rolled along the loop, or along a loop around it and computed inside: its iterations follow one another.
bool is_rolled_through(const LoopTree&, LoopId);
bool is_cached_at(const LoopTree&, LoopId);
/// The refusal of overlapping tiles `tiles` inside of loop `started`.
Error refuse_overlap(const LoopTree&, LoopId tiles, LoopId started);

/// Ops that are computed under `at`, a loop of `op`, find the elements of `op` stored: neither in a register cache around
/// `at`, nor in partial results that are combined behind a reduce loop around it.
Status check_stored_at(const LoopTree&, OpId op, LoopId at);
/// The same for everything that is placed under loops of `op` already.
Status check_stored(const LoopTree&, OpId op);

/// Puts `first` where `old` stood under its parent and makes `last` the parent of old's children. `old` dies.
void replace_loop(LoopTree&, LoopId old, LoopId first, LoopId last);
/// Takes the own nest (or the bare leaf) of `op` out of the forest; its loops die.
void remove_nest(LoopTree&, OpId op);
/// Gives `op` fresh loops, one an axis of the extents (and sizes) of these, as the item at `position` under `parent`.
void insert_nest(LoopTree&, OpId op, const std::vector<Axis>& axes, LoopId parent, std::size_t position);
/// The axes of an op, spatial ones first.
std::vector<Axis> all_axes(const Element&);
/// The position under `parent` of the item that holds the leaf of `op`.
std::size_t position_of(const LoopTree&, LoopId parent, OpId op);

}  // namespace whet
