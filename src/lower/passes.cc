#include "lower/passes.h"

#include <string>

#include "lower/unroll.h"
#include "program/flatten.h"
#include "program/simplify.h"

namespace whet {

Result<Program> simplified(Program program, const Target&) { return simplify(program); }
Result<Program> flat(Program program, const Target&) { return flatten(program); }
Result<Program> unrolled(Program program, const Target&) { return unroll_loops(std::move(program)); }

Result<std::span<const LoweringPass>> lowering_passes(const Target& target) {
  const PassTable* table = row_of(pass_tables(), target);
  if (table == nullptr) return Error{"no schedule can be lowered for \"" + to_string(target) + "\""};
  return table->passes();
}

Result<Program> run_passes(Program program, std::span<const LoweringPass> passes, const Target& target,
                           const PassObserver& observer) {
  return run_pass_list(std::move(program), passes, observer,
                       [&](const LoweringPass& pass, Program now) { return pass.run(std::move(now), target); });
}

}  // namespace whet
