#include "compute/softmax_terms.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace whet {

std::vector<Expr> first_variables(const Element& e, std::int64_t count) {
  std::vector<Expr> index;
  for (std::int64_t k = 0; k < count; ++k) index.push_back(axis_var(e, k));
  return index;
}

SoftmaxTerms::SoftmaxTerms(const ComputeDag& dag, ComputeDag& changed, const std::vector<OpId>& renamed,
                           const SoftmaxProduct& p, std::int64_t length, std::optional<Axis> part, SoftmaxNames names)
    : dag_(dag),
      changed_(changed),
      renamed_(renamed),
      p_(p),
      y_(dag.op(p.product).element()),
      length_(length),
      part_(std::move(part)),
      names_(std::move(names)) {}

OpId SoftmaxTerms::add_op(std::string name, Element element, DType dtype) {
  while (std::any_of(changed_.ops.begin(), changed_.ops.end(), [&](const Op& op) { return op.name == name; }))
    name += "_";
  Op op{.name = std::move(name), .dtype = dtype, .shape = {}, .def = Element{}};
  for (const Axis& axis : element.axes) op.shape.push_back(axis.extent);
  if (std::any_of(element.axes.begin(), element.axes.end(), [](const Axis& axis) { return is_sized(axis); }))
    for (const Axis& axis : element.axes) op.sizes.push_back(axis.size);
  op.def = std::move(element);
  return changed_.add(std::move(op));
}

Expr SoftmaxTerms::finite(Expr top) { return max(std::move(top), float_const(std::numeric_limits<float>::lowest())); }

std::vector<Axis> SoftmaxTerms::row_axes() const {
  std::vector<Axis> axes = lead_axes();
  for (std::int64_t k : p_.row) axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
  return axes;
}

std::vector<Axis> SoftmaxTerms::result_axes() const {
  std::vector<Axis> axes = lead_axes();
  axes.insert(axes.end(), y_.axes.begin(), y_.axes.end());
  return axes;
}

std::vector<Expr> SoftmaxTerms::row_index(const Element& e) const {
  std::vector<Expr> index = first_variables(e, lead());
  for (std::int64_t k : p_.row) index.push_back(axis_var(e, lead() + k));
  return index;
}

Element SoftmaxTerms::of_terms(OpFamily family) const {
  Element e;
  e.axes = row_axes();
  e.axes.push_back(term_axis());
  e.family = family;
  return e;
}

Expr SoftmaxTerms::term_at(const Element& e, std::int64_t axis) const {
  return part_ ? axis_var(e, 0) * length_ + axis_var(e, axis) : axis_var(e, axis);
}

Expr SoftmaxTerms::where_term(const Expr& term, Expr inside, double outside) const {
  const std::int64_t all = (part_ ? part_->extent : 1) * length_;
  if (all == terms().extent && !is_sized(terms())) return inside;
  const Expr otherwise = constant_like(inside, outside);
  const Expr end = is_sized(terms()) ? terms().size : int_const(terms().extent);
  return select(term < end, std::move(inside), otherwise);
}

OpId SoftmaxTerms::scores() {
  Element e = of_terms(OpFamily::elementwise);
  const Expr term = term_at(e, lead() + rank());
  std::vector<Expr> index;
  for (std::int64_t k = 0; k < rank(); ++k) index.push_back(axis_var(e, lead() + k));
  index.push_back(term);
  const Expr score = cast(DType::f32, load(changed_, renamed_[p_.scores.index()], std::move(index)));
  e.body = where_term(term, score, -std::numeric_limits<double>::infinity());
  return add_op(dag_.op(p_.scores).name + names_.scores, std::move(e));
}

OpId SoftmaxTerms::row_of(OpId source, Reducer reducer, std::string name) {
  Element e{
      .axes = row_axes(), .reduce_axes = {term_axis()}, .reducer = reducer, .body = {}, .family = OpFamily::softmax};
  e.body = cast(DType::f32, load(changed_, source, first_variables(e, lead() + rank() + 1)));
  return add_op(std::move(name), std::move(e));
}

