#pragma once

#include <set>
#include <vector>

#include "program/program.h"

namespace whet {

/// How often each buffer of a program is loaded from and stored to, by BufferId.
std::vector<int> accesses_by_buffer(const Program&, const Stmt&);

/// The buffer is memory of one thread, which other threads cannot see.
bool is_private(const Buffer&);

/// The statements that all threads of a block run together, with a numbering of threads of their own: the outermost
/// statements that store to block memory and otherwise only to memory that they alone use, and groups of copies.
class Collectives {
 public:
  Collectives(const Program&, const Stmt& launch);
  bool is_one(const Stmt& s) const { return found_.count(&*s) != 0; }
  /// `s` is one, or one is inside.
  bool holds(const Stmt& s) const;

 private:
  std::set<const StmtNode*> found_;
};

}  // namespace whet
