#pragma once

// Internal to the transforms of products with a softmax (split_softmax, online_softmax).

#include <optional>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// The ops of a softmax, and what the product does with its weights:
///   m[i] max= t[i, j]   e[i, j] = exp(t[i, j] - m[i])   z[i] += e[i, j]   w[i, j] = e[i, j] / z[i] (or e * (1 / z))   y[i, n] += w[i, j] * v[j, n]
struct SoftmaxProduct {
  OpId scores{}, top{}, exp{}, sum{}, weights{}, product{};
  DType stored = DType::f32;           ///< the type of the weights: f32, or of 16 bits
  std::vector<std::int64_t> row = {};  ///< the product's axes that name a row, in the order of the scores' axes
  Expr other = {};                     ///< the factor that the weights are multiplied by

  /// The ops that go when the weights are not divided one by one.
  std::vector<OpId> gone() const { return {top, exp, sum, weights}; }
};

/// Nothing where the op is no sum of products of a softmax's weights.
std::optional<SoftmaxProduct> find_softmax_product(const ComputeDag&, OpId);

/// Errors: something else reads one of the ops between the scores and the product, with its name and the reader's; a row that is
/// multiplied by several matrices; columns that have a size.
Status check_softmax_product(const ComputeDag&, const SoftmaxProduct&);

/// x of f32(x), x of 16 bits; e where it is something else.
Expr unwidened(const Expr&);

}  // namespace whet
