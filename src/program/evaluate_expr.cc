#include "program/evaluate_expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "compute/scalar.h"

namespace whet {
namespace {

/// What `dtype` keeps of a computed float; f16 and bf16 are computed as f32 and rounded when cast or stored.
double computed(DType dtype, double value) { return dtype == DType::f64 ? value : static_cast<float>(value); }

// An extent is asked for at every access: the shape is made only where it must be.
std::int64_t extent_at(const Buffer& buffer, std::size_t d, const SizeValues& sizes) {
  const bool changes = !buffer.sizes.empty() && buffer.sizes[d].defined();
  return changes ? value_at(buffer.sizes[d], sizes) : buffer.extents[d];
}
std::int64_t elements_at(const Buffer& buffer, const SizeValues& sizes) {
  return num_elements(buffer.sizes.empty() ? buffer.extents : shape_at(buffer, sizes));
}

std::uint64_t bits(Cell c) { return static_cast<std::uint64_t>(c.i); }
Cell of_bits(std::uint64_t value) { return {.i = static_cast<std::int64_t>(value)}; }

}  // namespace

void Scratch::add_chunk(std::size_t words) {
  const std::size_t size = std::max<std::size_t>(words, 1 << 13);
  chunks_.push_back({std::make_unique<std::uint64_t[]>(size), size});
}

Cell poison(DType dtype) {
  return is_float(dtype) ? Cell{.f = std::numeric_limits<double>::quiet_NaN()} : Cell{.i = -1};
}

Cell stored(DType dtype, Cell value) {
  if (is_half(dtype)) return {.f = round_to(dtype, value.f)};
  if (is_float(dtype)) return {.f = computed(dtype, value.f)};
  return {.i = wrap_to(dtype, value.i)};
}

// ---- Variables

ExprEvaluator::Value ExprEvaluator::variable(const Var& n, int lanes) {
  if (size_number(n.id) < sizes_.size()) return constant(Cell{.i = sizes_[size_number(n.id)]}, lanes);
  if (!n.id.valid() || n.id.index() >= vars_.size() || vars_[n.id.index()].lanes != lanes) {
    fail("the variable '" + n.name + "' is not bound, or has another number of lanes");
    return zeros(lanes);
  }
  const Variable& v = vars_[n.id.index()];
  return {v.cells.data(), v.step};
}

ExprEvaluator::Variable& ExprEvaluator::variable(VarId id) {
  WHET_CHECK(id.valid(), "a variable without a number is bound");
  if (id.index() >= vars_.size()) vars_.resize(id.index() + 1);
  return vars_[id.index()];
}

void ExprEvaluator::bind(VarId var, const Expr& e, const Wanted& wanted) {
  const Scratch::Frame frame(scratch_);
  const Value value = eval(e, wanted);
  if (failed()) return;
  Variable& v = variable(var);
  const std::int64_t count = value.step == 0 ? e->lanes : value.step * threads_;
  if (value.cells != v.cells.data()) v.cells.assign(value.cells, value.cells + count);
  v.step = value.step;
  v.lanes = e->lanes;
}

void ExprEvaluator::bind(VarId var, std::int64_t value) {
  Variable& v = variable(var);
  v.cells.assign(1, Cell{.i = value});
  v.step = 0;
  v.lanes = 1;
}

void ExprEvaluator::bind(VarId var, const std::int64_t* value) {
  Variable& v = variable(var);
  v.cells.resize(static_cast<std::size_t>(threads_));
  for (std::size_t t = 0; t < v.cells.size(); ++t) v.cells[t].i = value[t];
  v.step = 1;
  v.lanes = 1;
}

// ---- Memory

bool ExprEvaluator::narrow(const Expr& mask, int lanes, Wanted& wanted) {
  if (mask->lanes != lanes) return fail("a mask has other lanes than its access"), false;
  auto* cells = scratch_.take<std::uint8_t>(threads_ * lanes);
  auto* threads = lanes == 1 ? cells : scratch_.take<std::uint8_t>(threads_);
  const Scratch::Frame frame(scratch_);
  const Value value = eval(mask, wanted);
  std::fill_n(cells, threads_ * lanes, 0);
  if (lanes > 1) std::fill_n(threads, threads_, 0);
  bool any = false;
  wanted.each(threads_, lanes, [&](std::int64_t t, int k, std::int64_t cell) {
    if (value.at(t, k).i == 0) return;
    cells[cell] = threads[t] = 1;
    any = true;
  });
  wanted = {threads, lanes == 1 ? nullptr : cells};
  return any && !failed();
}

bool ExprEvaluator::locate(const char* access, BufferId id, const std::vector<Expr>& index, int lanes,
                           const Wanted& wanted, std::int64_t* at) {
  if (!id.valid() || id.index() >= program_.buffers.size()) return fail(std::string(access) + " no buffer"), false;
  const Buffer& buffer = program_.buffer(id);
  const bool flat = index.size() == 1 && buffer.extents.size() != 1;
  if (!flat && index.size() != buffer.extents.size()) {
    fail(std::string(access) + " '" + buffer.name + "' with " + std::to_string(index.size()) +
         " indices, expected 1 or " + std::to_string(buffer.extents.size()));
    return false;
  }
  std::int64_t begin = 0;  // the indices so far, while they are the same for all
  bool same = true;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const Scratch::Frame frame(scratch_);
    const int own_lanes = index[d]->lanes;
    if (own_lanes != 1 && own_lanes != lanes) {
      fail(std::string(access) + " '" + buffer.name + "' at an index of other lanes");
      return false;
    }
    const std::int64_t extent = flat ? elements_at(buffer, sizes_) : extent_at(buffer, d, sizes_);
    const Value value = eval(index[d], own_lanes == lanes ? wanted : wanted.as_scalar());
    if (failed()) return false;
    const auto is_inside = [&](std::int64_t i) { return i >= 0 && i < extent; };
    if (same && value.step == 0 && own_lanes == 1 && is_inside(value.cells->i)) {
      begin = begin * extent + value.cells->i;
      continue;
    }
    if (same) std::fill_n(at, threads_ * lanes, begin);
    same = false;
    wanted.each(threads_, lanes, [&](std::int64_t t, int k, std::int64_t cell) {
      const std::int64_t i = value.at(t, own_lanes == 1 ? 0 : k).i;
      if (is_inside(i)) {
        at[cell] = at[cell] * extent + i;
      } else if (!failed()) {
        fail(std::string(access) + " '" + buffer.name + "' at index " + std::to_string(i) +
                 (flat ? "" : " of dimension " + std::to_string(d)) + ", outside its extents " +
                 to_string(shape_at(buffer, sizes_)),
             t);
      }
    });
    if (failed()) return false;
  }
  if (same) std::fill_n(at, threads_ * lanes, begin);
  return true;
}

