#pragma once

#include <memory>
#include <optional>

#include "schedule/steps.h"
#include "space/anatomy.h"

namespace whet {

/// A sum of products of two tensors as products of two matrices. The axes of the result become (lead,) rows and columns,
/// the reduce axes (outer and) depth. Windows of three dimensions keep a lead and an outer: merged with the rest, they would
/// divide a row's number so often that lowering could not prove the indices.
struct ProductForm {
  OpId left, right, sum;       ///< the operands' copies; rows are the left one's, columns the right one's
  std::optional<OpId> output;  ///< of the epilogue
  bool has_lead = false;       ///< a product for each of its elements: a batch, or slices of the rows
  bool batched = false;        ///< the right operand has the lead as well
  bool has_outer = false;
  /// Of bytes, whose sum is i32: rows of both copies lie along the depth, where instructions find four factors in a word. The
  /// right one copies `weights`, a constant in its order, which is computed ahead of time.
  bool of_bytes = false, has_sign = false;  ///< of the left factor; the right one always has one
  OpId weights;
  std::int64_t left_run = 1,
               right_run = 1;  ///< neighbours along the copies' rows that are neighbours in memory: 1, 2, 4 .. 16 bytes
  bool computes = false;       ///< an operand is computed when it is copied: not by an asynchronous copy
  std::int64_t leads = 1, rows = 1, columns = 1, depth = 1;

  /// The schedule after the steps that change the DAG: both operands unfolded, axes merged, the sum in `parts` of its depth;
  /// what can be is inlined. With several parts, `sum` is that of a part and has them as its first axis; the op behind it adds
  /// them up, and `output` is one further. Safe to share; built once.
  const Scheduler& start(std::int64_t parts) const;

  struct Starts;
  std::shared_ptr<Starts> starts;
};
/// A sum of products whose operands are copies in the order of its axes, which are merged as said above.
struct UnfoldedSum {
  OpId left, right, sum;
  bool batched = false, has_lead = false, has_outer = false;
  bool of_bytes = false, has_sign = false;  ///< as in ProductForm
  OpId weights;
};
/// Makes one of a sum of products of two tensors. Nothing where `sum` has another form; the schedule is of no use then.
std::optional<UnfoldedSum> unfold_sum(Scheduler&, OpId sum);
/// The same of a sum in i32 of products of bytes, u8 or i8 by constants of i8.
std::optional<UnfoldedSum> unfold_sum_of_bytes(Scheduler&, OpId sum);
/// Its extents, and `start` of nothing. Call it when what the copies read is inlined.
ProductForm form_of(const LoopTree&, const UnfoldedSum&);

/// Nothing where the DAG has another form.
std::optional<ProductForm> product_form(const ComputeDag&);
std::optional<ProductForm> product_form_of_bytes(const ComputeDag&);
/// The same of the sum `anatomy.anchor` in a DAG of which steps that change it were taken, and no others.
std::optional<ProductForm> product_form(Scheduler, const Anatomy& anatomy);

}  // namespace whet
