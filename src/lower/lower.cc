#include "lower/lower.h"

#include <array>

#include "lower/expand_math.h"
#include "lower/generate.h"
#include "lower/guards.h"
#include "lower/reciprocals.h"
#include "lower/spread_prefetches.h"
#include "lower/unbind.h"
#include "lower/unroll.h"
#include "lower/vectorize.h"
#include "program/flatten.h"
#include "program/simplify.h"
#include "program/verify.h"

namespace whet {
namespace {

Result<Program> simplify_pass(Program program, const Target&) { return simplify(program); }
Result<Program> flatten_pass(Program program, const Target&) { return flatten(program); }
Result<Program> expand_math_pass(Program program, const Target& target) { return expand_math(program, target); }
Result<Program> verify_pass(Program program, const Target&) {
  WHET_RETURN_IF_ERROR(verify(program));
  return program;
}

// Guards are resolved while loops are still loops; accesses are proven while indices are still one a dimension, which
// is where the proof is easy; vectors and copies come last, so that everything before them is small.
constexpr std::array kPasses = {
    LoweringPass{"unbind", unbind_loops},
    LoweringPass{"resolve_guards", resolve_guards},
    LoweringPass{"simplify", simplify_pass},
    LoweringPass{"verify", verify_pass},
    LoweringPass{"flatten", flatten_pass},
    LoweringPass{"expand_math", expand_math_pass},
    LoweringPass{"vectorize", vectorize_loops},
    LoweringPass{"unroll", unroll_loops},
    LoweringPass{"simplify_unrolled", simplify_pass},
    LoweringPass{"share_reciprocals", share_reciprocals},
    LoweringPass{"spread_prefetches", spread_prefetches},
};

Result<Lowered> run(const LoopTree& tree, const Target& target, std::string_view last, const Shape& within) {
  WHET_TRY(Lowered lowered, generate(tree, within));
  if (last == "generate") return lowered;
  for (const LoweringPass& pass : kPasses) {
    Result<Program> next = pass.run(std::move(lowered.program), target);
    if (!next.ok()) return Error{std::string(pass.name) + ": " + next.error().message};
    lowered.program = std::move(next).value();
    if (pass.name == last) break;
  }
  return lowered;
}

}  // namespace

std::span<const LoweringPass> lowering_passes() { return kPasses; }

Result<Lowered> lower(const LoopTree& tree, const Target& target, const Shape& within) {
  return run(tree, target, "", within);
}
Result<Lowered> lower_until(const LoopTree& tree, const Target& target, std::string_view pass) {
  return run(tree, target, pass, {});
}

}  // namespace whet
