#include <set>

#include "compute/affine.h"
#include "compute/dag.h"
#include "compute/names.h"
#include "compute/scalar.h"

namespace whet {
namespace {

class OpVerifier {
 public:
  OpVerifier(const ComputeDag& dag, OpId id) : dag_(dag), id_(id), op_(dag.op(id)) {}

  Status run() {
    if (op_.name.empty()) return fail("has no name");
    WHET_RETURN_IF_ERROR(functions());
    if (const auto* p = std::get_if<Placeholder>(&op_.def)) return placeholder(*p);
    return element(op_.element());
  }

 private:
  Error fail(const std::string& what) const {
    return Error{"op " + std::to_string(id_.value) + (op_.name.empty() ? "" : " '" + op_.name + "'") + " " + what};
  }

  /// The functions of the shape's extents.
  Status functions() const {
    if (op_.sizes.empty()) return ok_status();
    if (op_.sizes.size() != op_.shape.size())
      return fail("has " + std::to_string(op_.sizes.size()) + " functions for the shape " + to_string(op_.shape));
    for (std::size_t d = 0; d < op_.shape.size(); ++d)
      WHET_RETURN_IF_ERROR(function(op_.sizes[d], "extent", op_.shape[d], op_.is_placeholder() ? 0 : 1));
    return ok_status();
  }

  /// `size` gives `number` at the DAG's values, and no less than `least` at all others.
  Status function(const Expr& size, const std::string& what, std::int64_t number, std::int64_t least) const {
    if (!size.defined()) return ok_status();
    const Status right = check_size_expr(size, dag_.sizes.size());
    if (!right.ok()) return fail("has an " + what + " that is " + right.error().message);
    if (size->dtype != DType::i64 || !is_of_sizes(size)) return fail("has an " + what + " that is no i64 of sizes");
    if (value_at(size, dag_.at) != number)
      return fail("has the " + what + " " + std::to_string(number) + ", but its function gives " +
                  std::to_string(value_at(size, dag_.at)));
    const Interval values = bounds(size, size_ranges(dag_.sizes));
    if (values.min && *values.min >= least && values.max) return ok_status();
    return fail("has an " + what + " that may be less than " + std::to_string(least) + ", or endless, at some size");
  }

  Status placeholder(const Placeholder& p) {
    WHET_RETURN_IF_ERROR(function(p.size, "index bound", p.index_bound, 1));
    for (std::int64_t extent : op_.shape) {
      if (extent < 0) return fail("has the extent " + std::to_string(extent) + "; extents are 0 or more");
    }
    if (p.index_bound < 0) return fail("has a negative index bound");
    if (p.index_bound > 0 && is_float(op_.dtype)) return fail("has an index bound, but is no tensor of integers");
    if (p.index_bound > 0 && wrap_to(op_.dtype, p.index_bound - 1) != p.index_bound - 1)
      return fail("has the index bound " + std::to_string(p.index_bound) + ", which " +
                  std::string(name_of(op_.dtype)) + " does not reach");
    return ok_status();
  }

  Status element(const Element& e) {
    if (e.axes.size() != op_.shape.size()) {
      return fail("has " + std::to_string(e.axes.size()) + " axes for the shape " + to_string(op_.shape));
    }
    for (std::size_t i = 0; i < e.axes.size(); ++i) {
      if (e.axes[i].extent != op_.shape[i]) {
        return fail("has axis '" + e.axes[i].name + "' of extent " + std::to_string(e.axes[i].extent) +
                    " for the shape " + to_string(op_.shape));
      }
    }
    for (std::size_t i = 0; i < e.axes.size(); ++i) {
      if (!same(e.axes[i].size, op_.sizes.empty() ? Expr() : op_.sizes[i]))
        return fail("has axis '" + e.axes[i].name + "' with another function than its shape");
    }
    WHET_RETURN_IF_ERROR(extents(e.axes));
    WHET_RETURN_IF_ERROR(extents(e.reduce_axes));
    if (e.reducer.has_value() == e.reduce_axes.empty())
      return fail("must have reduce axes exactly when it has a reducer");
    if (e.reducer && op_.dtype == DType::boolean && (*e.reducer == Reducer::sum || *e.reducer == Reducer::prod)) {
      return fail("reduces booleans by " +
                  std::string(*e.reducer == Reducer::sum ? "a sum; use max" : "a product; use min"));
    }
    if (!e.body.defined()) return fail("has no body");
    if (e.body->dtype != op_.dtype) {
      return fail("is " + std::string(name_of(op_.dtype)) + ", but its body is " + std::string(name_of(e.body->dtype)));
    }
    vars_ = static_cast<std::int64_t>(e.axes.size() + e.reduce_axes.size());
    return expr(e.body);
  }

  Status extents(const std::vector<Axis>& axes) const {
    for (const Axis& a : axes) {
      if (a.extent < 1)
        return fail("has axis '" + a.name + "' of extent " + std::to_string(a.extent) + "; 1 is the least");
      WHET_RETURN_IF_ERROR(function(a.size, "extent", a.extent, 1));
    }
    return ok_status();
  }

