#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// online — a softmax and the product with it are computed in one pass over their terms.
///   T[i] = max over k of S[i, k]   Z[i] = sum over k of E[i, k]   Y[i, n] = sum over k of E[i, k] V[k, n]   with E[i, k] = exp(S[i, k] - T[i])
///   for k { E[i, k part] ...  Y[i, n] += E[i, k part] V[k part, n] }   online(Y, k)  =>
///   T[i] = -inf  Z[i] = 0  Y[i, n] = 0
///   for k {
///     t[i] = max over the part of S[i, k]   f[i] = exp(T[i] - max(T[i], t[i]))   T[i] = max(T[i], t[i])   Y[i, n] = Y[i, n] f[i]
///     E[i, k part] = exp(S[i, k] - T[i])    z[i] = sum over the part of E[i, k]   Z[i] = Z[i] f[i] + z[i]
///     Y[i, n] += E[i, k part] V[k part, n]
///   }
/// Each element of E is relative to the maximum so far, and what was added up before is scaled when it grows: no memory holds a row
/// of S or E, however long it is. Results differ from those of the tree before by rounding alone.
///   op      Y, the product that online_softmax (compute/online_softmax.h) made, computed for its reader in registers
///   loop    the outermost reduce loop of `op`, serial; E, T and Z have loops of their own at the top, which nothing has touched
///   yields  fresh loops, one an axis, of E, then of T and of Z, which are computed at the loop in registers: T, E and then Z
///   errors  no such op or loop; the op is another product; a reader of Z is elsewhere; steps that do not divide the terms
struct Online {
  OpId op;
  LoopId loop;
};
Status apply(LoopTree&, const Online&);

/// What is computed online at the loop; null: nothing.
const OnlineSum* online_at(const LoopTree&, LoopId);
/// The one whose maximum or sum the op is; null: none.
const OnlineSum* online_of(const LoopTree&, OpId);
/// The op is computed of a step's terms in registers, element by element, or is the step's maximum or sum. It has values for all rows of
/// a tile: those behind the last come to nothing.
bool is_of_online_step(const LoopTree&, OpId);

}  // namespace whet
