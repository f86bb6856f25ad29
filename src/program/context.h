#pragma once

#include "compute/affine.h"
#include "program/program.h"

namespace whet {

/// `enter` adds the facts that a statement implies for its body. Memory changes, so facts about loads are left out.

bool has_load(const Expr&);
/// Within the body the loop's index is within its bounds, and the loop runs at least once.
void enter(Facts&, const Loop&);
void enter(Facts&, const Let&);
void enter_if(Facts&, const Expr& condition);
void enter_else(Facts&, const Expr& condition);

}  // namespace whet
