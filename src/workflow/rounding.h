#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "passes/optimize.h"
#include "space/space.h"
#include "target/target.h"

namespace whet {

/// --exact and --precision: which schedules may be used, by how they round.
struct RoundingOptions {
  bool exact = false;
  /// "auto": what records choose for each layer, under a user's error budget; "int8": bytes wherever a layer can multiply them.
  std::string precision = "f32";

  /// The graph is as in f32, and a plan of the records stores some of its activations in fewer bits.
  bool is_of_plans() const { return precision == "auto" || is_uniform(); }
  bool is_uniform() const { return precision == "int8"; }
  /// Of such a plan, as PlanPrecision::uniform has it.
  std::string_view uniform() const { return is_uniform() ? "u8" : ""; }
  SpaceOptions schedules() const;
  /// Either of 16 bits changes the graph (passes/halves.h, passes/half_weights.h), unless --exact is given too. Where no target is
  /// known, f16 is that of GPUs, and bf16 that of CPUs.
  PassOptions passes(const Target&) const;
  PassOptions passes() const;
  /// An error where the target has no products of that precision.
  Status check(const Target&) const;
  /// The options that were given, as a command that follows this one takes them: " --precision bf16"; "" where none was.
  std::string text() const;
};

}  // namespace whet
