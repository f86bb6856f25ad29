#include "compute/expr.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "compute/scalar.h"

namespace whet {
namespace {

const double* as_float(const Expr& e) {
  if (const auto* c = std::get_if<FloatConst>(&e->kind)) return &c->value;
  return nullptr;
}

/// The value of a scalar integer constant.
const std::int64_t* scalar_int(const Expr& e) {
  if (const auto* c = std::get_if<IntConst>(&e->kind)) return &c->value;
  return nullptr;
}

bool gives_boolean(BinaryOp op) { return is_comparison(op) || is_logic(op); }

/// Undefined when the operation has no value (division by zero).
Expr fold_ints(BinaryOp op, std::int64_t a, std::int64_t b, DType dtype) {
  const std::optional<std::int64_t> value = apply(op, a, b, dtype);
  return value ? int_const(*value, gives_boolean(op) ? DType::boolean : dtype) : Expr();
}

Expr fold_floats(BinaryOp op, double a, double b, DType dtype) {
  return is_comparison(op) ? bool_const(compare_floats(op, a, b)) : float_const(apply_float(op, a, b), dtype);
}

Expr fold_identity(BinaryOp op, const Expr& a, const Expr& b) {
  const bool integer = !is_float(a->dtype);
  switch (op) {
    case BinaryOp::add:
      if (integer && is_const(b, 0)) return a;
      if (integer && is_const(a, 0)) return b;
      return {};
    case BinaryOp::sub:
      return integer && is_const(b, 0) ? a : Expr();
    case BinaryOp::mul:
      if (!integer) return {};
      if (is_const(b, 1) || is_const(a, 0)) return a;
      if (is_const(a, 1) || is_const(b, 0)) return b;
      return {};
    case BinaryOp::div:
    case BinaryOp::floordiv:
      return integer && is_const(b, 1) ? a : Expr();
    case BinaryOp::floormod:
      return integer && is_const(b, 1) ? constant_like(a, 0) : Expr();
    case BinaryOp::min:
    case BinaryOp::max:
      return same(a, b) ? a : Expr();
    case BinaryOp::logical_and:
      if (is_const(a, 1) || is_const(b, 0) || same(a, b)) return b;
      if (is_const(b, 1) || is_const(a, 0)) return a;
      return {};
    case BinaryOp::logical_or:
      if (is_const(a, 0) || is_const(b, 1) || same(a, b)) return b;
      if (is_const(b, 0) || is_const(a, 1)) return a;
      return {};
    default:
      return {};
  }
}

/// What a scalar operation does to every lane stays scalar, and a shifted or scaled ramp stays a ramp, so that vector
/// indices keep the form that loads and stores look for.
Expr fold_lanes(BinaryOp op, const Expr& a, const Expr& b) {
  const auto* x = std::get_if<Broadcast>(&a->kind);
  const auto* y = std::get_if<Broadcast>(&b->kind);
  if (x && y) return broadcast(binary(op, x->a, y->a), a->lanes);
  const auto* p = std::get_if<Ramp>(&a->kind);
  const auto* q = std::get_if<Ramp>(&b->kind);
  if (op == BinaryOp::add && p && y) return ramp(p->base + y->a, p->stride, a->lanes);
  if (op == BinaryOp::add && x && q) return ramp(x->a + q->base, q->stride, a->lanes);
  if (op == BinaryOp::add && p && q) return ramp(p->base + q->base, p->stride + q->stride, a->lanes);
  if (op == BinaryOp::sub && p && y) return ramp(p->base - y->a, p->stride, a->lanes);
  if (op == BinaryOp::mul && p && as_int(b)) return ramp(p->base * *as_int(b), p->stride * *as_int(b), a->lanes);
  if (op == BinaryOp::mul && q && as_int(a)) return ramp(q->base * *as_int(a), q->stride * *as_int(a), a->lanes);
  return {};
}

void widen(Expr& e, int lanes) {
  if (e->lanes != lanes) e = broadcast(std::move(e), lanes);
}

int most_lanes(const std::vector<Expr>& list) {
  int lanes = 1;
  for (const Expr& e : list) lanes = std::max(lanes, e->lanes);
  return lanes;
}

/// `e` with each child replaced by `map(child)`; the same node when no child changed.
template <typename F>
Expr map_children(const Expr& e, const F& map) {
  auto map_list = [&](const std::vector<Expr>& list, bool& changed) {
    std::vector<Expr> out;
    out.reserve(list.size());
    for (const Expr& x : list) {
      out.push_back(map(x));
      changed |= out.back().get() != x.get();
    }
    return out;
  };
  return std::visit(
      Match{
          [&](const IntConst&) { return e; },
          [&](const FloatConst&) { return e; },
          [&](const Var&) { return e; },
          [&](const Unary& n) {
            Expr a = map(n.a);
            return a.get() == n.a.get() ? e : unary(n.op, std::move(a));
          },
          [&](const Binary& n) {
            Expr a = map(n.a), b = map(n.b);
            return a.get() == n.a.get() && b.get() == n.b.get() ? e : binary(n.op, std::move(a), std::move(b));
          },
          [&](const Select& n) {
            Expr c = map(n.condition), t = map(n.if_true), f = map(n.if_false);
            const bool unchanged =
                c.get() == n.condition.get() && t.get() == n.if_true.get() && f.get() == n.if_false.get();
            return unchanged ? e : select(std::move(c), std::move(t), std::move(f));
          },
          [&](const Cast& n) {
            Expr a = map(n.a);
            return a.get() == n.a.get() ? e : cast(e->dtype, std::move(a));
          },
          [&](const Call& n) {
            bool changed = false;
            auto args = map_list(n.args, changed);
            return changed ? call(n.fn, std::move(args)) : e;
          },
          [&](const Load& n) {
            bool changed = false;
            auto index = map_list(n.index, changed);
            Expr mask = n.mask.defined() ? map(n.mask) : Expr();
            changed |= mask.get() != n.mask.get();
            return changed ? masked_load(e->dtype, n.source, std::move(index), std::move(mask)) : e;
          },
          [&](const Ramp& n) {
            Expr base = map(n.base);
            return base.get() == n.base.get() ? e : ramp(std::move(base), n.stride, e->lanes);
          },
          [&](const Broadcast& n) {
            Expr a = map(n.a);
            return a.get() == n.a.get() ? e : broadcast(std::move(a), e->lanes);
          },
      },
      e->kind);
}

template <typename F>
void for_each_child(const Expr& e, const F& go) {
  std::visit(Match{
                 [](const IntConst&) {},
                 [](const FloatConst&) {},
                 [](const Var&) {},
                 [&](const Unary& n) { go(n.a); },
                 [&](const Binary& n) { go(n.a), go(n.b); },
                 [&](const Select& n) { go(n.condition), go(n.if_true), go(n.if_false); },
                 [&](const Cast& n) { go(n.a); },
                 [&](const Call& n) { std::for_each(n.args.begin(), n.args.end(), go); },
                 [&](const Load& n) {
                   std::for_each(n.index.begin(), n.index.end(), go);
                   if (n.mask.defined()) go(n.mask);
                 },
                 [&](const Ramp& n) { go(n.base); },
                 [&](const Broadcast& n) { go(n.a); },
             },
             e->kind);
}

bool same_list(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return same(x, y); });
}