  Status expr(const Expr& e) const {
    Status status = ok_status();
    for_each(e, [&](const Expr& x) {
      if (status.ok()) status = node(x);
    });
    return status;
  }

  Status node(const Expr& e) const {
    if (e->lanes != 1) return fail("has a vector in its body");
    if (!dag_.sizes.empty() && is_of_sizes(e) && e->dtype != DType::boolean) {
      const Status right = check_size_expr(e, dag_.sizes.size());
      if (!right.ok()) return fail("has a constant that is " + right.error().message);
    }
    if (const auto* v = std::get_if<Var>(&e->kind)) {
      if (size_number(v->id) < dag_.sizes.size()) return ok_status();
      if (!v->id.valid() || v->id.value >= vars_)
        return fail("uses variable '" + v->name + "', which is no axis of it");
      return e->dtype == DType::i64 ? ok_status() : fail("uses a variable that is not i64");
    }
    if (const auto* l = std::get_if<Load>(&e->kind)) return load(*l, e->dtype);
    return typed(e) ? ok_status() : fail("has an expression with operands of wrong types");
  }

  Status load(const Load& l, DType dtype) const {
    if (!l.source.valid() || l.source.value >= id_.value) {
      return fail("loads from op " + std::to_string(l.source.value) + ", which does not come before it");
    }
    const Op& source = dag_.op(OpId(l.source.value));
    if (l.mask.defined()) return fail("has a masked load from '" + source.name + "'");
    if (source.dtype != dtype) return fail("loads '" + source.name + "' as " + std::string(name_of(dtype)));
    if (l.index.size() != source.shape.size()) {
      return fail("loads '" + source.name + "' of shape " + to_string(source.shape) + " at " +
                  std::to_string(l.index.size()) + " indices");
    }
    for (const Expr& i : l.index) {
      if (i->dtype != DType::i64) return fail("loads '" + source.name + "' at an index that is not i64");
    }
    return ok_status();
  }

  static bool typed(const Expr& e) {
    auto is = [](const Expr& x, DType dtype) { return x.defined() && x->dtype == dtype; };
    return std::visit(Match{
                          [&](const IntConst&) { return !is_float(e->dtype); },
                          [&](const FloatConst&) { return is_float(e->dtype); },
                          [&](const Var&) { return true; },
                          [&](const Unary& n) {
                            return is(n.a, e->dtype) && (n.op == UnaryOp::logical_not) == (e->dtype == DType::boolean);
                          },
                          [&](const Binary& n) {
                            if (n.op >= BinaryOp::logical_and)
                              return is(n.a, DType::boolean) && is(n.b, DType::boolean);
                            if (n.op >= BinaryOp::lt) return e->dtype == DType::boolean && is(n.b, n.a->dtype);
                            const bool integers = n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod;
                            return is(n.a, e->dtype) && is(n.b, e->dtype) && (!integers || !is_float(e->dtype));
                          },
                          [&](const Select& n) {
                            return is(n.condition, DType::boolean) && is(n.if_true, e->dtype) &&
                                   is(n.if_false, e->dtype);
                          },
                          [&](const Cast& n) { return n.a.defined(); },
                          [&](const Call& n) {
                            if (n.fn == MathFn::bits_of && n.args.size() == 1)
                              return (e->dtype == DType::i32 && is(n.args.front(), DType::f32)) ||
                                     (e->dtype == DType::i64 && is(n.args.front(), DType::f64));
                            if (!is_float(e->dtype) || n.args.size() != (n.fn == MathFn::pow ? 2u : 1u)) return false;
                            return is(n.args.front(), e->dtype) && is(n.args.back(), e->dtype);
                          },
                          [&](const Load&) { return true; },
                          [&](const Ramp&) { return false; },
                          [&](const Broadcast&) { return false; },
                      },
                      e->kind);
  }

  const ComputeDag& dag_;
  OpId id_;
  const Op& op_;
  std::int64_t vars_ = 0;
};

}  // namespace

Status verify(const ComputeDag& dag) {
  WHET_RETURN_IF_ERROR(verify(dag.sizes));
  WHET_RETURN_IF_ERROR(check_values(dag.sizes, dag.at));
  std::set<std::string> names;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    WHET_RETURN_IF_ERROR(OpVerifier(dag, OpId(static_cast<std::int64_t>(i))).run());
    if (!names.insert(dag.ops[i].name).second) return Error{"two ops are named '" + dag.ops[i].name + "'"};
  }
  for (OpId id : dag.outputs) {
    if (!id.valid() || id.index() >= dag.ops.size()) return Error{"output " + std::to_string(id.value) + " is no op"};
    if (dag.op(id).is_placeholder()) return Error{"the output '" + dag.op(id).name + "' is a placeholder"};
  }
  if (dag.outputs.empty()) return Error{"a DAG has at least one output"};
  return ok_status();
}

}  // namespace whet
