#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Divides vectors of f32 by a scalar that is held in a register, the same one many times, through its reciprocal:
///   r = 1/d;  q = x r;  x/d = q - (q d - x) r
/// The quotient is the correctly rounded one, as a division's: r is, so q is off by less than 2 units in its last
/// place, and of all quotients that lie so near the middle between two numbers that the correction's error could
/// matter, none is rounded wrongly (they were enumerated). Guards divide as before where d is not within 2^-60 .. 2^60.
/// A divisor that a root was taken for (a standard deviation) is a rounded number itself, and nobody counts on the last
/// bit of the quotient: there it is x r, off by 1.5 units at most.
/// What is left: below |x| = 2^-79 the correction may be lost (1.5 units), and a quotient within 2 units of the largest
/// number may be infinite.
/// Needs:  no vectorized loop; a processor with multiply-add.
/// Leaves: twice the code of the loops that divide.
Result<Program> share_reciprocals(Program);

}  // namespace whet
