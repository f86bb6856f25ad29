#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The schedule of attention: two products with a softmax between them. The transposes and reshapes around it become a
/// part of it.
/// The workers share the heads, and with `heads` = 0 also blocks of the queries of a head. The scores of a block stay in
/// the cache: register tiles compute them, with scale and mask in their epilogue; then their maximum, exponentials and
/// sum are computed row by row; then register tiles multiply them with the values and store the result. Keys are
/// transposed beforehand (`heads` = 0: by a nest of their own; 1: head by head).
/// Returns nothing for DAGs of another form.
std::optional<Sketch> attention_sketch(const ComputeDag&, const Target&);
/// The same of fixed sizes where queries and keys are widened from bf16 in memory and the processor multiplies pairs: scores are sums of
/// pairs, as exact as those of f32. Heads have 32 dimensions or more, an even number. Returns nothing for others.
std::optional<Sketch> attention_pairs_sketch(const ComputeDag&, const Target&);

}  // namespace whet
