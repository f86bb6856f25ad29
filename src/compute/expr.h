#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/id.h"
#include "tensor/dtype.h"

namespace whet {

/// A variable: in an op of a ComputeDag, axis k of the op (spatial axes first, then reduce axes);
/// in a Program, a loop index or a let, counted by the Program.
using VarId = Id<struct VarTag>;
/// What a load reads: in a ComputeDag the op of that index, in a Program the buffer of that index.
using SourceId = Id<struct SourceTag>;

enum class UnaryOp : std::uint8_t { neg, logical_not };
/// floordiv and floormod round towards minus infinity, on integers; div is the division of floats, or C's on integers.
enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  floormod,
  min,
  max,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or
};
/// Functions of one float, but pow (two). `fma`-like contraction is left to code generation. round is half to even.
/// bits_of: an f32's bits as an i32, an f64's as an i64; float_of_bits: the way back (only `expand_math` makes it).
enum class MathFn : std::uint8_t {
  exp,
  log,
  sqrt,
  rsqrt,
  tanh,
  erf,
  sigmoid,
  sin,
  cos,
  pow,
  floor,
  ceil,
  round,
  abs,
  bits_of,
  float_of_bits
};

struct ExprNode;

/// An immutable expression; copying shares the nodes. Every expression has a dtype and a number of lanes
/// (1 but inside a lowered Program).
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  bool defined() const { return node_ != nullptr; }
  /// Whether the node stands in several places.
  bool is_shared() const { return node_.use_count() > 1; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct IntConst {
  std::int64_t value;
};  ///< dtype i32, i64, i8, u8 or boolean
struct FloatConst {
  double value;
};  ///< dtype f32, f64 or f16
struct Var {
  VarId id;
  std::string name;
};  ///< dtype i64; the name is for printing
struct Unary {
  UnaryOp op;
  Expr a;
};
struct Binary {
  BinaryOp op;
  Expr a, b;
};  ///< operands of one dtype; comparisons and logic give boolean
struct Select {
  Expr condition, if_true, if_false;
};  ///< only the chosen side is evaluated
struct Cast {
  Expr a;
};  ///< to the node's dtype
struct Call {
  MathFn fn;
  std::vector<Expr> args;
};
/// One index a dimension in a ComputeDag; in a lowered Program one flat index in elements (after `flatten`).
/// A `mask` (boolean, same lanes; may be undefined = all true) leaves lanes unread: they give 0.
struct Load {
  SourceId source;
  std::vector<Expr> index;
  Expr mask;
};
struct Ramp {
  Expr base;
  std::int64_t stride;
};  ///< base, base + stride, ...: `lanes` of them
struct Broadcast {
  Expr a;
};  ///< the scalar `a` in every lane
/// The kinds are closed: a match that forgets one does not compile (use `std::visit` with `Match`).
using ExprKind = std::variant<IntConst, FloatConst, Var, Unary, Binary, Select, Cast, Call, Load, Ramp, Broadcast>;

/// The bit of a variable in `ExprNode::vars`; some share one.
constexpr std::uint64_t var_bit(VarId id) { return std::uint64_t{1} << (static_cast<std::uint32_t>(id.value) % 64); }

struct ExprNode {
  template <typename Kind>
  ExprNode(DType type, int width, Kind what) : dtype(type), lanes(width), vars(vars_of(what)), kind(std::move(what)) {}

  DType dtype;
  int lanes;
  std::uint64_t vars;  ///< the bits of all variables inside: most of what cannot hold one is skipped at a glance
  ExprKind kind;

 private:
  static std::uint64_t vars_of(const Expr& e) { return e.defined() ? e->vars : 0; }
  static std::uint64_t vars_of(const std::vector<Expr>& list) {
    std::uint64_t bits = 0;
    for (const Expr& e : list) bits |= e->vars;
    return bits;
  }
  static std::uint64_t vars_of(const IntConst&) { return 0; }
  static std::uint64_t vars_of(const FloatConst&) { return 0; }
  static std::uint64_t vars_of(const Var& n) { return var_bit(n.id); }
  static std::uint64_t vars_of(const Unary& n) { return vars_of(n.a); }
  static std::uint64_t vars_of(const Binary& n) { return vars_of(n.a) | vars_of(n.b); }
  static std::uint64_t vars_of(const Select& n) {
    return vars_of(n.condition) | vars_of(n.if_true) | vars_of(n.if_false);
  }
  static std::uint64_t vars_of(const Cast& n) { return vars_of(n.a); }
  static std::uint64_t vars_of(const Call& n) { return vars_of(n.args); }
  static std::uint64_t vars_of(const Load& n) { return vars_of(n.index) | vars_of(n.mask); }
  static std::uint64_t vars_of(const Ramp& n) { return vars_of(n.base); }
  static std::uint64_t vars_of(const Broadcast& n) { return vars_of(n.a); }
  static std::uint64_t vars_of(const ExprKind& kind) {
    return std::visit([](const auto& n) { return vars_of(n); }, kind);
  }
};

/// `std::visit(Match{[](const Var& v) {...}, ...}, expr->kind)`
template <typename... F>
struct Match : F... {
  using F::operator()...;
};
template <typename... F>
Match(F...) -> Match<F...>;

// ---- Builders. They fold constants and the identities x+0, x*1, x*0 (integers), x && true and the like, select of a
// constant, min/max of equal operands; nothing more (`simplify` in program does). Operands of fewer lanes are
// broadcast; an operation on broadcasts is a broadcast, a ramp shifted or scaled by a scalar is a ramp. A select of
// vectors may have a scalar condition; the index of a load may mix scalars and vectors. Float constants are rounded to
// their dtype.
/// `kind`: an ExprKind or one of its alternatives.
template <typename Kind>
Expr make_expr(DType dtype, int lanes, Kind kind) {
  return Expr(std::make_shared<const ExprNode>(dtype, lanes, std::move(kind)));
}
Expr int_const(std::int64_t value, DType = DType::i64);
Expr float_const(double value, DType = DType::f32);
Expr bool_const(bool value);
Expr var(VarId, std::string name);
Expr unary(UnaryOp, Expr);
Expr binary(BinaryOp, Expr, Expr);
Expr select(Expr condition, Expr if_true, Expr if_false);
Expr cast(DType, Expr);
Expr call(MathFn, std::vector<Expr>);
Expr load(DType, SourceId, std::vector<Expr> index);
/// The mask may be undefined.
Expr masked_load(DType, SourceId, std::vector<Expr> index, Expr mask);
Expr broadcast(Expr, int lanes);
Expr ramp(Expr base, std::int64_t stride, int lanes);
/// A constant of `like`'s dtype and lanes.
Expr constant_like(const Expr& like, double value);

Expr operator+(Expr, Expr);
Expr operator-(Expr, Expr);
Expr operator*(Expr, Expr);
Expr operator/(Expr, Expr);
Expr operator-(Expr);
Expr operator+(Expr, std::int64_t);
Expr operator-(Expr, std::int64_t);
Expr operator*(Expr, std::int64_t);
Expr floordiv(Expr, Expr);
Expr floordiv(Expr, std::int64_t);
Expr floormod(Expr, Expr);
Expr floormod(Expr, std::int64_t);
Expr min(Expr, Expr);
Expr max(Expr, Expr);
Expr operator<(Expr, Expr);
Expr operator<=(Expr, Expr);
Expr operator>(Expr, Expr);
Expr operator>=(Expr, Expr);
Expr equal(Expr, Expr);
Expr operator&&(Expr, Expr);
Expr operator||(Expr, Expr);

bool is_const(const Expr&, std::int64_t value);
/// The value of an integer constant (also broadcast), or nullptr-like empty.
const std::int64_t* as_int(const Expr&);

/// Division and remainder that round towards minus infinity; b != 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b);
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

/// Structural equality and a hash that agrees with it; names are ignored.
bool same(const Expr&, const Expr&);
std::uint64_t hash(const Expr&);

/// Calls `visit` on `e` and every expression inside it, parents first.
void for_each(const Expr& e, const std::function<void(const Expr&)>& visit);
/// Rebuilds `e` bottom up; where `replace` gives a defined expression for a node (asked first, top down), that one
/// stands instead.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& replace);
/// Replaces variables; an undefined result keeps the variable.
Expr substitute(const Expr& e, const std::function<Expr(VarId)>& value);
/// Replaces these variables.
using Substitution = std::span<const std::pair<VarId, Expr>>;
Expr substitute(const Expr& e, Substitution values);
/// Whether the variable occurs in `e`.
bool uses(const Expr& e, VarId);
/// The conditions of which `e` is the conjunction; `e` itself where it is none.
std::vector<Expr> conjuncts_of(const Expr& e);

}  // namespace whet