bool same_kind(const IntConst& a, const IntConst& b) { return a.value == b.value; }
bool same_kind(const FloatConst& a, const FloatConst& b) {
  return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}
bool same_kind(const Var& a, const Var& b) { return a.id == b.id; }
bool same_kind(const Unary& a, const Unary& b) { return a.op == b.op && same(a.a, b.a); }
bool same_kind(const Binary& a, const Binary& b) { return a.op == b.op && same(a.a, b.a) && same(a.b, b.b); }
bool same_kind(const Select& a, const Select& b) {
  return same(a.condition, b.condition) && same(a.if_true, b.if_true) && same(a.if_false, b.if_false);
}
bool same_kind(const Cast& a, const Cast& b) { return same(a.a, b.a); }
bool same_kind(const Call& a, const Call& b) { return a.fn == b.fn && same_list(a.args, b.args); }
bool same_kind(const Load& a, const Load& b) {
  return a.source == b.source && same_list(a.index, b.index) && same(a.mask, b.mask);
}
bool same_kind(const Ramp& a, const Ramp& b) { return a.stride == b.stride && same(a.base, b.base); }
bool same_kind(const Broadcast& a, const Broadcast& b) { return same(a.a, b.a); }

std::uint64_t mix(std::uint64_t seed, const std::vector<Expr>& list) {
  seed = hash_combine(seed, list.size());
  for (const Expr& e : list) seed = hash_combine(seed, hash(e));
  return seed;
}

}  // namespace

