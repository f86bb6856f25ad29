#pragma once

#include <vector>

#include "compute/dag.h"
#include "program/program.h"

namespace whet {

// Padding and choices become conditions of statements, which loops can be cut by.

/// sum += select(g, x, 0) * w  is  if g: sum += x * w. Takes such factors' conditions out of `body`. Conditions that read
/// data, which no loop can be cut by, stay: a vector of sums is not worth a mask. Not those that say a place: at == i.
Expr take_padding(const Expr& body, Reducer reducer, std::vector<Expr>& conditions);

/// A store under the conditions of the selects that its value consists of, or that choose one of several tensors inside
/// of it: `T = f(select(c, a, b))` is `if c: T = f(a) else: T = f(b)`, so that loops can be cut where c changes.
/// Conditions that read data stay selects.
Stmt store_by_cases(const Store& store);

/// Whether an index or a condition is more than arithmetic on loop variables.
bool reads_data(const Expr& e);

}  // namespace whet
