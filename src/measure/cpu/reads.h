#pragma once

#include <cstdint>

#include "program/program.h"
#include "target/target.h"

namespace whet {

/// A kernel that does nothing except read floats into sums in registers: `threads` threads side by side, each `passes` times over
/// `floats` of its own. Arguments: data [threads, floats]; sums [threads, 4, lanes].
/// Needs: `floats` is a multiple of four vectors.
Program read_program(const CpuTarget&, std::int64_t floats, std::int64_t passes, std::int64_t threads);

/// The floats of four vectors.
std::int64_t read_step(const CpuTarget&);

}  // namespace whet
