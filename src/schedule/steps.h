#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "compute/online_softmax.h"
#include "compute/split_softmax.h"
#include "compute/winograd.h"
#include "schedule/annotate.h"
#include "schedule/bind.h"
#include "schedule/cache_read.h"
#include "schedule/cache_write.h"
#include "schedule/compute_at.h"
#include "schedule/compute_root.h"
#include "schedule/fuse.h"
#include "schedule/inline.h"
#include "schedule/loop_tree.h"
#include "schedule/merge.h"
#include "schedule/min_blocks.h"
#include "schedule/online.h"
#include "schedule/online_softmax.h"
#include "schedule/pack.h"
#include "schedule/pad_storage.h"
#include "schedule/pipeline.h"
#include "schedule/precision.h"
#include "schedule/prefetch.h"
#include "schedule/reorder.h"
#include "schedule/reverse_compute_at.h"
#include "schedule/rfactor.h"
#include "schedule/roll.h"
#include "schedule/round.h"
#include "schedule/split.h"
#include "schedule/split_softmax.h"
#include "schedule/split_sum.h"
#include "schedule/swizzle_storage.h"
#include "schedule/tensorize.h"
#include "schedule/unfold.h"
#include "schedule/winograd.h"

namespace whet {

/// The primitives; the list is closed. Loops are named by ids that the sequence of primitives alone determines, so the
/// same steps replay on another shape of the same structure.
/// A type of its own, so that its copies and its end are compiled once, in steps.cc.
struct Step
    : std::variant<Split, Fuse, Reorder, Annotate, Bind, ComputeAt, ReverseComputeAt, ComputeRoot, Inline, CacheRead,
                   Unfold, CacheWrite, Rfactor, Pack, PadStorage, PrefetchRead, Pipeline, Roll, Tensorize, MinBlocks,
                   Merge, Round, SplitSum, SplitSoftmax, OnlineSoftmax, Online, SwizzleStorage, Winograd> {
  using variant::variant;
  Step() = default;
  Step(const Step&);
  Step(Step&&) noexcept;
  Step& operator=(const Step&);
  Step& operator=(Step&&) noexcept;
  ~Step();
};
using Steps = std::vector<Step>;

/// One primitive; a refusal is an error that says why, and the tree stays as it was.
Status apply(LoopTree&, const Step&);
/// All of them on the naive schedule. Errors name the step's number and text.
Result<LoopTree> replay(const ComputeDag&, const Steps&);

/// Compact text, `;` between steps: `split l3 14 overlap; reorder l8 l2; pack o1 o3`. Parses back exactly.
std::string to_text(const Step&);
std::string to_text(const Steps&);
Result<Steps> parse_steps(std::string_view text);
/// How the schedule computes. A candidate and a line of a record file are asked once, and carry the answer.
Numerics numerics_of(const Steps&);
/// The same of a text that comes from a file. What names no primitive is not exact, nor what cannot be read where it rounds.
Numerics numerics_of(std::string_view text);

/// A tree under construction that remembers its steps; templates and rules are written with it. The first refusal is
/// kept and every later call does nothing: a template needs no error handling and calls `finish` once.
class Scheduler {
 public:
  explicit Scheduler(const ComputeDag& dag) : tree_(make_loop_tree(dag)) {}

  /// Steps that were written elsewhere.
  void apply(const Steps&);

  struct Pair {
    LoopId outer, inner;
  };
  Pair split(LoopId loop, std::int64_t factor, Tail tail);
  LoopId fuse(const std::vector<LoopId>& loops);
  void reorder(const std::vector<LoopId>& loops);
  void annotate(LoopId loop, LoopKind kind);
  /// Gives the op's fresh loops, one an axis.
  std::vector<LoopId> compute_at(OpId op, LoopId loop, StoredIn stored_in);
  std::vector<LoopId> reverse_compute_at(OpId op, LoopId loop, bool registers);
  std::vector<LoopId> compute_root(OpId op);
  void bind(LoopId loop, LoopKind kind);
  void inline_op(OpId op);
  /// Gives the copy; `reader` and the ops behind it have moved up by one.
  OpId cache_read(OpId tensor, OpId reader);
  /// The same.
  OpId unfold(OpId tensor, OpId reader, UnfoldOrder order, UnfoldWhat what = UnfoldWhat::tensor);
  void cache_write(OpId op, LoopId loop);
  void rfactor(LoopId loop);
  void pack(OpId tensor, OpId reader);
  void pad_storage(OpId op, std::int64_t elements);
  void swizzle(OpId op, std::int64_t bytes);
  void pipeline(LoopId loop, std::int64_t stages);
  void tensorize(LoopId loop, Intrinsic intrinsic);
  void min_blocks(LoopId loop, std::int64_t blocks);
  void roll(OpId op, LoopId loop);
  void prefetch(OpId tensor, OpId reader, LoopId loop, std::int64_t ahead);
  /// Gives the ops of the new DAG, invalid ones when refused.
  void merge(OpId op, std::int64_t axis);
  void round(OpId op, Precision to);
  /// Gives the parts; `op` and the ops behind it have moved up by one.
  OpId split_sum(OpId op, std::int64_t axis, std::int64_t parts);
  /// Gives the ops of the new DAG.
  SplitSoftmaxOps split_softmax(OpId product, std::int64_t terms);
  /// The same.
  OnlineSoftmaxOps online_softmax(OpId product, std::int64_t terms);
  void online(OpId mix, LoopId loop);
  WinogradOps winograd(OpId op, std::int64_t tile, WinogradTiles tiles = WinogradTiles::f32);

  std::vector<LoopId> loops(OpId op) const { return own_loops(tree_, op); }
  const LoopTree& tree() const { return tree_; }
  /// The steps, or the first refusal.
  Result<Steps> finish() const;

 private:
  bool run(Step step);
  LoopTree tree_;
  Steps steps_;
  std::optional<Error> refused_;
};

}  // namespace whet
