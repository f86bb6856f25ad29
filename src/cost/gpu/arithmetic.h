#pragma once

#include "compute/expr.h"

namespace whet {

/// The operations on floats in one run of a body, without calls. A choice by a number,
///   select(x == 0, a, select(x == 1, b, ... c)),
/// is decided when loops are unrolled, so it counts the mean of its branches. There, an operation that several branches have
/// is computed once, and a product and its addition are one operation.
double arithmetic_of(const Expr& body);

}  // namespace whet
