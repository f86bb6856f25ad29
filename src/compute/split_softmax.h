#pragma once

#include "compute/dag.h"

namespace whet {

/// The fewest terms that a part may have.
constexpr std::int64_t kLeastSoftmaxPart = 4;

/// The ops that `split_softmax` makes, by their ids in the new DAG. p counts parts, i is all axes of a row, j a term of a part, n
/// a column.
struct SplitSoftmaxOps {
  OpId scores;   ///< [p, i, j]: the part's scores; beyond the last term -inf
  OpId top;      ///< [p, i]: the part's maximum
  OpId exp;      ///< [p, i, j]: exp(score - maximum); beyond the last term 0
  OpId sum;      ///< [p, i], of `exp`
  OpId values;   ///< [p, ..., j, n]: the part's other factor
  OpId mix;      ///< [p, i, n]: the sum of products
  OpId parts;    ///< [p, i, n']: `mix`, then `sum`, then `top`; n' has some columns more than n
  OpId all_top;  ///< [i]: the maximum of all parts
  OpId all_sum;  ///< [i]: the sum of all, each scaled to that maximum
  OpId all_mix;  ///< [i, n], likewise
  OpId product;  ///< all_mix / all_sum, at the place of the product
};

struct SplitSoftmaxDag {
  ComputeDag dag;
  SplitSoftmaxOps ops;
};

/// A product with a softmax as its left factor in parts of its terms, each with a maximum and a sum of its own:
///   m[i] max= t[i, j]   e[i, j] = exp(t[i, j] - m[i])   z[i] += e[i, j]   w[i, j] = e[i, j] / z[i] (or e * (1 / z))   y[i, n] += w[i, j] * v[j, n]   =>
///   m_p[i] max= t[i, j in part p], e_p and z_p and y_p[i, n] += e_p[i, j] * v[j, n] of it;
///   m[i] max= m_p[i]   z[i] += exp(m_p[i] - m[i]) * z_p[i]   y[i, n] = (sum of exp(m_p[i] - m[i]) * y_p[i, n]) / z[i]
/// No op has to hold all terms of a row, so that rows may be as long as they like. The last part may have fewer terms: behind
/// them its scores are -inf and its values 0, so that nobody who computes a part has to know. A part whose scores are all -inf
/// counts nothing. Weights that are rounded to f16 become exponentials that are. Results differ from those of the DAG by rounding alone.
/// Where the terms have a size, so have the parts.
/// The ops between the scores and the product go; ops in front keep their order.
///   product   the sum of products
///   terms     of a part, kLeastSoftmaxPart .. all but one
///   errors    the op is no such product, or something else reads what goes; too few or too many terms; columns that have a size
Result<SplitSoftmaxDag> split_softmax(const ComputeDag&, OpId product, std::int64_t terms);

}  // namespace whet
