#pragma once

#include <functional>
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
/// One open question of a sketch, with every answer that its constraints leave.
struct Decision {
  std::string name;     ///< after the axis it cuts: "oc", "ow", "order", ...
  std::string meaning;  ///< one line for `whet space`
  std::vector<Choice> options;
};

/// One option for each value.
std::vector<Choice> single(const std::vector<std::int64_t>& values);

/// A structure with open decisions. `violated` names the constraint that a choice breaks (register tiles that do not
/// fit, ...); `build` writes the schedule of a choice.
struct Sketch {
  using Choices = std::map<std::string, Choice>;
  std::string name;
  std::vector<Decision> decisions;
  std::function<std::optional<std::string>(const Choices&)> violated;
  std::function<void(Scheduler&, const Choices&)> build;
  Choices preferred;  ///< the default schedule's point: a guess from register and cache sizes
};

/// All candidates for one task on one target. Pure; a random sample of it is already decent, because what cannot fit is
/// left out.
class DesignSpace {
 public:
  DesignSpace(ComputeDag dag, std::vector<Sketch> sketches) : dag_(std::move(dag)), sketches_(std::move(sketches)) {}

  const std::vector<Sketch>& sketches() const { return sketches_; }
  /// Candidates that satisfy the constraints; exact.
  std::int64_t count() const;
  Candidate default_candidate() const;
  /// The other sketches' guesses and a handful around the default, to be measured before anything random.
  std::vector<Candidate> seeds() const;
  Candidate sample(Rng&) const;
  /// All candidates that differ in one decision.
  std::vector<Candidate> neighbours(const Candidate&) const;
  /// Inside, or the sentence that says why not.
  Status contains(const Candidate&) const;
  /// The schedule of a candidate, or why it cannot be replayed.
  Result<Steps> steps(const Candidate&) const;

 private:
  const Sketch* find(const std::string& name) const;
  ComputeDag dag_;
  std::vector<Sketch> sketches_;  ///< the first is the default's; never empty
};

struct SpaceOptions {
  bool exact = false;  ///< only schedules that are `is_exact`
};

DesignSpace make_space(const ComputeDag&, const Target&, const SpaceOptions& = {});

/// The schedule of an untuned task; never fails (the naive schedule is always there).
Result<Steps> default_steps(const ComputeDag&, const Target&);

}  // namespace whet
