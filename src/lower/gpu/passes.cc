#include "lower/gpu/passes.h"

#include <array>

#include "lower/expand_math.h"
#include "lower/gpu/async_copies.h"
#include "lower/gpu/map_threads.h"
#include "lower/gpu/merge_guards.h"
#include "lower/gpu/place_barriers.h"
#include "lower/gpu/quotients.h"
#include "lower/gpu/reduce_threads.h"
#include "lower/gpu/sink_virtual.h"
#include "lower/gpu/spread_warps.h"
#include "lower/gpu/unguard_registers.h"
#include "lower/gpu/whole_guards.h"
#include "lower/vectorize.h"
#include "program/verify.h"

namespace whet {
namespace {

constexpr int kAccessBytes = 16;  ///< the widest access of a thread

Result<Program> spread(Program program, const Target&) { return spread_warps(std::move(program)); }
Result<Program> sunk(Program program, const Target&) { return sink_virtual(std::move(program)); }
Result<Program> mapped(Program program, const Target&) { return map_threads(std::move(program)); }
Result<Program> reduced(Program program, const Target&) { return reduce_threads(std::move(program)); }
Result<Program> with_quotients(Program program, const Target&) { return name_quotients(std::move(program)); }
Result<Program> whole(Program program, const Target&) { return with_whole_guards(std::move(program)); }
Result<Program> unguarded_registers(Program program, const Target& target) {
  return unguard_registers(std::move(program), limits_of(target.gpu()));
}
Result<Program> with_copies(Program program, const Target& target) {
  return make_copies_async(std::move(program), limits_of(target.gpu()));
}
Result<Program> with_barriers(Program program, const Target&) { return place_barriers(std::move(program)); }
Result<Program> verified_launches(Program program, const Target& target) {
  WHET_RETURN_IF_ERROR(verify(program, {.launches = &limits_of(target.gpu())}));
  return program;
}
// NOLINTNEXTLINE(performance-unnecessary-value-param): as the table has it
Result<Program> gpu_math(Program program, const Target& target) {
  const bool rounds = limits_of(target.gpu()).mma;
  return expand_math(program,
                     {.round = true, .multiply_add = true, .warp_tiles = true, .round_tf32 = rounds, .exp = true});
}
Result<Program> gpu_vectors(Program program, const Target&) {
  return vectorize_loops(std::move(program), {.bytes = kAccessBytes, .free_masks = false});
}
Result<Program> merged(Program program, const Target&) { return merge_guards(std::move(program)); }

// Threads are mapped while loops are still loops. Barriers are placed and accesses proven while indices are still one a
// dimension. Guards stay: a thread that has nothing to do waits for its neighbours anyway.
constexpr std::array kGpuPasses = {
    // Launches.
    LoweringPass{"spread_warps", spread},
    LoweringPass{"sink_virtual", sunk},
    LoweringPass{"map_threads", mapped},
    LoweringPass{"reduce_threads", reduced},
    LoweringPass{"name_quotients", with_quotients},
    LoweringPass{"simplify", simplified},
    LoweringPass{"whole_guards", whole},
    LoweringPass{"unguard_registers", unguarded_registers},
    // Who waits for whom.
    LoweringPass{"async_copies", with_copies},
    LoweringPass{"place_barriers", with_barriers},
    LoweringPass{"verify", verified_launches},
    // What a thread runs.
    LoweringPass{"flatten", flat},
    LoweringPass{"expand_math", gpu_math},
    LoweringPass{"vectorize", gpu_vectors},
    LoweringPass{"unroll", unrolled},
    LoweringPass{"simplify_unrolled", simplified},
    LoweringPass{"merge_guards", merged},
};

}  // namespace

std::span<const LoweringPass> gpu_passes() { return kGpuPasses; }

}  // namespace whet
