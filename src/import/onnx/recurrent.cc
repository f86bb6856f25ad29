#include <algorithm>
#include <functional>
#include <limits>

#include "import/onnx/importers.h"

// LSTM, GRU and RNN, one step after the other: the input's part of all gates of all steps is one product of matrices,
// the state's part one for each step.

namespace whet {
namespace {

using B = BinaryKind;

struct Activation {
  std::string name;
  double alpha, beta;
};

struct Cell {
  std::int64_t gates;       ///< of one direction: 4, 3 or 1
  std::size_t activations;  ///< of one direction
  std::vector<std::string> usual;
};

/// Attributes and extents of the node; X is [steps, batch, features] whichever layout the file has.
struct Recurrent {
  std::int64_t steps = 0, batch = 0, features = 0, hidden = 0, directions = 1;
  bool first_reversed = false, batch_first = false;
  double clip = 0;
  bool input_forget = false, linear_before_reset = false;
  std::vector<Activation> activations;
};

/// The state of one direction while it runs.
struct State {
  ValueId h, c;
};

class Builder {
 public:
  Builder(OnnxSite& site, const Cell& cell) : site_(site), cell_(cell) {}

  Status read(bool is_lstm, bool is_gru);
  Status build(const std::function<Result<State>(Builder&, std::int64_t d, ValueId x, State)>& step);

  OnnxSite& site_;
  Cell cell_;
  Recurrent r;