Expr int_const(std::int64_t value, DType dtype) {
  WHET_CHECK(!is_float(dtype));
  return make_expr(dtype, 1, IntConst{wrap_to(dtype, value)});
}

Expr float_const(double value, DType dtype) {
  WHET_CHECK(is_float(dtype));
  return make_expr(dtype, 1, FloatConst{round_to(dtype, value)});
}

Expr bool_const(bool value) { return make_expr(DType::boolean, 1, IntConst{value}); }

Expr var(VarId id, std::string name) { return make_expr(DType::i64, 1, Var{id, std::move(name)}); }

Expr unary(UnaryOp op, Expr a) {
  if (const auto* b = std::get_if<Broadcast>(&a->kind)) return broadcast(unary(op, b->a), a->lanes);
  if (op == UnaryOp::logical_not) {
    WHET_CHECK(a->dtype == DType::boolean, "logical_not takes a boolean");
    if (const auto* value = scalar_int(a)) return bool_const(*value == 0);
    if (const auto* inner = std::get_if<Unary>(&a->kind); inner && inner->op == UnaryOp::logical_not) return inner->a;
  } else {
    WHET_CHECK(a->dtype != DType::boolean, "neg takes a number");
    if (const auto* value = scalar_int(a)) return int_const(*apply(BinaryOp::sub, 0, *value, a->dtype), a->dtype);
    if (const auto* value = as_float(a)) return float_const(-*value, a->dtype);
  }
  const DType dtype = a->dtype;
  const int lanes = a->lanes;
  return make_expr(dtype, lanes, Unary{op, std::move(a)});
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  WHET_CHECK(a->dtype == b->dtype, "operands of one dtype");
  WHET_CHECK(!is_logic(op) || a->dtype == DType::boolean, "logic takes booleans");
  WHET_CHECK((op != BinaryOp::floordiv && op != BinaryOp::floormod) || !is_float(a->dtype),
             "floordiv and floormod take integers");
  const int lanes = std::max(a->lanes, b->lanes);
  widen(a, lanes);
  widen(b, lanes);
  Expr folded;
  if (const auto *x = scalar_int(a), *y = scalar_int(b); x && y) folded = fold_ints(op, *x, *y, a->dtype);
  if (const auto *x = as_float(a), *y = as_float(b); x && y) folded = fold_floats(op, *x, *y, a->dtype);
  if (!folded.defined()) folded = fold_identity(op, a, b);
  if (!folded.defined() && lanes > 1) folded = fold_lanes(op, a, b);
  if (folded.defined()) return folded;
  const DType dtype = gives_boolean(op) ? DType::boolean : a->dtype;
  return make_expr(dtype, lanes, Binary{op, std::move(a), std::move(b)});
}

Expr select(Expr condition, Expr if_true, Expr if_false) {
  WHET_CHECK(condition->dtype == DType::boolean, "select takes a boolean condition");
  WHET_CHECK(if_true->dtype == if_false->dtype, "the sides of a select have one dtype");
  if (const auto* b = std::get_if<Broadcast>(&condition->kind)) condition = Expr(b->a);
  const int lanes = std::max({condition->lanes, if_true->lanes, if_false->lanes});
  WHET_CHECK(condition->lanes == 1 || condition->lanes == lanes);
  widen(if_true, lanes);
  widen(if_false, lanes);
  if (const auto* value = scalar_int(condition)) return *value ? if_true : if_false;
  const DType dtype = if_true->dtype;
  return make_expr(dtype, lanes, Select{std::move(condition), std::move(if_true), std::move(if_false)});
}

Expr cast(DType dtype, Expr a) {
  if (a->dtype == dtype) return a;
  if (const auto* b = std::get_if<Broadcast>(&a->kind)) return broadcast(cast(dtype, b->a), a->lanes);
  if (const auto* value = scalar_int(a)) {
    return is_float(dtype) ? float_const(static_cast<double>(*value), dtype) : int_const(*value, dtype);
  }
  if (const auto* value = as_float(a)) {
    return is_float(dtype) ? float_const(*value, dtype) : int_const(to_integer(dtype, *value), dtype);
  }
  const int lanes = a->lanes;
  return make_expr(dtype, lanes, Cast{std::move(a)});
}

