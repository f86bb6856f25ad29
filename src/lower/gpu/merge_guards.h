#pragma once

#include "program/program.h"

namespace whet {

/// Merges neighbours under the same condition, so that a thread branches once.
///   if c { A }; if c { B }   =>   if c { A; B }
/// Moves the condition of four products that dp4a computes around them:
///   for k in 4 { if c { A } }   =>   if c { for k in 4 { A } }
/// Needs:  nothing.
/// Leaves: the same values computed.
Program merge_guards(Program);

}  // namespace whet
