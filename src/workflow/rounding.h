#pragma once

#include <string>

#include "base/result.h"
#include "passes/optimize.h"
#include "space/space.h"
#include "target/target.h"

namespace whet {

/// --exact and --precision: which schedules may be used, by how they round.
struct RoundingOptions {
  bool exact = false;
  std::string precision = "f32";  ///< "auto": what records choose for each layer, under a user's error budget

  /// The graph is as in f32, and a plan of the records stores some of its activations in fewer bits.
  bool chooses() const { return precision == "auto"; }
  SpaceOptions schedules() const;
  /// f16 changes the graph, and so does bf16 for a CPU (passes/halves.h), unless --exact is given too.
  PassOptions passes(const Target& = {}) const;
  /// An error where the target has no products of that precision.
  Status check(const Target&) const;
};

}  // namespace whet
