#pragma once

#include "program/program.h"

namespace whet {

/// Neighbours under the same condition stand under it together, so that a thread branches once.
///   if c { A }; if c { B }   =>   if c { A; B }
/// Needs:  nothing.
/// Leaves: the same values computed.
Program merge_guards(Program);

}  // namespace whet
