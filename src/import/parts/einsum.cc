#include "import/parts/einsum.h"

#include <algorithm>
#include <map>
#include <set>

namespace whet {
namespace {

/// A dimension's letter; those of "..." are numbers above all letters, counted from the last.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 1000;

struct Term {
  ValueId value;
  Labels labels;
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool explicit_output = false;
};

Equation parse_equation(std::string text) {
  std::erase(text, ' ');
  Equation equation;
  if (const std::size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.output = text.substr(arrow + 2);
    equation.explicit_output = true;
    text.resize(arrow);
  }
  for (std::size_t begin = 0;;) {
    const std::size_t comma = text.find(',', begin);
    equation.inputs.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return equation;
    begin = comma + 1;
  }
}

/// "b...i" with three dimensions behind "...": its labels.
Result<Labels> labels_of(NodeSite& site, const Einsum& form, const std::string& term, std::size_t ellipsis) {
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (std::size_t d = ellipsis; d-- > 0;) labels.push_back(kEllipsis + static_cast<Label>(d));
      i += 2;
      continue;
    }
    const char c = term[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      return site.error(form.what + " holds \"" + term + "\"; expected letters and \"...\"");
    }
    labels.push_back(c);
  }
  return labels;
}

bool has(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
std::int64_t place_of(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

class Contraction {
 public:
  explicit Contraction(NodeSite& site) : site_(site) {}

  /// A label that occurs twice becomes one: the diagonal.
  Status take_diagonals(Term& x) {
    for (std::size_t i = 0; i < x.labels.size(); ++i) {
      for (std::size_t k = i + 1; k < x.labels.size(); ++k) {
        if (x.labels[i] != x.labels[k]) continue;
        WHET_RETURN_IF_ERROR(take_diagonal(x, i, k));
        --k;
      }
    }
    return ok_status();
  }

  /// Sums over labels that nobody needs.
  Status sum_out(Term& x, const std::set<Label>& needed) {
    ReduceOperator op{ReduceKind::sum, {}, false};
    Labels kept;
    for (std::size_t i = 0; i < x.labels.size(); ++i) {
      if (needed.contains(x.labels[i])) {
        kept.push_back(x.labels[i]);
      } else {
        op.axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (op.axes.empty()) return ok_status();
    WHET_TRY(x.value, add("sum", op, {x.value}));
    x.labels = kept;
    return ok_status();
  }

  Status reorder(Term& x, const Labels& order) {
    if (x.labels == order) return ok_status();
    TransposeOperator op;
    for (Label label : order) op.perm.push_back(place_of(x.labels, label));
    WHET_TRY(x.value, add("turned", op, {x.value}));
    x.labels = order;
    return ok_status();
  }

  Result<Term> multiply(Term a, Term b, const std::set<Label>& needed) {
    std::set<Label> of_a(a.labels.begin(), a.labels.end()), of_b(b.labels.begin(), b.labels.end());
    of_a.insert(needed.begin(), needed.end());
    of_b.insert(needed.begin(), needed.end());
    WHET_RETURN_IF_ERROR(sum_out(a, of_b));
    WHET_RETURN_IF_ERROR(sum_out(b, of_a));
    Labels batch, inner, rows, columns;
    for (Label label : a.labels)
      (!has(b.labels, label) ? rows : needed.contains(label) ? batch : inner).push_back(label);
    for (Label label : b.labels) {
      if (!has(a.labels, label)) columns.push_back(label);
    }
    WHET_RETURN_IF_ERROR(agree(a, b, inner));
    Term result{{}, batch};
    result.labels.insert(result.labels.end(), rows.begin(), rows.end());
    result.labels.insert(result.labels.end(), columns.begin(), columns.end());
    if (inner.empty()) return outer_product(a, b, batch, rows, columns, result);
    return matrix_product(a, b, batch, rows, columns, inner, result);
  }

 private:
  const Shape& shape(const Term& x) const { return site_.type(x.value).shape; }
  std::int64_t extent(const Term& x, Label label) const {
    return shape(x)[static_cast<std::size_t>(place_of(x.labels, label))];
  }
  Result<ValueId> add(const char* part, const Operator& op, std::vector<ValueId> inputs) {
    return site_.add(part, op, std::move(inputs));
  }
  static Labels joined(Labels a, const Labels& b, const Labels& c = {}) {
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    return a;
  }

  Status take_diagonal(Term& x, std::size_t i, std::size_t k) {
    const std::int64_t n = shape(x)[i];
    if (shape(x)[k] != n) {
      return site_.error("takes a diagonal of " + to_string(site_.type(x.value)) + "; expected equal extents");
    }
    Labels order;
    for (std::size_t d = 0; d < x.labels.size(); ++d) {
      if (d != i && d != k) order.push_back(x.labels[d]);
    }
    TransposeOperator turn;
    Shape flat, diagonal;
    for (std::size_t d = 0; d < x.labels.size(); ++d) {
      if (d == i || d == k) continue;
      turn.perm.push_back(static_cast<std::int64_t>(d));
      flat.push_back(shape(x)[d]);
    }
    diagonal = flat;
    turn.perm.insert(turn.perm.end(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(k)});
    flat.push_back(n * n);
    diagonal.push_back(n);
    SliceOperator slice{Shape(flat.size(), 0), Shape(flat.size(), 1), diagonal};
    slice.steps.back() = n + 1;
    WHET_TRY(const ValueId turned, add("turned", turn, {x.value}));
    WHET_TRY(const ValueId rows, add("rows", ReshapeOperator{flat}, {turned}));
    WHET_TRY(x.value, add("diagonal", slice, {rows}));
    order.push_back(x.labels[i]);
    x.labels = order;
    return ok_status();
  }

  /// Summed extents are equal; an extent of 1 is repeated.
  Status agree(Term& a, Term& b, const Labels& inner) {
    for (Term* x : {&a, &b}) {
      const Term& other = x == &a ? b : a;
      Shape wanted = shape(*x);
      for (Label label : inner) {
        std::int64_t& own = wanted[static_cast<std::size_t>(place_of(x->labels, label))];
        if (own == 1) own = extent(other, label);
      }
      if (wanted == shape(*x)) continue;
      WHET_TRY(x->value, add("repeated", ExpandOperator{wanted}, {x->value}));
    }
    return ok_status();
  }

  /// `x` with its dimensions in the order of `order`, and extents of 1 for `missing` behind `at` of them.
  Result<ValueId> aligned(Term x, const Labels& order, std::size_t at, std::size_t missing) {
    WHET_RETURN_IF_ERROR(reorder(x, order));
    if (missing == 0) return x.value;
    Shape wide = shape(x);
    wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(at), missing, 1);
    return add("aligned", ReshapeOperator{wide}, {x.value});
  }

  Result<Term> outer_product(const Term& a, const Term& b, const Labels& batch, const Labels& rows,
                             const Labels& columns, Term result) {
    WHET_TRY(const ValueId left, aligned(a, joined(batch, rows), batch.size() + rows.size(), columns.size()));
    WHET_TRY(const ValueId right, aligned(b, joined(batch, columns), batch.size(), rows.size()));
    WHET_TRY(result.value, add("product", BinaryOperator{BinaryKind::mul}, {left, right}));
    return result;
  }

  /// [batch..., first, second], each of the two as one dimension.
  Result<ValueId> matrix(Term x, const Labels& batch, const Labels& first, const Labels& second) {
    WHET_RETURN_IF_ERROR(reorder(x, joined(batch, first, second)));
    if (first.size() == 1 && second.size() == 1) return x.value;
    const auto begin = shape(x).begin(), middle = begin + static_cast<std::ptrdiff_t>(batch.size());
    Shape flat(begin, middle);
    flat.push_back(num_elements(Shape(middle, middle + static_cast<std::ptrdiff_t>(first.size()))));
    flat.push_back(num_elements(Shape(middle + static_cast<std::ptrdiff_t>(first.size()), shape(x).end())));
    return add("matrix", ReshapeOperator{flat}, {x.value});
  }

  Result<Term> matrix_product(const Term& a, const Term& b, const Labels& batch, const Labels& rows,
                              const Labels& columns, const Labels& inner, Term result) {
    // In b's order where that spares a transpose.
    const bool turned = b.labels == joined(batch, columns, inner);
    WHET_TRY(const ValueId left, matrix(a, batch, rows, inner));
    WHET_TRY(const ValueId right, turned ? matrix(b, batch, columns, inner) : matrix(b, batch, inner, columns));
    Shape wide;
    for (Label label : batch) wide.push_back(std::max(extent(a, label), extent(b, label)));
    for (Label label : rows) wide.push_back(extent(a, label));
    for (Label label : columns) wide.push_back(extent(b, label));
    WHET_TRY(const ValueId product, add("product", MatMulOperator{false, turned}, {left, right}));
    if (site_.type(product).shape == wide) {
      result.value = product;
      return result;
    }
    WHET_TRY(result.value, add("shaped", ReshapeOperator{wide}, {product}));
    return result;
  }

  NodeSite& site_;
};

/// How many dimensions "..." stands for in each term; the most of them.
Result<std::size_t> ellipsis_size(NodeSite& site, const std::vector<ValueId>& inputs, const Einsum& form,
                                  const Equation& equation, std::vector<std::size_t>& sizes) {
  std::size_t most = 0;
  for (std::size_t k = 0; k < equation.inputs.size(); ++k) {
    const std::string& term = equation.inputs[k];
    const bool dots = term.find("...") != std::string::npos;
    const std::size_t letters = term.size() - (dots ? 3 : 0), rank = site.rank(inputs[k]);
    if (dots ? letters > rank : letters != rank) {
      return site.error(form.what + " names the dimensions of input " + std::to_string(k) + " \"" + term +
                        "\"; the input is " + to_string(site.type(inputs[k])));
    }
    sizes.push_back(dots ? rank - letters : 0);
    most = std::max(most, sizes.back());
  }
  return most;
}

/// Without "->": the dimensions of "...", then the letters that occur once, in the order of the alphabet.
Labels implied_output(const std::vector<Term>& operands, std::size_t ellipsis) {
  std::map<Label, int> counts;
  for (const Term& x : operands) {
    for (Label label : x.labels) ++counts[label];
  }
  Labels output;
  for (std::size_t d = ellipsis; d-- > 0;) output.push_back(kEllipsis + static_cast<Label>(d));
  for (const auto& [label, count] : counts) {
    if (count == 1 && label < kEllipsis) output.push_back(label);
  }
  return output;
}

}  // namespace

std::size_t operand_count(const Einsum& form) { return parse_equation(form.equation).inputs.size(); }

Result<ValueId> einsum(NodeSite& site, const std::vector<ValueId>& inputs, const Einsum& form) {
  const Equation equation = parse_equation(form.equation);
  WHET_CHECK(inputs.size() == equation.inputs.size());
  std::vector<std::size_t> sizes;
  WHET_TRY(const std::size_t ellipsis, ellipsis_size(site, inputs, form, equation, sizes));
  Contraction contraction(site);
  std::vector<Term> operands;
  for (std::size_t k = 0; k < equation.inputs.size(); ++k) {
    Term x{inputs[k], {}};
    WHET_TRY(x.labels, labels_of(site, form, equation.inputs[k], sizes[k]));
    operands.push_back(x);
  }
  Labels output = implied_output(operands, ellipsis);
  if (equation.explicit_output) {
    WHET_TRY(output, labels_of(site, form, equation.output, ellipsis));
  }
  const std::set<Label> wanted(output.begin(), output.end());
  bool known = wanted.size() == output.size();
  for (Label label : output) {
    known = known && std::any_of(operands.begin(), operands.end(), [&](const Term& x) { return has(x.labels, label); });
  }
  if (!known) {
    return site.error(form.what + " is \"" + form.equation +
                      "\"; expected each label of the result once, and in an input");
  }
  for (Term& x : operands) WHET_RETURN_IF_ERROR(contraction.take_diagonals(x));
  Term result = operands[0];
  for (std::size_t k = 1; k < operands.size(); ++k) {
    std::set<Label> needed = wanted;
    for (std::size_t later = k + 1; later < operands.size(); ++later) {
      needed.insert(operands[later].labels.begin(), operands[later].labels.end());
    }
    WHET_TRY(result, contraction.multiply(result, operands[k], needed));
  }
  WHET_RETURN_IF_ERROR(contraction.sum_out(result, wanted));
  WHET_RETURN_IF_ERROR(contraction.reorder(result, output));
  return result.value;
}

}  // namespace whet
