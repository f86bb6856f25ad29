#pragma once

#include "schedule/steps.h"
#include "space/gpu/limits.h"
#include "space/space.h"

namespace whet {

/// Reductions whose threads work on one sum together, and what is computed of them, in one launch: softmax, layer norm,
/// means over pictures, products with a vector.
///   threads     that add up one sum
///   rows        rows of the result that a block computes
///   vector      neighbouring elements that a thread takes at once: terms of a sum along memory, else sums
///   min_blocks  that an SM is to hold at once; 0: as many as fit
/// Empty where sums are short or not one for each row, and where the result is a patch of windows.
std::optional<Sketch> gpu_rows_sketch(const ComputeDag&, const Target&);

/// Sums of which each row of a result needs one element.
struct RowsForm {
  std::shared_ptr<const Scheduler> start;  ///< all else inlined; null where a rule did that
  std::vector<OpId> sums;                  ///< beside the result, in their order
  OpId result;
  std::size_t rows = 0;      ///< leading axes of the result: those of its rows
  bool along = true;         ///< sums go along memory; else a thread has neighbouring sums
  std::int64_t terms = 1;    ///< of the shortest sum
  std::int64_t inside = 1;   ///< elements of the result in a row
  std::int64_t columns = 1;  ///< extent of the last axis
};
/// The form of a result and the sums that it needs, of a schedule in which nothing is placed. Nothing where they have another.
std::optional<RowsForm> rows_of(const Scheduler&, OpId result, std::vector<OpId> sums);
/// The reduce axes of a sum of one tensor become one, by way of a copy that is to be inlined: it takes the op's number. False
/// where that is refused; the schedule is as it was then.
bool merge_terms(Scheduler&, OpId);
/// threads, rows, vector, min_blocks.
std::vector<Decision> rows_decisions(const RowsForm&);
std::vector<Constraint> rows_constraints(const RowsForm&, const GpuLimits&);
std::vector<Choices> rows_starts(const RowsForm&);
/// Writes the schedule behind `start`.
void build_rows(Scheduler&, const RowsForm&, const Choices&);

}  // namespace whet