OpId SoftmaxTerms::top(OpId scores) { return row_of(scores, Reducer::max, dag_.op(p_.top).name + names_.rows); }
OpId SoftmaxTerms::sum(OpId exponentials) {
  return row_of(exponentials, Reducer::sum, dag_.op(p_.sum).name + names_.rows);
}

OpId SoftmaxTerms::exponentials(OpId scores, OpId top) {
  Element e = of_terms(OpFamily::softmax);
  const std::int64_t row = lead() + rank();
  const Expr above =
      load(changed_, scores, first_variables(e, row + 1)) - finite(load(changed_, top, first_variables(e, row)));
  // What the weights would be rounded to: the largest of a row's terms is 1.
  e.body = cast(p_.stored, call(MathFn::exp, {above}));
  return add_op(dag_.op(p_.exp).name + names_.rows, std::move(e), p_.stored);
}

OpId SoftmaxTerms::values() {
  const auto spatial = static_cast<std::int64_t>(y_.axes.size());
  values_axes_.clear();
  for (std::int64_t k = 0; k + 1 < spatial; ++k)
    if (uses(p_.other, VarId(k))) values_axes_.push_back(k);
  Element e;
  e.axes = lead_axes();
  for (std::int64_t k : values_axes_) e.axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
  e.axes.push_back(term_axis());
  e.axes.push_back(y_.axes.back());
  e.family = OpFamily::injective;
  const std::int64_t count = lead() + static_cast<std::int64_t>(values_axes_.size());
  const Expr term = term_at(e, count);
  const Expr value = substitute(with_sources(unwidened(p_.other), renamed_), [&](VarId v) {
    if (!v.valid()) return Expr();  // a size
    if (v.value == spatial) return Expr(term);
    if (v.value == spatial - 1) return axis_var(e, count + 1);
    const auto at = std::find(values_axes_.begin(), values_axes_.end(), v.value) - values_axes_.begin();
    return axis_var(e, lead() + at);
  });
  e.body = where_term(term, value, 0);
  return add_op(dag_.op(p_.product).name + "_values", std::move(e), value->dtype);
}

OpId SoftmaxTerms::mix(OpId exponentials, OpId values) {
  Element e{
      .axes = result_axes(), .reduce_axes = {term_axis()}, .reducer = Reducer::sum, .body = {}, .family = y_.family};
  const auto spatial = static_cast<std::int64_t>(e.axes.size());
  std::vector<Expr> weight = row_index(e), value = first_variables(e, lead());
  weight.push_back(axis_var(e, spatial));
  for (std::int64_t k : values_axes_) value.push_back(axis_var(e, lead() + k));
  value.push_back(axis_var(e, spatial)), value.push_back(axis_var(e, spatial - 1));
  e.body = cast(DType::f32, load(changed_, exponentials, std::move(weight))) *
           cast(DType::f32, load(changed_, values, std::move(value)));
  return add_op(dag_.op(p_.product).name + names_.mix, std::move(e));
}

OpId SoftmaxTerms::quotient(OpId mix, OpId sum) {
  Element e;
  e.axes = y_.axes;
  e.family = OpFamily::elementwise;
  std::vector<Expr> row;
  for (std::int64_t k : p_.row) row.push_back(axis_var(e, k));
  e.body = load(changed_, mix, first_variables(e, static_cast<std::int64_t>(e.axes.size()))) /
           load(changed_, sum, std::move(row));
  return add_op(dag_.op(p_.product).name, std::move(e));
}

ComputeDag with_other_product(const ComputeDag& dag, const SoftmaxProduct& p, const AddSoftmaxOps& add) {
  ComputeDag changed;
  changed.sizes = dag.sizes, changed.at = dag.at;
  const std::vector<OpId> gone = p.gone();
  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const OpId old(static_cast<std::int64_t>(k));
    if (std::find(gone.begin(), gone.end(), old) != gone.end()) {
      renamed.emplace_back();
    } else if (old == p.product) {
      renamed.push_back(add(changed, renamed));
    } else {
      Op op = dag.op(old);
      if (!op.is_placeholder()) op.element().body = with_sources(op.element().body, renamed);
      renamed.push_back(changed.add(std::move(op)));
    }
  }
  for (OpId output : dag.outputs) changed.outputs.push_back(renamed[output.index()]);
  return changed;
}

}  // namespace whet
