#pragma once

// Internal to generation: the class whose files write the statements of a kernel, one concern a file.

#include <functional>
#include <vector>

#include "lower/generate/facts.h"
#include "lower/generate/storage.h"

namespace whet {

/// Turns a loop tree into statements, after its buffers are made.
class Generator {
 public:
  Generator(const LoopTree& tree, Storage storage) : tree_(tree), storage_(std::move(storage)) {}
  Lowered run();

 private:
  using LeafAt = std::function<Stmt(const Values&)>;

  // generator.cc: items of the tree, in their order
  Stmt phases();
  /// The statements of an item, with those that come before it.
  void append_item(const Item&, std::vector<Stmt>& out);
  /// The same without regard to windows.
  void append_whole(const Item&, std::vector<Stmt>& out);
  Stmt when_finished(OpId, LoopId parent, Stmt);
  Stmt loop(LoopId);
  void append_children(LoopId, std::vector<Stmt>& out);
  Stmt leaf(OpId);
  const Stored& target_of(OpId) const;

  // windows.cc: rolled ops and pipelines
  bool is_windowed(const Item&) const;
  /// All elements in the first iteration of the loop that the op is rolled along, new ones in the others.
  void append_window(const Item&, std::vector<Stmt>& out);
  /// Conditions under which an iteration of the loop computes elements of a rolled op's window. Ops that are computed under its loops
  /// are needed under these conditions only.
  std::vector<Expr> window_guards(LoopId) const;
  /// The nest of an op that the pipeline `loop` computes ahead.
  bool is_made_ahead(const Item&, LoopId loop) const;
  /// Appends the nests that the iteration computes ahead, and returns the loop that fills the pipeline before it. Undefined: the
  /// loop is no pipeline.
  Stmt append_ahead(LoopId, std::vector<Stmt>& out);
  Stmt with_own_memory(const Stmt& nests, LoopId loop);

  // nests.cc: nests that are repeated over a tile
  /// The loops `loops` once more with variables of their own around what `leaf` makes.
  Stmt mirrored(const std::vector<LoopId>& loops, const LeafAt& leaf);
  Stmt loop_around(LoopId, Stmt body, const std::function<VarId(DigitId)>& var_of);
  std::vector<Expr> guards(OpId op, bool reduce) const { return guards_of(tree_, op, reduce, only_new_ == op); }
  std::vector<Expr> spatial_guards(OpId, const Values&) const;
  /// target[...] = value, within the spatial guards.
  Stmt element_store(OpId, const Stored& target, const Expr& value, const Values&) const;
  /// A nest over the tile that `op` computes inside `outer`, of element stores.
  Stmt tile_nest(OpId, LoopId outer, const Stored& target, const std::function<Expr(const Values&)>& value);
  Expr load_of(OpId, const Stored&, const Values&) const;
  Expr identity(OpId) const;
  /// The first value of all elements that the reduction computes.
  Stmt init_nest(OpId, LoopId outermost_reduce);
  bool follows_no_memory(const std::vector<LoopId>& loops, const Stored&) const;
  std::pair<AxisId, std::size_t> place_in_memory(LoopId) const;
  Stmt filled(DigitId, const Values& outer, const LeafAt& fill);
  Stmt cache_begin(OpId, const Cached&);
  Stmt cache_end(OpId, const Cached&);

  // onlines.cc
  /// What the op reads has no values for rows behind the last of a tile.
  bool reads_beyond_rows(OpId) const;
  /// By how much the sums so far are scaled, in the row of that place.
  Expr scale_at(const OnlineSum&, const std::vector<Expr>& row, const Values&) const;
  /// The maximum and the sum before the first step.
  Stmt begin_online(const OnlineSum&);
  /// Behind the step's own maximum: that of all steps so far, and the product's sums scaled to it; or behind its own sum.
  Stmt end_step(const OnlineSum&, OpId, const Stored& of_step);

  // partial_sums.cc
  Stmt lane_loop(const Partial&, std::int64_t min, std::int64_t extent, const std::function<Stmt(const Expr&)>& body);
  std::vector<Expr> partial_index(OpId, const Partial&, const Values&, const Expr& lane) const;
  Stmt clear_partials(OpId, const Partial&);
  Stmt combine_partials(OpId, const Partial&);
  std::vector<Stmt> combine_lanes(OpId, const Partial&, const Values&);
  std::vector<Stmt> combine_threads(OpId, const Partial&, const Values&);
  /// The op's own element becomes `value`.
  Stmt stored_result(OpId, const Expr& value, const Values&) const;

  const LoopTree& tree_;
  Storage storage_;
  OpId only_new_;  ///< of this op, the elements that earlier iterations computed are not computed again
};

}  // namespace whet
