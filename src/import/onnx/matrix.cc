#include "import/onnx/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "import/onnx/importers.h"

namespace whet {
namespace {

Result<ValueId> scaled(OnnxSite& site, const char* part, ValueId value, double factor) {
  if (factor == 1) return value;
  const std::string name(part);
  const ValueId scalar = site.add_scalar(name + "_factor", site.type(value).dtype, factor);
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

Status give_gemm(OnnxSite& site, const std::function<Status(const Operator&, std::vector<ValueId>)>& give) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  if (site.opset() < 7) site.ignore({"broadcast"});
  MatMulOperator op;
  WHET_TRY(op.transpose_a, site.flag("transA", false));
  WHET_TRY(op.transpose_b, site.flag("transB", false));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  WHET_TRY(const double beta, site.number("beta", 1));
  if (site.rank(0) != 2 || site.rank(1) != 2) {
    return site.error("multiplies " + to_string(site.type(site.in(0))) + " and " + to_string(site.type(site.in(1))) +
                      "; expected two matrices");
  }
  const auto is_whole = [](double factor) { return std::abs(factor) < 1 << 24 && factor == std::floor(factor); };
  if (!is_float(site.dtype(0)) && !(is_whole(alpha) && is_whole(beta))) {
    return site.error("scales " + to_string(site.type(site.in(0))) + " by " + std::to_string(alpha) + " and " +
                      std::to_string(beta) + "; expected whole numbers");
  }
  const bool adds = site.has(2) && beta != 0;
  if (!adds && alpha == 1) return give(op, {site.in(0), site.in(1)});
  WHET_TRY(const ValueId product, site.add("matmul", op, {site.in(0), site.in(1)}));
  if (!adds) {
    const ValueId factor = site.add_scalar("alpha", site.dtype(0), alpha);
    return give(BinaryOperator{BinaryKind::mul}, {product, factor});
  }
  if (broadcast(site.shape(2), site.type(product).shape) != site.type(product).shape) {
    return site.error("adds " + to_string(site.type(site.in(2))) + " to " + to_string(site.type(product)) +
                      "; expected a tensor that broadcasts to it");
  }
  WHET_TRY(const ValueId left, scaled(site, "alpha", product, alpha));
  WHET_TRY(const ValueId right, scaled(site, "beta", site.in(2), beta));
  return give(BinaryOperator{BinaryKind::add}, {left, right});
}

Status import_gemm(OnnxSite& site) {
  return give_gemm(site,
                   [&](const Operator& op, std::vector<ValueId> inputs) { return site.give(op, std::move(inputs)); });
}

/// As numpy.matmul: a vector on the left is a row, on the right a column, and that dimension is dropped again.
Result<ValueId> add_matmul(OnnxSite& site, ValueId a, ValueId b) {
  const Shape left = site.type(a).shape, right = site.type(b).shape;
  const bool row = left.size() == 1, column = right.size() == 1;
  if (row) {
    WHET_TRY(a, site.add("row", ReshapeOperator{{1, left[0]}}, {a}));
  }
  if (column) {
    WHET_TRY(b, site.add("column", ReshapeOperator{{right[0], 1}}, {b}));
  }
  WHET_TRY(const ValueId product, site.add("matmul", MatMulOperator{}, {a, b}));
  if (!row && !column) return product;
  Shape shape = site.type(product).shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return site.add("vector", ReshapeOperator{shape}, {product});
}

Status import_matmul(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (site.rank(0) != 1 && site.rank(1) != 1) return site.give(MatMulOperator{}, {site.in(0), site.in(1)});
  WHET_TRY(const ValueId product, add_matmul(site, site.in(0), site.in(1)));
  return site.pass(product);
}

/// Expanded by rows from the last one on: the determinants of the last r rows and every r columns, r = 1, 2, ...
Status import_det(OnnxSite& site) {
  constexpr std::int64_t kMostRows = 8;
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const Shape x = site.shape(0);
  const std::int64_t n = x.size() < 2 ? 0 : x.back();
  if (n < 1 || n > kMostRows || x[x.size() - 2] != n || !is_float(site.dtype(0)) || num_elements(x) == 0) {
    return site.error("the matrices are " + to_string(site.type(site.in(0))) + "; expected floats, 1 to " +
                      std::to_string(kMostRows) + " rows and as many columns");
  }
  const std::int64_t count = num_elements(x) / (n * n);
  WHET_TRY(const ValueId matrices, site.add("matrices", ReshapeOperator{{count, n, n}}, {site.in(0)}));
  const auto row = [&](std::int64_t i) -> Result<ValueId> {
    WHET_TRY(const ValueId one, site.add("one", SliceOperator{{0, i, 0}, {1, 1, 1}, {count, 1, n}}, {matrices}));
    return site.add("row", ReshapeOperator{{count, n}}, {one});
  };
  WHET_TRY(ValueId minors, row(n - 1));
  for (int r = 2; r <= n; ++r) {
    const Expansion e = expansion(r, n);
    Tensor signs(site.dtype(0), e.signs.shape());
    for (std::int64_t i = 0; i < signs.size(); ++i) signs.set(i, e.signs.get(i));
    WHET_TRY(const ValueId next, row(n - r));
    const ValueId columns = site.add_constant("columns", e.columns), rests = site.add_constant("rests", e.rests);
    WHET_TRY(ValueId term, site.add("factor", GatherOperator{1}, {next, columns}));
    WHET_TRY(const ValueId rest, site.add("rest", GatherOperator{1}, {minors, rests}));
    WHET_TRY(term, site.add("term", BinaryOperator{BinaryKind::mul}, {term, rest}));
    WHET_TRY(term, site.add("signed", BinaryOperator{BinaryKind::mul}, {term, site.add_constant("signs", signs)}));
    WHET_TRY(minors, site.add("minors", ReduceOperator{ReduceKind::sum, {2}, false}, {term}));
  }
  return site.give(ReshapeOperator{Shape(x.begin(), x.end() - 2)}, {minors});
}

}  // namespace whet
