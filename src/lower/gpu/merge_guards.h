#pragma once

#include "program/program.h"

namespace whet {

/// Neighbours under the same condition are under it together, so that a thread branches once.
///   if c { A }; if c { B }   =>   if c { A; B }
/// A condition of four products that dp4a computes is around them:
///   for k in 4 { if c { A } }   =>   if c { for k in 4 { A } }
/// Needs:  nothing.
/// Leaves: the same values computed.
Program merge_guards(Program);

}  // namespace whet
