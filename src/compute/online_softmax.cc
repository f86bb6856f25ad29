#include "compute/online_softmax.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "compute/softmax_product.h"

namespace whet {
namespace {

/// Adds the ops to a DAG that has all ops in front of the product.
class OnlineOps {
 public:
  OnlineOps(const ComputeDag& dag, ComputeDag& changed, const std::vector<OpId>& renamed, const SoftmaxProduct& p,
            std::int64_t step)
      : dag_(dag), changed_(changed), renamed_(renamed), p_(p), y_(dag.op(p.product).element()) {
    all_ = (terms().extent + step - 1) / step * step;
  }

  OnlineSoftmaxOps add() {
    OnlineSoftmaxOps ops;
    ops.scores = scores();
    ops.top = row_of(ops.scores, Reducer::max, dag_.op(p_.top).name);
    ops.exp = exponentials(ops.scores, ops.top);
    ops.sum = row_of(ops.exp, Reducer::sum, dag_.op(p_.sum).name);
    ops.values = values();
    ops.mix = mix(ops.exp, ops.values);
    ops.product = quotient(ops);
    return ops;
  }

 private:
  const Axis& terms() const { return y_.reduce_axes[0]; }
  Axis term_axis() const { return {terms().name, all_, terms().role}; }
  std::vector<Axis> row_axes() const {
    std::vector<Axis> axes;
    for (std::int64_t k : p_.row) axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
    return axes;
  }
  std::int64_t rank() const { return static_cast<std::int64_t>(p_.row.size()); }

  OpId add_op(std::string name, Element element, DType dtype = DType::f32) {
    while (std::any_of(changed_.ops.begin(), changed_.ops.end(), [&](const Op& op) { return op.name == name; }))
      name += "_";
    Op op{.name = std::move(name), .dtype = dtype, .shape = {}, .def = Element{}};
    for (const Axis& axis : element.axes) op.shape.push_back(axis.extent);
    op.def = std::move(element);
    return changed_.add(std::move(op));
  }

  /// The first `count` variables of the element.
  static std::vector<Expr> variables(const Element& e, std::int64_t count) {
    std::vector<Expr> index;
    for (std::int64_t k = 0; k < count; ++k) index.push_back(axis_var(e, k));
    return index;
  }

  /// `inside` at a term, `outside` behind the last.
  Expr where_term(const Expr& term, Expr inside, double outside) const {
    if (all_ == terms().extent) return inside;
    const Expr otherwise = constant_like(inside, outside);
    return select(term < int_const(terms().extent), std::move(inside), otherwise);
  }

  /// Of a row and a term.
  Element of_terms(OpFamily family) const {
    Element e;
    e.axes = row_axes();
    e.axes.push_back(term_axis());
    e.family = family;
    return e;
  }

  OpId scores() {
    Element e = of_terms(OpFamily::elementwise);
    const Expr score = cast(DType::f32, load(changed_, renamed_[p_.scores.index()], variables(e, rank() + 1)));
    e.body = where_term(axis_var(e, rank()), score, -std::numeric_limits<double>::infinity());
    return add_op(dag_.op(p_.scores).name + "_online", std::move(e));
  }

  OpId row_of(OpId source, Reducer reducer, const std::string& name) {
    Element e{
        .axes = row_axes(), .reduce_axes = {term_axis()}, .reducer = reducer, .body = {}, .family = OpFamily::softmax};
    e.body = cast(DType::f32, load(changed_, source, variables(e, rank() + 1)));
    return add_op(name, std::move(e));
  }

  OpId exponentials(OpId scores, OpId top) {
    Element e = of_terms(OpFamily::softmax);
    const Expr finite =
        max(load(changed_, top, variables(e, rank())), float_const(std::numeric_limits<float>::lowest()));
    const Expr above = load(changed_, scores, variables(e, rank() + 1)) - finite;
    // What the weights would be rounded to: the largest of a row is 1.
    e.body = cast(p_.stored, call(MathFn::exp, {above}));
    return add_op(dag_.op(p_.exp).name, std::move(e), p_.stored);
  }

