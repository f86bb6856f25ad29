#include "ops/site.h"

namespace whet {
namespace {

/// The index of matrix `input` at the batch position `i[0..]`, row `row` and column `column`.
Exprs matrix_index(const Site& site, std::size_t input, bool transposed, const Exprs& i, const Expr& row,
                   const Expr& column) {
  const Shape& shape = site.shape(input);
  const std::size_t batch = i.size() - 2, own = shape.size() - 2;
  Exprs index;
  for (std::size_t d = 0; d < own; ++d) index.push_back(shape[d] == 1 ? int_const(0) : i[batch - own + d]);
  index.push_back(transposed ? column : row);
  index.push_back(transposed ? row : column);
  return index;
}

}  // namespace

OpId define_at(const Site& site, const MatMulOperator& op) {
  const Shape &a = site.shape(0), &y = site.output.shape;
  const DType sum_type = wide_type(site.output.dtype);
  const bool rounds = sum_type != site.output.dtype;
  std::vector<Axis> axes;
  for (std::size_t d = 0; d + 2 < y.size(); ++d) axes.push_back({"b" + std::to_string(d), y[d], AxisRole::batch});
  axes.push_back({"m", y[y.size() - 2], AxisRole::row});
  axes.push_back({"n", y.back(), AxisRole::out_channel});
  const std::int64_t depth = op.transpose_a ? a[a.size() - 2] : a.back();
  const OpId product =
      site.reduce(rounds ? site.part("sum") : site.name, axes, {{"k", depth, AxisRole::in_channel}}, Reducer::sum,
                  OpFamily::matmul, [&](const Exprs& i, const Exprs& r) {
                    const Expr &m = i[i.size() - 2], &n = i.back(), &k = r[0];
                    return cast(sum_type, site.read(0, matrix_index(site, 0, op.transpose_a, i, m, k))) *
                           cast(sum_type, site.read(1, matrix_index(site, 1, op.transpose_b, i, k, n)));
                  });
  return rounds ? rounded_sum(site, product) : product;
}

}  // namespace whet