ExprEvaluator::Value ExprEvaluator::load_value(const Expr& e, const Load& n, const Wanted& wanted) {
  const int lanes = e->lanes;
  Cell* out = take(lanes);
  const Scratch::Frame frame(scratch_);
  Wanted active = wanted;
  if (n.mask.defined()) {
    std::fill_n(out, threads_ * lanes, Cell{.i = 0});
    if (!narrow(n.mask, lanes, active)) return {out, lanes};
  }
  auto* at = scratch_.take<std::int64_t>(threads_ * lanes);
  const BufferId id(n.source.value);
  if (locate("load from", id, n.index, lanes, active, at)) read(id, at, lanes, active, out);
  return {out, lanes};
}

// ---- Expressions

ExprEvaluator::Value ExprEvaluator::constant(Cell value, int lanes) {
  Cell* out = scratch_.take<Cell>(lanes);
  std::fill_n(out, lanes, value);
  return {out, 0};
}

ExprEvaluator::Value ExprEvaluator::zeros(int lanes) { return constant(Cell{.i = 0}, lanes); }

/// Cell by cell; once for all threads where both operands are the same for all.
template <typename F>
ExprEvaluator::Value ExprEvaluator::combine(Value a, Value b, int lanes, const Wanted& wanted, Cell* out, const F& f) {
  if (a.step == 0 && b.step == 0) {
    for (int k = 0; k < lanes; ++k) out[k] = f(a.cells[k], b.cells[k]);
    return {out, 0};
  }
  wanted.each(threads_, lanes,
              [&](std::int64_t t, int k, std::int64_t cell) { out[cell] = f(a.at(t, k), b.at(t, k)); });
  return {out, lanes};
}

ExprEvaluator::Value ExprEvaluator::eval(const Expr& e, const Wanted& wanted) {
  const Value value =
      std::visit(Match{
                     [&](const IntConst& n) { return constant(Cell{.i = n.value}, e->lanes); },
                     [&](const FloatConst& n) { return constant(Cell{.f = n.value}, e->lanes); },
                     [&](const Var& n) { return variable(n, e->lanes); },
                     [&](const Unary& n) { return unary_value(e, n, wanted); },
                     [&](const Binary& n) { return binary_value(e, n, wanted); },
                     [&](const Select& n) { return select_value(e, n, wanted); },
                     [&](const Cast& n) { return cast_value(e, n, wanted); },
                     [&](const Call& n) { return call_value(e, n, wanted); },
                     [&](const Load& n) { return load_value(e, n, wanted); },
                     [&](const Ramp& n) {
                       Cell* out = take(e->lanes);
                       const Scratch::Frame frame(scratch_);
                       return spread(eval(n.base, wanted.as_scalar()), e->lanes, n.stride, e, wanted, out);
                     },
                     [&](const Broadcast& n) {
                       Cell* out = take(e->lanes);
                       const Scratch::Frame frame(scratch_);
                       return spread(eval(n.a, wanted.as_scalar()), e->lanes, 0, e, wanted, out);
                     },
                 },
                 e->kind);
  return failed() ? zeros(e->lanes) : value;
}

