#include "compute/winograd.h"

#include <optional>

#include "compute/affine.h"

namespace whet {
namespace {

using Exprs = std::vector<Expr>;

/// One row of a transform matrix applied to `x`. Sums that rows share are written alike, so that they are computed
/// once.
using Transform = Expr (*)(const Exprs& x, std::int64_t row);

Expr times(double factor, const Expr& x) { return constant_like(x, factor) * x; }

Expr input_of_2(const Exprs& d, std::int64_t row) {
  switch (row) {
    case 0:
      return d[0] - d[2];
    case 1:
      return d[1] + d[2];
    case 2:
      return d[2] - d[1];
    default:
      return d[1] - d[3];
  }
}

Expr weights_of_2(const Exprs& g, std::int64_t row) {
  switch (row) {
    case 0:
      return g[0];
    case 1:
      return times(0.5, (g[0] + g[2]) + g[1]);
    case 2:
      return times(0.5, (g[0] + g[2]) - g[1]);
    default:
      return g[2];
  }
}

Expr output_of_2(const Exprs& p, std::int64_t row) { return row == 0 ? p[0] + (p[1] + p[2]) : (p[1] - p[2]) - p[3]; }

Expr input_of_4(const Exprs& d, std::int64_t row) {
  switch (row) {
    case 0:
      return times(4, d[0]) + (d[4] - times(5, d[2]));
    case 1:
      return (d[4] - times(4, d[2])) + (d[3] - times(4, d[1]));
    case 2:
      return (d[4] - times(4, d[2])) - (d[3] - times(4, d[1]));
    case 3:
      return (d[4] - d[2]) + times(2, d[3] - d[1]);
    case 4:
      return (d[4] - d[2]) - times(2, d[3] - d[1]);
    default:
      return times(4, d[1]) + (d[5] - times(5, d[3]));
  }
}

Expr weights_of_4(const Exprs& g, std::int64_t row) {
  switch (row) {
    case 0:
      return times(1.0 / 4, g[0]);
    case 1:
      return times(-1.0 / 6, (g[0] + g[2]) + g[1]);
    case 2:
      return times(-1.0 / 6, (g[0] + g[2]) - g[1]);
    case 3:
      return (times(1.0 / 24, g[0]) + times(1.0 / 6, g[2])) + times(1.0 / 12, g[1]);
    case 4:
      return (times(1.0 / 24, g[0]) + times(1.0 / 6, g[2])) - times(1.0 / 12, g[1]);
    default:
      return g[2];
  }
}

Expr output_of_4(const Exprs& p, std::int64_t row) {
  switch (row) {
    case 0:
      return p[0] + ((p[1] + p[2]) + (p[3] + p[4]));
    case 1:
      return (p[1] - p[2]) + times(2, p[3] - p[4]);
    case 2:
      return (p[1] + p[2]) + times(4, p[3] + p[4]);
    default:
      return ((p[1] - p[2]) + times(8, p[3] - p[4])) + p[5];
  }
}

/// Row number `row`, an expression that unrolling makes a constant, of the transform.
Expr transformed(Transform transform, const Exprs& x, const Expr& row, std::int64_t rows) {
  Expr result = transform(x, rows - 1);
  for (std::int64_t k = rows - 1; k-- > 0;) result = select(equal(row, int_const(k)), transform(x, k), result);
  return result;
}

/// What a 3x3 convolution of stride 1 reads: input[n, oh + rh*dilation + row, ow + rw*dilation + column, rc] and
/// weights[rh, rw, rc, oc].
struct Convolution {
  OpId input, weights;
  std::int64_t row = 0, column = 0, dilation = 1;
};

const Load* as_load(const Expr& e) { return std::get_if<Load>(&e->kind); }

bool reads_at(const Load& load, const Exprs& index) {
  if (load.index.size() != index.size()) return false;
  for (std::size_t k = 0; k < index.size(); ++k)
    if (!same(load.index[k], index[k])) return false;
  return true;
}

std::optional<Convolution> find_convolution(const ComputeDag& dag, OpId id) {
  if (!id.valid() || id.index() >= dag.ops.size() || dag.op(id).is_placeholder()) return std::nullopt;
  const Element& conv = dag.op(id).element();
  if (conv.axes.size() != 4 || conv.reduce_axes.size() != 3 || conv.reducer != Reducer::sum ||
      dag.op(id).dtype != DType::f32 || conv.reduce_axes[0].extent != 3 || conv.reduce_axes[1].extent != 3)
    return std::nullopt;
  const Binary* product = std::get_if<Binary>(&conv.body->kind);
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  const Load *input = as_load(product->a), *weights = as_load(product->b);
  if (!input || !weights || input->index.size() != 4) return std::nullopt;
  const Expr n = axis_var(conv, 0), oh = axis_var(conv, 1), ow = axis_var(conv, 2), oc = axis_var(conv, 3),
             rh = axis_var(conv, 4), rw = axis_var(conv, 5), rc = axis_var(conv, 6);
  const std::int64_t dilation = to_affine(input->index[1]).coefficient(rh);
  const Affine row = to_affine(input->index[1] - (oh + rh * dilation)),
               column = to_affine(input->index[2] - (ow + rw * dilation));
  const OpId weight_op(weights->source.value);
  if (!reads_at(*weights, {rh, rw, rc, oc}) || !same(input->index[0], n) || !same(input->index[3], rc) ||
      dilation < 1 || !row.is_constant() || !column.is_constant() || !is_constant(dag, weight_op))
    return std::nullopt;
  return Convolution{OpId(input->source.value), weight_op, row.constant, column.constant, dilation};
}

/// An element op without reduction whose body is made from its axis variables.
Op element_op(std::string name, std::vector<Axis> axes, const std::function<Expr(const Exprs&)>& body) {
  Op op{.name = std::move(name),
        .dtype = DType::f32,
        .def = Element{.axes = std::move(axes), .family = OpFamily::injective}};
  Element& element = op.element();
  Exprs vars;
  for (std::size_t k = 0; k < element.axes.size(); ++k) {
    vars.push_back(axis_var(element, static_cast<std::int64_t>(k)));
    op.shape.push_back(element.axes[k].extent);
  }
  element.body = body(vars);
  return op;
}

}  // namespace

Result<WinogradDag> winograd(const ComputeDag& dag, OpId id, std::int64_t m) {
  if (m != 2 && m != 4) {
    const std::string size = std::to_string(m);
    return Error{"F(" + size + " x " + size + ", 3 x 3) is not known; expected 2 or 4"};
  }
  const std::optional<Convolution> found = find_convolution(dag, id);
  if (!found)
    return Error{"is no 3x3 convolution of stride 1 with constant weights, which Winograd's algorithm is for"};
  const std::int64_t a = m + 2;
  const Transform to_input = m == 2 ? input_of_2 : input_of_4, to_weights = m == 2 ? weights_of_2 : weights_of_4,
                  to_output = m == 2 ? output_of_2 : output_of_4;
  const Op conv = dag.op(id);
  const Element& direct = conv.element();
  const Axis n = direct.axes[0], oc = direct.axes[3], ic = direct.reduce_axes[2];
  const std::int64_t dilation = found->dilation, span = m * dilation;  // rows from a tile's first to the next's
  const auto tiles = [&](std::int64_t extent) { return (extent + span - 1) / span * dilation; };
  const Axis th{direct.axes[1].name + "t", tiles(direct.axes[1].extent), AxisRole::row},
      tw{direct.axes[2].name + "t", tiles(direct.axes[2].extent), AxisRole::column};
  const auto first_of = [&](const Expr& tile) { return floordiv(tile, dilation) * span + floormod(tile, dilation); };
  const auto small = [](const char* name, std::int64_t extent) { return Axis{name, extent, AxisRole::other}; };
  const auto name = [&](const char* part) { return conv.name + "_" + part; };

  WinogradDag out{.dilation = dilation};
  ComputeDag& to = out.dag;
  to.ops.assign(dag.ops.begin(), dag.ops.begin() + static_cast<std::ptrdiff_t>(id.index()));
  const auto along = [](std::int64_t count, const std::function<Expr(std::int64_t)>& at) {
    Exprs list;
    for (std::int64_t k = 0; k < count; ++k) list.push_back(at(k));
    return list;
  };

  const OpId half = to.add(element_op(name("g"), {small("x", a), small("s", 3), ic, oc}, [&](const Exprs& i) {
    const Exprs g =
        along(3, [&](std::int64_t r) { return load(to, found->weights, {int_const(r), i[1], i[2], i[3]}); });
    return transformed(to_weights, g, i[0], a);
  }));
  out.ops.weights = to.add(element_op(name("w"), {small("x", a), small("y", a), ic, oc}, [&](const Exprs& i) {
    const Exprs g = along(3, [&](std::int64_t s) { return load(to, half, {i[0], int_const(s), i[2], i[3]}); });
    return transformed(to_weights, g, i[1], a);
  }));

  const Shape& shape = to.op(found->input).shape;
  out.ops.rows = to.add(element_op(name("b"), {n, th, tw, small("x", a), small("j", a), ic}, [&](const Exprs& i) {
    const Exprs d = along(a, [&](std::int64_t k) {
      const Expr row = first_of(i[1]) + (k * dilation + found->row),
                 column = first_of(i[2]) + i[4] * dilation + found->column;
      const Expr inside = (row < int_const(shape[1])) && (column < int_const(shape[2]));
      const Expr read = load(to, found->input, {i[0], row, column, i[5]});
      const bool whole = th.extent * m == direct.axes[1].extent && tw.extent * m == direct.axes[2].extent;
      return whole ? read : select(inside, read, constant_like(read, 0));
    });
    return transformed(to_input, d, i[3], a);
  }));
  out.ops.input = to.add(element_op(name("v"), {small("x", a), small("y", a), n, th, tw, ic}, [&](const Exprs& i) {
    const Exprs d =
        along(a, [&](std::int64_t j) { return load(to, out.ops.rows, {i[2], i[3], i[4], i[0], int_const(j), i[5]}); });
    return transformed(to_input, d, i[1], a);
  }));

  Op products{.name = name("m"),
              .dtype = DType::f32,
              .def = Element{.axes = {small("x", a), small("y", a), n, th, tw, oc},
                             .reduce_axes = {ic},
                             .reducer = Reducer::sum,
                             .family = OpFamily::matmul}};
  {
    Element& element = products.element();
    const auto v = [&](std::int64_t k) { return axis_var(element, k); };
    element.body = load(to, out.ops.input, {v(0), v(1), v(2), v(3), v(4), v(6)}) *
                   load(to, out.ops.weights, {v(0), v(1), v(6), v(5)});
    products.shape = {a, a, n.extent, th.extent, tw.extent, oc.extent};
  }
  out.ops.products = to.add(std::move(products));

  out.ops.partial = to.add(element_op(name("a"), {n, th, tw, small("p", m), small("y", a), oc}, [&](const Exprs& i) {
    const Exprs p = along(
        a, [&](std::int64_t x) { return load(to, out.ops.products, {int_const(x), i[4], i[0], i[1], i[2], i[5]}); });
    return transformed(to_output, p, i[3], m);
  }));
  Op last = element_op(conv.name, direct.axes, [&](const Exprs& i) {
    const auto tile_of = [&](const Expr& at) { return floordiv(at, span) * dilation + floormod(at, dilation); };
    const auto within = [&](const Expr& at) { return floormod(floordiv(at, dilation), m); };
    const Expr p = within(i[1]), q = within(i[2]);
    const Exprs y = along(a, [&](std::int64_t k) {
      return load(to, out.ops.partial, {i[0], tile_of(i[1]), tile_of(i[2]), p, int_const(k), i[3]});
    });
    return transformed(to_output, y, q, m);
  });
  out.ops.conv = to.add(std::move(last));

  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const auto moved = static_cast<std::int64_t>(k < id.index() ? k : k + (out.ops.conv.index() - id.index()));
    renamed.push_back(OpId(moved));
    if (k <= id.index()) continue;
    Op op = dag.ops[k];
    if (!op.is_placeholder()) op.element().body = with_sources(op.element().body, renamed);
    to.add(std::move(op));
  }
  for (OpId output : dag.outputs) to.outputs.push_back(renamed[output.index()]);
  return out;
}

}  // namespace whet
