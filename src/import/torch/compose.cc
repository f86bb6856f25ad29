#include <algorithm>
#include <numeric>

#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/matrix.h"
#include "import/parts/shape.h"
#include "import/parts/window.h"
#include "import/torch/rows.h"

// Operators that are a few others.

namespace whet::torch {
namespace {

using B = BinaryKind;
using U = UnaryKind;

/// Tensors side by side along `axis`, after those of fewer dimensions got as many as `rank`.
Status give_side_by_side(TorchSite& site, std::int64_t axis, std::size_t rank) {
  WHET_TRY(std::vector<ValueId> values, site.tensors("tensors"));
  if (values.empty()) return site.error("joins no tensors");
  DType dtype = site.dtype(values[0]);
  for (const ValueId x : values) dtype = wider(dtype, site.dtype(x));
  for (ValueId& x : values) {
    WHET_TRY(x, site.cast("typed", x, dtype));
    Shape shape = site.shape(x);
    if (shape.size() >= rank) continue;
    shape.insert(shape.begin(), rank - shape.size(), 1);
    WHET_TRY(x, site.add("wide", ReshapeOperator{shape}, {x}));
  }
  return values.size() == 1 ? site.pass(values[0]) : site.give(ConcatOperator{axis}, values);
}

/// x wᵀ + h vᵀ, and their biases: the gates of a step, one after the other.
struct Gates {
  ValueId of_input, of_state;
};
Result<Gates> gates_of(TorchSite& site, ValueId state) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const ValueId w_ih, site.tensor("w_ih"));
  WHET_TRY(const ValueId w_hh, site.tensor("w_hh"));
  WHET_TRY(const auto b_ih, site.optional_tensor("b_ih"));
  WHET_TRY(const auto b_hh, site.optional_tensor("b_hh"));
  const bool matrices = site.rank(x) == 2 && site.rank(state) == 2 && site.rank(w_ih) == 2 && site.rank(w_hh) == 2;
  if (!matrices)
    return site.error("steps from " + to_string(site.type(x)) + " and " + to_string(site.type(state)) +
                      "; expected [N, features] of both");
  WHET_TRY(const ValueId of_input, gemm(site, x, w_ih, b_ih, {.transpose_b = true}));
  WHET_TRY(const ValueId of_state, gemm(site, state, w_hh, b_hh, {.transpose_b = true}));
  return Gates{of_input, of_state};
}
Result<std::vector<ValueId>> apart(TorchSite& site, ValueId gates, std::int64_t count, ValueId state) {
  const std::int64_t size = site.shape(state)[1];
  if (site.shape(gates)[1] != count * size)
    return site.error("has gates " + to_string(site.type(gates)) + " of a state " + to_string(site.type(state)));
  return split(site, gates, 1, std::vector<std::int64_t>(static_cast<std::size_t>(count), size));
}

Status import_hstack(TorchSite& site) {
  WHET_TRY(const std::vector<ValueId> values, site.tensors("tensors"));
  const bool flat = !values.empty() && site.rank(values[0]) <= 1;
  return give_side_by_side(site, flat ? 0 : 1, 1);
}
Status import_vstack(TorchSite& site) { return give_side_by_side(site, 0, 2); }

/// Windows of `size` entries along a dimension; the place in a window is the last dimension.
Status import_unfold(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, site.axis("dimension", x));
  WHET_TRY(const std::int64_t size, site.integer("size"));
  WHET_TRY(const std::int64_t step, site.integer("step"));
  const Shape shape = site.shape(x);
  if (shape.empty() || size < 1 || step < 1 || size > shape[static_cast<std::size_t>(d)])
    return site.error("takes windows of " + std::to_string(size) + " by steps of " + std::to_string(step) + " of " +
                      to_string(site.type(x)));
  const std::int64_t count = (shape[static_cast<std::size_t>(d)] - size) / step + 1;
  WHET_RETURN_IF_ERROR(expect_small(site, {count, size}, "the list of windows"));
  Tensor places(DType::i64, {count, size});
  for (std::int64_t i = 0; i < places.size(); ++i) places.set_integer(i, i / size * step + i % size);
  WHET_TRY(const ValueId windows, gather(site, x, site.add_constant("places", places), d));
  TransposeOperator turn{std::vector<std::int64_t>(shape.size() + 1)};
  std::iota(turn.perm.begin(), turn.perm.end(), 0);
  turn.perm.erase(turn.perm.begin() + d + 1);
  turn.perm.push_back(d + 1);
  return d + 1 == static_cast<std::int64_t>(shape.size()) ? site.give(windows) : site.give(turn, {windows});
}

