#pragma once

#include "program/program.h"

namespace whet {

/// Gives each binding a variable of its own: where a variable is bound several times, all bindings but the first get
/// fresh variables.
Program rename_apart(Program);

}  // namespace whet
