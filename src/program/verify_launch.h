#pragma once

#include <optional>
#include <string>

#include "program/verify_state.h"

namespace whet {

/// The rules of GPU launches: a launch is a loop over blocks directly around one over threads, what it asks for fits the GPU
/// (VerifyOptions::launches), and what all threads of a block do together is under control flow that is the same for all of them.
/// Faults go to the state.

/// The launch that a statement at the top is: its loops, the memory of a block and the blocks of an SM. Nothing where a rule is broken.
std::optional<LaunchNest> verify_launch(VerifyState&, const Stmt&);
/// All threads of the block reach the statement; `what` names it.
void verify_together(VerifyState&, const std::string& what);
void verify_group(VerifyState&, const CopyGroup&);
/// An asynchronous store inside a launch.
void verify_copy(VerifyState&, const Store&, const std::string& what);

}  // namespace whet
