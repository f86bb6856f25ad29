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
  std::string precision = "f32";

  SpaceOptions schedules() const;
  /// f16 and bf16 change the graph (passes/halves.h), unless --exact is given too.
  PassOptions passes(const Target& = {}) const;
  /// An error where the target has no products of that precision.
  Status check(const Target&) const;
};

}  // namespace whet