Expr call(MathFn fn, std::vector<Expr> args) {
  WHET_CHECK(args.size() == (fn == MathFn::pow ? 2u : 1u), "pow takes two arguments, every other function one");
  const DType dtype = args[0]->dtype;
  const int lanes = most_lanes(args);
  for (Expr& arg : args) {
    WHET_CHECK(arg->dtype == dtype);
    widen(arg, lanes);
  }
  DType result = dtype;
  if (fn == MathFn::bits_of) result = dtype == DType::f64 ? DType::i64 : DType::i32;
  if (fn == MathFn::float_of_bits) result = dtype == DType::i64 ? DType::f64 : DType::f32;
  return make_expr(result, lanes, Call{fn, std::move(args)});
}

Expr load(DType dtype, SourceId source, std::vector<Expr> index) {
  return masked_load(dtype, source, std::move(index), Expr());
}

Expr masked_load(DType dtype, SourceId source, std::vector<Expr> index, Expr mask) {
  int lanes = most_lanes(index);
  if (mask.defined()) {
    lanes = std::max(lanes, mask->lanes);
    if (is_const(mask, 1)) {
      mask = Expr();
    } else {
      widen(mask, lanes);
    }
  }
  return make_expr(dtype, lanes, Load{source, std::move(index), std::move(mask)});
}

Expr broadcast(Expr a, int lanes) {
  if (lanes == 1) return a;
  WHET_CHECK(a->lanes == 1, "only a scalar is broadcast");
  const DType dtype = a->dtype;
  return make_expr(dtype, lanes, Broadcast{std::move(a)});
}

Expr ramp(Expr base, std::int64_t stride, int lanes) {
  WHET_CHECK(base->lanes == 1, "a ramp starts at a scalar");
  if (lanes == 1) return base;
  if (stride == 0) return broadcast(std::move(base), lanes);
  const DType dtype = base->dtype;
  return make_expr(dtype, lanes, Ramp{std::move(base), stride});
}

Expr constant_like(const Expr& like, double value) {
  Expr scalar = is_float(like->dtype) ? float_const(value, like->dtype)
                                      : int_const(static_cast<std::int64_t>(value), like->dtype);
  return broadcast(std::move(scalar), like->lanes);
}