/// base, base + stride, ...
ExprEvaluator::Value ExprEvaluator::spread(Value base, int lanes, std::int64_t stride, const Expr& e,
                                           const Wanted& wanted, Cell* out) {
  const auto lane = [&](Cell c, int k) { return stride == 0 ? c : Cell{.i = wrap_to(e->dtype, c.i + k * stride)}; };
  if (base.step == 0) {
    for (int k = 0; k < lanes; ++k) out[k] = lane(*base.cells, k);
    return {out, 0};
  }
  wanted.as_scalar().each(threads_, lanes,
                          [&](std::int64_t t, int k, std::int64_t cell) { out[cell] = lane(base.at(t), k); });
  return {out, lanes};
}

ExprEvaluator::Value ExprEvaluator::unary_value(const Expr& e, const Unary& n, const Wanted& wanted) {
  Cell* out = take(e->lanes);
  const Scratch::Frame frame(scratch_);
  const Value a = eval(n.a, wanted);
  const DType dtype = e->dtype;
  const auto one = [&](const auto& f) {
    return combine(a, a, e->lanes, wanted, out, [&](Cell x, Cell) { return f(x); });
  };
  if (n.op == UnaryOp::logical_not) return one([](Cell x) { return Cell{.i = x.i == 0}; });
  if (is_float(dtype)) return one([](Cell x) { return Cell{.f = -x.f}; });
  return one([&](Cell x) { return Cell{.i = *apply(BinaryOp::sub, 0, x.i, dtype)}; });
}

ExprEvaluator::Value ExprEvaluator::binary_value(const Expr& e, const Binary& n, const Wanted& wanted) {
  Cell* out = take(e->lanes);
  const Scratch::Frame frame(scratch_);
  const Value a = eval(n.a, wanted), b = eval(n.b, wanted);
  if (failed()) return a;
  const DType operands = n.a->dtype;
  if (is_float(operands)) return floats(n.op, operands, a, b, e->lanes, wanted, out);
  const bool divides = n.op == BinaryOp::div || n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod;
  return divides ? divided(n.op, operands, a, b, e->lanes, wanted, out)
                 : integers(n.op, operands, a, b, e->lanes, wanted, out);
}

ExprEvaluator::Value ExprEvaluator::floats(BinaryOp op, DType operands, Value a, Value b, int lanes,
                                           const Wanted& wanted, Cell* out) {
  const auto all = [&](const auto& f) { return combine(a, b, lanes, wanted, out, f); };
  if (is_comparison(op)) return all([&](Cell x, Cell y) { return Cell{.i = compare_floats(op, x.f, y.f)}; });
  if (op == BinaryOp::add) return all([&](Cell x, Cell y) { return Cell{.f = computed(operands, x.f + y.f)}; });
  if (op == BinaryOp::mul) return all([&](Cell x, Cell y) { return Cell{.f = computed(operands, x.f * y.f)}; });
  return all([&](Cell x, Cell y) { return Cell{.f = computed(operands, apply_float(op, x.f, y.f))}; });
}

ExprEvaluator::Value ExprEvaluator::integers(BinaryOp op, DType operands, Value a, Value b, int lanes,
                                             const Wanted& wanted, Cell* out) {
  const auto all = [&](const auto& f) { return combine(a, b, lanes, wanted, out, f); };
  if (operands == DType::i64) {  // most are indices
    switch (op) {
      case BinaryOp::add:
        return all([](Cell x, Cell y) { return of_bits(bits(x) + bits(y)); });
      case BinaryOp::sub:
        return all([](Cell x, Cell y) { return of_bits(bits(x) - bits(y)); });
      case BinaryOp::mul:
        return all([](Cell x, Cell y) { return of_bits(bits(x) * bits(y)); });
      case BinaryOp::lt:
        return all([](Cell x, Cell y) { return Cell{.i = x.i < y.i}; });
      default:
        break;
    }
  }
  return all([&](Cell x, Cell y) { return Cell{.i = *apply(op, x.i, y.i, operands)}; });
}

