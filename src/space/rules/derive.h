#pragma once

#include <span>

#include "space/rules/rule.h"

namespace whet {

struct DeriveOptions {
  bool exact = false;  ///< only schedules whose numerics are exact
  double share = 1;    ///< of the random samples, for all sketches together
};

/// Returns the sketches that `rules`, asked in their order, derive from a DAG; each has another structure. Sketches that
/// the primitives refuse are left out. `notes`, where not null, receives the sentence of each rule about each op once.
std::vector<Sketch> derive_sketches(const ComputeDag&, const Target&, std::span<const Rule* const> rules,
                                    const DeriveOptions&, std::vector<RuleNote>* notes = nullptr);

}  // namespace whet
