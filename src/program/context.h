#pragma once

#include "compute/affine.h"
#include "program/program.h"

namespace whet {

/// Adds the facts that statements imply for their bodies. Memory changes, so values of loads are not kept.

bool has_load(const Expr&);
/// Within the body the loop's index is within its bounds, and the loop runs at least once.
void enter(Facts&, const Loop&);
void enter(Facts&, const Let&);
void enter_if(Facts&, const Expr& condition);
void enter_else(Facts&, const Expr& condition);

}  // namespace whet
