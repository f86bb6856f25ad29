#include "compute/winograd.h"

#include <algorithm>
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
/// weights[rh, rw, rc, oc]; or in blocks of channels input[n, rc, oh + ..., ow + ..., rcb] and weights[rh, rw, rc*b + rcb,
/// oc*b + ocb].
struct Convolution {
  OpId input, weights;
  std::int64_t row = 0, column = 0, dilation = 1;
  bool widens = false;                       ///< both are of bf16, and multiplied as f32
  Axis n, oh, ow, oc, ic;                    ///< of whole channels
  std::int64_t in_blocks = 0, in_block = 0;  ///< of the input; 0: it is channels last
  std::int64_t out_block = 0;                ///< of the result; 0: it is channels last
};

/// An element at one channel of all.
Exprs at_channel(const Exprs& n_row_column, const Expr& channel, std::int64_t blocks, std::int64_t block) {
  const Expr &n = n_row_column[0], &row = n_row_column[1], &column = n_row_column[2];
  if (block == 0) return {n, row, column, channel};
  if (blocks == 1) return {n, int_const(0), row, column, channel};
  return {n, floordiv(channel, block), row, column, floormod(channel, block)};
}

const Load* as_load(const Expr& e) { return std::get_if<Load>(&e->kind); }

/// The x of f32(x), where that is of bf16; else nothing.
Expr widened_from(const Expr& e) {
  const auto* wide = std::get_if<Cast>(&e->kind);
  return wide && e->dtype == DType::f32 && wide->a->dtype == DType::bf16 ? wide->a : Expr();
}

/// Both are the same number wherever the axes are: those of one step are 0, however they occur.
bool equal_at(const Element& element, const Expr& a, const Expr& b) {
  Affine difference = to_affine(a - b);
  std::erase_if(difference.terms, [&](const auto& term) {
    for (std::size_t k = 0; k < element.axes.size() + element.reduce_axes.size(); ++k) {
      const Axis& axis = k < element.axes.size() ? element.axes[k] : element.reduce_axes[k - element.axes.size()];
      if (axis.extent == 1 && same(term.first, axis_var(element, static_cast<std::int64_t>(k)))) return true;
    }
    return false;
  });
  return difference.is_constant() && difference.constant == 0;
}

bool reads_at(const Element& element, const Load& load, const Exprs& index) {
  if (load.index.size() != index.size()) return false;
  for (std::size_t k = 0; k < index.size(); ++k)
    if (!equal_at(element, load.index[k], index[k])) return false;
  return true;
}

/// The extents and roles of a convolution's axes; nothing where they are no 3x3 convolution's.
std::optional<Convolution> axes_of(const Element& conv) {
  const bool blocked = conv.axes.size() == 5 && conv.reduce_axes.size() == 4;
  if (!blocked && (conv.axes.size() != 4 || conv.reduce_axes.size() != 3)) return std::nullopt;
  const std::size_t tap = blocked ? 1 : 0, row = blocked ? 2 : 1;
  if (conv.reduce_axes[tap].extent != 3 || conv.reduce_axes[tap + 1].extent != 3) return std::nullopt;
  Convolution found{.n = conv.axes[0],
                    .oh = conv.axes[row],
                    .ow = conv.axes[row + 1],
                    .oc = conv.axes[blocked ? 1 : 3],
                    .ic = conv.reduce_axes[blocked ? 0 : 2]};
  if (!blocked) return found;
  found.in_blocks = found.ic.extent;
  found.in_block = conv.reduce_axes.back().extent, found.out_block = conv.axes.back().extent;
  found.ic.extent *= found.in_block, found.oc.extent *= found.out_block;
  return found;
}

