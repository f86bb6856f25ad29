#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Replaces divisions of many f32 vectors by the same scalar in a register by multiplications with its reciprocal:
///   r = 1/d;  q = x r;  x/d = q - (q d - x) r
/// The result is correctly rounded, as a division's is. r is correctly rounded, so the error of q is below 2 units in its
/// last place. The error of the correction matters only for quotients near the middle between two numbers; all of these were
/// enumerated, and none is rounded wrongly. A guard divides as before where d is not within 2^-60 .. 2^60.
/// A divisor that is a square root (a standard deviation) is a rounded number, so the last bit of the quotient has no
/// meaning: the result is x r there, with an error of at most 1.5 units.
/// Two exceptions: below |x| = 2^-79 the correction may be lost (1.5 units), and a quotient within 2 units of the
/// largest number may be infinite.
/// Needs:  no vectorized loop; a processor with multiply-add.
/// Leaves: twice the code of the loops that divide.
Result<Program> share_reciprocals(Program);

}  // namespace whet
