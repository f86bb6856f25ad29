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

/// One option for each value.
std::vector<Choice> single(const std::vector<std::int64_t>& values);

using Choices = std::map<std::string, Choice>;

/// Choices that may not be made together (register tiles that do not fit, ...). Constraints over few decisions are
/// cheap: decisions that share no constraint are counted and drawn independently.
struct Constraint {
  std::vector<std::string> over;  ///< the only decisions that `violated` looks at
  /// Nothing where the choices are legal, else a sentence with the reason.
  std::function<std::optional<std::string>(const Choices&)> violated;
};

/// A structure with open decisions; `build` writes the schedule of a choice.
struct Sketch {
  using Choices = whet::Choices;
  std::string name;
  std::vector<Decision> decisions;
  std::vector<Constraint> constraints;
  std::function<void(Scheduler&, const Choices&)> build;
  Choices preferred;  ///< within the constraints; the default schedule's point: a guess from register and cache sizes
  double share = 1;   ///< of random samples, in proportion to those of the other sketches
};

bool is_within(const Sketch&, const Choices&);

/// How many candidates there are.
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
  /// `sketches`: the first is the default's; at least one.
  DesignSpace(ComputeDag dag, std::vector<Sketch> sketches);

  const std::vector<Sketch>& sketches() const;
  /// Candidates that satisfy the constraints.
  std::int64_t count() const { return size().legal; }
  SpaceSize size() const;
  SpaceSize size(const std::string& sketch) const;

  Candidate default_candidate() const;
  /// The other sketches' guesses and a handful around the default, to be measured before anything random.
  std::vector<Candidate> seeds() const;
  /// Uniform within a sketch, approximately where its size is an estimate.
  Candidate sample(Rng&) const;
  /// All candidates that differ in one decision.
  std::vector<Candidate> neighbours(const Candidate&) const;
  /// The candidate with one decision changed, to near choices more often than to far ones. Nothing where no decision
  /// can change, or where the candidate is not of this space.
  std::optional<Candidate> mutate(const Candidate&, Rng&) const;
  /// Each decision from one of the two, repaired. Nothing for candidates of different sketches.
  std::optional<Candidate> crossover(const Candidate&, const Candidate&, Rng&) const;
  /// The candidate with missing choices filled in, unknown ones left out, and as little else changed as the constraints
  /// demand; the generator decides between equally near ones. Nothing for a sketch that this space lacks.
  std::optional<Candidate> repair(const Candidate&, Rng&) const;
  /// A candidate of another shape's space of the same structure, tile by tile, innermost first: what registers hold
  /// keeps its size, outer tiles and tiles of a whole axis grow with the extent; then repaired. Without the other space
  /// sizes are kept where they are legal.
  std::optional<Candidate> refit(const Candidate&, const DesignSpace* other = nullptr) const;

  /// For a grid: every candidate has one number below `grid_size`; a number may stand for none.
  std::int64_t grid_size() const;
  std::optional<Candidate> at(std::int64_t number) const;

  /// Ok where the candidate is in the space, else an error with the reason.
  Status contains(const Candidate&) const;
  /// The schedule of a candidate, or why it cannot be replayed.
  Result<Steps> steps(const Candidate&) const;
  /// The same with the tree, which would be `replay(dag, steps)`.
  Result<Scheduled> schedule(const Candidate&) const;

 private:
  struct Part;
  struct Body;
  const Part* find(const std::string& sketch) const;
  std::shared_ptr<const Body> body_;
};

struct SpaceOptions {
  bool exact = false;  ///< only schedules that are `is_exact`
};

DesignSpace make_space(const ComputeDag&, const Target&, const SpaceOptions& = {});

/// The schedule of an untuned task; never fails (the naive schedule is always there).
Result<Steps> default_steps(const ComputeDag&, const Target&);

}  // namespace whet
