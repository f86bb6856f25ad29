#pragma once

#include "codegen/build.h"

namespace whet {

/// Prints the launches of a schedule for a GPU by the estimate: blocks and threads, what a block takes, how many an SM holds
/// and what limits them, and what bounds the time.
void print_launches(const LoopTree&, const Target&);

/// Prints what the assembler gives the kernel, or why it says nothing.
void print_assembled(const Result<Built>&, const Target&);

}  // namespace whet
