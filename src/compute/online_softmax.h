#pragma once

#include "compute/dag.h"

namespace whet {

/// The fewest terms that are taken together, and what their number is a multiple of.
constexpr std::int64_t kOnlineTerms = 8;

/// The ops that `online_softmax` makes, by their ids in the new DAG. i is all axes of a row, k a term, n a column.
struct OnlineSoftmaxOps {
  OpId scores;   ///< [i, k]: beyond the last term -inf
  OpId top;      ///< [i]: the largest score
  OpId exp;      ///< [i, k]: exp(score - top)
  OpId sum;      ///< [i], of `exp`
  OpId values;   ///< [..., k, n]: the product's other factor; beyond the last term 0
  OpId mix;      ///< [i, n]: the sum of products
  OpId product;  ///< [i, n]: mix / sum, at the place of the product
};

struct OnlineSoftmaxDag {
  ComputeDag dag;
  OnlineSoftmaxOps ops;
};

/// A product with a softmax as its left factor, divided behind the sum, over whole steps of `terms` terms:
///   m[i] max= t[i, j]   e[i, j] = exp(t[i, j] - m[i])   z[i] += e[i, j]   w[i, j] = e[i, j] / z[i] (or e * (1 / z))   y[i, n] += w[i, j] * v[j, n]   =>
///   the same m, e and z;   y'[i, n] += e[i, j] * v[j, n]   y[i, n] = y'[i, n] / z[i]
/// So a step of terms can be computed with the maximum of those in front of it, and what the sums have so far be scaled when the
/// maximum grows (schedule/online.h). Behind the last term scores are -inf and values 0. Weights that are rounded to 16 bits become
/// exponentials that are. Results differ from those of the DAG by rounding alone; a row whose scores are all -inf is NaN as there.
/// The ops between the scores and the product go; ops in front keep their order.
///   product   the sum of products
///   terms     of a step: a multiple of kOnlineTerms, at most all
///   errors    the op is no such product, or something else reads what goes; sizes; too few or too many terms
Result<OnlineSoftmaxDag> online_softmax(const ComputeDag&, OpId product, std::int64_t terms);

}  // namespace whet
