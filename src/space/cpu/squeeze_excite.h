#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The schedule of squeeze-and-excite: the mean of each channel, then two small products, in three phases. In each phase
/// the workers share tiles of its channels, whose sums stay in registers up to bias and activation.
/// Returns nothing for DAGs of another form.
std::optional<Sketch> squeeze_excite_sketch(const ComputeDag&, const Target&);

}  // namespace whet