  OpId values() {
    const auto spatial = static_cast<std::int64_t>(y_.axes.size());
    for (std::int64_t k = 0; k + 1 < spatial; ++k)
      if (uses(p_.other, VarId(k))) values_axes_.push_back(k);
    Element e;
    for (std::int64_t k : values_axes_) e.axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
    e.axes.push_back(term_axis());
    e.axes.push_back(y_.axes.back());
    e.family = OpFamily::injective;
    const auto count = static_cast<std::int64_t>(values_axes_.size());
    const Expr value = substitute(with_sources(unwidened(p_.other), renamed_), [&](VarId v) {
      if (v.value == spatial) return axis_var(e, count);
      if (v.value == spatial - 1) return axis_var(e, count + 1);
      return axis_var(e, std::find(values_axes_.begin(), values_axes_.end(), v.value) - values_axes_.begin());
    });
    e.body = where_term(axis_var(e, count), value, 0);
    return add_op(dag_.op(p_.product).name + "_values", std::move(e), value->dtype);
  }

  OpId mix(OpId exp, OpId values) {
    Element e{.axes = y_.axes, .reduce_axes = {term_axis()}, .reducer = Reducer::sum, .body = {}, .family = y_.family};
    const auto spatial = static_cast<std::int64_t>(e.axes.size());
    std::vector<Expr> weight, value;
    for (std::int64_t k : p_.row) weight.push_back(axis_var(e, k));
    weight.push_back(axis_var(e, spatial));
    for (std::int64_t k : values_axes_) value.push_back(axis_var(e, k));
    value.push_back(axis_var(e, spatial)), value.push_back(axis_var(e, spatial - 1));
    e.body = cast(DType::f32, load(changed_, exp, std::move(weight))) *
             cast(DType::f32, load(changed_, values, std::move(value)));
    return add_op(dag_.op(p_.product).name + "_mix", std::move(e));
  }

  OpId quotient(const OnlineSoftmaxOps& ops) {
    Element e;
    e.axes = y_.axes;
    e.family = OpFamily::elementwise;
    std::vector<Expr> row;
    for (std::int64_t k : p_.row) row.push_back(axis_var(e, k));
    e.body = load(changed_, ops.mix, variables(e, static_cast<std::int64_t>(e.axes.size()))) /
             load(changed_, ops.sum, std::move(row));
    return add_op(dag_.op(p_.product).name, std::move(e));
  }

  const ComputeDag& dag_;
  ComputeDag& changed_;
  const std::vector<OpId>& renamed_;
  const SoftmaxProduct& p_;
  const Element& y_;
  std::int64_t all_ = 1;                   ///< terms in whole steps
  std::vector<std::int64_t> values_axes_;  ///< of the product, which the values have
};

}  // namespace

Result<OnlineSoftmaxDag> online_softmax(const ComputeDag& dag, OpId product, std::int64_t terms) {
  const std::optional<SoftmaxProduct> found = find_softmax_product(dag, product);
  if (!found) return Error{"is no sum of products of a softmax's weights"};
  WHET_RETURN_IF_ERROR(check_softmax_product(dag, *found));
  if (is_sized(dag)) return Error{"has sizes"};
  const std::int64_t all = dag.op(product).element().reduce_axes[0].extent;
  if (terms < kOnlineTerms || terms % kOnlineTerms != 0 || terms > all)
    return Error{"cannot be summed up by " + std::to_string(terms) + " of its " + std::to_string(all) +
                 " terms; expected a multiple of " + std::to_string(kOnlineTerms) + ", and at most all"};

  OnlineSoftmaxDag result;
  const std::vector<OpId> gone = found->gone();
  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const OpId old(static_cast<std::int64_t>(k));
    if (std::find(gone.begin(), gone.end(), old) != gone.end()) {
      renamed.emplace_back();
      continue;
    }
    if (old == product) {
      result.ops = OnlineOps(dag, result.dag, renamed, *found, terms).add();
      renamed.push_back(result.ops.product);
      continue;
    }
    Op op = dag.op(old);
    if (!op.is_placeholder()) op.element().body = with_sources(op.element().body, renamed);
    renamed.push_back(result.dag.add(std::move(op)));
  }
  for (OpId output : dag.outputs) result.dag.outputs.push_back(renamed[output.index()]);
  return result;
}

}  // namespace whet
