#include "compute/split_softmax.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compute/softmax_product.h"

namespace whet {
namespace {

/// Adds the ops of the parts and of their results to a DAG that has all ops in front of the product.
class Parts {
 public:
  Parts(const ComputeDag& dag, ComputeDag& changed, const std::vector<OpId>& renamed, const SoftmaxProduct& p,
        std::int64_t length)
      : dag_(dag), changed_(changed), renamed_(renamed), p_(p), y_(dag.op(p.product).element()), length_(length) {
    parts_ = (terms().extent + length - 1) / length;
    columns_ = y_.axes.back().extent;
    // Rows of the results begin where vectors do.
    more_ = columns_ % 4 == 0 ? 4 : 2;
  }

  SplitSoftmaxOps add() {
    SplitSoftmaxOps ops;
    ops.scores = scores();
    ops.top = row_of(ops.scores, Reducer::max, dag_.op(p_.top).name + "_parts");
    ops.exp = exponentials(ops.scores, ops.top);
    ops.sum = row_of(ops.exp, Reducer::sum, dag_.op(p_.sum).name + "_parts");
    ops.values = values();
    ops.mix = mix(ops.exp, ops.values);
    ops.parts = results(ops);
    ops.all_top = all_top(ops.parts);
    ops.all_sum = scaled(ops, dag_.op(p_.sum), p_.row);
    ops.all_mix = scaled(ops, dag_.op(p_.product), own_axes());
    ops.product = quotient(ops);
    return ops;
  }

