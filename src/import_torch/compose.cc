#include <algorithm>

#include "import/parts/arithmetic.h"
#include "import/parts/einsum.h"
#include "import/parts/index.h"
#include "import/parts/matrix.h"
#include "import/parts/move_axis.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"
#include "import/parts/window.h"
#include "import_torch/rows.h"

// Operators that are a few others.

namespace whet::torch {

/// Rows [..., n] become the diagonals `offset` of square matrices, else zeros; `dim1` counts the rows of a matrix and `dim2` its
/// columns.
Result<ValueId> diagonals(TorchSite& site, ValueId x, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
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
  Ints perm(rank);
  std::int64_t next = 0;
  for (std::int64_t d = 0; d <= last + 1; ++d)
    perm[static_cast<std::size_t>(d)] = d == a ? last : d == b ? last + 1 : next++;
  return std::is_sorted(perm.begin(), perm.end()) ? Result<ValueId>(matrices)
                                                  : site.add("turned", TransposeOperator{perm}, {matrices});
}

namespace {

using B = BinaryKind;
using U = UnaryKind;

/// x wᵀ + h vᵀ, and their biases: the gates of a step, one after the other.
struct Gates {
  ValueId of_input, of_state;
};
Result<Gates> gates_of(TorchSite& site, ValueId x, ValueId state, ValueId w_ih, ValueId w_hh, OptionalId b_ih,
                       OptionalId b_hh) {
  const bool matrices = site.rank(x) == 2 && site.rank(state) == 2 && site.rank(w_ih) == 2 && site.rank(w_hh) == 2;
  if (!matrices)
    return site.error("steps from " + to_string(site.type(x)) + " and " + to_string(site.type(state)) +
                      "; expected [N, features] of both");
  WHET_TRY(const ValueId of_input, gemm(site, x, w_ih, b_ih, {.transpose_b = true}));
  WHET_TRY(const ValueId of_state, gemm(site, state, w_hh, b_hh, {.transpose_b = true}));
  return Gates{of_input, of_state};
}
Result<ValueIds> apart(TorchSite& site, ValueId gates, std::int64_t count, ValueId state) {
  const std::int64_t size = site.shape(state)[1];
  if (site.shape(gates)[1] != count * size)
    return site.error("has gates " + to_string(site.type(gates)) + " of a state " + to_string(site.type(state)));
  return split(site, gates, 1, Ints(static_cast<std::size_t>(count), size));
}

/// Windows of `size` entries along a dimension; the place in a window is the last dimension.
Result<ValueId> import_unfold(TorchSite& site, ValueId x, std::int64_t d, std::int64_t size, std::int64_t step) {
  if (size < 1 || step < 1 || size > site.extent(x, d))
    return site.error("takes windows of " + std::to_string(size) + " by steps of " + std::to_string(step) + " of " +
                      to_string(site.type(x)));
  const std::int64_t count = (site.extent(x, d) - size) / step + 1;
  WHET_RETURN_IF_ERROR(expect_small(site, {count, size}, "the list of windows"));
  Tensor places(DType::i64, {count, size});
  for (std::int64_t i = 0; i < places.size(); ++i) places.set_integer(i, i / size * step + i % size);
  WHET_TRY(const ValueId windows, gather(site, x, site.add_constant("places", places), d));
  const std::size_t rank = site.rank(windows), at = static_cast<std::size_t>(d) + 1;
  return at + 1 == rank ? Result<ValueId>(windows) : site.add("turned", move_axis(rank, at, rank - 1), {windows});
}

/// Of vectors of three numbers along a dimension, else the first one of three: a[d+1] b[d+2] - a[d+2] b[d+1], places counted
/// around.
Status import_cross(TorchSite& site, ValueId a, ValueId b, std::optional<std::int64_t> dim) {
  const Shape& shape = site.shape(a);
  const std::int64_t d = dim ? *dim : std::find(shape.begin(), shape.end(), 3) - shape.begin();
  const bool equal = site.rank(a) == site.rank(b) && broadcast(site.shape(a), site.shape(b));
  if (!equal || d >= static_cast<std::int64_t>(shape.size()) || site.extent(a, d) != 3 || site.extent(b, d) != 3)
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

Status import_frac(TorchSite& site, ValueId x) {
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{U::floor}, {size}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {size, whole}));
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{U::sign}, {x}));
  return site.give(BinaryOperator{B::mul}, {rest, sign});
}

