#include <algorithm>
#include <cmath>

#include "ops/site.h"

namespace whet {
namespace {

Reducer reducer_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::max:
      return Reducer::max;
    case ReduceKind::min:
      return Reducer::min;
    case ReduceKind::prod:
      return Reducer::prod;
    default:
      return Reducer::sum;
  }
}

bool picks(ReduceKind kind) { return kind == ReduceKind::max || kind == ReduceKind::min; }

/// Squares and sums may lie beyond the result's type where the result does not.
Expr before(ReduceKind kind, const Expr& element) {
  const Expr x = picks(kind) ? element : widened(element);
  switch (kind) {
    case ReduceKind::l1:
      return absolute(x);
    case ReduceKind::l2:
    case ReduceKind::sum_square:
      return x * x;
    default:
      return x;
  }
}

bool has_after(ReduceKind kind, DType dtype) {
  if (!picks(kind) && wide_type(dtype) != dtype) return true;
  return kind == ReduceKind::mean || kind == ReduceKind::l2 || kind == ReduceKind::log_sum ||
         kind == ReduceKind::log_sum_exp;
}

/// What becomes of the reduced number `x`, still in the type that it was computed in.
Expr after(ReduceKind kind, const Expr& x, std::int64_t count) {
  auto math = [&](MathFn fn) {
    return is_float(x->dtype) ? call(fn, {x}) : cast(x->dtype, call(fn, {cast(DType::f64, x)}));
  };
  switch (kind) {
    case ReduceKind::mean:
      return is_float(x->dtype) ? x * constant_like(x, 1.0 / static_cast<double>(count))
                                : x / int_const(count, x->dtype);
    case ReduceKind::l2:
      return math(MathFn::sqrt);
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp:
      return math(MathFn::log);
    default:
      return x;
  }
}

/// Which dimensions of the input are reduced, and how positions of input and result correspond.
struct ReducePlan {
  const Site& site;
  std::vector<bool> reduced;
  bool keep;

  std::vector<Axis> reduce_axes() const {
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < reduced.size(); ++d) {
      if (reduced[d]) axes.push_back({"r" + std::to_string(d), site.shape(0)[d]});
    }
    return axes;
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (const Axis& axis : reduce_axes()) n *= axis.extent;
    return n;
  }
  /// The input's position for the result's position `i` and the reduce variables `r`.
  Exprs source(const Exprs& i, const Exprs& r) const {
    Exprs index;
    std::size_t from_i = 0, from_r = 0;
    for (bool is_reduced : reduced) {
      index.push_back(is_reduced ? r[from_r++] : i[from_i]);
      if (!is_reduced || keep) ++from_i;
    }
    return index;
  }
};

OpId reduction(const ReducePlan& plan, const std::string& name, Reducer reducer, OpFamily family,
               const ReduceBody& body) {
  return plan.site.reduce(name, axes_of(plan.site.output.shape), plan.reduce_axes(), reducer, family, body);
}

/// Few results of much are reduced in two steps, which leaves something to share out among workers: first all but the
/// outermost of the dimensions, then that.
bool is_in_two_steps(const ReducePlan& plan) {
  constexpr std::int64_t kFewResults = 16, kMuch = 1 << 15, kParts = 16;
  const std::vector<Axis> axes = plan.reduce_axes();
  return axes.size() > 1 && axes[0].extent >= kParts && plan.count() >= kMuch &&
         num_elements(plan.site.output.shape) < kFewResults;
}

OpId reduction_in_two_steps(const ReducePlan& plan, const std::string& name, Reducer reducer, const ReduceBody& body) {
  const Site& site = plan.site;
  std::vector<Axis> inner = plan.reduce_axes(), axes = axes_of(site.output.shape);
  const Axis parts = inner.front();
  inner.erase(inner.begin());
  axes.push_back({"part", parts.extent});
  const OpId part =
      site.reduce(site.part("parts"), axes, inner, reducer, OpFamily::reduce, [&](const Exprs& i, const Exprs& r) {
        Exprs all = {i.back()};
        all.insert(all.end(), r.begin(), r.end());
        return body(Exprs(i.begin(), i.end() - 1), all);
      });
  return site.reduce(name, axes_of(site.output.shape), {parts}, reducer, OpFamily::reduce,
                     [&](const Exprs& i, const Exprs& r) {
                       Exprs index = i;
                       index.push_back(r[0]);
                       return site.read(part, index);
                     });
}

