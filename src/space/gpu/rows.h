#pragma once

#include "schedule/steps.h"
#include "space/gpu/limits.h"
#include "space/space.h"

namespace whet {

/// The template of reductions whose threads compute one sum together, and of the ops that read the sums, in one launch: softmax,
/// layer norm, means over pictures, products with a vector.
///   threads     that add up one sum
///   rows        rows of the result that a block computes
///   vector      neighbouring elements that a thread takes at once: terms of a sum along memory, else sums
///   min_blocks  that an SM is to hold at once; 0: as many as fit
/// Empty where sums are short or not one for each row, and where the result is a patch of windows.
std::optional<Sketch> gpu_rows_sketch(const ComputeDag&, const Target&);

/// Sums of which each row of a result needs one element.
struct RowsForm {
  std::shared_ptr<const Scheduler> start;  ///< with all other ops inlined; null where a rule has inlined them
  std::vector<OpId> sums;                  ///< beside the result, in their order
  OpId result;
  std::size_t rows = 0;      ///< leading axes of the result: those of its rows
  bool along = true;         ///< sums go along memory; else a thread has neighbouring sums
  std::int64_t terms = 1;    ///< of the shortest sum
  std::int64_t inside = 1;   ///< elements of the result in a row
  std::int64_t columns = 1;  ///< extent of the last axis
};
/// The form of a result and the sums that it needs, in a schedule in which no op is placed. Nothing where it is another form.
std::optional<RowsForm> rows_of(const Scheduler&, OpId result, std::vector<OpId> sums);
/// Merges the reduce axes of a sum of one tensor into one. This makes a copy of the tensor, which takes the op's number and is to be
/// inlined. False where that is refused; then the schedule is unchanged.
bool merge_terms(Scheduler&, OpId);
/// threads, rows, vector, min_blocks.
std::vector<Decision> rows_decisions(const RowsForm&);
std::vector<Constraint> rows_constraints(const RowsForm&, const GpuLimits&);
std::vector<Choices> rows_starts(const RowsForm&);
/// Writes the schedule behind `start`.
void build_rows(Scheduler&, const RowsForm&, const Choices&);

}  // namespace whet