/// Rows [..., n] become the diagonals `offset` of square matrices, else zeros; "dim1" counts the rows of a matrix and "dim2" its
/// columns.
Status import_diag_embed(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t offset, site.integer("offset"));
  WHET_TRY(const std::int64_t dim1, site.integer("dim1"));
  WHET_TRY(const std::int64_t dim2, site.integer("dim2"));
  const std::size_t rank = site.rank(x) + 1;
  WHET_TRY(const std::int64_t a, site.resolve_axis(dim1, rank));
  WHET_TRY(const std::int64_t b, site.resolve_axis(dim2, rank));
  const auto last = static_cast<std::int64_t>(rank) - 2;
  const bool fits = last >= 0 && a != b && offset > -kMaxElements && offset < kMaxElements;
  if (!fits)
    return site.error("makes diagonals " + std::to_string(offset) + " of " + to_string(site.type(x)) +
                      " in dimensions " + std::to_string(a) + " and " + std::to_string(b));
  // Above the main diagonal the last rows of a matrix are empty, below it the first ones.
  const std::int64_t before = std::max<std::int64_t>(-offset, 0), behind = std::max<std::int64_t>(offset, 0);
  const std::int64_t extent = site.shape(x).back() + before + behind;
  WHET_RETURN_IF_ERROR(expect_small(site, {extent, extent}, "a matrix"));
  WHET_TRY(ValueId rows, padded(site, x, {before, behind}, {last}, PadMode::constant, 0));
  WHET_TRY(rows, unsqueezed(site, rows, {-1}));
  const ValueId diagonal = site.add_constant("diagonal", eye(DType::boolean, extent, extent, offset));
  const ValueId zero = site.add_scalar("zero", site.dtype(x), 0);
  WHET_TRY(const ValueId matrices, site.add("matrices", WhereOperator{}, {diagonal, rows, zero}));
  TransposeOperator turn{std::vector<std::int64_t>(rank)};
  std::int64_t next = 0;
  for (std::int64_t d = 0; d <= last + 1; ++d) {
    turn.perm[static_cast<std::size_t>(d)] = d == a ? last : d == b ? last + 1 : next++;
  }
  return std::is_sorted(turn.perm.begin(), turn.perm.end()) ? site.give(matrices) : site.give(turn, {matrices});
}

/// Of vectors of three numbers along a dimension: a[d+1] b[d+2] - a[d+2] b[d+1], places counted around.
Status import_cross(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"self", "other"}));
  WHET_TRY(const ValueId a, site.operand("self", dtype));
  WHET_TRY(const ValueId b, site.operand("other", dtype));
  const bool equal = site.rank(a) == site.rank(b) && broadcast(site.shape(a), site.shape(b));
  std::int64_t d = -1;
  if (site.has("dim")) {
    WHET_TRY(d, site.axis("dim", a));
  } else {
    // The first dimension of three.
    const Shape& shape = site.shape(a);
    d = std::find(shape.begin(), shape.end(), 3) - shape.begin();
  }
  const auto at = static_cast<std::size_t>(d);
  if (!equal || at >= site.rank(a) || site.shape(a)[at] != 3 || site.shape(b)[at] != 3)
    return site.error("multiplies " + to_string(site.type(a)) + " by " + to_string(site.type(b)) +
                      "; expected vectors of three numbers");
  const ValueId next = site.add_constant("next", integer_list({1, 2, 0}));
  const ValueId after = site.add_constant("after", integer_list({2, 0, 1}));
  const auto product = [&](ValueId of_a, ValueId of_b) -> Result<ValueId> {
    WHET_TRY(const ValueId x, site.add("turned", GatherOperator{d}, {a, of_a}));
    WHET_TRY(const ValueId y, site.add("turned", GatherOperator{d}, {b, of_b}));
    return site.add("product", BinaryOperator{B::mul}, {x, y});
  };
  WHET_TRY(const ValueId forth, product(next, after));
  WHET_TRY(const ValueId back, product(after, next));
  return site.give(BinaryOperator{B::sub}, {forth, back});
}

