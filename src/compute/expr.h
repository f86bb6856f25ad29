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
/// The source of a load: in a ComputeDag the op of that index, in a Program the buffer of that index.
using SourceId = Id<struct SourceTag>;

enum class UnaryOp : std::uint8_t { neg, logical_not };
/// floordiv and floormod work on integers and round towards minus infinity. div is the division of floats, or C's
/// division of integers.
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
/// Functions of one float, except pow, which has two. Code generation decides on contraction (`fma`). round is half to
/// even.
/// bits_of gives an f32's bits as an i32 and an f64's as an i64. float_of_bits is its inverse; only `expand_math` makes
/// it.
/// round_tf32, round_f16 and round_bf16 round an f32 to what tensor cores take as operands: 10 bits of mantissa, half away
/// from zero (GPUs: codegen/gpu/nvptx_hooks.cc); f16 and bf16, half to even.
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
  float_of_bits,
  round_tf32,
  round_f16,
  round_bf16
};

/// round_tf32, round_f16, round_bf16.
constexpr bool rounds_operands(MathFn fn) { return fn >= MathFn::round_tf32; }

struct ExprNode;

/// An immutable expression. Copying shares the nodes. Every expression has a dtype and a number of lanes, which is 1
/// except inside a lowered Program.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  bool defined() const { return node_ != nullptr; }
  /// Whether other expressions share the node.
  bool is_shared() const { return node_.use_count() > 1; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }

 private:
  std::shared_ptr<const ExprNode> node_;
};

/// Dtype i32, i64, i8, u8 or boolean.
struct IntConst {
  std::int64_t value;
};
/// Dtype f32, f64 or f16.
struct FloatConst {
  double value;
};
/// Dtype i64; the name is for printing.
struct Var {
  VarId id;
  std::string name;
};
struct Unary {
  UnaryOp op;
  Expr a;
};
/// Operands of one dtype; comparisons and logic give boolean.
struct Binary {
  BinaryOp op;
  Expr a, b;
};
/// Only the chosen side is evaluated.
struct Select {
  Expr condition, if_true, if_false;
};
/// To the node's dtype.
struct Cast {
  Expr a;
};
struct Call {
  MathFn fn;
  std::vector<Expr> args;
};
/// One index for each dimension in a ComputeDag; in a lowered Program one flat index in elements (after `flatten`). A
/// `mask` (boolean, same lanes; undefined means all true) leaves lanes unread: they give 0.
struct Load {
  SourceId source;
  std::vector<Expr> index;
  Expr mask;
};
/// `lanes` values: base, base + stride, ...
struct Ramp {
  Expr base;
  std::int64_t stride;
};
/// The scalar `a` in every lane.
struct Broadcast {
  Expr a;
};
/// The kinds are closed: a match that forgets one does not compile. Use `std::visit` with `Match`.
using ExprKind = std::variant<IntConst, FloatConst, Var, Unary, Binary, Select, Cast, Call, Load, Ramp, Broadcast>;

/// The bit of a variable in `ExprNode::vars`. Several variables may share one bit.
constexpr std::uint64_t var_bit(VarId id) { return std::uint64_t{1} << (static_cast<std::uint32_t>(id.value) % 64); }

struct ExprNode {
  template <typename Kind>
  ExprNode(DType type, int width, Kind what) : dtype(type), lanes(width), vars(vars_of(what)), kind(std::move(what)) {}

  DType dtype;
  int lanes;
  std::uint64_t vars;  ///< the bits of all variables inside: a search skips most nodes without the variable
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

// ---- Builders. They fold constants and identities: x+0, x*1, x*0 (integers), x && true and the like, select of a
// constant, min and max of equal operands. `simplify` in program does more. Operands of fewer lanes are broadcast. An
// operation on broadcasts is a broadcast, and a ramp shifted or scaled by a scalar is a ramp. A select of vectors may
// have a scalar condition, and the index of a load may mix scalars and vectors. Float constants are rounded to their
// dtype.
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
/// The value of an integer constant (also of a broadcast one); null for any other expression.
const std::int64_t* as_int(const Expr&);

/// Division and remainder, rounding towards minus infinity; b != 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b);
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

/// Structural equality, and a hash that agrees with it. Names are ignored.
bool same(const Expr&, const Expr&);
std::uint64_t hash(const Expr&);

/// Calls `visit` on `e` and every expression inside it, parents first.
void for_each(const Expr& e, const std::function<void(const Expr&)>& visit);
/// Rebuilds `e` bottom up. `replace` is asked first, top down; where it gives a defined expression for a node, that
/// expression replaces the node.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& replace);
/// Replaces variables. An undefined result keeps the variable.
Expr substitute(const Expr& e, const std::function<Expr(VarId)>& value);
/// Replaces these variables.
using Substitution = std::span<const std::pair<VarId, Expr>>;
Expr substitute(const Expr& e, Substitution values);
/// Whether the variable occurs in `e`.
bool uses(const Expr& e, VarId);
/// The conditions whose conjunction is `e`; `e` alone where it is no conjunction.
std::vector<Expr> conjuncts_of(const Expr& e);

}  // namespace whet
