#pragma once

#include <string>
#include <vector>

#include "records/digest.h"
#include "trial/ranged.h"

namespace whet {

/// A table with a row for each task and target: trials, failures, best time, when.
std::string show_text(const Records&);
/// A table with the fastest kernels for ranges of each task at each size; "" where there are none.
std::string ranged_text(const Records&);
/// What a network takes at sizes of its ranges, a line each.
std::string network_text(const NetworkAtSizes&);
/// The same of all networks, the last figures of each; "" where there are none.
std::string networks_text(const Records&);
/// "A library for one size alone takes 0.93 to 1.01 of the tuned time": at the sizes at which both were timed; "" where none was.
std::string alone_text(const std::vector<TimedAtSizes>&);
/// Where the time of the trials went, their outcomes, the quality of the model's ranking and the failures.
std::string stats_text(const RecordStats&);

}  // namespace whet
