#pragma once

#include <memory>
#include <optional>

#include "schedule/steps.h"

namespace whet {

/// A sum of products of two tensors as a product of two matrices, or of as many pairs as the batch has elements.
struct ProductForm {
  /// The schedule after the steps that change the DAG: both operands unfolded, the axes of the result merged into (batch,)
  /// rows and columns, all reduce axes into one; what can be is inlined.
  std::shared_ptr<const Scheduler> start;
  OpId left, right, sum;       ///< the operands' copies; rows are the left one's, columns the right one's
  std::optional<OpId> output;  ///< of the epilogue
  bool batched = false;        ///< a first axis that both operands have
  std::int64_t batch = 1, rows = 1, columns = 1, depth = 1;
};
/// Nothing where the DAG has another form.
std::optional<ProductForm> product_form(const ComputeDag&);

}  // namespace whet
