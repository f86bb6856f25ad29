#pragma once

#include <cstdint>
#include <string>

#include "base/testing/random_cases.h"
#include "import/options.h"

namespace whet::testing {

/// How many times as little a file may become under the sanitizers, where each node takes ten times as long.
constexpr std::int64_t kLimitsAreParts = kSanitized ? 8 : 1;

/// With limits that a test of them reaches in a second.
inline ImportOptions within_limits(ImportOptions options = {}) {
  options.limits.inlined_nodes /= kLimitsAreParts;
  options.limits.folding_work /= kLimitsAreParts;
  return options;
}

/// The sentence of what becomes too many nodes.
inline std::string too_many_nodes() {
  return "functions, branches and loops become more than " + std::to_string(within_limits().limits.inlined_nodes) +
         " nodes";
}

}  // namespace whet::testing
