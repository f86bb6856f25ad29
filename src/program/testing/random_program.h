#pragma once

#include "base/rng.h"
#include "program/program.h"

namespace whet {

/// A small program over argument 0 (f32[kElements], read) and argument 1 (f32[kElements], written) with loops whose
/// bounds depend on each other, guards, selects, lets, masked vectors, a local buffer and parallel phases. Most of its
/// accesses are inside; not all.
Program random_program(Rng&);

/// The program with one number in it changed: an index, a bound, a condition or an extent.
Program mutate(const Program&, Rng&);

inline constexpr std::int64_t kElements = 24;

}  // namespace whet
