#pragma once

#include "program/program.h"

namespace whet {

/// Simplifies every expression with the facts of its loops and conditions. Replaces loops that run once by their body.
/// Drops loops that never run, conditions that are decided, unused lets, masks that are always true, and stores that
/// are always masked. Inlines lets of constants and variables.
/// Leaves: the same values computed; each variable bound at most once.
Program simplify(const Program&);

}  // namespace whet
