#pragma once

#include <functional>
#include <map>

#include "program/program.h"

namespace whet {

/// The loops with constant extents, from 0, inside of a statement, by their index. They live as long as the statement.
using TileLoops = std::map<VarId, const Loop*>;
TileLoops loops_of_tiles(const Stmt&);

/// Whether a variable of `e` is bound inside of `s`.
bool binds_any(const Stmt& s, const Expr& e);

/// The loop is to be unrolled or vectorized.
inline bool is_expanded(const Loop& loop) {
  return loop.kind == LoopKind::unrolled || loop.kind == LoopKind::vectorized;
}

/// `s` with other conditions in its ifs without else, one after another of each conjunction. `replace` gives what stands for a
/// condition, `true` where it goes, and nothing where it stays.
Stmt with_conditions(const Stmt& s, const std::function<Expr(const Expr&)>& replace);

}  // namespace whet
