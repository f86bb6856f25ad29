#include "import/parts/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "import/parts/shape.h"

namespace whet {
namespace {

Result<ValueId> scaled(NodeSite& site, const char* part, ValueId value, double factor) {
  if (factor == 1) return value;
  const std::string name(part);
  const ValueId scalar = site.add_scalar(name + "_factor", site.dtype(value), factor);
  return site.add(name, BinaryOperator{BinaryKind::mul}, {value, scalar});
}

/// The sets of `count` of `columns` columns, as bits.
std::vector<std::uint32_t> sets_of(int count, std::int64_t columns) {
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 0; set < 1u << columns; ++set) {
    if (std::popcount(set) == count) sets.push_back(set);
  }
  return sets;
}

/// How determinants of r rows follow from those of r - 1: for each set of r columns, and each of these columns, its
/// number, and the number of the set without it.
struct Expansion {
  Tensor columns, rests, signs;
};
Expansion expansion(int r, std::int64_t n) {
  const std::vector<std::uint32_t> sets = sets_of(r, n), smaller = sets_of(r - 1, n);
  const Shape shape = {static_cast<std::int64_t>(sets.size()), r};
  Expansion e{Tensor(DType::i64, shape), Tensor(DType::i64, shape), Tensor(DType::f64, {r})};
  std::int64_t at = 0;
  for (std::uint32_t set : sets) {
    for (std::int64_t column = 0; column < n; ++column) {
      const std::uint32_t bit = 1u << column;
      if ((set & bit) == 0) continue;
      const auto rest = std::lower_bound(smaller.begin(), smaller.end(), set & ~bit);
      e.columns.set_integer(at, column);
      e.rests.set_integer(at, rest - smaller.begin());
      e.signs.set(at % r, at % r % 2 == 0 ? 1 : -1);
      ++at;
    }
  }
  return e;
}

}  // namespace

Result<ValueId> matmul(NodeSite& site, ValueId a, ValueId b, bool wide) {
  const MatMulOperator op{.wide = wide && is_half(site.dtype(a)) && site.dtype(a) == site.dtype(b)};
  const Shape left = site.shape(a), right = site.shape(b);
  const bool row = left.size() == 1, column = right.size() == 1;
  if (row) {
    WHET_TRY(a, site.add("row", ReshapeOperator{{1, left[0]}}, {a}));
  }
  if (column) {
    WHET_TRY(b, site.add("column", ReshapeOperator{{right[0], 1}}, {b}));
  }
  WHET_TRY(const ValueId product, site.add("matmul", op, {a, b}));
  if (!row && !column) return product;
  Shape shape = site.shape(product);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return site.add("vector", ReshapeOperator{shape}, {product});
}

Result<ValueId> gemm(NodeSite& site, ValueId a, ValueId b, std::optional<ValueId> c, const Gemm& form) {
  MatMulOperator op{form.transpose_a, form.transpose_b};
  if (site.rank(a) != 2 || site.rank(b) != 2) {
    return site.error("multiplies " + to_string(site.type(a)) + " and " + to_string(site.type(b)) +
                      "; expected two matrices");
  }
  const auto is_whole = [](double factor) { return std::abs(factor) < 1 << 24 && factor == std::floor(factor); };
  if (!is_float(site.dtype(a)) && !(is_whole(form.alpha) && is_whole(form.beta))) {
    return site.error("scales " + to_string(site.type(a)) + " by " + std::to_string(form.alpha) + " and " +
                      std::to_string(form.beta) + "; expected whole numbers");
  }
  const bool adds = c && form.beta != 0;
  if (!adds && form.alpha == 1) return site.add("product", op, {a, b});
  // Rounded once, behind the sum.
  const DType dtype = site.dtype(a);
  op.wide = is_half(dtype) && site.dtype(b) == dtype;
  WHET_TRY(const ValueId product, site.add("matmul", op, {a, b}));
  if (!adds) {
    WHET_TRY(const ValueId y, scaled(site, "alpha", product, form.alpha));
    return site.cast("product", y, dtype);
  }
  if (broadcast(site.shape(*c), site.shape(product)) != site.shape(product)) {
    return site.error("adds " + to_string(site.type(*c)) + " to " + to_string(site.type(product)) +
                      "; expected a tensor that broadcasts to it");
  }
  WHET_TRY(const ValueId left, scaled(site, "alpha", product, form.alpha));
  WHET_TRY(const ValueId addend, site.cast("addend", *c, site.dtype(left)));
  WHET_TRY(const ValueId right, scaled(site, "beta", addend, form.beta));
  WHET_TRY(const ValueId y, site.add("product", BinaryOperator{BinaryKind::add}, {left, right}));
  return site.cast("narrow", y, dtype);
}

/// Expanded by rows from the last one on: the determinants of the last r rows and every r columns, r = 1, 2, ...
Result<ValueId> determinant(NodeSite& site, ValueId x) {
  constexpr std::int64_t kMostRows = 8;
  const Shape shape = site.shape(x);
  const std::int64_t n = shape.size() < 2 ? 0 : shape.back();
  if (n < 1 || n > kMostRows || shape[shape.size() - 2] != n || !is_float(site.dtype(x)) || num_elements(shape) == 0) {
    return site.error("the matrices are " + to_string(site.type(x)) + "; expected floats, 1 to " +
                      std::to_string(kMostRows) + " rows and as many columns");
  }
  const std::int64_t count = num_elements(shape) / (n * n);
  WHET_TRY(const ValueId matrices, site.add("matrices", ReshapeOperator{{count, n, n}}, {x}));
  const auto row = [&](std::int64_t i) -> Result<ValueId> {
    WHET_TRY(const ValueId one, site.add("one", part_along({count, n, n}, 1, i, 1), {matrices}));
    return site.add("row", ReshapeOperator{{count, n}}, {one});
  };
  WHET_TRY(ValueId minors, row(n - 1));
  for (int r = 2; r <= n; ++r) {
    const Expansion e = expansion(r, n);
    Tensor signs(site.dtype(x), e.signs.shape());
    for (std::int64_t i = 0; i < signs.size(); ++i) signs.set(i, e.signs.get(i));
    WHET_TRY(const ValueId next, row(n - r));
    const ValueId columns = site.add_constant("columns", e.columns), rests = site.add_constant("rests", e.rests);
    WHET_TRY(ValueId term, site.add("factor", GatherOperator{1}, {next, columns}));
    WHET_TRY(const ValueId rest, site.add("rest", GatherOperator{1}, {minors, rests}));
    WHET_TRY(term, site.add("term", BinaryOperator{BinaryKind::mul}, {term, rest}));
    WHET_TRY(term, site.add("signed", BinaryOperator{BinaryKind::mul}, {term, site.add_constant("signs", signs)}));
    WHET_TRY(minors, site.add("minors", ReduceOperator{ReduceKind::sum, {2}, false}, {term}));
  }
  return site.add("determinants", ReshapeOperator{Shape(shape.begin(), shape.end() - 2)}, {minors});
}

}  // namespace whet
