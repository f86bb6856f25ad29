#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compute/body.h"
#include "compute/dag.h"

namespace whet {

/// Computes elements of one op from the values of the ops before it: floats in double, rounded to the op's dtype at the end; integers
/// exactly. Elements along one axis, the lane, are computed together.
class OpEvaluator {
 public:
  /// The lane for all elements of an op, and the one for a few along its last axis.
  static std::size_t lane_of_all(const Op&);
  static std::size_t lane_of_row(const Op&);

  /// `values` has a tensor for each op before this one. Their elements are read when this op's are computed. All references are kept.
  OpEvaluator(const ComputeDag&, const Op&, const std::vector<Tensor>& values, std::size_t lane);

  /// Errors: an index outside of a tensor, a division of integers by zero.
  Status all(Tensor& result);
  /// `count` elements along the last axis; the first is at `place`, one index a spatial axis. The lane is that of a row.
  Status row(std::span<const std::int64_t> place, std::int64_t count, Tensor& result);

 private:
  ElementValue identity() const;
  Status store(Tensor& result, std::int64_t base, std::int64_t step, int count) const;
  void batch(std::int64_t first, int count);
  void add_products(ValueColumn a, ValueColumn b, int count);
  void combine_into(ValueColumn c, int count, int step);
  void whole_reduction();

  const Op& op_;
  const Element& element_;
  std::size_t spatial_;
  std::vector<std::int64_t> extents_, strides_;
  std::size_t lane_;
  CompiledBody body_;
  std::vector<std::int64_t> at_;
  std::vector<ElementValue> sums_ = std::vector<ElementValue>(CompiledBody::kBatch);
  bool float_;
};

}  // namespace whet
