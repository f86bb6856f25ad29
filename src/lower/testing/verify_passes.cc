#include "lower/testing/verify_passes.h"

#include <algorithm>
#include <array>

#include "program/verify.h"

namespace whet::testing {
namespace {

/// The passes that leave no loop to be expanded.
constexpr std::array<std::string_view, 4> kExpanded = {"unroll", "simplify_unrolled", "share_reciprocals",
                                                       "spread_prefetches"};

}  // namespace

Status verify_pass(std::string_view pass, const Program& program) {
  const bool expanded = std::find(kExpanded.begin(), kExpanded.end(), pass) != kExpanded.end();
  return verify(program, {.lowered = expanded, .proofs = pass == "verify", .bound_once = pass != "vectorize"});
}

}  // namespace whet::testing
