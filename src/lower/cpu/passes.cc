#include "lower/cpu/passes.h"

#include <array>

#include "lower/cpu/join_cases.h"
#include "lower/cpu/reciprocals.h"
#include "lower/cpu/spread_prefetches.h"
#include "lower/cpu/unbind.h"
#include "lower/guards.h"
#include "lower/interiors.h"
#include "lower/remainders.h"
#include "program/verify.h"

namespace whet {
namespace {

/// Vectors of this size leave out lanes of loads and stores at no cost.
constexpr int kMaskedVectorBytes = 64;
/// On x86, vectors of this size come with instructions for floor, ceil and round; narrower ones are asked no further.
/// AArch64 always has them.
constexpr int kRoundingVectorBytes = 32;

Result<Program> unbind(Program program, const Target&) { return unbind_loops(std::move(program)); }
Result<Program> remainders(Program program, const Target& target) {
  return exact_remainders(std::move(program), vector_support(target.cpu()).free_masks);
}
Result<Program> interiors(Program program, const Target&) { return cut_interiors(std::move(program)); }
Result<Program> guards(Program program, const Target&) { return resolve_guards(std::move(program)); }
Result<Program> verified(Program program, const Target&) {
  WHET_RETURN_IF_ERROR(verify(program));
  return program;
}
Result<Program> cpu_math(Program program, const Target& target) {
  return expand_math(program, math_support(target.cpu()));
}
Result<Program> cpu_vectors(Program program, const Target& target) {
  return vectorize_loops(std::move(program), vector_support(target.cpu()));
}
Result<Program> with_joined_cases(Program program, const Target&) { return join_cases(std::move(program)); }
Result<Program> reciprocals(Program program, const Target& target) {
  if (!target.cpu().fma) return program;
  return share_reciprocals(std::move(program));
}
Result<Program> prefetches(Program program, const Target&) { return spread_prefetches(std::move(program)); }

// Tails of sizes are made exact before guards are searched for the iterations at which they are decided. Guards are resolved
// while loops are still loops; accesses are proven while indices are still one a dimension, which is where the proof is easy;
// vectors and copies come last, so that everything before them is small.
constexpr std::array kCpuPasses = {
    LoweringPass{"unbind", unbind},
    LoweringPass{"remainders", remainders},
    LoweringPass{"interiors", interiors},
    LoweringPass{"resolve_guards", guards},
    LoweringPass{"simplify", simplified},
    LoweringPass{"verify", verified},
    LoweringPass{"flatten", flat},
    LoweringPass{"expand_math", cpu_math},
    LoweringPass{"vectorize", cpu_vectors},
    LoweringPass{"unroll", unrolled},
    LoweringPass{"simplify_unrolled", simplified},
    LoweringPass{"join_cases", with_joined_cases},
    LoweringPass{"share_reciprocals", reciprocals},
    LoweringPass{"spread_prefetches", prefetches},
};

}  // namespace

MathSupport math_support(const CpuTarget& cpu) {
  return {.round = cpu.isa == Isa::aarch64 || cpu.vector_bytes >= kRoundingVectorBytes, .multiply_add = cpu.fma};
}

VectorSupport vector_support(const CpuTarget& cpu) {
  return {.bytes = cpu.vector_bytes, .free_masks = cpu.vector_bytes >= kMaskedVectorBytes};
}

std::span<const LoweringPass> cpu_passes() { return kCpuPasses; }

}  // namespace whet
