#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The schedule of an attention: two products with a softmax between them, the moves around absorbed.
/// Shared out are the heads, and with `heads` = 0 blocks of their queries as well. A block's scores stay in the cache:
/// computed by register tiles with scale and mask in their epilogue, then row by row their maximum, exponentials and
/// sum, then multiplied with the values by register tiles that the result is stored from. Keys are turned beforehand
/// (`heads` = 0: by a nest of their own; 1: head by head).
/// Nothing for DAGs of another form.
std::optional<Sketch> attention_sketch(const ComputeDag&, const Target&);

}  // namespace whet