std::optional<Convolution> find_convolution(const ComputeDag& dag, OpId id) {
  if (!id.valid() || id.index() >= dag.ops.size() || dag.op(id).is_placeholder()) return std::nullopt;
  const Element& conv = dag.op(id).element();
  std::optional<Convolution> found = axes_of(conv);
  if (!found || conv.reducer != Reducer::sum || dag.op(id).dtype != DType::f32) return std::nullopt;
  const Binary* product = std::get_if<Binary>(&conv.body->kind);
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  const Expr half_input = widened_from(product->a), half_weights = widened_from(product->b);
  if (half_input.defined() != half_weights.defined()) return std::nullopt;
  found->widens = half_input.defined();
  const Load* const input = as_load(found->widens ? half_input : product->a);
  const Load* const weights = as_load(found->widens ? half_weights : product->b);
  if (!input || !weights || input->index.size() != conv.axes.size()) return std::nullopt;
  const auto axis = [&](std::size_t k) { return axis_var(conv, static_cast<std::int64_t>(k)); };
  const bool blocked = found->out_block > 0;
  const std::size_t row = blocked ? 2 : 1, reduced = conv.axes.size(), tap = reduced + (blocked ? 1 : 0);
  const Expr rh = axis(tap), rw = axis(tap + 1), last = axis(blocked ? tap + 2 : 6);
  Expr ic = last, oc = axis(reduced - 1);
  if (blocked) ic = axis(reduced) * found->in_block + ic, oc = axis(1) * found->out_block + oc;
  found->dilation = to_affine(input->index[row]).coefficient(rh);
  const Affine at_row = to_affine(input->index[row] - (axis(row) + rh * found->dilation)),
               at_column = to_affine(input->index[row + 1] - (axis(row + 1) + rw * found->dilation));
  found->input = OpId(input->source.value), found->weights = OpId(weights->source.value);
  if (!reads_at(conv, *weights, {rh, rw, ic, oc}) || !equal_at(conv, input->index[0], axis(0)) ||
      !equal_at(conv, input->index.back(), last) || (blocked && !equal_at(conv, input->index[1], axis(reduced))) ||
      found->dilation < 1 || !at_row.is_constant() || !at_column.is_constant() || !is_constant(dag, found->weights))
    return std::nullopt;
  found->row = at_row.constant, found->column = at_column.constant;
  return found;
}

/// The functions of the axes' extents, as an op has them.
std::vector<Expr> sizes_of_axes(const std::vector<Axis>& axes) {
  std::vector<Expr> sizes;
  if (std::none_of(axes.begin(), axes.end(), [](const Axis& axis) { return is_sized(axis); })) return sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

/// An element op without reduction whose body, of f32, is made from its axis variables.
Op element_op(std::string name, std::vector<Axis> axes, const std::function<Expr(const Exprs&)>& body,
              DType dtype = DType::f32) {
  Op op{
      .name = std::move(name), .dtype = dtype, .def = Element{.axes = std::move(axes), .family = OpFamily::injective}};
  Element& element = op.element();
  Exprs vars;
  for (std::size_t k = 0; k < element.axes.size(); ++k) {
    vars.push_back(axis_var(element, static_cast<std::int64_t>(k)));
    op.shape.push_back(element.axes[k].extent);
  }
  op.sizes = sizes_of_axes(element.axes);
  element.body = cast(dtype, body(vars));
  return op;
}

}  // namespace

