#pragma once

#include <cstdint>

#include "schedule/regions.h"
#include "schedule/steps.h"

namespace whet {

// Nests that are computed row by row. A row holds the elements at one index of the leading axes.

/// Returns the number of leading axes of `output` before its innermost one with more than one element, or before its
/// innermost reduce axis.
std::size_t outer_axes(const ComputeDag&, OpId output);
/// Makes one loop over groups of `rows` rows of the loops over the first `axes` axes of `output`, and inside it a loop over
/// the rows of a group.
LoopId group_rows(Scheduler& s, OpId output, std::size_t axes, std::int64_t rows);
/// Makes one loop of the loops over `axes` (ascending) of `output` and over steps along its last axis; the other axes run
/// inside.
LoopId group_columns(Scheduler& s, OpId output, const std::vector<std::size_t>& axes, std::int64_t step);
/// The own loops of `op` that may still be reordered: those inside of all ops that are placed under them already.
std::vector<LoopId> free_loops(const Scheduler&, OpId op);
/// Vectorizes the op in steps of `step` elements, of its innermost axis or of its innermost reduce axis. Up to `rows` rows
/// are unrolled inside a step, so that their sums do not wait for one another.
void vectorize_rows(Scheduler&, OpId, std::int64_t step, std::int64_t rows);
/// Returns the iterations of the nest of the op, those of the loops around it included.
double iterations(const LoopTree&, OpId);
std::int64_t elements_in(const Region&);

}  // namespace whet
