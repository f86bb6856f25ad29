#pragma once

#include "schedule/loop_tree.h"
#include "target/target.h"

namespace whet {

/// Prints the launches of a schedule for a GPU by the estimate: blocks and threads, what a block takes, how many an SM holds
/// and what limits them, and what bounds the time.
void print_launches(const LoopTree&, const Target&);

/// Prints what the assembler gives the schedule's kernel, or why it says nothing. `within`: as `lower` has it.
void print_assembled(const LoopTree&, const Target&, const Shape& within);

}  // namespace whet