Result<WinogradDag> winograd(const ComputeDag& dag, OpId id, std::int64_t m, WinogradTiles stored_as) {
  if (m != 2 && m != 4) {
    const std::string size = std::to_string(m);
    return Error{"F(" + size + " x " + size + ", 3 x 3) is not known; expected 2 or 4"};
  }
  const std::optional<Convolution> found = find_convolution(dag, id);
  if (is_sized(dag) && !has_one_window(dag, id)) return Error{"is no 3x3 convolution of pictures of one size"};
  if (!found)
    return Error{"is no 3x3 convolution of stride 1 with constant weights, which Winograd's algorithm is for"};
  const bool rounds = stored_as == WinogradTiles::bf16;
  if (rounds && !found->widens) return Error{"does not multiply bf16, so that its tiles stay f32"};
  if (rounds && m != 2) return Error{"would err eight times as much in bf16 with tiles of 4 as without; expected 2"};
  const DType stored = rounds ? DType::bf16 : DType::f32;
  const std::int64_t a = m + 2;
  const Transform to_input = m == 2 ? input_of_2 : input_of_4, to_weights = m == 2 ? weights_of_2 : weights_of_4,
                  to_output = m == 2 ? output_of_2 : output_of_4;
  const Op conv = dag.op(id);
  const Element& direct = conv.element();
  const Axis n = found->n, oc = found->oc, ic = found->ic, oh = found->oh, ow = found->ow;
  const std::int64_t dilation = found->dilation, span = m * dilation;  // rows from a tile's first to the next's
  const auto tiles = [&](std::int64_t extent) { return (extent + span - 1) / span * dilation; };
  const Axis th{oh.name + "t", tiles(oh.extent), AxisRole::row}, tw{ow.name + "t", tiles(ow.extent), AxisRole::column};
  const auto first_of = [&](const Expr& tile) { return floordiv(tile, dilation) * span + floormod(tile, dilation); };
  const auto small = [](const char* name, std::int64_t extent) { return Axis{name, extent, AxisRole::other}; };
  const auto name = [&](const char* part) { return conv.name + "_" + part; };

  WinogradDag out{.dilation = dilation};
  ComputeDag& to = out.dag;
  to.sizes = dag.sizes, to.at = dag.at;
  to.ops.assign(dag.ops.begin(), dag.ops.begin() + static_cast<std::ptrdiff_t>(id.index()));
  const auto along = [](std::int64_t count, const std::function<Expr(std::int64_t)>& at) {
    Exprs list;
    for (std::int64_t k = 0; k < count; ++k) list.push_back(at(k));
    return list;
  };

  const auto wide = [](const Expr& e) { return cast(DType::f32, e); };
  const OpId half = to.add(element_op(name("g"), {small("x", a), small("s", 3), ic, oc}, [&](const Exprs& i) {
    const Exprs g =
        along(3, [&](std::int64_t r) { return wide(load(to, found->weights, {int_const(r), i[1], i[2], i[3]})); });
    return transformed(to_weights, g, i[0], a);
  }));
  out.ops.weights = to.add(element_op(
      name("w"), {small("x", a), small("y", a), ic, oc},
      [&](const Exprs& i) {
        const Exprs g = along(3, [&](std::int64_t s) { return load(to, half, {i[0], int_const(s), i[2], i[3]}); });
        return transformed(to_weights, g, i[1], a);
      },
      stored));

  const Shape& shape = to.op(found->input).shape;
  const std::size_t first = found->in_block > 0 ? 2 : 1;  // of the input's rows and columns
  out.ops.rows = to.add(element_op(name("b"), {n, th, tw, small("x", a), small("j", a), ic}, [&](const Exprs& i) {
    const Exprs d = along(a, [&](std::int64_t k) {
      const Expr row = first_of(i[1]) + (k * dilation + found->row),
                 column = first_of(i[2]) + i[4] * dilation + found->column;
      const Expr inside = (row < int_const(shape[first])) && (column < int_const(shape[first + 1]));
      const Expr read =
          wide(load(to, found->input, at_channel({i[0], row, column}, i[5], found->in_blocks, found->in_block)));
      const bool whole = th.extent * m == oh.extent && tw.extent * m == ow.extent;
      return whole ? read : select(inside, read, constant_like(read, 0));
    });
    return transformed(to_input, d, i[3], a);
  }));
  out.ops.input = to.add(element_op(
      name("v"), {small("x", a), small("y", a), n, th, tw, ic},
      [&](const Exprs& i) {
        const Exprs d = along(
            a, [&](std::int64_t j) { return load(to, out.ops.rows, {i[2], i[3], i[4], i[0], int_const(j), i[5]}); });
        return transformed(to_input, d, i[1], a);
      },
      stored));

  Op products{.name = name("m"),
              .dtype = DType::f32,
              .def = Element{.axes = {small("x", a), small("y", a), n, th, tw, oc},
                             .reduce_axes = {ic},
                             .reducer = Reducer::sum,
                             .family = OpFamily::matmul}};
  {
    Element& element = products.element();
    const auto v = [&](std::int64_t k) { return axis_var(element, k); };
    element.body = wide(load(to, out.ops.input, {v(0), v(1), v(2), v(3), v(4), v(6)})) *
                   wide(load(to, out.ops.weights, {v(0), v(1), v(6), v(5)}));
    products.shape = {a, a, n.extent, th.extent, tw.extent, oc.extent};
    products.sizes = sizes_of_axes(element.axes);
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
    const std::size_t at = found->out_block > 0 ? 2 : 1;
    const Expr p = within(i[at]), q = within(i[at + 1]);
    const Expr channel = found->out_block > 0 ? i[1] * found->out_block + i[4] : i[3];
    const Exprs y = along(a, [&](std::int64_t k) {
      return load(to, out.ops.partial, {i[0], tile_of(i[at]), tile_of(i[at + 1]), p, int_const(k), channel});
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

bool has_one_window(const ComputeDag& dag, OpId conv) {
  if (!find_convolution(dag, conv)) return false;
  const Element& element = dag.op(conv).element();
  const auto changes = [](const Axis& axis) { return is_sized(axis); };
  return std::none_of(element.axes.begin() + 1, element.axes.end(), changes) &&
         std::none_of(element.reduce_axes.begin(), element.reduce_axes.end(), changes);
}

}  // namespace whet
