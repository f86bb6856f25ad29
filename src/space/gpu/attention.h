#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of attention (space/attention_form.h) in one launch. A block has some queries of a head. Its memory holds their
/// scores with all keys, which register tiles compute with scale and mask in their epilogue. For each query some threads compute
/// the maximum and the sum of exponentials. The weights are the left operand of a second product; values are copied a few keys at
/// a time.
///   decisions: queries of a block; score_rows and score_keys, the tile of a thread's scores; rows, the queries of a thread's
///   results; depth, the keys whose values are copied together; stages of that copy; keys, 1 where all keys of a head are
///   copied first; min_blocks
/// Nothing where the DAG is not of this form, or where no block memory holds the scores of some queries.
std::optional<Sketch> gpu_attention_sketch(const ComputeDag&, const Target&);

}  // namespace whet
