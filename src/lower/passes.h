#pragma once

#include <span>
#include <string_view>

#include "base/pass_list.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// One pass: Program -> Program, with the contract that its own header states.
struct LoweringPass {
  std::string_view name;
  Result<Program> (*run)(Program, const Target&);
};

// Passes that need nothing of the target.
Result<Program> simplified(Program, const Target&);  ///< program/simplify.h
Result<Program> flat(Program, const Target&);        ///< program/flatten.h
Result<Program> unrolled(Program, const Target&);    ///< lower/unroll.h

/// The passes between `generate` and code generation for one kind of target, in order.
struct PassTable {
  std::string_view kind;
  std::span<const LoweringPass> (*passes)();
};
/// One row a kind of target.
std::span<const PassTable> pass_tables();
/// The passes for a target. Errors: its kind has none.
Result<std::span<const LoweringPass>> lowering_passes(const Target&);

/// Sees the program that each pass leaves, the first time with "generate".
using PassObserver = ObserverOf<Program>;

/// As `run_pass_list`.
Result<Program> run_passes(Program, std::span<const LoweringPass>, const Target&, const PassObserver& observer = {});

}  // namespace whet