/// log(x / (1 - x)), of numbers that `eps` keeps away from 0 and 1.
Status import_logit(TorchSite& site, ValueId x, std::optional<double> eps) {
  if (eps) {
    WHET_TRY(x, site.add("inside", ClipOperator{*eps, 1 - *eps}, {x}));
  }
  const ValueId one = site.add_scalar("one", site.dtype(x), 1);
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {one, x}));
  WHET_TRY(const ValueId odds, site.add("odds", BinaryOperator{B::div}, {x, rest}));
  return site.give(UnaryOperator{U::log}, {odds});
}

/// log(exp(a) + exp(b)): the larger one, and what the smaller one adds to it. Equal ones may be infinite.
Status import_logaddexp(TorchSite& site, ValueId a, ValueId b) {
  const DType dtype = site.dtype(a);
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
Status import_rrelu(TorchSite& site, ValueId x, double lower, double upper, bool training) {
  if (training) return site.error("is in training mode; export the model after model.eval()");
  return site.give(LeakyReluOperator{(lower + upper) / 2}, {x});
}

Status import_aminmax(TorchSite& site, ValueId x, const Ints& axes, bool keep) {
  if (site.rank(x) == 0 || num_elements(site.shape(x)) == 0)
    return site.error("the input is " + to_string(site.type(x)) + "; expected elements along a dimension");
  WHET_RETURN_IF_ERROR(site.give(ReduceOperator{ReduceKind::min, axes, keep}, {x}, 0));
  return site.give(ReduceOperator{ReduceKind::max, axes, keep}, {x}, 1);
}

/// Places count within an image and channel.
Result<ValueId> import_max_unpool2d(TorchSite& site, ValueId x, ValueId places) {
  WHET_TRY(const Ints extents, site.entries("output_size", 2, 1));
  const bool lone = site.rank(x) == 3;
  if (lone) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
    WHET_TRY(places, unsqueezed(site, places, {0}));
  }
  if (site.rank(x) != 4) return site.error("the input is " + to_string(site.type(x)) + "; expected [N, C, H, W]");
  const Shape shape = site.shape(x);
  WHET_TRY(const ValueId y, max_unpool(site, x, places, {shape[0], shape[1], extents[0], extents[1]}));
  return lone ? squeezed(site, y, Ints{0}) : y;
}

