#pragma once

#include "space/rules/rule.h"

namespace whet {

/// The decisions of one op, named without the prefix that the sketch knows them by.
struct OwnDecisions {
  std::string prefix;

  Choices of(const Choices& all) const;
  std::string name_of(const std::string& own) const { return prefix + own; }
  /// Decides those of `decisions` that have no option yet and are among `names`, as `preferred` says. Adds the constraints that
  /// look at one of them and at nothing undecided.
  void decide(Derivation&, const std::vector<Decision>& decisions, const std::vector<std::string>& names,
              const Choices& preferred, const std::vector<Constraint>& constraints) const;
  /// Gives choices to the estimate (Derivation::consider), of each only the decided ones.
  void consider(Derivation&, const std::vector<Choices>& starts) const;
};

}  // namespace whet
