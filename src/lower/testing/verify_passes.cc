#include "lower/testing/verify_passes.h"

#include <algorithm>
#include <array>

#include "program/verify.h"

namespace whet::testing {
namespace {

/// The passes that leave no loop to be expanded.
constexpr std::array<std::string_view, 5> kExpanded = {"unroll", "simplify_unrolled", "merge_guards",
                                                       "share_reciprocals", "spread_prefetches"};

}  // namespace

Status verify_pass(std::string_view pass, const Program& program) {
  const bool expanded = std::find(kExpanded.begin(), kExpanded.end(), pass) != kExpanded.end();
  return verify(program, {.lowered = expanded, .proofs = pass == "verify", .bound_once = pass != "vectorize"});
}

PassObserver verify_gpu_passes(const Target& target) {
  return [limits = &limits_of(target.gpu())](std::string_view pass, const Program& program) {
    if (pass == "generate" || pass == "spread_warps" || pass == "sink_virtual" || pass == "map_threads")
      return ok_status();
    const bool expanded = std::find(kExpanded.begin(), kExpanded.end(), pass) != kExpanded.end();
    return verify(
        program,
        {.lowered = expanded, .proofs = pass == "verify", .bound_once = pass != "vectorize", .launches = limits});
  };
}

}  // namespace whet::testing
