#pragma once

#include <vector>

#include "space/space.h"

namespace whet {

/// The choices that are fastest by the estimate of launches (cost/gpu/estimate.h). It begins with the best of `starts`. Then it takes
/// the best option of each decision in `then`, one decision after the other, as long as that helps. Choices that the sketch's
/// constraints forbid, or whose schedule is refused, do not count. Empty where none is left.
/// Each try builds a schedule, so lists are kept short.
///   least_gain  the part of the time by which a choice has to be better than those before it
Choices preferred_choices(const Sketch&, const ComputeDag&, const Target&, const std::vector<Choices>& starts,
                          const std::vector<std::string>& then, double least_gain = 0);

/// The choices with `min_blocks` blocks on an SM, where the sketch allows these. Where no number is asked for, ptxas keeps a few values in
/// memory for registers that are just above those with which one block more fits: 12 bytes a thread at 96 registers for 110.
Choices asking_for_blocks(const Sketch&, Choices, std::int64_t min_blocks);

}  // namespace whet
