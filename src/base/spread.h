#pragma once

namespace whet {

/// Repetitions of one thing whose usual time, a median or a mean, is more than this many times the fastest of them were disturbed by
/// other programs: they are held against no prediction, and nothing is concluded from them.
inline constexpr double kFarAbove = 1.5;

/// False where one of the two is not known.
inline bool is_far_above(double usual, double fastest) { return fastest > 0 && usual > kFarAbove * fastest; }

}  // namespace whet