Status import_frac(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{U::floor}, {size}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {size, whole}));
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{U::sign}, {x}));
  return site.give(BinaryOperator{B::mul}, {rest, sign});
}

/// log(x / (1 - x)), of numbers that `eps` keeps away from 0 and 1.
Status import_logit(TorchSite& site) {
  WHET_TRY(ValueId x, site.floats("self"));
  if (site.has("eps")) {
    WHET_TRY(const double eps, site.number("eps"));
    WHET_TRY(x, site.add("inside", ClipOperator{eps, 1 - eps}, {x}));
  }
  const ValueId one = site.add_scalar("one", site.dtype(x), 1);
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {one, x}));
  WHET_TRY(const ValueId odds, site.add("odds", BinaryOperator{B::div}, {x, rest}));
  return site.give(UnaryOperator{U::log}, {odds});
}

/// log(exp(a) + exp(b)): the larger one, and what the smaller one adds to it. Equal ones may be infinite.
Status import_logaddexp(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"self", "other"}));
  WHET_TRY(const ValueId a, site.operand("self", dtype));
  WHET_TRY(const ValueId b, site.operand("other", dtype));
  if (!is_float(dtype)) return site.error("adds " + to_string(site.type(a)) + "; expected floats");
  WHET_TRY(const ValueId larger, site.add("larger", BinaryOperator{B::max}, {a, b}));
  WHET_TRY(const ValueId smaller, site.add("smaller", BinaryOperator{B::min}, {a, b}));
  WHET_TRY(ValueId distance, site.add("distance", BinaryOperator{B::sub}, {smaller, larger}));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{B::equal}, {smaller, larger}));
  WHET_TRY(distance, site.add("apart", WhereOperator{}, {equal, site.add_scalar("none", dtype, 0), distance}));
  WHET_TRY(const ValueId more, site.add("more", UnaryOperator{U::softplus}, {distance}));
  return site.give(BinaryOperator{B::add}, {larger, more});
}

/// Inference takes the mean of the slopes.
Status import_rrelu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const double lower, site.number("lower"));
  WHET_TRY(const double upper, site.number("upper"));
  WHET_TRY(const bool training, site.flag("training"));
  if (training) return site.error("is in training mode; export the model after model.eval()");
  return site.give(LeakyReluOperator{(lower + upper) / 2}, {x});
}

Status import_aminmax(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const bool keep, site.flag("keepdim"));
  std::vector<std::int64_t> axes = every_axis(site.rank(x));
  if (site.has("dim")) {
    WHET_TRY(const std::int64_t d, site.axis("dim", x));
    axes = {d};
  }
  if (site.rank(x) == 0 || num_elements(site.shape(x)) == 0)
    return site.error("the input is " + to_string(site.type(x)) + "; expected elements along a dimension");
  WHET_RETURN_IF_ERROR(site.give(ReduceOperator{ReduceKind::min, axes, keep}, {x}, 0));
  return site.give(ReduceOperator{ReduceKind::max, axes, keep}, {x}, 1);
}

/// Places count within an image and channel.
Status import_max_unpool2d(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(ValueId places, site.tensor("indices"));
  WHET_TRY(const std::vector<std::int64_t> extents, site.entries("output_size", 2, 1));
  const bool lone = site.rank(x) == 3;
  if (lone) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
    WHET_TRY(places, unsqueezed(site, places, {0}));
  }
  if (site.rank(x) != 4) return site.error("the input is " + to_string(site.type(x)) + "; expected [N, C, H, W]");
  const Shape shape = site.shape(x);
  WHET_TRY(ValueId y, max_unpool(site, x, places, {shape[0], shape[1], extents[0], extents[1]}));
  if (lone) {
    WHET_TRY(y, squeezed(site, y, std::vector<std::int64_t>{0}));
  }
  return site.give(y);
}

