#pragma once

#include <functional>
#include <vector>

#include "compute/expr.h"

namespace whet {

/// A call of exp, log, tanh, erf, sigmoid, sin, cos or pow of f64 as polynomials of plain expressions, for any number of
/// lanes.
///   bind       gives a name to a value that is used more than once
///   has_round  the target has an instruction that rounds
///   Errors of the result: at most 1e-14, of pow 1e-12. sin and cos: for |x| <= 2^20; beyond, the error grows as
///   |x| * 2^-68, and |x| >= 2^30 gives NaN.
Expr expand_double(MathFn, const std::vector<Expr>& args, const std::function<Expr(Expr)>& bind, bool has_round);

}  // namespace whet
