#pragma once

#include "compute/affine.h"
#include "program/program.h"

namespace whet {

/// How statements tell Facts about their bodies. Memory changes, so nothing that a load says is kept.

bool has_load(const Expr&);
/// The loop's index is within its bounds, and the loop runs at all.
void enter(Facts&, const Loop&);
void enter(Facts&, const Let&);
void enter_if(Facts&, const Expr& condition);
void enter_else(Facts&, const Expr& condition);

}  // namespace whet