/// Gates i, f, g, o; the new state, and the new memory.
Status import_lstm_cell(TorchSite& site) {
  WHET_TRY(const std::vector<ValueId> states, site.tensors("hx"));
  if (states.size() != 2) return site.error("has " + std::to_string(states.size()) + " states; expected 2");
  WHET_TRY(const Gates gates, gates_of(site, states[0]));
  WHET_TRY(const ValueId sum, site.add("gates", BinaryOperator{B::add}, {gates.of_input, gates.of_state}));
  WHET_TRY(std::vector<ValueId> gate, apart(site, sum, 4, states[0]));
  for (std::size_t i = 0; i < 4; ++i) {
    WHET_TRY(gate[i], site.add("gate", UnaryOperator{i == 2 ? U::tanh : U::sigmoid}, {gate[i]}));
  }
  WHET_TRY(const ValueId kept, site.add("kept", BinaryOperator{B::mul}, {gate[1], states[1]}));
  WHET_TRY(const ValueId fresh, site.add("new", BinaryOperator{B::mul}, {gate[0], gate[2]}));
  WHET_TRY(const ValueId memory, site.add("memory", BinaryOperator{B::add}, {kept, fresh}));
  WHET_TRY(const ValueId shown, site.add("shown", UnaryOperator{U::tanh}, {memory}));
  WHET_RETURN_IF_ERROR(site.give(memory, 1));
  return site.give(BinaryOperator{B::mul}, {gate[3], shown});
}

/// Gates r, z, n; r is applied behind the product with the state.
Status import_gru_cell(TorchSite& site) {
  WHET_TRY(const ValueId state, site.tensor("hx"));
  WHET_TRY(const Gates gates, gates_of(site, state));
  WHET_TRY(const std::vector<ValueId> x, apart(site, gates.of_input, 3, state));
  WHET_TRY(const std::vector<ValueId> h, apart(site, gates.of_state, 3, state));
  std::vector<ValueId> gate;
  for (std::size_t i = 0; i < 2; ++i) {
    WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{B::add}, {x[i], h[i]}));
    WHET_TRY(const ValueId open, site.add("gate", UnaryOperator{U::sigmoid}, {sum}));
    gate.push_back(open);
  }
  WHET_TRY(const ValueId part, site.add("reset", BinaryOperator{B::mul}, {gate[0], h[2]}));
  WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{B::add}, {x[2], part}));
  WHET_TRY(const ValueId fresh, site.add("new", UnaryOperator{U::tanh}, {sum}));
  WHET_TRY(const ValueId change, site.add("change", BinaryOperator{B::sub}, {state, fresh}));
  WHET_TRY(const ValueId kept, site.add("kept", BinaryOperator{B::mul}, {gate[1], change}));
  return site.give(BinaryOperator{B::add}, {fresh, kept});
}

}  // namespace

TorchRows compose_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.aminmax", "default", "self dim=none keepdim=false", import_aminmax},
      {"aten.cross", "default", "self other dim=none", import_cross},
      {"aten.diag_embed", "default", "self offset=0 dim1=-2 dim2=-1", import_diag_embed},
      {"aten.frac", "default", "self", import_frac},
      {"aten.gru_cell", "default", "input hx w_ih w_hh b_ih=none b_hh=none", import_gru_cell},
      {"aten.hstack", "default", "tensors", import_hstack},
      {"aten.linalg_cross", "default", "self other dim=-1", import_cross},
      {"aten.logaddexp", "default", "self other", import_logaddexp},
      {"aten.logit", "default", "self eps=none", import_logit},
      {"aten.lstm_cell", "default", "input hx w_ih w_hh b_ih=none b_hh=none", import_lstm_cell},
      {"aten.max_unpool2d", "default", "self indices output_size", import_max_unpool2d},
      {"aten.row_stack", "default", "tensors", import_vstack},
      {"aten.rrelu", "default", "self lower=0.125 upper=0.3333333333333333 training=false generator=none",
       import_rrelu},
      {"aten.unfold", "default", "self dimension size step", import_unfold},
      {"aten.vstack", "default", "tensors", import_vstack},
  };
  return kRows;
}

}  // namespace whet::torch
