#pragma once

#include "space/rules/rule.h"

namespace whet {

/// The rules, in the order in which they are asked.
const std::vector<const Rule*>& rule_table();

struct DeriveOptions {
  bool exact = false;  ///< only schedules that are `is_exact`
  double share = 1;    ///< of all sketches together, in random samples
};

/// The sketches that the rules make of a DAG, each of a structure of its own; those that the primitives refuse are left
/// out. `notes`, where asked for: what each rule said of each op, each sentence once.
std::vector<Sketch> derive_sketches(const ComputeDag&, const Target&, const DeriveOptions&,
                                    std::vector<RuleNote>* notes = nullptr);

}  // namespace whet
