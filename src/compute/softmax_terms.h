#pragma once

// Internal to the transforms of products with a softmax (split_softmax, online_softmax).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compute/softmax_product.h"

namespace whet {

/// What is added to the names of ops.
struct SoftmaxNames {
  std::string scores, rows, mix;  ///< rows: the maximum, the exponentials and their sum
};

/// The ops of a softmax and of the product with its weights, which is divided behind the sum. They have `length` terms or, where terms are
/// in parts, as many in each, and the part's axis in front. Behind the last term scores are -inf and values 0. Ops are added to a DAG
/// that has all ops in front of the product. i is all axes of a row, j a term, n a column.
class SoftmaxTerms {
 public:
  ///   changed   where ops are added, with the ids `renamed` of the ops of `dag`
  ///   part      the axis that numbers the parts
  SoftmaxTerms(const ComputeDag& dag, ComputeDag& changed, const std::vector<OpId>& renamed, const SoftmaxProduct&,
               std::int64_t length, std::optional<Axis> part, SoftmaxNames);

  OpId scores();                             ///< [part, i, j]
  OpId top(OpId scores);                     ///< [part, i]: the maximum
  OpId exponentials(OpId scores, OpId top);  ///< [part, i, j]: rounded as the weights would be
  OpId sum(OpId exponentials);               ///< [part, i]
  OpId values();                             ///< [part, ..., j, n]
  OpId mix(OpId exponentials, OpId values);  ///< [part, i, n]: the sum of products
  OpId quotient(OpId mix, OpId sum);         ///< [i, n]: the product, of [i, n] and [i]
  OpId add_op(std::string name, Element element, DType dtype = DType::f32);

  /// A maximum that may be subtracted from scores that are all -inf.
  static Expr finite(Expr top);
  /// The part's axis, where there is one, and the product's own.
  std::vector<Axis> result_axes() const;
  /// The part and a row, in an element of `result_axes`.
  std::vector<Expr> row_index(const Element&) const;

 private:
  const Axis& terms() const { return y_.reduce_axes[0]; }
  Axis term_axis() const { return {terms().name, length_, terms().role}; }
  std::int64_t lead() const { return part_ ? 1 : 0; }
  std::int64_t rank() const { return static_cast<std::int64_t>(p_.row.size()); }
  std::vector<Axis> lead_axes() const { return part_ ? std::vector<Axis>{*part_} : std::vector<Axis>(); }
  std::vector<Axis> row_axes() const;
  Element of_terms(OpFamily) const;
  OpId row_of(OpId source, Reducer, std::string name);
  /// The number of the term that the element has at an axis.
  Expr term_at(const Element&, std::int64_t axis) const;
  /// `inside` at a term, `outside` behind the last.
  Expr where_term(const Expr& term, Expr inside, double outside) const;

  const ComputeDag& dag_;
  ComputeDag& changed_;
  const std::vector<OpId>& renamed_;
  const SoftmaxProduct& p_;
  const Element& y_;
  const std::int64_t length_;
  const std::optional<Axis> part_;
  const SoftmaxNames names_;
  std::vector<std::int64_t> values_axes_;  ///< of the product, which the values have
};

/// Variables of the element, from the first on.
std::vector<Expr> first_variables(const Element&, std::int64_t count);

/// The DAG without the ops that go. In the place of the product come the ops that `add` adds to it, which gives the id of the one that is
/// read instead; `renamed` has the ids of the ops in front.
using AddSoftmaxOps = std::function<OpId(ComputeDag& changed, const std::vector<OpId>& renamed)>;
ComputeDag with_other_product(const ComputeDag&, const SoftmaxProduct&, const AddSoftmaxOps& add);

}  // namespace whet
