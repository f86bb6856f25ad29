#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The schedule of a squeeze-and-excite: a mean of each channel and two small products one after the other, in phases,
/// each shared out by tiles of its channels, whose sums stay in registers up to bias and activation.
/// Nothing for DAGs of another form.
std::optional<Sketch> squeeze_excite_sketch(const ComputeDag&, const Target&);

}  // namespace whet
