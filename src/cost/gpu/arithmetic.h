#pragma once

#include "compute/expr.h"

namespace whet {

/// Arithmetic on floats in one run of a body, calls left out. Of a choice by a number,
///   select(x == 0, a, select(x == 1, b, ... c)),
/// which unrolling decides, it is the mean of its branches: what they share is computed once, and a product that is added to
/// something is one operation with the addition.
double arithmetic_of(const Expr& body);

}  // namespace whet
