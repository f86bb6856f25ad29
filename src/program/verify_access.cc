#include "program/verify_access.h"

#include <algorithm>

#include "compute/scalar.h"
#include "program/context.h"
#include "program/verify_launch.h"
#include "program/verify_warp.h"

namespace whet {
namespace {

/// The elements of a buffer when the program runs.
Expr elements_of(const Buffer& b) {
  if (b.sizes.empty()) return int_const(num_elements(b.extents));
  Expr elements = int_const(1);
  for (std::size_t d = 0; d < b.extents.size(); ++d) elements = elements * extent_of(b, d);
  return elements;
}

}  // namespace

void AccessRules::store(const Store& n) {
  if (!n.buffer.valid() || n.buffer.index() >= state_.program.buffers.size())
    return state_.fail("a store names no buffer");
  const Buffer& b = state_.program.buffer(n.buffer);
  const std::string what = "store to '" + b.name + "'";
  if (!n.value.defined()) return state_.fail(what + " has no value");
  state_.need(n.value->dtype == b.dtype, [&] {
    return what + " of dtype " + std::string(name_of(n.value->dtype)) + ", expected " + std::string(name_of(b.dtype));
  });
  state_.need(b.scope != Scope::argument || b.written, [&] { return what + ", an argument that is not written"; });
  const std::size_t depth = lane_conditions_.size();
  const auto mark = state_.facts.mark();
  if (n.mask.defined()) {
    expr(n.mask);
    mask(n.mask, n.value->lanes, what);
  }
  for (const Expr& i : n.index) expr(i);
  access(what, b, n.index, n.value->lanes);
  expr(n.value);
  if (state_.launch && n.async) verify_copy(state_, n, what);
  if (state_.launch && n.cross != 0) verify_exchange(state_, n, what);
  lane_conditions_.resize(depth);
  state_.facts.rewind(mark);
}

void AccessRules::prefetch(const Prefetch& n) {
  if (!n.buffer.valid() || n.buffer.index() >= state_.program.buffers.size())
    return state_.fail("a prefetch names no buffer");
  const Buffer& b = state_.program.buffer(n.buffer);
  const std::string what = "prefetch of '" + b.name + "'";
  state_.need(b.scope != Scope::registers, [&] { return what + ", which is registers"; });
  state_.need(n.index.size() == 1 || n.index.size() == b.extents.size(), [&] {
    return what + " has " + std::to_string(n.index.size()) + " indices for " + std::to_string(b.extents.size()) +
           " extents";
  });
  for (const Expr& i : n.index) {
    index_scalar(i, "an index of the " + what);
    if (!state_.failed())
      state_.need(!has_load(i), [&] { return what + " at an index that is data: " + state_.text(i); });
  }
}

void AccessRules::load(const Expr& e, const Load& n) {
  if (!state_.known(n.source)) return state_.fail("a load names no buffer");
  const Buffer& b = state_.buffer(n.source);
  const std::string what = "load from '" + b.name + "'";
  state_.need(b.dtype == e->dtype, [&] {
    return what + " as " + std::string(name_of(e->dtype)) + ", expected " + std::string(name_of(b.dtype));
  });
  const auto mark = state_.facts.mark();
  const std::size_t depth = lane_conditions_.size();
  if (n.mask.defined()) {
    expr(n.mask);
    mask(n.mask, e->lanes, what);
  }
  for (const Expr& i : n.index) expr(i);
  access(what, b, n.index, e->lanes);
  lane_conditions_.resize(depth);
  state_.facts.rewind(mark);
}

/// From here on the mask holds.
void AccessRules::mask(const Expr& m, int lanes, const std::string& what) {
  if (state_.failed()) return;
  state_.need(m->dtype == DType::boolean && m->lanes == lanes,
              [&] { return what + " has a mask of other lanes or no booleans: " + state_.text(m); });
  if (lanes == 1) {
    enter_if(state_.facts, m);
  } else {
    lane_conditions_.emplace_back(m, true);
  }
}

void AccessRules::access(const std::string& what, const Buffer& b, const std::vector<Expr>& index, int lanes) {
  if (state_.failed()) return;
  const bool flat = index.size() == 1 && b.extents.size() != 1;
  if (!flat && index.size() != b.extents.size())
    return state_.fail(what + " has " + std::to_string(index.size()) + " indices for " +
                       std::to_string(b.extents.size()) + " extents");
  int most = 1;
  for (std::size_t d = 0; d < index.size() && !state_.failed(); ++d) {
    if (!index[d].defined()) return state_.fail(what + " lacks an index");
    state_.need(index[d]->dtype == DType::i64 && (index[d]->lanes == 1 || index[d]->lanes == lanes),
                [&] { return what + " has an index of other lanes, or no i64: " + state_.text(index[d]); });
    most = std::max(most, index[d]->lanes);
    if (!state_.failed()) inside(what, index[d], lanes, flat ? elements_of(b) : extent_of(b, d));
  }
  if (b.quad && state_.launch && !state_.in_tile && !flat && !state_.failed() && index.back()->lanes == 1)
    verify_own_column(state_, index.back(), what);
  state_.need(most == lanes, [&] { return what + " has " + std::to_string(lanes) + " lanes at scalar indices"; });
}

void AccessRules::inside(const std::string& what, const Expr& index, int lanes, const Expr& extent) {
  if (!state_.options.proofs) return;
  const std::int64_t *constant = as_int(index), *end = as_int(extent);
  if (constant && end && *constant >= 0 && *constant < *end) return;
  const auto mark = state_.facts.mark();
  if (lanes > 1) {
    state_.facts.bind(kLane, Interval{0, lanes - 1});
    for (const auto& [condition, holds] : lane_conditions_) {
      if (condition->lanes != lanes) continue;
      holds ? enter_if(state_.facts, lane_of(condition)) : enter_else(state_.facts, lane_of(condition));
    }
  }
  const Affine at = to_affine(lane_of(index));
  const bool proven =
      state_.facts.proves_nonnegative(at) && state_.facts.proves_nonnegative(sub(to_affine(extent - 1), at));
  state_.facts.rewind(mark);
  if (!proven)
    state_.fail(
        what + " at index " + state_.text(index) + ", which is not proven to be inside 0 .. " + state_.text(extent),
        ErrorKind::unsupported);
}

void AccessRules::index_scalar(const Expr& e, const std::string& what) {
  if (!e.defined()) return state_.fail(what + " is missing");
  state_.need(e->dtype == DType::i64 && e->lanes == 1, [&] { return what + " is no i64 scalar: " + state_.text(e); });
  expr(e);
}

void AccessRules::expr(const Expr& e) {
  if (state_.failed()) return;
  if (!e.defined()) return state_.fail("an expression lacks an operand");
  auto like = [&](const Expr& x) { return x.defined() && x->dtype == e->dtype && x->lanes == e->lanes; };
  auto agree = [&](bool condition) {
    state_.need(condition, [&] { return "dtypes or lanes do not agree in " + state_.text(e); });
  };
  std::visit(
      Match{
          [&](const IntConst&) { agree(!is_float(e->dtype)); },
          [&](const FloatConst&) { agree(is_float(e->dtype)); },
          [&](const Var& n) { variable(e, n); },
          [&](const Unary& n) {
            agree(like(n.a));
            expr(n.a);
          },
          [&](const Binary& n) {
            const bool gives_boolean = is_comparison(n.op) || is_logic(n.op);
            agree(n.a.defined() && n.b.defined() && n.a->lanes == e->lanes && n.b->lanes == e->lanes &&
                  n.a->dtype == n.b->dtype);
            agree(state_.failed() || e->dtype == (gives_boolean ? DType::boolean : n.a->dtype));
            expr(n.a);
            expr(n.b);
            if (!state_.failed()) divisor(e, n);
          },
          [&](const Select& n) {
            agree(n.condition.defined() && n.condition->dtype == DType::boolean && like(n.if_true) && like(n.if_false));
            if (!state_.failed()) choice(e, n);
          },
          [&](const Cast& n) {
            agree(n.a.defined() && n.a->lanes == e->lanes);
            expr(n.a);
          },
          [&](const Call& n) {
            for (const Expr& a : n.args) {
              agree(a.defined() && a->lanes == e->lanes);
              expr(a);
            }
          },
          [&](const Load& n) { load(e, n); },
          [&](const Ramp& n) { scalar_inside(n.base); },
          [&](const Broadcast& n) {
            agree(n.a.defined() && n.a->lanes == 1 && n.a->dtype == e->dtype);
            scalar_inside(n.a);
          },
      },
      e->kind);
}

/// Division by what memory holds is the data's own business; index arithmetic must be sound.
void AccessRules::divisor(const Expr& e, const Binary& n) {
  const bool divides = n.op == BinaryOp::div || n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod;
  if (!state_.options.proofs || !divides || is_float(n.b->dtype) || has_load(n.b)) return;
  const Interval range = state_.facts.bounds(n.b);
  const bool nonzero = (range.min && *range.min > 0) || (range.max && *range.max < 0);
  state_.need(nonzero, [&] { return "the divisor is not proven to be other than 0 in " + state_.text(e); });
}

/// It is computed once for all lanes, so what holds in some of them does not help.
void AccessRules::scalar_inside(const Expr& e) {
  std::vector<std::pair<Expr, bool>> outer;
  outer.swap(lane_conditions_);
  if (!e.defined() || e->lanes != 1) return state_.fail("a ramp or broadcast of a vector");
  expr(e);
  outer.swap(lane_conditions_);
}

void AccessRules::variable(const Expr& e, const Var& n) {
  if (size_number(n.id) < state_.program.sizes.size())
    return state_.need(e->dtype == DType::i64 && e->lanes == 1,
                       [&] { return "size '" + n.name + "' is no i64 scalar"; });
  if (!n.id.valid() || n.id.index() >= state_.vars.size() || state_.vars[n.id.index()].life != VerifyState::Life::live)
    return state_.fail("variable " + std::to_string(n.id.value) + " '" + n.name + "' is used outside its binding");
  const VerifyState::Variable& v = state_.vars[n.id.index()];
  state_.need(v.dtype == e->dtype && v.lanes == e->lanes,
              [&] { return "variable '" + n.name + "' is used with another dtype or number of lanes than it has"; });
}

void AccessRules::choice(const Expr& e, const Select& n) {
  state_.need(n.condition->lanes == 1 || n.condition->lanes == e->lanes,
              [&] { return "dtypes or lanes do not agree in " + state_.text(e); });
  expr(n.condition);
  for (const bool side : {true, false}) {
    const auto mark = state_.facts.mark();
    const std::size_t depth = lane_conditions_.size();
    if (n.condition->lanes > 1) {
      lane_conditions_.emplace_back(n.condition, side);
    } else {
      // Within one expression memory does not change: a condition on loaded values holds.
      side ? state_.facts.assume(n.condition) : state_.facts.assume_not(n.condition);
    }
    expr(side ? n.if_true : n.if_false);
    lane_conditions_.resize(depth);
    state_.facts.rewind(mark);
  }
}

}  // namespace whet
