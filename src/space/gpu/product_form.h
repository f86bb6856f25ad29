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
/// the reduce axes (outer and) depth. Windows of three dimensions keep a lead and an outer. If these were merged with the rest,
/// indices would have more quotients of a row's number than lowering can prove.
struct ProductForm {
  OpId left, right, sum;       ///< the operands' copies; rows are the left one's, columns the right one's
  std::optional<OpId> output;  ///< of the epilogue
  bool has_lead = false;       ///< a product for each of its elements: a batch, or slices of the rows
  bool batched = false;        ///< the right operand has the lead as well
  bool has_outer = false;
  /// A product of bytes, with sums in i32: both copies are contiguous along the depth, so that a word has four factors.
  bool of_bytes = false, has_sign = false;  ///< of the left factor; the right one always has one
  bool right_along_depth = false;           ///< rows of the right copy are columns; else they are terms
  std::vector<ComputedAhead> ahead;         ///< what the copies of constants read
  std::int64_t left_run = 1,
               right_run = 1;  ///< neighbours along the copies' rows that are neighbours in memory: 1, 2, 4 .. 16 bytes
  bool left_computed = false, right_computed = false;  ///< the copy computes its elements, so it cannot be asynchronous
  std::int64_t left_bytes = 4, right_bytes = 4;        ///< of an element of the copies
  std::int64_t leads = 1, rows = 1, columns = 1, depth = 1;

  /// The schedule after the steps that change the DAG: both operands are unfolded, axes are merged, the sum is in `parts` of its
  /// depth, and all ops that can be are inlined. With several parts, `sum` is the sum of a part, whose first axis numbers the parts;
  /// the op behind it adds them up, and the number of `output` is one higher. Safe to share; built once.
  const Scheduler& start(std::int64_t parts) const;

  struct Starts;
  std::shared_ptr<Starts> starts;

  bool computes() const { return left_computed || right_computed; }
};
/// A sum of products whose operands are copies in the order of its axes, which are merged as said above.
struct UnfoldedSum {
  OpId left, right, sum;
  bool batched = false, has_lead = false, has_outer = false;
  bool of_bytes = false, has_sign = false, right_along_depth = false;  ///< as in ProductForm
  std::vector<ComputedAhead> ahead;
};
/// Makes one of a sum of products of two tensors. Nothing where `sum` has another form; the schedule is of no use then.
std::optional<UnfoldedSum> unfold_sum(Scheduler&, OpId sum);
/// The same of a sum in i32 of products of bytes, u8 or i8 by constants of i8.
std::optional<UnfoldedSum> unfold_sum_of_bytes(Scheduler&, OpId sum);
/// The form of an unfolded sum, with its extents and without `start`. Call it after the ops that the copies read are inlined.
ProductForm form_of(const LoopTree&, const UnfoldedSum&);

/// How the operands of tensor cores are rounded before they are read. Constants are rounded ahead of time; other operands when they
/// are copied, if `copies`. The right copy's rows lie along the depth where the tensor's do and, of tf32, where it is a constant, which
/// is packed so: matrices of two-byte elements alone are turned as they are loaded.
struct OperandRounding {
  Precision to = Precision::f32;
  bool copies = false;
};
/// Nothing where the DAG has another form.
std::optional<ProductForm> product_form(const ComputeDag&, const OperandRounding& = {});
std::optional<ProductForm> product_form_of_bytes(const ComputeDag&);
/// The same of the sum `anatomy.anchor`, in a schedule that has only steps that change the DAG.
std::optional<ProductForm> product_form(Scheduler, const Anatomy& anatomy);

}  // namespace whet
