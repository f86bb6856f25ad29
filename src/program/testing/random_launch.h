#pragma once

#include "base/rng.h"
#include "program/program.h"
#include "tensor/tensor.h"

namespace whet::testing {

/// One or two launches of up to 3 blocks of 32 or 64 threads over f32 arguments 0 (read) and 1 (read and written), block memory,
/// a workspace and memory of the threads: copies, barriers, exchanges, branches and loops where chance puts them. A few
/// such programs are right; most have races, miss a wait or access something outside.
Program random_launches(Rng&);
std::vector<Tensor> random_launch_arguments(std::uint64_t seed);

}  // namespace whet::testing
