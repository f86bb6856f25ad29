#include "compute/split_softmax.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace whet {
namespace {

/// The ops of a softmax, and what the product does with its weights.
struct SoftmaxProduct {
  OpId scores{}, top{}, exp{}, sum{}, weights{}, product{};
  DType stored = DType::f32;           ///< the type of the weights: f32, or of 16 bits
  std::vector<std::int64_t> row = {};  ///< the product's axes that name a row, in the order of the scores' axes
  Expr other = {};                     ///< the factor that the weights are multiplied by
};

/// x of f32(x), x of 16 bits; e where it is something else.
Expr unwidened(const Expr& e) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  return cast && e->dtype == DType::f32 && is_half(cast->a->dtype) ? cast->a : e;
}
/// x of f16(x) or bf16(x).
Expr unrounded(const Expr& e) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  return cast && is_half(e->dtype) ? cast->a : e;
}

/// Of e, or of e widened from 16 bits.
const Load* load_of(const Expr& e) { return std::get_if<Load>(&unwidened(e)->kind); }

/// The axes of the element that index the load, in order; nothing where an index is no axis.
std::optional<std::vector<std::int64_t>> axes_read(const Load& load) {
  std::vector<std::int64_t> axes;
  for (const Expr& index : load.index) {
    const Var* v = std::get_if<Var>(&index->kind);
    if (!v) return std::nullopt;
    axes.push_back(v->id.value);
  }
  return axes;
}

/// `e` reads an op at the element's axes 0, 1, ..., count - 1.
std::optional<OpId> read_at_own_axes(const Expr& e, std::size_t count) {
  const Load* load = load_of(e);
  if (!load || load->index.size() != count) return std::nullopt;
  const auto axes = axes_read(*load);
  if (!axes) return std::nullopt;
  for (std::size_t k = 0; k < count; ++k)
    if ((*axes)[k] != static_cast<std::int64_t>(k)) return std::nullopt;
  return OpId(load->source.value);
}

/// The op reduces what it reads at its own axes along the last one.
std::optional<OpId> reduced_row(const ComputeDag& dag, OpId op, Reducer reducer) {
  if (dag.op(op).is_placeholder()) return std::nullopt;
  const Element& e = dag.op(op).element();
  if (e.reducer != reducer || e.reduce_axes.size() != 1) return std::nullopt;
  return read_at_own_axes(e.body, e.axes.size() + 1);
}

const Binary* operands_of(const Expr& e, BinaryOp op) {
  const Binary* found = std::get_if<Binary>(&e->kind);
  return found && found->op == op ? found : nullptr;
}

/// a and b of a / b or a * (1 / b).
struct Quotient {
  Expr a, b;
};
std::optional<Quotient> quotient_of(const Expr& e) {
  if (const Binary* quotient = operands_of(e, BinaryOp::div)) return Quotient{quotient->a, quotient->b};
  const Binary* product = operands_of(e, BinaryOp::mul);
  const Binary* reciprocal = product ? operands_of(product->b, BinaryOp::div) : nullptr;
  if (!reciprocal || !is_const(reciprocal->a, 1)) return std::nullopt;
  return Quotient{product->a, reciprocal->b};
}

/// e = exp(t - m), m the maximum of t.
bool find_exponentials(const ComputeDag& dag, SoftmaxProduct& p) {
  const Op& op = dag.op(p.exp);
  if (op.is_placeholder() || op.element().reducer) return false;
  const Call* call = std::get_if<Call>(&op.element().body->kind);
  if (!call || call->fn != MathFn::exp) return false;
  const Binary* difference = operands_of(call->args[0], BinaryOp::sub);
  if (!difference) return false;
  const std::size_t rank = op.shape.size();
  const auto scores = read_at_own_axes(difference->a, rank), top = read_at_own_axes(difference->b, rank - 1);
  if (!scores || !top || reduced_row(dag, *top, Reducer::max) != scores) return false;
  p.scores = *scores, p.top = *top;
  return true;
}

