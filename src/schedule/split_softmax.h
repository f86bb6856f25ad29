#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// split_softmax — a product with a softmax becomes one of parts of its terms and one of the parts' results
/// (compute/split_softmax.h).
///   for i { for j in J { T[i, j] = t } for j { M[i] max= T[i, j] } ... for n, j { Y[i, n] += W[i, j] v[j, n] } }
///   split_softmax(Y, t)  =>
///   for p in J/t { for i { the same of t terms, not yet divided: R[p, i] } }  for i { Y[i, n] = what R[0..J/t, i] together give }
/// A block of a GPU then holds the scores of some rows with some terms, however many there are, and there are more blocks.
///   op      the sum of products whose left factor is the softmax
///   terms   of a part, kLeastSoftmaxPart .. all but one
///   yields  the ops of SplitSoftmaxOps instead of the softmax's; ops in front of them keep their order, and all loops are
///           those of the new DAG
///   errors  those of compute/split_softmax.h; anything was scheduled before but steps that change the DAG
struct SplitSoftmax {
  OpId op;
  std::int64_t terms;
};
Status apply(LoopTree&, const SplitSoftmax&);

}  // namespace whet
