#include <unordered_map>

#include "compute/body.h"
#include "compute/dag.h"
#include "compute/scalar.h"

namespace whet {
namespace {

/// Computes single elements, and of the ops before them only what these need, each element once.
class SpotEvaluator {
 public:
  SpotEvaluator(const ComputeDag& dag, const std::vector<Tensor>& inputs) : dag_(dag), known_(dag.ops.size()) {
    std::size_t input = 0;
    for (const Op& op : dag.ops) inputs_.push_back(op.is_placeholder() ? &inputs[input++] : nullptr);
  }

  ElementValue element(OpId id, std::int64_t flat) {
    if (const Tensor* t = inputs_[id.index()]) {
      return is_float(t->dtype()) ? ElementValue{.f = t->get(flat)} : ElementValue{.i = t->integer(flat)};
    }
    if (const auto found = known_[id.index()].find(flat); found != known_[id.index()].end()) return found->second;
    const Op& op = dag_.op(id);
    ElementValue value = compute(op, flat);
    if (is_float(op.dtype)) value.f = round_to(op.dtype, value.f);
    known_[id.index()].emplace(flat, value);
    return value;
  }

  const std::string& error() const { return error_; }

 private:
  using Axes = std::vector<std::int64_t>;

  ElementValue compute(const Op& op, std::int64_t flat) {
    const Element& e = op.element();
    Axes axes(e.axes.size() + e.reduce_axes.size(), 0);
    for (std::size_t i = e.axes.size(); i-- > 0; flat /= op.shape[i]) axes[i] = flat % op.shape[i];
    if (!e.reducer) return eval(op, e.body, axes);
    const Expr start = identity_of(*e.reducer, op.dtype);
    ElementValue sum = eval(op, start, axes);
    const BinaryOp combine = binary_of(*e.reducer);
    do {
      const ElementValue next = eval(op, e.body, axes);
      if (!error_.empty()) return next;
      sum = binary_value(combine, op.dtype, sum, next, op);
    } while (advance(e, axes));
    return sum;
  }

  static bool advance(const Element& e, Axes& axes) {
    for (std::size_t i = axes.size(); i-- > e.axes.size();) {
      if (++axes[i] < e.reduce_axes[i - e.axes.size()].extent) return true;
      axes[i] = 0;
    }
    return false;
  }

  ElementValue binary_value(BinaryOp op, DType operands, ElementValue a, ElementValue b, const Op& where) {
    if (is_float(operands)) {
      if (is_comparison(op)) return {.i = compare_floats(op, a.f, b.f)};
      return {.f = apply_float(op, a.f, b.f)};
    }
    const auto value = apply(op, a.i, b.i, operands);
    if (!value && error_.empty()) error_ = "op '" + where.name + "' divides by zero";
    return {.i = value.value_or(0)};
  }

  ElementValue eval(const Op& op, const Expr& e, const Axes& axes) {
    auto at = [&](const Expr& x) { return eval(op, x, axes); };
    return std::visit(Match{
                          [&](const IntConst& n) { return ElementValue{.i = n.value}; },
                          [&](const FloatConst& n) { return ElementValue{.f = n.value}; },
                          [&](const Var& n) { return ElementValue{.i = axes[n.id.index()]}; },
                          [&](const Unary& n) {
                            const ElementValue a = at(n.a);
                            if (n.op == UnaryOp::logical_not) return ElementValue{.i = a.i == 0};
                            return is_float(e->dtype) ? ElementValue{.f = -a.f}
                                                      : ElementValue{.i = *apply(BinaryOp::sub, 0, a.i, e->dtype)};
                          },
                          [&](const Binary& n) {
                            const ElementValue a = at(n.a);
                            return binary_value(n.op, n.a->dtype, a, at(n.b), op);
                          },
                          [&](const Select& n) { return at(n.condition).i ? at(n.if_true) : at(n.if_false); },
                          [&](const Cast& n) { return cast_value(n.a->dtype, e->dtype, at(n.a)); },
                          [&](const Call& n) {
                            const ElementValue a = at(n.args.front());
                            if (n.fn == MathFn::bits_of) return ElementValue{.i = bits_of(n.args.front()->dtype, a.f)};
                            return ElementValue{.f = apply(n.fn, a.f, at(n.args.back()).f)};
                          },
                          [&](const Load& n) { return load_value(op, n, axes); },
                          [&](const Ramp&) { return ElementValue{.i = 0}; },
                          [&](const Broadcast& n) { return at(n.a); },
                      },
                      e->kind);
  }

  static ElementValue cast_value(DType from, DType to, ElementValue v) {
    if (is_float(from))
      return is_float(to) ? ElementValue{.f = round_to(to, v.f)} : ElementValue{.i = to_integer(to, v.f)};
    return is_float(to) ? ElementValue{.f = round_to(to, static_cast<double>(v.i))}
                        : ElementValue{.i = wrap_to(to, v.i)};
  }

  ElementValue load_value(const Op& op, const Load& l, const Axes& axes) {
    const Op& source = dag_.op(OpId(l.source.value));
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < source.shape.size(); ++d) {
      const std::int64_t i = eval(op, l.index[d], axes).i;
      if (i < 0 || i >= source.shape[d]) {
        if (error_.empty()) {
          error_ = "op '" + op.name + "' loads '" + source.name + "' at index " + std::to_string(i) + " of dimension " +
                   std::to_string(d) + ", outside its shape " + to_string(source.shape);
        }
        return {.i = 0};
      }
      flat = flat * source.shape[d] + i;
    }
    return element(OpId(l.source.value), flat);
  }

  const ComputeDag& dag_;
  std::vector<const Tensor*> inputs_;
  std::vector<std::unordered_map<std::int64_t, ElementValue>> known_;
  std::string error_;
};

}  // namespace

Result<Tensor> evaluate_at(const ComputeDag& dag, const std::vector<Tensor>& inputs, OpId id,
                           const std::vector<std::int64_t>& elements) {
  WHET_RETURN_IF_ERROR(check_inputs(dag, inputs));
  SpotEvaluator evaluator(dag, inputs);
  Tensor out(dag.op(id).dtype, {static_cast<std::int64_t>(elements.size())});
  for (std::size_t k = 0; k < elements.size(); ++k) {
    WHET_CHECK(elements[k] >= 0 && elements[k] < num_elements(dag.op(id).shape), "no such element");
    const ElementValue value = evaluator.element(id, elements[k]);
    if (!evaluator.error().empty()) return Error{evaluator.error()};
    if (is_float(out.dtype())) {
      out.set(static_cast<std::int64_t>(k), value.f);
    } else {
      out.set_integer(static_cast<std::int64_t>(k), value.i);
    }
  }
  return out;
}

}  // namespace whet
