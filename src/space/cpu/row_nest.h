#pragma once

#include <cstdint>

#include "schedule/regions.h"
#include "schedule/steps.h"

namespace whet {

// What is computed row by row: a row is what one index of the leading axes stands for.

/// The leading axes of `output` before its innermost one with more than one element, or before its innermost
/// reduce axis.
std::size_t outer_axes(const ComputeDag&, OpId output);
/// The loops over the first `axes` axes of `output` become one over groups of `rows` rows, and a loop over the rows of
/// a group inside.
LoopId group_rows(Scheduler& s, OpId output, std::size_t axes, std::int64_t rows);
/// The loops over `axes`, which rise, of `output` and over steps along its last axis become one; the other axes run
/// inside.
LoopId group_columns(Scheduler& s, OpId output, const std::vector<std::size_t>& axes, std::int64_t step);
/// Vectorizes `op` in steps of `step` elements, of its innermost axis or of its innermost reduce axis; up to `rows`
/// rows are unrolled inside the step: their sums do not wait for one another.
void vectorize_rows(Scheduler&, OpId, std::int64_t step, std::int64_t rows);
/// Iterations of the nest of `op`, that of the loops around it included.
double iterations(const LoopTree&, OpId);
std::int64_t elements_in(const Region&);

}  // namespace whet