/// log(sum(exp(x - m))) + m with m the maximum, so that exp never overflows; 0 for an infinite one, from which nothing
/// can be taken.
OpId log_sum_exp(const ReducePlan& plan) {
  const Site& site = plan.site;
  const OpId top = reduction(plan, site.part("max"), Reducer::max, OpFamily::reduce,
                             [&](const Exprs& i, const Exprs& r) { return site.read(0, plan.source(i, r)); });
  const auto offset = [&](const Exprs& i) {
    const Expr m = widened(site.read(top, i));
    return select(absolute(m) < constant_like(m, INFINITY), m, constant_like(m, 0));
  };
  const OpId sum =
      reduction(plan, site.part("sum"), Reducer::sum, OpFamily::reduce, [&](const Exprs& i, const Exprs& r) {
        return call(MathFn::exp, {widened(site.read(0, plan.source(i, r))) - offset(i)});
      });
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    return cast(site.output.dtype, call(MathFn::log, {site.read(sum, i)}) + offset(i));
  });
}

}  // namespace

OpId define_at(const Site& site, const ReduceOperator& op) {
  ReducePlan plan{site, std::vector<bool>(site.shape(0).size(), false), op.keep_dims};
  for (std::int64_t axis : op.axes) plan.reduced[static_cast<std::size_t>(axis)] = true;
  if (op.axes.empty()) {
    return site.result(OpFamily::elementwise, [&](const Exprs& i) {
      const Expr x = site.read(0, i);
      if (op.kind == ReduceKind::log_sum_exp) return x;
      return cast(x->dtype, after(op.kind, before(op.kind, x), 1));
    });
  }
  if (op.kind == ReduceKind::log_sum_exp && is_float(site.output.dtype)) return log_sum_exp(plan);
  const bool two = has_after(op.kind, site.output.dtype);
  const std::string name = two ? site.part("sum") : site.name;
  const auto body = [&](const Exprs& i, const Exprs& r) { return before(op.kind, site.read(0, plan.source(i, r))); };
  const Reducer reducer = reducer_of(op.kind);
  const OpId sum = is_in_two_steps(plan) ? reduction_in_two_steps(plan, name, reducer, body)
                                         : reduction(plan, name, reducer, OpFamily::reduce, body);
  if (!two) return sum;
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    return cast(site.output.dtype, after(op.kind, site.read(sum, i), plan.count()));
  });
}

OpId define_at(const Site& site, const SoftmaxOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  std::vector<Axis> rows = axes_of(site.output.shape);
  rows.erase(rows.begin() + op.axis);
  const std::vector<Axis> along = {{"r", site.output.shape[axis]}};
  auto at = [&](Exprs i, const Expr& r) {
    i.insert(i.begin() + op.axis, r);
    return i;
  };
  auto row = [&](Exprs i) {
    i.erase(i.begin() + op.axis);
    return i;
  };
  const OpFamily family = OpFamily::softmax;
  const OpId top = site.reduce(site.part("max"), rows, along, Reducer::max, family,
                               [&](const Exprs& i, const Exprs& r) { return site.read(0, at(i, r[0])); });
  /// The element at `i` less the maximum of its row.
  const auto below_top = [&](const Exprs& i) { return widened(site.read(0, i)) - widened(site.read(top, row(i))); };
  if (op.log) {
    const OpId sum =
        site.reduce(site.part("sum"), rows, along, Reducer::sum, family,
                    [&](const Exprs& i, const Exprs& r) { return call(MathFn::exp, {below_top(at(i, r[0]))}); });
    const OpId log = site.map(site.part("log"), rows, family,
                              [&](const Exprs& i) { return call(MathFn::log, {site.read(sum, i)}); });
    // The maximum first: added to the logarithm of the sum it would swallow its digits.
    return site.result(family,
                       [&](const Exprs& i) { return cast(site.output.dtype, below_top(i) - site.read(log, row(i))); });
  }
  const OpId exp = site.map(site.part("exp"), axes_of(site.output.shape), family,
                            [&](const Exprs& i) { return call(MathFn::exp, {below_top(i)}); });
  const OpId sum = site.reduce(site.part("sum"), rows, along, Reducer::sum, family,
                               [&](const Exprs& i, const Exprs& r) { return site.read(exp, at(i, r[0])); });
  // The sum is a rounded number itself, from 1 to the length of the row: one division a row will do.
  return site.result(family, [&](const Exprs& i) {
    const Expr total = site.read(sum, row(i));
    return cast(site.output.dtype, site.read(exp, i) * (constant_like(total, 1) / total));
  });
}

}  // namespace whet