 private:
  Axis part_axis() const {
    Axis axis{"part", parts_, AxisRole::other};
    if (is_sized(terms())) axis.size = floordiv(terms().size + (length_ - 1), length_);
    return axis;
  }
  const Axis& terms() const { return y_.reduce_axes[0]; }
  Axis term_axis() const { return {terms().name, length_, terms().role}; }
  std::vector<Axis> row_axes() const {
    std::vector<Axis> axes{part_axis()};
    for (std::int64_t k : p_.row) axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
    return axes;
  }
  std::vector<std::int64_t> own_axes() const {
    std::vector<std::int64_t> axes;
    for (std::size_t k = 0; k < y_.axes.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    return axes;
  }
  std::int64_t rank() const { return static_cast<std::int64_t>(p_.row.size()); }

  OpId add_op(std::string name, Element element, DType dtype = DType::f32) {
    while (std::any_of(changed_.ops.begin(), changed_.ops.end(), [&](const Op& op) { return op.name == name; }))
      name += "_";
    Op op{.name = std::move(name), .dtype = dtype, .shape = {}, .def = Element{}};
    for (const Axis& axis : element.axes) op.shape.push_back(axis.extent);
    if (std::any_of(element.axes.begin(), element.axes.end(), [](const Axis& axis) { return is_sized(axis); }))
      for (const Axis& axis : element.axes) op.sizes.push_back(axis.size);
    op.def = std::move(element);
    return changed_.add(std::move(op));
  }

  /// Variables `from` to `from + count - 1` of the element.
  static std::vector<Expr> variables(const Element& e, std::int64_t from, std::int64_t count) {
    std::vector<Expr> index;
    for (std::int64_t k = from; k < from + count; ++k) index.push_back(axis_var(e, k));
    return index;
  }

  bool has_rest() const { return parts_ * length_ > terms().extent || is_sized(terms()); }
  /// `inside` where the part's term is one, `outside` behind the last.
  Expr where_term(const Expr& step, Expr inside, double outside) const {
    if (!has_rest()) return inside;
    const Expr otherwise = constant_like(inside, outside);
    const Expr end = is_sized(terms()) ? terms().size : int_const(terms().extent);
    return select(step < end, std::move(inside), otherwise);
  }
  static Expr finite(Expr top) { return max(std::move(top), float_const(std::numeric_limits<float>::lowest())); }

  OpId scores() {
    Element e;
    e.axes = row_axes();
    e.axes.push_back(term_axis());
    e.family = OpFamily::elementwise;
    const Expr step = axis_var(e, 0) * length_ + axis_var(e, rank() + 1);
    std::vector<Expr> index = variables(e, 1, rank());
    index.push_back(step);
    const Expr score = cast(DType::f32, load(changed_, renamed_[p_.scores.index()], std::move(index)));
    e.body = where_term(step, score, -std::numeric_limits<double>::infinity());
    return add_op(dag_.op(p_.scores).name + "_parts", std::move(e));
  }

  OpId row_of(OpId source, Reducer reducer, const std::string& name) {
    Element e{
        .axes = row_axes(), .reduce_axes = {term_axis()}, .reducer = reducer, .body = {}, .family = OpFamily::softmax};
    e.body = cast(DType::f32, load(changed_, source, variables(e, 0, rank() + 2)));
    return add_op(name, std::move(e));
  }

  OpId exponentials(OpId scores, OpId top) {
    Element e;
    e.axes = row_axes();
    e.axes.push_back(term_axis());
    e.family = OpFamily::softmax;
    const Expr above =
        load(changed_, scores, variables(e, 0, rank() + 2)) - finite(load(changed_, top, variables(e, 0, rank() + 1)));
    // What the weights would be rounded to: the largest of a part is 1.
    e.body = cast(p_.stored, call(MathFn::exp, {above}));
    return add_op(dag_.op(p_.exp).name + "_parts", std::move(e), p_.stored);
  }

  OpId values() {
    const auto spatial = static_cast<std::int64_t>(y_.axes.size());
    std::vector<std::int64_t> used;
    for (std::int64_t k = 0; k + 1 < spatial; ++k)
      if (uses(p_.other, VarId(k))) used.push_back(k);
    values_axes_ = used;
    Element e;
    e.axes = {part_axis()};
    for (std::int64_t k : used) e.axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
    e.axes.push_back(term_axis());
    e.axes.push_back(y_.axes.back());
    e.family = OpFamily::injective;
    const auto count = static_cast<std::int64_t>(used.size());
    const Expr step = axis_var(e, 0) * length_ + axis_var(e, count + 1);
    const Expr value = substitute(with_sources(unwidened(p_.other), renamed_), [&](VarId v) {
      if (!v.valid()) return Expr();  // a size
      if (v.value == spatial) return Expr(step);
      if (v.value == spatial - 1) return axis_var(e, count + 2);
      return axis_var(e, std::find(used.begin(), used.end(), v.value) - used.begin() + 1);
    });
    e.body = where_term(step, value, 0);
    return add_op(dag_.op(p_.product).name + "_values", std::move(e), value->dtype);
  }

  /// The part, then the product's own axes.
  std::vector<Axis> result_axes() const {
    std::vector<Axis> axes{part_axis()};
    axes.insert(axes.end(), y_.axes.begin(), y_.axes.end());
    return axes;
  }
  /// In an element of `result_axes`: the part and a row.
  std::vector<Expr> row_index(const Element& e) const {
    std::vector<Expr> index{axis_var(e, 0)};
    for (std::int64_t k : p_.row) index.push_back(axis_var(e, k + 1));
    return index;
  }

  OpId mix(OpId exp, OpId values) {
    Element e{
        .axes = result_axes(), .reduce_axes = {term_axis()}, .reducer = Reducer::sum, .body = {}, .family = y_.family};
    const auto spatial = static_cast<std::int64_t>(e.axes.size());
    std::vector<Expr> weight = row_index(e), value{axis_var(e, 0)};
    weight.push_back(axis_var(e, spatial));
    for (std::int64_t k : values_axes_) value.push_back(axis_var(e, k + 1));
    value.push_back(axis_var(e, spatial)), value.push_back(axis_var(e, spatial - 1));
    e.body = cast(DType::f32, load(changed_, exp, std::move(weight))) *
             cast(DType::f32, load(changed_, values, std::move(value)));
    return add_op(dag_.op(p_.product).name + "_parts", std::move(e));
  }

  OpId results(const SplitSoftmaxOps& ops) {
    Element e;
    e.axes = result_axes();
    e.axes.back().extent += more_;
    e.family = OpFamily::injective;
    const auto spatial = static_cast<std::int64_t>(e.axes.size());
    const Expr column = axis_var(e, spatial - 1);
    const Expr sum = load(changed_, ops.sum, row_index(e)), top = finite(load(changed_, ops.top, row_index(e)));
    const Expr behind = select(column < int_const(columns_ + 1), sum, top);
    e.body = select(column < int_const(columns_), load(changed_, ops.mix, variables(e, 0, spatial)), behind);
    return add_op(dag_.op(p_.product).name + "_results", std::move(e));
  }

  /// What `parts` has of a row's part in a column. `e` has the axes `kept` of the product, and the parts behind them.
  Expr result_at(const Element& e, OpId parts, const std::vector<std::int64_t>& kept, const Expr& column) const {
    std::vector<Expr> index{axis_var(e, static_cast<std::int64_t>(kept.size()))};
    for (std::int64_t k = 0; k + 1 < static_cast<std::int64_t>(y_.axes.size()); ++k)
      index.push_back(axis_var(e, std::find(kept.begin(), kept.end(), k) - kept.begin()));
    index.push_back(column);
    return load(changed_, parts, std::move(index));
  }
  Element over_parts(const std::vector<std::int64_t>& kept, Reducer reducer) const {
    Element e{.axes = {}, .reduce_axes = {part_axis()}, .reducer = reducer, .body = {}, .family = OpFamily::reduce};
    for (std::int64_t k : kept) e.axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
    return e;
  }

  OpId all_top(OpId parts) {
    Element e = over_parts(p_.row, Reducer::max);
    e.body = result_at(e, parts, p_.row, int_const(columns_ + 1));
    return add_op(dag_.op(p_.top).name, std::move(e));
  }

  /// The sum over the parts of what each has, times exp(its maximum - the maximum): of the product's columns, or of the sums.
  OpId scaled(const SplitSoftmaxOps& ops, const Op& of, const std::vector<std::int64_t>& kept) {
    Element e = over_parts(kept, Reducer::sum);
    const bool is_mix = kept.size() == y_.axes.size();
    std::vector<Expr> row;
    for (std::int64_t k : p_.row) row.push_back(axis_var(e, std::find(kept.begin(), kept.end(), k) - kept.begin()));
    const Expr below =
        result_at(e, ops.parts, kept, int_const(columns_ + 1)) - load(changed_, ops.all_top, std::move(row));
    const Expr column = is_mix ? axis_var(e, static_cast<std::int64_t>(kept.size()) - 1) : int_const(columns_);
    e.body = call(MathFn::exp, {below}) * result_at(e, ops.parts, kept, column);
    return add_op(is_mix ? of.name + "_all" : of.name, std::move(e));
  }

  OpId quotient(const SplitSoftmaxOps& ops) {
    Element e;
    e.axes = y_.axes;
    e.family = OpFamily::elementwise;
    std::vector<Expr> row;
    for (std::int64_t k : p_.row) row.push_back(axis_var(e, k));
    e.body = load(changed_, ops.all_mix, variables(e, 0, static_cast<std::int64_t>(e.axes.size()))) /
             load(changed_, ops.all_sum, std::move(row));
    return add_op(dag_.op(p_.product).name, std::move(e));
  }

  const ComputeDag& dag_;
  ComputeDag& changed_;
  const std::vector<OpId>& renamed_;
  const SoftmaxProduct& p_;
  const Element& y_;
  std::int64_t length_, parts_ = 1, columns_ = 1, more_ = 2;
  std::vector<std::int64_t> values_axes_;  ///< of the product, which the values have
};

}  // namespace

Result<SplitSoftmaxDag> split_softmax(const ComputeDag& dag, OpId product, std::int64_t terms) {
  const std::optional<SoftmaxProduct> found = find_softmax_product(dag, product);
  if (!found) return Error{"is no sum of products of a softmax's weights"};
  WHET_RETURN_IF_ERROR(check_softmax_product(dag, *found));
  const std::int64_t all = dag.op(product).element().reduce_axes[0].extent;
  if (terms < kLeastSoftmaxPart || terms >= all)
    return Error{"cannot have parts of " + std::to_string(terms) + " of its " + std::to_string(all) +
                 " terms; expected " + std::to_string(kLeastSoftmaxPart) + " or more, and not all"};

  SplitSoftmaxDag result;
  result.dag.sizes = dag.sizes, result.dag.at = dag.at;
  const std::vector<OpId> gone = found->gone();
  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const OpId old(static_cast<std::int64_t>(k));
    if (std::find(gone.begin(), gone.end(), old) != gone.end()) {
      renamed.emplace_back();
      continue;
    }
    if (old == product) {
      result.ops = Parts(dag, result.dag, renamed, *found, terms).add();
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
