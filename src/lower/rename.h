#pragma once

#include "program/program.h"

namespace whet {

/// Gives every binder whose variable is bound elsewhere too a variable of its own.
Program rename_apart(Program);

}  // namespace whet
