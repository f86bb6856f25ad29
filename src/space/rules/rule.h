#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedule/steps.h"
#include "space/space.h"
#include "target/target.h"

namespace whet {

/// The way in which a derivation computes an op.
enum class OpTreatment : std::uint8_t {
  open,       ///< not decided; an op that is open at the end gets a nest of its own
  input,      ///< not computed at all
  inlined,    ///< in the bodies of its readers
  ahead,      ///< it depends on constants alone; the packing computes it, packed for its reader
  tiled,      ///< in tiles on several levels
  follower,   ///< on the tiles of the op that it reads
  nest,       ///< in a nest of its own, shared out among the workers
  under,      ///< under a loop of its reader
  copied,     ///< a copy for its reader, which is not placed yet
  transform,  ///< to or from tiles of Winograd's algorithm, not scheduled yet
};

/// The loops of a tiled op, outermost first: shared by the workers, tiles of the second-level cache, blocks of the reduction,
/// tiles of the first-level cache, reduction, register tile (S S R S R S).
struct Levels {
  std::vector<LoopId> shared, block, reduce_outer, cell, reduce_inner, tile;
  bool blocked = false;  ///< the reduction has more than one block
};

/// Loops of an op that a GPU's blocks compute in tiles: over parts of its sum, and the innermost one of threads.
struct LaunchLoops {
  LoopId depth, threads;
};

/// The schedule that the actions of a sketch write.
struct ScheduleDraft {
  Scheduler& s;
  const Choices& choices;
  std::map<OpId, Levels> levels;  ///< of the tiled ops
  std::map<OpId, LoopId> groups;  ///< of the ops with a nest: the loop that others are computed under
  std::vector<LoopId> parallel;   ///< annotated at the end, when nothing is placed any more
  std::map<OpId, LaunchLoops> launches = {};

  std::int64_t chosen(const std::string& decision, std::size_t level = 0) const {
    return choices.at(decision).at(level);
  }
};
using Action = std::function<void(ScheduleDraft&)>;

/// The note that a rule makes about an op.
struct RuleNote {
  std::string rule, op;
  bool applied = false;
  std::string sentence;  ///< the reason why the rule does not apply, or its effect
  friend bool operator==(const RuleNote&, const RuleNote&) = default;
};

/// An unfinished sketch: the decisions so far, as actions that write the schedule of any choice.
class Derivation {
 public:
  Derivation(const ComputeDag& dag, const Target& target);

  const Target& target() const { return target_; }
  /// The schedule so far, with the preferred choices.
  const LoopTree& tree() const { return scheduler_.tree(); }
  const ComputeDag& dag() const { return tree().dag; }
  const Scheduler& scheduler() const { return scheduler_; }
  OpTreatment treatment(OpId op) const { return treatments_[op.index()]; }
  const std::map<OpId, Levels>& levels() const { return levels_; }
  const std::map<OpId, LoopId>& groups() const { return groups_; }
  std::vector<OpId> ops() const;  ///< from the outputs to the inputs
  /// The only op that reads `op` and has loops; invalid where there are none or several.
  OpId only_reader(OpId) const;

  void set_treatment(OpId op, OpTreatment treatment) { treatments_[op.index()] = treatment; }
  /// Call it when ops have changed their numbers: all ops except for the inputs are open again.
  void start_over();
  /// Call it when `count` ops have taken the numbers from `at` on, and those behind it moved up.
  void insert(OpId at, std::size_t count, OpTreatment);
  /// `axis` of `op`, or `op.axis` where another decision has that name already.
  std::string name_for(OpId op, const std::string& axis) const;
  void decide(Decision decision, Choice preferred);
  void constrain(Constraint constraint) { constraints_.push_back(std::move(constraint)); }
  /// The prefix of the names of an op's decisions; empty for the first op that asks.
  std::string prefix_for(OpId op);
  bool decided_first(OpId op) const { return first_ == op; }
  /// The estimate takes the fastest of these choices in place of the preferred ones.
  void consider(std::vector<Choices> starts) { starts_.push_back(std::move(starts)); }
  const std::vector<std::vector<Choices>>& starts() const { return starts_; }
  /// Appends an action and runs it with the preferred choices.
  void act(Action action);
  /// The name of the structure that the current rule makes, as a part of the sketch's name.
  void call(const std::string& part);
  const std::string& name() const { return name_; }
  const Choices& preferred() const { return preferred_; }

  /// The error with which the preferred choices were refused, or ok.
  Status status() const;
  Sketch sketch(double share) const;

 private:
  void run(const Action& action);

  Target target_;
  Scheduler scheduler_;
  std::vector<OpTreatment> treatments_;
  std::string name_;
  std::vector<Decision> decisions_;
  std::vector<Constraint> constraints_;
  std::vector<Action> actions_;
  std::shared_ptr<const Scheduler>
      start_;                ///< the result of the actions before the first decision, the same for all choices
  std::size_t started_ = 0;  ///< how many actions these are
  Choices preferred_;
  std::map<OpId, Levels> levels_;
  std::map<OpId, LoopId> groups_;
  std::vector<LoopId> parallel_;
  std::map<OpId, LaunchLoops> launches_;
  std::vector<std::vector<Choices>> starts_;
  OpId first_;  ///< the op whose decisions have no prefix
};

/// A rule of the auto-scheduler. A kind of target has its rules in a table (space/author.h), which are asked in that
/// order, each for every op from the outputs to the inputs.
struct Rule {
  const char* name;
  const char* does;  ///< one line for `whet space --why`
  /// Returns nothing where the rule applies, else the reason as a sentence about "it", the op; "" where the reason is
  /// trivial.
  std::optional<std::string> (*why_not)(const Derivation&, OpId);
  /// Returns the derivations that follow from this one; several differ in structure.
  std::vector<Derivation> (*apply)(const Derivation&, OpId);
  bool optional = false;  ///< the derivation also continues without the rule
  bool exact = true;      ///< the schedules that it makes are exact (Numerics)
};

// One file for each rule; those for CPUs are in cpu/, those for GPUs in gpu/.
extern const Rule kWinogradRule, kCacheReadRule, kInlineRule, kConstantTensorsRule, kTilingRule, kFuseConsumerRule,
    kCacheWriteRule, kPackRule, kParallelRule, kComputeLocationRule, kRfactorRule, kVectorizeRule;
extern const Rule kGpuWinogradRule, kGpuMergeTermsRule, kGpuUnfoldRule, kGpuSplitSumRule, kGpuInlineRule,
    kGpuFuseConsumerRule, kGpuTilingRule, kGpuCacheWriteRule, kGpuCacheReadRule, kGpuConstantTensorsRule,
    kGpuTransformRule, kGpuWindowRule, kGpuCrossThreadRule, kGpuBindRule;

}  // namespace whet
