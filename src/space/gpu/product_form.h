#pragma once

#include <memory>
#include <optional>

#include "schedule/steps.h"
#include "space/anatomy.h"

namespace whet {

/// A constant in the order of its copy, which is computed ahead of time.
struct ComputedAhead {
  OpId constant, copy;
};

/// A sum of products of two tensors as products of two matrices. The axes of the result become (lead,) rows and columns,
/// the reduce axes (outer and) depth. Windows of three dimensions keep a lead and an outer: merged with the rest, they would
/// divide a row's number so often that lowering could not prove the indices.
struct ProductForm {
  OpId left, right, sum;       ///< the operands' copies; rows are the left one's, columns the right one's
  std::optional<OpId> output;  ///< of the epilogue
  bool has_lead = false;       ///< a product for each of its elements: a batch, or slices of the rows
  bool batched = false;        ///< the right operand has the lead as well
  bool has_outer = false;
  /// Of bytes, whose sum is i32: rows of both copies lie along the depth, where instructions find four factors in a word.
  bool of_bytes = false, has_sign = false;  ///< of the left factor; the right one always has one
  std::vector<ComputedAhead> ahead;         ///< what the copies of constants read
  std::int64_t left_run = 1,
               right_run = 1;  ///< neighbours along the copies' rows that are neighbours in memory: 1, 2, 4 .. 16 bytes
  bool left_computed = false, right_computed = false;  ///< when they are copied: not by asynchronous copies
  std::int64_t left_bytes = 4, right_bytes = 4;        ///< of an element of the copies
  std::int64_t leads = 1, rows = 1, columns = 1, depth = 1;

  /// The schedule after the steps that change the DAG: both operands unfolded, axes merged, the sum in `parts` of its depth;
  /// what can be is inlined. With several parts, `sum` is that of a part and has them as its first axis; the op behind it adds
  /// them up, and `output` is one further. Safe to share; built once.
  const Scheduler& start(std::int64_t parts) const;

  struct Starts;
  std::shared_ptr<Starts> starts;

  bool computes() const { return left_computed || right_computed; }
};
/// A sum of products whose operands are copies in the order of its axes, which are merged as said above.
struct UnfoldedSum {
  OpId left, right, sum;
  bool batched = false, has_lead = false, has_outer = false;
  bool of_bytes = false, has_sign = false;  ///< as in ProductForm
  std::vector<ComputedAhead> ahead;
};
/// Makes one of a sum of products of two tensors. Nothing where `sum` has another form; the schedule is of no use then.
std::optional<UnfoldedSum> unfold_sum(Scheduler&, OpId sum);
/// The same of a sum in i32 of products of bytes, u8 or i8 by constants of i8.
std::optional<UnfoldedSum> unfold_sum_of_bytes(Scheduler&, OpId sum);
/// Its extents, and `start` of nothing. Call it when what the copies read is inlined.
ProductForm form_of(const LoopTree&, const UnfoldedSum&);

/// How the operands of tensor cores are rounded before they are read. Constants are so ahead of time; other operands when they
/// are copied, if `copies`.
struct OperandRounding {
  Precision to = Precision::f32;
  bool copies = false;
};
/// Nothing where the DAG has another form.
std::optional<ProductForm> product_form(const ComputeDag&, const OperandRounding& = {});
std::optional<ProductForm> product_form_of_bytes(const ComputeDag&);
/// The same of the sum `anatomy.anchor` in a DAG of which steps that change it were taken, and no others.
std::optional<ProductForm> product_form(Scheduler, const Anatomy& anatomy);

}  // namespace whet