ExprEvaluator::Value ExprEvaluator::divided(BinaryOp op, DType operands, Value a, Value b, int lanes,
                                            const Wanted& wanted, Cell* out) {
  if (b.step == 0 && lanes == 1 && operands == DType::i64 && op != BinaryOp::div && b.cells->i > 0) {
    const std::int64_t divisor = b.cells->i;  // digits of indices: most divisors are such, and many are powers of two
    const auto all = [&](const auto& f) { return combine(a, b, lanes, wanted, out, f); };
    if (std::has_single_bit(bits(*b.cells))) {
      const int shift = std::countr_zero(bits(*b.cells));
      if (op == BinaryOp::floordiv) return all([&](Cell x, Cell) { return Cell{.i = x.i >> shift}; });
      return all([&](Cell x, Cell) { return Cell{.i = x.i & (divisor - 1)}; });
    }
    if (op == BinaryOp::floordiv) return all([&](Cell x, Cell) { return Cell{.i = floor_div(x.i, divisor)}; });
    return all([&](Cell x, Cell) { return Cell{.i = floor_mod(x.i, divisor)}; });
  }
  if (a.step == 0 && b.step == 0) std::fill_n(out, lanes, Cell{.i = 0});
  wanted.each(threads_, lanes, [&](std::int64_t t, int k, std::int64_t cell) {
    const auto value = apply(op, a.at(t, k).i, b.at(t, k).i, operands);
    if (!value && !failed()) fail("divides by zero", t);
    out[a.step == 0 && b.step == 0 ? k : cell].i = value.value_or(0);
  });
  return {out, a.step == 0 && b.step == 0 ? 0 : lanes};
}

/// Cells of the other side are not evaluated. A scalar condition chooses for all lanes of a thread.
ExprEvaluator::Value ExprEvaluator::select_value(const Expr& e, const Select& n, const Wanted& wanted) {
  const int lanes = e->lanes, choices = n.condition->lanes;
  Cell* out = take(lanes);
  auto* yes = scratch_.take<std::uint8_t>(threads_ * choices);
  auto* no = scratch_.take<std::uint8_t>(threads_ * choices);
  const Wanted asked = choices == 1 ? wanted.as_scalar() : wanted;
  const Value condition = eval(n.condition, asked);
  if (failed()) return condition;
  if (choices == 1 && condition.step == 0) return eval(condition.cells->i != 0 ? n.if_true : n.if_false, wanted);
  std::fill_n(yes, threads_ * choices, 0);
  std::fill_n(no, threads_ * choices, 0);
  bool any_yes = false, any_no = false;
  asked.each(threads_, choices, [&](std::int64_t t, int k, std::int64_t cell) {
    const bool side = condition.at(t, k).i != 0;
    yes[cell] = side;
    no[cell] = !side;
    (side ? any_yes : any_no) = true;
  });
  if (choices == 1 && !any_no) return eval(n.if_true, wanted);
  if (choices == 1 && !any_yes) return eval(n.if_false, wanted);
  const auto side_of = [&](const std::uint8_t* side) {
    return choices == 1 ? Wanted{side, wanted.cells} : Wanted{wanted.threads, side};
  };
  const Value a = eval(n.if_true, side_of(yes)), b = eval(n.if_false, side_of(no));
  wanted.each(threads_, lanes, [&](std::int64_t t, int k, std::int64_t cell) {
    out[cell] = yes[choices == 1 ? t : cell] ? a.at(t, k) : b.at(t, k);
  });
  return {out, lanes};
}

ExprEvaluator::Value ExprEvaluator::cast_value(const Expr& e, const Cast& n, const Wanted& wanted) {
  Cell* out = take(e->lanes);
  const Scratch::Frame frame(scratch_);
  const Value a = eval(n.a, wanted);
  const DType from = n.a->dtype, to = e->dtype;
  return combine(a, a, e->lanes, wanted, out, [&](Cell x, Cell) {
    if (is_float(from)) return is_float(to) ? Cell{.f = round_to(to, x.f)} : Cell{.i = to_integer(to, x.f)};
    return is_float(to) ? Cell{.f = round_to(to, static_cast<double>(x.i))} : Cell{.i = wrap_to(to, x.i)};
  });
}

ExprEvaluator::Value ExprEvaluator::call_value(const Expr& e, const Call& n, const Wanted& wanted) {
  Cell* out = take(e->lanes);
  const Scratch::Frame frame(scratch_);
  const Value a = eval(n.args[0], wanted), b = n.args.size() > 1 ? eval(n.args[1], wanted) : a;
  const DType from = n.args[0]->dtype, to = e->dtype;
  const bool two = n.args.size() > 1;
  return combine(a, b, e->lanes, wanted, out, [&](Cell x, Cell y) {
    if (n.fn == MathFn::bits_of) return Cell{.i = bits_of(from, x.f)};
    if (n.fn == MathFn::float_of_bits)
      return Cell{.f = to == DType::f64 ? std::bit_cast<double>(x.i)
                                        : std::bit_cast<float>(static_cast<std::int32_t>(x.i))};
    return Cell{.f = computed(to, apply(n.fn, x.f, two ? y.f : 0))};
  });
}

}  // namespace whet
