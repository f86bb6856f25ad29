#pragma once

#include <span>

#include "space/rules/rule.h"

namespace whet {

struct DeriveOptions {
  bool exact = false;  ///< only schedules that are `is_exact`
  double share = 1;    ///< of all sketches together, in random samples
};

/// The sketches that `rules`, asked in their order, make of a DAG, each of a structure of its own. Those that the
/// primitives refuse are left out. `notes`, where asked for: the sentence of each rule about each op, each once.
std::vector<Sketch> derive_sketches(const ComputeDag&, const Target&, std::span<const Rule* const> rules,
                                    const DeriveOptions&, std::vector<RuleNote>* notes = nullptr);

}  // namespace whet