/// Gates i, f, g, o; the new state, and the new memory.
Status import_lstm_cell(TorchSite& site, ValueId x, const ValueIds& states, ValueId w_ih, ValueId w_hh, OptionalId b_ih,
                        OptionalId b_hh) {
  if (states.size() != 2) return site.error("has " + std::to_string(states.size()) + " states; expected 2");
  WHET_TRY(const Gates gates, gates_of(site, x, states[0], w_ih, w_hh, b_ih, b_hh));
  WHET_TRY(const ValueId sum, site.add("gates", BinaryOperator{B::add}, {gates.of_input, gates.of_state}));
  WHET_TRY(ValueIds gate, apart(site, sum, 4, states[0]));
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
Status import_gru_cell(TorchSite& site, ValueId input, ValueId state, ValueId w_ih, ValueId w_hh, OptionalId b_ih,
                       OptionalId b_hh) {
  WHET_TRY(const Gates gates, gates_of(site, input, state, w_ih, w_hh, b_ih, b_hh));
  WHET_TRY(const ValueIds x, apart(site, gates.of_input, 3, state));
  WHET_TRY(const ValueIds h, apart(site, gates.of_state, 3, state));
  ValueIds gate;
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

template <U activation>
Status import_rnn_cell(TorchSite& site, ValueId x, ValueId state, ValueId w_ih, ValueId w_hh, OptionalId b_ih,
                       OptionalId b_hh) {
  WHET_TRY(const Gates gates, gates_of(site, x, state, w_ih, w_hh, b_ih, b_hh));
  WHET_TRY(const ValueId sum, site.add("gates", BinaryOperator{B::add}, {gates.of_input, gates.of_state}));
  return site.give(UnaryOperator{activation}, {sum});
}

/// Each element less the one before it, n times.
Result<ValueId> import_diff(TorchSite& site, ValueId x, std::int64_t n, std::int64_t d, OptionalId before,
                            OptionalId behind) {
  ValueIds row = {x};
  if (before) row.insert(row.begin(), *before);
  if (behind) row.push_back(*behind);
  if (row.size() > 1) {
    WHET_TRY(x, site.add("joined", ConcatOperator{d}, row));
  }
  if (site.rank(x) == 0 || n < 0 || n > 64)
    return site.error("takes " + std::to_string(n) + " differences of " + to_string(site.type(x)));
  for (std::int64_t i = 0; i < n; ++i) {
    WHET_TRY(const ValueId next, sliced(site, x, {1}, {kMaxElements}, Ints{d}, {1}));
    WHET_TRY(const ValueId own, sliced(site, x, {0}, {-1}, Ints{d}, {1}));
    WHET_TRY(x, site.dtype(x) == DType::boolean ? not_equal(site, next, own)
                                                : site.add("difference", BinaryOperator{B::sub}, {next, own}));
  }
  return x;
}

/// A letter for each dimension; those that are summed over have one in both.
Result<ValueId> import_tensordot(TorchSite& site, ValueId a, ValueId b, const Ints& dims_a, const Ints& dims_b) {
  if (dims_a.size() != dims_b.size())
    return site.error("contracts " + std::to_string(dims_a.size()) + " dimensions with " +
                      std::to_string(dims_b.size()));
  std::string of_a, of_b, rest;
  for (std::size_t d = 0; d < site.rank(a); ++d) of_a += static_cast<char>('a' + d);
  for (std::size_t d = 0; d < site.rank(b); ++d) of_b += static_cast<char>('A' + d);
  for (std::size_t i = 0; i < dims_a.size(); ++i) {
    WHET_TRY(const std::int64_t in_a, site.resolve_axis(dims_a[i], of_a.size()));
    WHET_TRY(const std::int64_t in_b, site.resolve_axis(dims_b[i], of_b.size()));
    of_b[static_cast<std::size_t>(in_b)] = of_a[static_cast<std::size_t>(in_a)];
  }
  for (const char letter : of_a + of_b)
    if ((of_a.find(letter) == std::string::npos) != (of_b.find(letter) == std::string::npos)) rest += letter;
  return einsum(site, {a, b}, {of_a + "," + of_b + "->" + rest});
}
Result<ValueId> import_inner(TorchSite& site, ValueId a, ValueId b) {
  if (site.rank(a) == 0 || site.rank(b) == 0) return site.add("product", BinaryOperator{B::mul}, {a, b});
  return import_tensordot(site, a, b, {-1}, {-1});
}

Result<ValueId> import_trace(TorchSite& site, ValueId x) {
  if (site.rank(x) != 2) return site.error("the input is " + to_string(site.type(x)) + "; expected a matrix");
  const ValueId ones = site.add_constant("diagonal", eye(DType::boolean, site.extent(x, 0), site.extent(x, 1), 0));
  WHET_TRY(const ValueId own, site.add("own", WhereOperator{}, {ones, x, site.add_scalar("zero", site.dtype(x), 0)}));
  return reduced(site, own, ReduceOperator{ReduceKind::sum, {0, 1}, false});
}

/// Quarters of a turn from the first dimension to the second.
Result<ValueId> import_rot90(TorchSite& site, ValueId x, std::int64_t k, const Ints& dims) {
  if (dims.size() != 2) return site.error("turns " + std::to_string(dims.size()) + " dimensions; expected 2");
  WHET_TRY(const std::int64_t a, site.resolve_axis(dims[0], site.rank(x)));
  WHET_TRY(const std::int64_t b, site.resolve_axis(dims[1], site.rank(x)));
  Ints perm = every_axis(site.rank(x));
  std::swap(perm[static_cast<std::size_t>(a)], perm[static_cast<std::size_t>(b)]);
  for (std::int64_t i = 0; i < (k % 4 + 4) % 4; ++i) {
    WHET_TRY(x, sliced(site, x, {-1}, {-kMaxElements}, Ints{b}, {-1}));
    WHET_TRY(x, site.add("turned", TransposeOperator{perm}, {x}));
  }
  return x;
}

/// y[..., o] = sum over i and j of a[..., i] w[o, i, j] b[..., j], plus a bias.
Status import_bilinear(TorchSite& site, ValueId a, ValueId b, ValueId w, OptionalId bias) {
  WHET_TRY(const ValueId y, einsum(site, {a, w, b}, {"...i,oij,...j->...o"}));
  return bias ? site.give(BinaryOperator{B::add}, {y, *bias}) : site.give(y);
}
/// beta c + alpha (the sum of the products)
Result<ValueId> import_addbmm(TorchSite& site, ValueId c, ValueId a, ValueId b, double beta, double alpha) {
  WHET_TRY(ValueId y, matmul(site, a, b));
  WHET_TRY(y, reduced(site, y, ReduceOperator{ReduceKind::sum, {0}, false}));
  WHET_TRY(y, with_number(site, "scaled", B::mul, y, alpha));
  WHET_TRY(c, with_number(site, "addend", B::mul, c, beta));
  return site.add("sum", BinaryOperator{B::add}, {c, y});
}
/// Steps first: x [steps, N, C] by weights [taps, C, O].
Result<ValueId> import_conv_tbc(TorchSite& site, ValueId x, ValueId w, ValueId bias, std::int64_t pad) {
  if (site.rank(x) != 3 || site.rank(w) != 3) return site.error("the input is " + to_string(site.type(x)));
  WHET_TRY(x, site.add("image", TransposeOperator{{1, 2, 0}}, {x}));
  WHET_TRY(w, site.add("weights", TransposeOperator{{2, 1, 0}}, {w}));
  WHET_TRY(const ValueId y, convolved(site, x, w, bias, {{1}, {1}, {pad}, {pad}}));
  return site.add("steps_first", TransposeOperator{{2, 0, 1}}, {y});
}

constexpr std::string_view kCell = "input hx w_ih w_hh b_ih? b_hh?";

}  // namespace

TorchRows compose_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.addbmm", "default", "self batch1 batch2 beta=1 alpha=1", calls<import_addbmm>, kWide},
      {"aten.aminmax", "default", "self dim(self)? keepdim=false", calls<import_aminmax>},
      {"aten.bilinear", "default", "input1 input2 weight bias?", calls<import_bilinear>},
      {"aten.conv_tbc", "default", "self weight bias pad=0", calls<import_conv_tbc>},
      {"aten.cross", "default", "self:common other:common dim(self)?", calls<import_cross>},
      {"aten.diag_embed", "default", "self offset=0 dim1=-2 dim2=-1", calls<diagonals>},
      {"aten.diff", "default", "self n=1 dim(self)=-1 prepend? append?", calls<import_diff>},
      {"aten.frac", "default", "self:floats", calls<import_frac>},
      {"aten.gru_cell", "default", kCell, calls<import_gru_cell>},
      {"aten.inner", "default", "self other", calls<import_inner>},
      {"aten.linalg_cross", "default", "self:common other:common dim(self)=-1", calls<import_cross>},
      {"aten.logaddexp", "default", "self:common other:common", calls<import_logaddexp>, kWide},
      {"aten.logit", "default", "self:floats eps?", calls<import_logit>, kWide},
      {"aten.lstm_cell", "default", kCell, calls<import_lstm_cell>},
      {"aten.max_unpool2d", "default", "self indices output_size", calls<import_max_unpool2d>},
      {"aten.rnn_relu_cell", "default", kCell, calls<import_rnn_cell<U::relu>>},
      {"aten.rnn_tanh_cell", "default", kCell, calls<import_rnn_cell<U::tanh>>},
      {"aten.rot90", "default", "self k=1 dims", calls<import_rot90>, kOfParts},
      {"aten.rrelu", "default", "self lower=0.125 upper=0.3333333333333333 training=false ~generator",
       calls<import_rrelu>, kWide},
      {"aten.tensordot", "default", "self other dims_self dims_other", calls<import_tensordot>},
      {"aten.trace", "default", "self", calls<import_trace>},
      {"aten.unfold", "default", "self dimension(self!) size step", calls<import_unfold>},
  };
  return kRows;
}

}  // namespace whet::torch
