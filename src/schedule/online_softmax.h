#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// online_softmax — a product with a softmax is divided behind its sum (compute/online_softmax.h).
///   for i { M[i] = max of T[i, J] } ... for i, n { for j in J { Y[i, n] += (E[i, j] / Z[i]) v[j, n] } }
///   online_softmax(Y, t)  =>
///   for i { M[i] = max of T[i, J'] } ... for i, n { for j in J' { P[i, n] += E[i, j] v[j, n] } } for i, n { Y[i, n] = P[i, n] / Z[i] }
/// with J' terms in whole steps of t. `online` then computes all of it in one pass over the terms.
///   op      the sum of products whose left factor is the softmax
///   terms   of a step: a multiple of kOnlineTerms, at most all
///   yields  the ops of OnlineSoftmaxOps instead of the softmax's; ops in front of them keep their order, and all loops are
///           those of the new DAG
///   errors  those of compute/online_softmax.h; anything was scheduled before but steps that change the DAG
struct OnlineSoftmax {
  OpId op;
  std::int64_t terms;
};
Status apply(LoopTree&, const OnlineSoftmax&);

}  // namespace whet
