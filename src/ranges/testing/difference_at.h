#pragma once

#include <string>

#include "ranges/ranges.h"

namespace whet::testing {

/// What of the family is not the network that is read at these sizes; empty where everything is: the box, each group's task with its
/// DAG and what it is a part of, the shapes of all values, the offsets of aliases and parts, and constants as windows.
std::string difference_at(const Family&, const SizeValues&, const ReadAtSizes& read);
/// The first difference at any combination of the family's sizes, with where it is.
std::string difference_at_any(const Family&, const ReadAtSizes& read);

/// The values of the task's own sizes at those of the network.
SizeValues values_of(const SizedTask&, const SizeValues& network);
/// All functions of the network's sizes that a variant has.
std::vector<Expr*> functions_of(Variant&);
/// `function` plus 1 at these values of the sizes that occur in it, and as it is at all others.
Expr one_more_at(const Expr& function, const SizeValues&);

}  // namespace whet::testing
