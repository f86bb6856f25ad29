#pragma once

#include <set>

#include "program/program.h"

namespace whet {

/// The sums across threads of a launch. `generate` leaves each as two loops bound to threads: one that computes numbered partial
/// results, and one whose iterations all add to one value:
///   thread l { p[.., l] = 0 }; for r { thread l { p[.., l] += x } }; total = 0; thread l { total += p[.., l] }
/// `p` (Buffer::partial) and `total` are memory of a thread. Sums are those of any reducer.
class ThreadSums {
 public:
  ThreadSums(const Program&, const Stmt& launch);

  /// The loop in which all add to one value.
  bool is_sum(const Loop& loop) const { return sums_.count(loop.index) != 0; }
  /// A loop that numbers partial results, or that adds them up.
  bool is_across(const Loop& loop) const { return is_sum(loop) || numbers_.count(loop.index) != 0; }
  /// Such a loop is inside `s`, or is it.
  bool holds(const Stmt& s) const;
  bool any() const { return !sums_.empty(); }

 private:
  std::set<VarId> sums_, numbers_;
};

}  // namespace whet
