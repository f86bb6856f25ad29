#pragma once

#include "program/program.h"

namespace whet {

/// The statement without commits of and waits for asynchronous copies.
Stmt without_copy_groups(const Stmt&);

}  // namespace whet
