#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compute/dag.h"
#include "schedule/steps.h"
#include "target/target.h"
#include "trial/candidate.h"

namespace whet {

using Choice = std::vector<std::int64_t>;
/// An open decision of a sketch, with the options that can fit.
struct Decision {
  std::string name;     ///< after the axis it cuts: "oc", "ow", "order", ...
  std::string meaning;  ///< one line for `whet space`
  std::vector<Choice> options;
  std::int64_t extent = 0;  ///< of the axis that it cuts into tiles, the innermost level last; 0: it cuts none
};

/// Returns one option for each value.
std::vector<Choice> single(const std::vector<std::int64_t>& values);

using Choices = std::map<std::string, Choice>;
/// Of axes that are cut into tiles, by the names of the decisions.
using Extents = std::map<std::string, std::int64_t>;

/// The number of an option for each decision of a sketch.
using Point = std::vector<std::int32_t>;

/// Forbids choices that may not be made together (register tiles that do not fit, ...). Constraints over few decisions are
/// cheap: decisions that share no constraint are counted and drawn independently.
struct Constraint {
  std::vector<std::string> over;  ///< the only decisions that `violated` looks at
  /// Returns nothing where the choices are legal, else a sentence with the reason.
  std::function<std::optional<std::string>(const Choices&)> violated;
};

/// A structure with open decisions; `build` writes the schedule of a choice.
struct Sketch {
  using Choices = whet::Choices;
  std::string name;
  std::vector<Decision> decisions;
  std::vector<Constraint> constraints;
  std::function<void(Scheduler&, const Choices&)> build;
  Choices preferred;  ///< legal; a guess from register and cache sizes; the first sketch's is the default schedule
  double share = 1;   ///< of the random samples, relative to the shares of the other sketches
  /// The legal combinations, each once, where they are a list (space/schedule_table.h): then there are no constraints, and fewer than 2^62
  /// combinations. Empty: all that the constraints leave.
  std::vector<Point> rows = {};
};

bool is_within(const Sketch&, const Choices&);

/// The number of candidates of a sketch or a space.
struct SpaceSize {
  double combinations = 0;  ///< of the options, without regard to constraints
  std::int64_t legal = 0;   ///< combinations that satisfy the constraints
  bool exact = true;        ///< `legal` was counted; otherwise it is an estimate from samples
};

/// A candidate's schedule: its steps and what they make of the DAG.
struct Scheduled {
  Steps steps;
  LoopTree tree;
};

/// All candidates for one task on one target. Pure, cheap to copy, safe to share among threads. Random samples are
/// decent schedules, because choices that cannot fit are left out.
class DesignSpace {
 public:
  /// `sketches`: at least one; the first one gives the default schedule.
  DesignSpace(ComputeDag dag, std::vector<Sketch> sketches);

  const std::vector<Sketch>& sketches() const;
  /// The number of candidates that satisfy the constraints.
  std::int64_t count() const { return size().legal; }
  SpaceSize size() const;
  SpaceSize size(const std::string& sketch) const;

  Candidate default_candidate() const;
  /// The guesses of the other sketches and a few candidates around the default, to be measured before random ones.
  std::vector<Candidate> seeds() const;
  /// Draws a sketch by its share, then one of its candidates: uniformly, or approximately so where its size is an estimate.
  Candidate sample(Rng&) const;
  /// Returns all candidates that differ from this one in one decision.
  std::vector<Candidate> neighbours(const Candidate&) const;
  /// Moves decisions by numbers of options, up or down in their order. Nothing where one has no such option or the result is not legal;
  /// without moves the candidate, where it is in this space.
  std::optional<Candidate> shift(const Candidate&, const std::map<std::string, int>& moves) const;
  /// Changes one decision of the candidate, to near options more often than to far ones. Returns nothing where no
  /// decision can change, or where the candidate is not in this space.
  std::optional<Candidate> mutate(const Candidate&, Rng&) const;
  /// Takes each decision from one of the two candidates and repairs the result. Returns nothing for candidates of
  /// different sketches.
  std::optional<Candidate> crossover(const Candidate&, const Candidate&, Rng&) const;
  /// Fills missing choices in, leaves unknown ones out, and changes as little else as the constraints demand; the random
  /// generator decides between equally near candidates. Returns nothing for a sketch that this space lacks.
  std::optional<Candidate> repair(const Candidate&, Rng&) const;
  /// Fits a candidate of another task to this space, tile by tile, innermost first: register tiles keep their size, outer tiles and
  /// tiles of a whole axis grow with the extent; then the candidate is repaired. Nothing for a sketch that this space lacks.
  ///   extents  of the axes that the candidate's decisions cut in that task; sizes of others are kept where they are legal
  std::optional<Candidate> refit(const Candidate&, const Extents& extents = {}) const;
  /// The extents of the axes that a sketch's decisions cut in this space, as `refit` of another one takes them.
  Extents extents(const std::string& sketch) const;

  /// The candidates by number: each has one number below `grid_size`; some numbers have no candidate.
  std::int64_t grid_size() const;
  std::optional<Candidate> at(std::int64_t number) const;

  /// Returns ok where the candidate is in the space, else an error with the reason.
  Status contains(const Candidate&) const;
  /// Returns the schedule of a candidate, or an error with the reason why it cannot be replayed.
  Result<Steps> steps(const Candidate&) const;
  /// Returns the schedule with its loop tree, which equals `replay(dag, steps)`.
  Result<Scheduled> schedule(const Candidate&) const;

 private:
  struct Part;
  struct Body;
  const Part* find(const std::string& sketch) const;
  std::shared_ptr<const Body> body_;
};

struct SpaceOptions {
  bool exact = false;                    ///< only schedules whose numerics are exact
  Precision precision = Precision::f32;  ///< what products may round their operands to, where the target has it
};
/// A schedule that was made with other options may be used with these.
bool permits(const SpaceOptions&, const Numerics&);

DesignSpace make_space(const ComputeDag&, const Target&, const SpaceOptions& = {});

/// Returns the schedule of an untuned task. It never fails, because every DAG has the naive schedule.
Result<Steps> default_steps(const ComputeDag&, const Target&, const SpaceOptions& = {});

/// Returns a slow schedule that lowers for the target whatever the DAG is.
Result<Steps> safe_steps(const ComputeDag&, const Target&);

}  // namespace whet