namespace {
Expr constant_of(const Expr& like, std::int64_t value) {
  return is_float(like->dtype) ? constant_like(like, static_cast<double>(value))
                               : broadcast(int_const(value, like->dtype), like->lanes);
}
}  // namespace

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(BinaryOp::div, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return unary(UnaryOp::neg, std::move(a)); }
Expr operator+(Expr a, std::int64_t b) { return binary(BinaryOp::add, a, constant_of(a, b)); }
Expr operator-(Expr a, std::int64_t b) { return binary(BinaryOp::sub, a, constant_of(a, b)); }
Expr operator*(Expr a, std::int64_t b) { return binary(BinaryOp::mul, a, constant_of(a, b)); }
Expr floordiv(Expr a, Expr b) { return binary(BinaryOp::floordiv, std::move(a), std::move(b)); }
Expr floordiv(Expr a, std::int64_t b) { return binary(BinaryOp::floordiv, a, constant_of(a, b)); }
Expr floormod(Expr a, Expr b) { return binary(BinaryOp::floormod, std::move(a), std::move(b)); }
Expr floormod(Expr a, std::int64_t b) { return binary(BinaryOp::floormod, a, constant_of(a, b)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::max, std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return binary(BinaryOp::lt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::le, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return binary(BinaryOp::gt, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return binary(BinaryOp::ge, std::move(a), std::move(b)); }
Expr equal(Expr a, Expr b) { return binary(BinaryOp::eq, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return binary(BinaryOp::logical_and, std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return binary(BinaryOp::logical_or, std::move(a), std::move(b)); }

const std::int64_t* as_int(const Expr& e) {
  if (const auto* b = std::get_if<Broadcast>(&e->kind)) return scalar_int(b->a);
  return scalar_int(e);
}

bool is_const(const Expr& e, std::int64_t value) {
  if (const auto* integer = as_int(e)) return *integer == value;
  const auto* b = std::get_if<Broadcast>(&e->kind);
  const double* number = as_float(b ? b->a : e);
  return number && *number == static_cast<double>(value);
}

bool same(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return true;
  if (!a.defined() || !b.defined()) return false;
  if (a->dtype != b->dtype || a->lanes != b->lanes || a->kind.index() != b->kind.index()) return false;
  return std::visit([&](const auto& x) { return same_kind(x, std::get<std::decay_t<decltype(x)>>(b->kind)); }, a->kind);
}

std::uint64_t hash(const Expr& e) {
  if (!e.defined()) return 0;
  std::uint64_t h = hash_combine(static_cast<std::uint64_t>(e->dtype), static_cast<std::uint64_t>(e->lanes));
  h = hash_combine(h, e->kind.index());
  auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return std::visit(Match{
                        [&](const IntConst& n) { return hash_combine(h, number(n.value)); },
                        [&](const FloatConst& n) { return hash_combine(h, std::bit_cast<std::uint64_t>(n.value)); },
                        [&](const Var& n) { return hash_combine(h, number(n.id.value)); },
                        [&](const Unary& n) { return hash_combine(hash_combine(h, number(n.op)), hash(n.a)); },
                        [&](const Binary& n) {
                          return hash_combine(hash_combine(hash_combine(h, number(n.op)), hash(n.a)), hash(n.b));
                        },
                        [&](const Select& n) {
                          return hash_combine(hash_combine(hash_combine(h, hash(n.condition)), hash(n.if_true)),
                                              hash(n.if_false));
                        },
                        [&](const Cast& n) { return hash_combine(h, hash(n.a)); },
                        [&](const Call& n) { return mix(hash_combine(h, number(n.fn)), n.args); },
                        [&](const Load& n) {
                          return hash_combine(mix(hash_combine(h, number(n.source.value)), n.index), hash(n.mask));
                        },
                        [&](const Ramp& n) { return hash_combine(hash_combine(h, number(n.stride)), hash(n.base)); },
                        [&](const Broadcast& n) { return hash_combine(h, hash(n.a)); },
                    },
                    e->kind);
}

void for_each(const Expr& e, const std::function<void(const Expr&)>& visit) {
  visit(e);
  for_each_child(e, [&](const Expr& child) { for_each(child, visit); });
}

namespace {

template <typename F>
Expr rewrite_with(const Expr& e, const F& replace) {
  if (Expr replaced = replace(e); replaced.defined()) return replaced;
  return map_children(e, [&](const Expr& child) { return rewrite_with(child, replace); });
}

}  // namespace

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& replace) { return rewrite_with(e, replace); }

Expr substitute(const Expr& e, const std::function<Expr(VarId)>& value) {
  return rewrite_with(e, [&](const Expr& x) {
    if (x->vars == 0) return x;
    const auto* v = std::get_if<Var>(&x->kind);
    return v ? value(v->id) : Expr();
  });
}

Expr substitute(const Expr& e, Substitution values) {
  std::uint64_t bits = 0;
  for (const auto& [id, value] : values) bits |= var_bit(id);
  return rewrite_with(e, [&](const Expr& x) {
    if ((x->vars & bits) == 0) return x;
    const auto* v = std::get_if<Var>(&x->kind);
    if (!v) return Expr();
    for (const auto& [id, value] : values)
      if (id == v->id) return value;
    return x;
  });
}

bool uses(const Expr& e, VarId id) {
  if ((e->vars & var_bit(id)) == 0) return false;
  if (const auto* v = std::get_if<Var>(&e->kind)) return v->id == id;
  bool found = false;
  for_each_child(e, [&](const Expr& child) { found = found || uses(child, id); });
  return found;
}

std::vector<Expr> conjuncts_of(const Expr& e) {
  const Binary* both = std::get_if<Binary>(&e->kind);
  if (!both || both->op != BinaryOp::logical_and) return {e};
  std::vector<Expr> all = conjuncts_of(both->a);
  for (Expr& each : conjuncts_of(both->b)) all.push_back(std::move(each));
  return all;
}

}  // namespace whet
