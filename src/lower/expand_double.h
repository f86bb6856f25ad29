#pragma once

#include <functional>
#include <vector>

#include "compute/expr.h"

namespace whet {

/// A call of f64 as polynomials of plain expressions: exp, log, tanh, erf, sigmoid, sin, cos or pow, for any number of
/// lanes. `bind` names what is used more than once. Within 1e-14 of the result, pow within 1e-12; sin and cos for |x| <=
/// 2^20, beyond the error grows as |x| * 2^-68, and |x| >= 2^30 gives NaN. `has_round`: the target rounds by an
/// instruction.
Expr expand_double(MathFn, const std::vector<Expr>& args, const std::function<Expr(Expr)>& bind, bool has_round);

}  // namespace whet
