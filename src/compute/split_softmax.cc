#include "compute/split_softmax.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compute/softmax_terms.h"

namespace whet {
namespace {

/// Adds the ops of the parts and of their results to a DAG that has all ops in front of the product.
class Parts {
 public:
  Parts(const ComputeDag& dag, ComputeDag& changed, const std::vector<OpId>& renamed, const SoftmaxProduct& p,
        std::int64_t length)
      : dag_(dag),
        changed_(changed),
        p_(p),
        y_(dag.op(p.product).element()),
        part_(part_axis(y_.reduce_axes[0], length)),
        terms_(dag, changed, renamed, p, length, part_, {.scores = "_parts", .rows = "_parts", .mix = "_parts"}) {
    columns_ = y_.axes.back().extent;
    // Rows of the results begin where vectors do.
    more_ = columns_ % 4 == 0 ? 4 : 2;
  }

  SplitSoftmaxOps add() {
    SplitSoftmaxOps ops;
    ops.scores = terms_.scores();
    ops.top = terms_.top(ops.scores);
    ops.exp = terms_.exponentials(ops.scores, ops.top);
    ops.sum = terms_.sum(ops.exp);
    ops.values = terms_.values();
    ops.mix = terms_.mix(ops.exp, ops.values);
    ops.parts = results(ops);
    ops.all_top = all_top(ops.parts);
    ops.all_sum = scaled(ops, dag_.op(p_.sum), p_.row);
    ops.all_mix = scaled(ops, dag_.op(p_.product), own_axes());
    ops.product = terms_.quotient(ops.all_mix, ops.all_sum);
    return ops;
  }

 private:
  static Axis part_axis(const Axis& terms, std::int64_t length) {
    Axis axis{"part", (terms.extent + length - 1) / length, AxisRole::other};
    if (is_sized(terms)) axis.size = floordiv(terms.size + (length - 1), length);
    return axis;
  }
  std::vector<std::int64_t> own_axes() const {
    std::vector<std::int64_t> axes;
    for (std::size_t k = 0; k < y_.axes.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    return axes;
  }

  OpId results(const SplitSoftmaxOps& ops) {
    Element e;
    e.axes = terms_.result_axes();
    e.axes.back().extent += more_;
    e.family = OpFamily::injective;
    const auto spatial = static_cast<std::int64_t>(e.axes.size());
    const Expr column = axis_var(e, spatial - 1);
    const Expr sum = load(changed_, ops.sum, terms_.row_index(e));
    const Expr top = SoftmaxTerms::finite(load(changed_, ops.top, terms_.row_index(e)));
    const Expr behind = select(column < int_const(columns_ + 1), sum, top);
    e.body = select(column < int_const(columns_), load(changed_, ops.mix, first_variables(e, spatial)), behind);
    return terms_.add_op(dag_.op(p_.product).name + "_results", std::move(e));
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
    Element e{.axes = {}, .reduce_axes = {part_}, .reducer = reducer, .body = {}, .family = OpFamily::reduce};
    for (std::int64_t k : kept) e.axes.push_back(y_.axes[static_cast<std::size_t>(k)]);
    return e;
  }

  OpId all_top(OpId parts) {
    Element e = over_parts(p_.row, Reducer::max);
    e.body = result_at(e, parts, p_.row, int_const(columns_ + 1));
    return terms_.add_op(dag_.op(p_.top).name, std::move(e));
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
    return terms_.add_op(is_mix ? of.name + "_all" : of.name, std::move(e));
  }

  const ComputeDag& dag_;
  ComputeDag& changed_;
  const SoftmaxProduct& p_;
  const Element& y_;
  const Axis part_;
  SoftmaxTerms terms_;
  std::int64_t columns_ = 1, more_ = 2;
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
  result.dag = with_other_product(dag, *found, [&](ComputeDag& changed, const std::vector<OpId>& renamed) {
    result.ops = Parts(dag, changed, renamed, *found, terms).add();
    return result.ops.product;
  });
  return result;
}

}  // namespace whet
