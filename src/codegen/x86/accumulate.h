#pragma once

namespace llvm {
class MachineFunctionPass;
}  // namespace llvm

namespace whet {

/// A pass over machine code that ties the result of every fused multiply-add of vectors to its addend, where that dies
/// there: an accumulator then stays in one register. LLVM's own choice is the operand that was made last, which in the
/// second and later steps of an unrolled reduction is the broadcast input; accumulators would wander through the
/// registers and spill when the tile is large.
///   Needs   to run between the removal of phis and that of three-address instructions.
///   Leaves  the same values.
llvm::MachineFunctionPass* make_accumulate_pass();

}  // namespace whet
