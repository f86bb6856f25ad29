#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program/verify_state.h"

namespace whet {

/// The rules of expressions and accesses: dtypes and lanes agree, variables are live, divisors of index arithmetic are other than 0,
/// and every load, store and prefetch is of a buffer and inside it. With VerifyOptions::proofs the last two are proven, from the
/// facts of the state, masks, and the conditions of selects. Faults go to the state, which lives longer.
class AccessRules {
 public:
  explicit AccessRules(VerifyState& state) : state_(state) {}

  void expr(const Expr&);
  /// An i64 scalar; `what` names it.
  void index_scalar(const Expr&, const std::string& what);
  /// In a launch the rules of copies and exchanges too.
  void store(const Store&);
  void prefetch(const Prefetch&);

 private:
  void load(const Expr&, const Load&);
  void variable(const Expr&, const Var&);
  void divisor(const Expr&, const Binary&);
  void choice(const Expr&, const Select&);
  void scalar_inside(const Expr&);
  void mask(const Expr&, int lanes, const std::string& what);
  void access(const std::string& what, const Buffer&, const std::vector<Expr>& index, int lanes);
  void inside(const std::string& what, const Expr& index, int lanes, const Expr& extent);

  VerifyState& state_;
  std::vector<std::pair<Expr, bool>> lane_conditions_;  ///< vectors that hold, or do not, in the lanes that matter
};

}  // namespace whet
