#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/flat_map.h"
#include "compute/expr.h"
#include "program/program.h"

namespace whet {

/// The number of an expression of the program. Expressions of equal structure have the same number.
using ExprRef = Id<struct ExprRefTag>;

/// constant + Σ coefficient · atom + lane · lane_stride: an i64 whose lanes are evenly spaced. An atom is a scalar that
/// is itself no sum: a variable, or what a division, a minimum or a load gives.
struct Linear {
  using Terms = std::vector<std::pair<ExprRef, std::int64_t>>;  ///< by atom, no coefficient 0
  Terms terms;
  std::int64_t constant = 0;
  std::int64_t lane_stride = 0;
};

struct ExprInfo {
  Expr expr;
  std::vector<ExprRef> children;  ///< operands in the order of the struct; a Load's index, then its mask if it has one
  std::vector<VarId> vars;        ///< that it depends on, sorted; lets that are aliases are looked through
  bool reads = false;             ///< holds a load
  bool fixed = true;              ///< every load is from an argument that is not written
  bool traps = false;             ///< holds a division that a guard may protect
  bool lazy = false;              ///< holds a select of which a side must not be computed where it is not chosen
  bool is_linear = false;         ///< `linear` describes it: an i64, and if a vector, evenly spaced
  Linear linear;

  /// May be computed anywhere that its variables are known, however often the place runs.
  bool movable() const { return !reads && !traps; }
};
inline bool is_constant_kind(const ExprNode& node) {
  return std::holds_alternative<IntConst>(node.kind) || std::holds_alternative<FloatConst>(node.kind);
}
/// Null where it is not evenly spaced.
inline const Linear* linear_of(const ExprInfo& info) { return info.is_linear ? &info.linear : nullptr; }

/// Numbers expressions. Nodes must outlive the table.
class ExprTable {
 public:
  explicit ExprTable(const Program& program) : program_(program) {}

  ExprRef intern(const Expr&);
  /// Of an expression that the program does not hold: the table does.
  ExprRef keep(Expr e) { return intern(kept_.emplace_back(std::move(e))); }
  const ExprInfo& operator[](ExprRef ref) const { return infos_[ref.index()]; }
  std::size_t size() const { return infos_.size(); }
  /// Makes `var` another name of `value`. Needs: no expression that uses `var` has been interned.
  void alias(VarId var, ExprRef value) { aliases_[var] = value; }
  bool is_alias(VarId var) const { return aliases_.contains(var); }

 private:
  struct Operands {
    std::array<ExprRef, 3> refs;
    std::size_t count = 0;
    void push(ExprRef ref);
  };
  /// Two expressions are equal where their keys are: kind, operator, dtype and lanes; a constant or id; the operands.
  struct Key {
    std::array<std::int64_t, 4> words = {};
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key&) const;
  };
  struct NodeHash {
    std::size_t operator()(const ExprNode*) const;
  };

  ExprRef operand(const Expr&);
  ExprRef number(const Expr&);
  ExprRef add(const Expr&, const Operands&, std::int64_t op, std::int64_t payload);
  void describe(ExprInfo&) const;
  bool make_linear(const ExprInfo&, Linear&) const;

  const Program& program_;
  std::deque<Expr> kept_;
  std::deque<ExprInfo> infos_;
  FlatMap<const ExprNode*, ExprRef, NodeHash> by_node_;  ///< whole expressions, and operands that are shared
  FlatMap<Key, ExprRef, KeyHash> by_key_;
  std::unordered_map<VarId, ExprRef> aliases_;
};

}  // namespace whet
