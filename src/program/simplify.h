#pragma once

#include "program/program.h"

namespace whet {

/// Simplifies every expression with what its loops and conditions say; replaces loops that run once by their body,
/// drops loops that never run, conditions that are decided, lets that nothing uses, masks that are always true, and
/// stores that are always masked; inlines lets of constants and variables. Leaves: the same values computed; each
/// variable bound at most once.
Program simplify(const Program&);

}  // namespace whet
