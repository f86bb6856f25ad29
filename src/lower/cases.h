#pragma once

#include <vector>

#include "compute/dag.h"
#include "program/program.h"

namespace whet {

// Turns padding and choices into conditions of statements. Loops can be cut along such conditions.

/// Takes the conditions of padding out of the body of a reduction: sum += select(g, x, 0) * w  becomes  if g: sum += x * w.
/// Conditions that read data stay, because no loop can be cut along them and masked sums cost more than they save. Two kinds are taken
/// out all the same:
///   at[j] == i                       chooses one place
///   begin[j] + e < end[j]            ends the loop over the reduce axis e where inputs say, as in rows of a sparse matrix
Expr take_padding(const ComputeDag&, const Element& reduction, std::vector<Expr>& conditions);

/// The store with the conditions of its selects as Ifs: `T = f(select(c, a, b))` becomes
/// `if c: T = f(a) else: T = f(b)`, so that loops can be cut where c changes. This holds for selects that are the whole
/// value, and for those inside it that choose one of several tensors. Conditions that read data stay selects.
Stmt store_by_cases(const Store& store);

/// Whether an index or a condition is more than arithmetic on loop variables.
bool reads_data(const Expr& e);

}  // namespace whet
