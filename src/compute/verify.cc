#include <set>

#include "compute/dag.h"

namespace whet {
namespace {

class OpVerifier {
 public:
  OpVerifier(const ComputeDag& dag, OpId id) : dag_(dag), id_(id), op_(dag.op(id)) {}

  Status run() {
    if (op_.name.empty()) return fail("has no name");
    if (const auto* p = std::get_if<Placeholder>(&op_.def)) return placeholder(*p);
    return element(op_.element());
  }

 private:
  Error fail(const std::string& what) const {
    return Error{"op " + std::to_string(id_.value) + (op_.name.empty() ? "" : " '" + op_.name + "'") + " " + what};
  }

  Status placeholder(const Placeholder& p) {
    for (std::int64_t extent : op_.shape) {
      if (extent < 0) return fail("has the extent " + std::to_string(extent) + "; extents are 0 or more");
    }
    if (p.index_bound < 0) return fail("has a negative index bound");
    if (p.index_bound > 0 && is_float(op_.dtype)) return fail("has an index bound, but is no tensor of integers");
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
    if (const auto* v = std::get_if<Var>(&e->kind)) {
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