/// w = e / z or e * (1 / z), z the sum of e; perhaps rounded to 16 bits.
bool find_softmax(const ComputeDag& dag, SoftmaxProduct& p) {
  const Op& op = dag.op(p.weights);
  if (op.is_placeholder() || op.element().reducer || op.shape.empty()) return false;
  const std::optional<Quotient> quotient = quotient_of(unrounded(op.element().body));
  if (!quotient) return false;
  p.stored = is_half(op.dtype) ? op.dtype : DType::f32;
  const std::size_t rank = op.shape.size();
  const auto exp = read_at_own_axes(quotient->a, rank), sum = read_at_own_axes(quotient->b, rank - 1);
  if (!exp || !sum || reduced_row(dag, *sum, Reducer::sum) != exp) return false;
  p.exp = *exp, p.sum = *sum;
  return find_exponentials(dag, p);
}

/// The axes of a product that index its weights, in order. An axis of one element may be a 0 there.
std::optional<std::vector<std::int64_t>> row_read(const ComputeDag& dag, const Load& weights, const Element& product) {
  Load full = weights;
  const Shape& shape = dag.op(OpId(weights.source.value)).shape;
  for (std::size_t d = 0; d + 1 < full.index.size() && d < product.axes.size(); ++d)
    if (is_const(full.index[d], 0) && shape[d] == 1 && product.axes[d].extent == 1)
      full.index[d] = axis_var(product, static_cast<std::int64_t>(d));
  return axes_read(full);
}

/// y += w * v, w read at some of the row's axes and the reduce axis.
std::optional<SoftmaxProduct> find_product(const ComputeDag& dag, OpId id) {
  const Op& op = dag.op(id);
  if (op.is_placeholder() || op.dtype != DType::f32) return std::nullopt;
  const Element& e = op.element();
  const Binary* product = operands_of(e.body, BinaryOp::mul);
  if (e.reducer != Reducer::sum || e.reduce_axes.size() != 1 || e.axes.size() < 2 || !product) return std::nullopt;
  const auto terms = static_cast<std::int64_t>(e.axes.size());
  for (const bool first : {true, false}) {
    const Expr &weights = first ? product->a : product->b, &other = first ? product->b : product->a;
    const Load* load = load_of(weights);
    auto axes = load ? row_read(dag, *load, e) : std::nullopt;
    if (!axes || axes->empty() || axes->back() != terms) continue;
    axes->pop_back();
    const auto column = terms - 1;
    if (std::find(axes->begin(), axes->end(), column) != axes->end() || !uses(other, VarId(column))) continue;
    SoftmaxProduct p{.weights = OpId(load->source.value), .product = id, .row = *axes, .other = other};
    if (find_softmax(dag, p) && dag.op(p.weights).shape.back() == e.reduce_axes[0].extent) return p;
  }
  return std::nullopt;
}

/// Something else reads an op that goes; its name and the reader's.
Status nothing_else_reads(const ComputeDag& dag, const SoftmaxProduct& p) {
  const auto only = [&](OpId op, std::vector<OpId> readers) -> Status {
    if (std::find(dag.outputs.begin(), dag.outputs.end(), op) != dag.outputs.end())
      return Error{"has the softmax's " + dag.op(op).name + " as an output beside it"};
    for (OpId reader : consumers_of(dag, op))
      if (std::find(readers.begin(), readers.end(), reader) == readers.end())
        return Error{"is not alone: " + dag.op(reader).name + " also reads " + dag.op(op).name};
    return ok_status();
  };
  WHET_RETURN_IF_ERROR(only(p.top, {p.exp}));
  WHET_RETURN_IF_ERROR(only(p.exp, {p.sum, p.weights}));
  WHET_RETURN_IF_ERROR(only(p.sum, {p.weights}));
  return only(p.weights, {p.product});
}

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
  const std::optional<SoftmaxProduct> found = find_product(dag, product);
  if (!found) return Error{"is no sum of products of a softmax's weights"};
  if (found->row.size() + 1 != dag.op(product).shape.size())
    return Error{"multiplies each of the softmax's rows by several matrices"};
  WHET_RETURN_IF_ERROR(nothing_else_reads(dag, *found));
  if (is_sized(dag.op(product).element().axes.back())) return Error{"has columns that have a size"};
  const std::int64_t all = dag.op(product).element().reduce_axes[0].extent;
  if (terms < kLeastSoftmaxPart || terms >= all)
    return Error{"cannot have parts of " + std::to_string(terms) + " of its " + std::to_string(all) +
                 " terms; expected " + std::to_string(kLeastSoftmaxPart) + " or more, and not all"};

  SplitSoftmaxDag result;
  result.dag.sizes = dag.sizes, result.dag.at = dag.at;
  const std::vector<OpId> gone = {found->top, found->exp, found->sum, found->weights};
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
