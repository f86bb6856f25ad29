#pragma once

#include <cstdint>
#include <string>

#include "base/testing/random_cases.h"
#include "import/limits.h"

namespace whet::testing {

/// How many times as little a file may become under the sanitizers, where each node takes ten times as long.
constexpr std::int64_t kLimitsAreParts = kSanitized ? 8 : 1;

/// While there is one, limits are so that a test reaches them in a second.
class WithinLimits {
 public:
  WithinLimits() : usual_(import_limits()) {
    set_import_limits({usual_.inlined_nodes / kLimitsAreParts, usual_.folding_work / kLimitsAreParts});
  }
  WithinLimits(const WithinLimits&) = delete;
  ~WithinLimits() { set_import_limits(usual_); }

 private:
  const ImportLimits usual_;
};

/// The sentence of what becomes too many nodes.
inline std::string too_many_nodes() {
  return "functions, branches and loops become more than " + std::to_string(import_limits().inlined_nodes) + " nodes";
}

}  // namespace whet::testing