  std::string label(const char* part) const { return prefix_ + part; }
  Result<ValueId> add(const char* part, const Operator& op, std::vector<ValueId> inputs) {
    return site_.add(label(part), op, std::move(inputs));
  }
  Result<ValueId> binary(const char* part, B kind, ValueId a, ValueId b) {
    return add(part, BinaryOperator{kind}, {a, b});
  }
  Result<ValueId> scaled(const char* part, B kind, ValueId x, double by) {
    return binary(part, kind, x, site_.add_scalar(label(part) + "_by", dtype(), by));
  }
  DType dtype() const { return site_.dtype(0); }
  /// Columns `gate` of what has the gates side by side.
  Result<ValueId> gate(const char* part, ValueId x, std::int64_t number) {
    const Shape& shape = site_.type(x).shape;
    SliceOperator op{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
    op.starts.back() = number * r.hidden;
    op.shape.back() = r.hidden;
    return add(part, op, {x});
  }
  /// Row `d` of input `i` as [columns], or one of its parts.
  Result<ValueId> direction(const char* part, std::size_t i, std::int64_t d) {
    const Shape shape = site_.shape(i);
    SliceOperator op{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
    op.starts[0] = d;
    op.shape[0] = 1;
    ValueId one = site_.in(i);
    if (shape[0] != 1) {
      WHET_TRY(one, add(part, op, {one}));
    }
    return add(part, ReshapeOperator{Shape(shape.begin() + 1, shape.end())}, {one});
  }
  Result<ValueId> activate(const char* part, ValueId x, std::int64_t d, std::size_t which) {
    if (r.clip > 0) {
      WHET_TRY(x, add(part, ClipOperator{-r.clip, r.clip}, {x}));
    }
    return activated(part, x, r.activations[static_cast<std::size_t>(d) * cell_.activations + which]);
  }
  /// `x` times the state's weights of direction d, columns `from` to `to` of the gates.
  Result<ValueId> by_state(const char* part, ValueId h, std::int64_t d, std::int64_t from, std::int64_t to) {
    ValueId weights = state_weights_[static_cast<std::size_t>(d)];
    if (from != 0 || to != cell_.gates) {
      SliceOperator op{{from * r.hidden, 0}, {1, 1}, {(to - from) * r.hidden, r.hidden}};
      WHET_TRY(weights, add(part, op, {weights}));
    }
    return add(part, MatMulOperator{false, true}, {h, weights});
  }
  /// Gates from..to-1 of the state's bias of direction d; only with a bias.
  Result<ValueId> state_bias(const char* part, std::int64_t d, std::int64_t number) {
    WHET_TRY(const ValueId both, direction(part, 3, d));
    return add(part, SliceOperator{{(cell_.gates + number) * r.hidden}, {1}, {r.hidden}}, {both});
  }

 private:
  Result<ValueId> activated(const char* part, ValueId x, const Activation& a);
  Result<ValueId> inputs_of(std::int64_t d);
  Result<State> initial(std::int64_t d);
  Result<ValueId> row(ValueId x, std::int64_t t);
  Status check_shapes();

  std::string prefix_;
  std::vector<ValueId> state_weights_;
};

Status Builder::check_shapes() {
  const std::int64_t g = cell_.gates * r.hidden;
  const std::vector<std::pair<std::size_t, Shape>> wanted = {
      {1, {r.directions, g, r.features}},
      {2, {r.directions, g, r.hidden}},
      {3, {r.directions, 2 * g}},
      {4, {r.batch}},
      {5, r.batch_first ? Shape{r.batch, r.directions, r.hidden} : Shape{r.directions, r.batch, r.hidden}},
      {6, r.batch_first ? Shape{r.batch, r.directions, r.hidden} : Shape{r.directions, r.batch, r.hidden}},
      {7, {r.directions, 3 * r.hidden}}};
  for (const auto& [i, shape] : wanted) {
    if (!site_.has(i) || site_.shape(i) == shape) continue;
    return site_.error("input " + std::to_string(i) + " is " + to_string(site_.type(site_.in(i))) + "; expected " +
                       to_string(shape));
  }
  return ok_status();
}

Status Builder::read(bool is_lstm, bool is_gru) {
  WHET_RETURN_IF_ERROR(site_.expect_inputs(3, is_lstm ? 8 : 6));
  if (site_.rank(0) != 3 || site_.rank(2) != 3 || !is_float(dtype())) {
    return site_.error("the input is " + to_string(site_.type(site_.in(0))) + " and the state's weights are " +
                       to_string(site_.type(site_.in(2))) + "; expected floats of three dimensions");
  }
  WHET_TRY(const std::int64_t layout, site_.integer("layout", 0));
  r.batch_first = layout != 0;
  const Shape x = site_.shape(0);
  r.steps = r.batch_first ? x[1] : x[0];
  r.batch = r.batch_first ? x[0] : x[1];
  r.features = x[2];
  WHET_TRY(r.hidden, site_.integer("hidden_size", site_.shape(2)[2]));
  WHET_TRY(const std::size_t direction, site_.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  r.directions = direction == 2 ? 2 : 1;
  r.first_reversed = direction == 1;
  WHET_TRY(r.clip, site_.number("clip", 0));
  if (is_lstm) {
    WHET_TRY(r.input_forget, site_.flag("input_forget", false));
  }
  if (is_gru) {
    WHET_TRY(r.linear_before_reset, site_.flag("linear_before_reset", false));
  }
  if (r.steps < 1 || r.batch < 1 || r.features < 1 || r.hidden < 1 || r.hidden > (1 << 20)) {
    return site_.error("the input is " + to_string(site_.type(site_.in(0))) + " with a state of " +
                       std::to_string(r.hidden) + "; expected at least one of each");
  }
  constexpr std::int64_t kMostSteps = 4096;
  if (r.steps > kMostSteps) {
    return site_.error("has " + std::to_string(r.steps) + " steps; at most " + std::to_string(kMostSteps) +
                       " are supported");
  }
  const std::size_t count = cell_.activations * static_cast<std::size_t>(r.directions);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(cell_.usual[i % cell_.usual.size()]);
  WHET_TRY(names, site_.texts("activations", names));
  WHET_TRY(const std::vector<double> alpha, site_.numbers("activation_alpha", {}));
  WHET_TRY(const std::vector<double> beta, site_.numbers("activation_beta", {}));
  if (names.size() != count) {
    return site_.error("attribute \"activations\" has " + std::to_string(names.size()) + " entries; expected " +
                       std::to_string(count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    r.activations.push_back({names[i], i < alpha.size() ? alpha[i] : none, i < beta.size() ? beta[i] : none});
  }
  return check_shapes();
}

Result<ValueId> Builder::activated(const char* part, ValueId x, const Activation& a) {
  const auto alpha = [&](double usual) { return a.alpha == a.alpha ? a.alpha : usual; };
  const auto beta = [&](double usual) { return a.beta == a.beta ? a.beta : usual; };
  std::string name = a.name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "sigmoid") return add(part, UnaryOperator{UnaryKind::sigmoid}, {x});
  if (name == "tanh") return add(part, UnaryOperator{UnaryKind::tanh}, {x});
  if (name == "relu") return add(part, UnaryOperator{UnaryKind::relu}, {x});
  if (name == "softsign") return add(part, UnaryOperator{UnaryKind::softsign}, {x});
  if (name == "softplus") return add(part, UnaryOperator{UnaryKind::softplus}, {x});
  if (name == "hardsigmoid") return add(part, HardSigmoidOperator{alpha(0.2), beta(0.5)}, {x});
  if (name == "leakyrelu") return add(part, LeakyReluOperator{alpha(0.01)}, {x});
  if (name == "affine") {
    WHET_TRY(const ValueId product, scaled(part, B::mul, x, alpha(1)));
    return scaled(part, B::add, product, beta(0));
  }
  if (name == "scaledtanh") {
    WHET_TRY(const ValueId inner, scaled(part, B::mul, x, beta(1)));
    WHET_TRY(const ValueId bent, add(part, UnaryOperator{UnaryKind::tanh}, {inner}));
    return scaled(part, B::mul, bent, alpha(1));
  }
  return site_.error("attribute \"activations\" holds \"" + a.name +
                     "\"; supported are Sigmoid, Tanh, Relu, Softsign, Softplus, HardSigmoid, LeakyRelu, Affine and "
                     "ScaledTanh");
}

/// [steps, batch, gates * hidden]: what the inputs of all steps and the biases add to the gates.
Result<ValueId> Builder::inputs_of(std::int64_t d) {
  ValueId x = site_.in(0);
  if (r.batch_first) {
    WHET_TRY(x, add("steps_first", TransposeOperator{{1, 0, 2}}, {x}));
  }
  WHET_TRY(const ValueId weights, direction("input_weights", 1, d));
  WHET_TRY(x, add("rows", ReshapeOperator{{r.steps * r.batch, r.features}}, {x}));
  WHET_TRY(x, add("inputs", MatMulOperator{false, true}, {x, weights}));
  if (site_.has(3)) {
    WHET_TRY(const ValueId both, direction("bias", 3, d));
    const std::int64_t g = cell_.gates * r.hidden;
    WHET_TRY(ValueId bias, add("input_bias", SliceOperator{{0}, {1}, {g}}, {both}));
    // A reset gate stands between the state's bias of the last gate and the rest.
    SliceOperator half{{g}, {1}, {r.linear_before_reset ? g - r.hidden : g}};
    WHET_TRY(ValueId other, add("state_bias", half, {both}));
    if (r.linear_before_reset) {
      WHET_TRY(other, add("state_bias_filled", PadOperator{PadMode::constant, 0, {0}, {r.hidden}}, {other}));
    }
    WHET_TRY(bias, binary("bias_sum", B::add, bias, other));
    WHET_TRY(x, binary("inputs_biased", B::add, x, bias));
  }
  return add("inputs_by_step", ReshapeOperator{{r.steps, r.batch, cell_.gates * r.hidden}}, {x});
}

Result<State> Builder::initial(std::int64_t d) {
  State state;
  const Shape shape = {r.batch, r.hidden};
  for (std::size_t i : {std::size_t{5}, std::size_t{6}}) {
    ValueId& value = i == 5 ? state.h : state.c;
    if (!site_.has(i)) {
      value = site_.add_constant(label("zeros"), Tensor(dtype(), shape));
      continue;
    }
    const Shape given = site_.shape(i);
    SliceOperator op{{0, 0, 0}, {1, 1, 1}, given};
    op.starts[r.batch_first ? 1 : 0] = d;
    op.shape[r.batch_first ? 1 : 0] = 1;
    WHET_TRY(value, add("initial", op, {site_.in(i)}));
    WHET_TRY(value, add("initial_row", ReshapeOperator{shape}, {value}));
  }
  return state;
}

Result<ValueId> Builder::row(ValueId x, std::int64_t t) {
  const std::int64_t columns = site_.type(x).shape[2];
  WHET_TRY(const ValueId one, add("input", SliceOperator{{t, 0, 0}, {1, 1, 1}, {1, r.batch, columns}}, {x}));
  return add("input_row", ReshapeOperator{{r.batch, columns}}, {one});
}

Status Builder::build(const std::function<Result<State>(Builder&, std::int64_t, ValueId, State)>& step) {
  const bool is_lstm = cell_.gates == 4, masked = site_.has(4);
  std::vector<ValueId> rows(static_cast<std::size_t>(r.steps * r.directions)), last_h, last_c;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    prefix_ = "direction" + std::to_string(d) + "/";
    WHET_TRY(const ValueId weights, direction("state_weights", 2, d));
    state_weights_.push_back(weights);
    WHET_TRY(const ValueId inputs, inputs_of(d));
    WHET_TRY(State state, initial(d));
    const bool reversed = d == 1 || r.first_reversed;
    for (std::int64_t k = 0; k < r.steps; ++k) {
      const std::int64_t t = reversed ? r.steps - 1 - k : k;
      prefix_ = "direction" + std::to_string(d) + "/step" + std::to_string(t) + "/";
      WHET_TRY(const ValueId x, row(inputs, t));
      WHET_TRY(State next, step(*this, d, x, state));
      ValueId shown = next.h;
      if (masked) {  // behind its end a sequence keeps its state and shows zeros
        const ValueId now = site_.add_scalar(label("now"), site_.dtype(4), static_cast<double>(t));
        WHET_TRY(const ValueId length, add("length", ReshapeOperator{{r.batch, 1}}, {site_.in(4)}));
        WHET_TRY(const ValueId runs, binary("runs", B::greater, length, now));
        WHET_TRY(shown, add("shown", WhereOperator{}, {runs, next.h, site_.add_scalar(label("zero"), dtype(), 0)}));
        WHET_TRY(next.h, add("kept", WhereOperator{}, {runs, next.h, state.h}));
        if (is_lstm) {
          WHET_TRY(next.c, add("kept_cell", WhereOperator{}, {runs, next.c, state.c}));
        }
      }
      state = next;
      const Shape shape = r.batch_first ? Shape{r.batch, 1, 1, r.hidden} : Shape{1, 1, r.batch, r.hidden};
      if (site_.wants_output(0)) {
        WHET_TRY(rows[static_cast<std::size_t>(t * r.directions + d)], add("row", ReshapeOperator{shape}, {shown}));
      }
    }
    const Shape shape = r.batch_first ? Shape{r.batch, 1, r.hidden} : Shape{1, r.batch, r.hidden};
    WHET_TRY(const ValueId h, add("last", ReshapeOperator{shape}, {state.h}));
    last_h.push_back(h);
    if (is_lstm) {
      WHET_TRY(const ValueId c, add("last_cell", ReshapeOperator{shape}, {state.c}));
      last_c.push_back(c);
    }
  }
  prefix_ = "all/";
  const std::int64_t along = r.batch_first ? 1 : 0;
  if (site_.wants_output(0)) {
    // By steps, and in each by directions.
    if (rows.size() == 1) {
      WHET_RETURN_IF_ERROR(site_.pass(rows[0], 0));
    } else {
      WHET_TRY(const ValueId all, add("rows", ConcatOperator{along}, rows));
      const Shape shape = r.batch_first ? Shape{r.batch, r.steps, r.directions, r.hidden}
                                        : Shape{r.steps, r.directions, r.batch, r.hidden};
      WHET_RETURN_IF_ERROR(site_.give(ReshapeOperator{shape}, {all}, 0));
    }
  }
  const auto give_last = [&](const std::vector<ValueId>& last, std::size_t output) -> Status {
    if (last.size() == 1) return site_.pass(last[0], output);
    return site_.give(ConcatOperator{along}, last, output);
  };
  WHET_RETURN_IF_ERROR(give_last(last_h, 1));
  return is_lstm ? give_last(last_c, 2) : ok_status();
}

/// Gates i, o, f, c.
Result<State> lstm_step(Builder& b, std::int64_t d, ValueId x, State before) {
  WHET_TRY(const ValueId recurrent, b.by_state("state", before.h, d, 0, 4));
  WHET_TRY(const ValueId all, b.binary("gates", B::add, recurrent, x));
  const auto peephole = [&](const char* part, ValueId gate, std::int64_t number, ValueId c) -> Result<ValueId> {
    if (!b.site_.has(7)) return gate;
    WHET_TRY(const ValueId both, b.direction(part, 7, d));
    WHET_TRY(const ValueId weights, b.add(part, SliceOperator{{number * b.r.hidden}, {1}, {b.r.hidden}}, {both}));
    WHET_TRY(const ValueId seen, b.binary(part, B::mul, weights, c));
    return b.binary(part, B::add, gate, seen);
  };
  WHET_TRY(ValueId i, b.gate("in", all, 0));
  WHET_TRY(i, peephole("in_peephole", i, 0, before.c));
  WHET_TRY(i, b.activate("in_gate", i, d, 0));
  WHET_TRY(ValueId f, b.gate("forget", all, 2));
  WHET_TRY(f, peephole("forget_peephole", f, 2, before.c));
  WHET_TRY(f, b.activate("forget_gate", f, d, 0));
  if (b.r.input_forget) {
    const ValueId one = b.site_.add_scalar(b.label("one"), b.dtype(), 1);
    WHET_TRY(f, b.binary("coupled", B::sub, one, i));
  }
  WHET_TRY(ValueId c, b.gate("cell", all, 3));
  WHET_TRY(c, b.activate("cell_gate", c, d, 1));
  WHET_TRY(const ValueId kept, b.binary("kept_part", B::mul, f, before.c));
  WHET_TRY(const ValueId fresh, b.binary("new_part", B::mul, i, c));
  State next;
  WHET_TRY(next.c, b.binary("next_cell", B::add, kept, fresh));
  WHET_TRY(ValueId o, b.gate("out", all, 1));
  WHET_TRY(o, peephole("out_peephole", o, 1, next.c));
  WHET_TRY(o, b.activate("out_gate", o, d, 0));
  // The clip is for what the gates hold, not for the cell.
  const double clip = std::exchange(b.r.clip, 0);
  WHET_TRY(const ValueId bent, b.activate("bent", next.c, d, 2));
  b.r.clip = clip;
  WHET_TRY(next.h, b.binary("next", B::mul, o, bent));
  return next;
}

/// Gates z, r, h.
Result<State> gru_step(Builder& b, std::int64_t d, ValueId x, State before) {
  const std::int64_t hidden = b.r.hidden, batch = b.r.batch;
  WHET_TRY(const ValueId gates_in, b.add("gates_in", SliceOperator{{0, 0}, {1, 1}, {batch, 2 * hidden}}, {x}));
  WHET_TRY(const ValueId recurrent, b.by_state("state", before.h, d, 0, 2));
  WHET_TRY(const ValueId both, b.binary("gates", B::add, recurrent, gates_in));
  WHET_TRY(ValueId z, b.gate("update", both, 0));
  WHET_TRY(z, b.activate("update_gate", z, d, 0));
  WHET_TRY(ValueId reset, b.gate("reset", both, 1));
  WHET_TRY(reset, b.activate("reset_gate", reset, d, 0));
  WHET_TRY(const ValueId input, b.gate("candidate_in", x, 2));
  ValueId candidate;
  if (b.r.linear_before_reset) {
    WHET_TRY(candidate, b.by_state("candidate_state", before.h, d, 2, 3));
    if (b.site_.has(3)) {
      WHET_TRY(const ValueId bias, b.state_bias("candidate_bias", d, 2));
      WHET_TRY(candidate, b.binary("candidate_biased", B::add, candidate, bias));
    }
    WHET_TRY(candidate, b.binary("candidate_reset", B::mul, reset, candidate));
  } else {
    WHET_TRY(const ValueId seen, b.binary("seen", B::mul, reset, before.h));
    WHET_TRY(candidate, b.by_state("candidate_state", seen, d, 2, 3));
  }
  WHET_TRY(candidate, b.binary("candidate_sum", B::add, candidate, input));
  WHET_TRY(candidate, b.activate("candidate", candidate, d, 1));
  const ValueId one = b.site_.add_scalar(b.label("one"), b.dtype(), 1);
  WHET_TRY(const ValueId rest, b.binary("rest", B::sub, one, z));
  WHET_TRY(const ValueId fresh, b.binary("new_part", B::mul, rest, candidate));
  WHET_TRY(const ValueId kept, b.binary("kept_part", B::mul, z, before.h));
  State next;
  WHET_TRY(next.h, b.binary("next", B::add, fresh, kept));
  return next;
}

Result<State> rnn_step(Builder& b, std::int64_t d, ValueId x, State before) {
  WHET_TRY(const ValueId recurrent, b.by_state("state", before.h, d, 0, 1));
  WHET_TRY(const ValueId sum, b.binary("sum", B::add, recurrent, x));
  State next;
  WHET_TRY(next.h, b.activate("next", sum, d, 0));
  return next;
}

}  // namespace

Status import_lstm(OnnxSite& site) {
  Builder builder(site, {4, 3, {"Sigmoid", "Tanh", "Tanh"}});
  WHET_RETURN_IF_ERROR(builder.read(true, false));
  return builder.build(lstm_step);
}

Status import_gru(OnnxSite& site) {
  Builder builder(site, {3, 2, {"Sigmoid", "Tanh"}});
  WHET_RETURN_IF_ERROR(builder.read(false, true));
  return builder.build(gru_step);
}

Status import_rnn(OnnxSite& site) {
  Builder builder(site, {1, 1, {"Tanh"}});
  WHET_RETURN_IF_ERROR(builder.read(false, false));
  return builder.build(rnn_step);
}

}  // namespace whet
