#include "import/parts/recurrent.h"

#include <algorithm>
#include <functional>

#include "import/parts/activation.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

using B = BinaryKind;

std::string in_lower_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// The state of one direction while it runs.
struct State {
  ValueId h, c;
};

class Builder {
 public:
  Builder(NodeSite& site, const Recurrent& recurrent)
      : r(recurrent),
        gates(gate_count(recurrent.kind)),
        site_(site),
        steps_(extent_of(recurrent.batch_first ? 1 : 0)),
        batch_(extent_of(recurrent.batch_first ? 0 : 1)),
        features_(extent_of(2)) {}

  Status check();
  Result<RecurrentResult> build(const std::function<Result<State>(Builder&, std::int64_t d, ValueId x, State)>& step);

  Recurrent r;
  std::int64_t gates;

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
  DType dtype() const { return site_.dtype(r.x); }
  std::int64_t batch() const { return batch_; }
  /// Numbers of the state, which a projection makes of those of the cell.
  std::int64_t shown() const { return r.projection ? site_.shape(*r.projection).at(1) : r.hidden; }
  ValueId number(const char* part, double value) { return site_.add_scalar(label(part), dtype(), value); }
  /// Columns `gate` of what has the gates side by side.
  Result<ValueId> gate(const char* part, ValueId x, std::int64_t number) {
    return add(part, part_along(site_.shape(x), site_.rank(x) - 1, number * r.hidden, r.hidden), {x});
  }
  /// Row `d` of `one`, which is by directions.
  Result<ValueId> direction(const char* part, ValueId one, std::int64_t d) {
    const Shape shape = site_.shape(one);
    if (shape[0] != 1) {
      WHET_TRY(one, add(part, part_along(shape, 0, d, 1), {one}));
    }
    return add(part, ReshapeOperator{Shape(shape.begin() + 1, shape.end())}, {one});
  }
  Result<ValueId> activate(const char* part, ValueId x, std::int64_t d, std::size_t which) {
    if (r.clip > 0) {
      WHET_TRY(x, add(part, ClipOperator{-r.clip, r.clip}, {x}));
    }
    return activated(part, x, r.activations[static_cast<std::size_t>(d) * activations_ + which]);
  }
  /// `x` times the state's weights of direction d, columns `from` to `to` of the gates.
  Result<ValueId> by_state(const char* part, ValueId h, std::int64_t d, std::int64_t from, std::int64_t to) {
    ValueId weights = state_weights_[static_cast<std::size_t>(d)];
    if (from != 0 || to != gates) {
      SliceOperator op{{from * r.hidden, 0}, {1, 1}, {(to - from) * r.hidden, r.hidden}};
      WHET_TRY(weights, add(part, op, {weights}));
    }
    return add(part, MatMulOperator{false, true}, {h, weights});
  }
  /// Gates from..to-1 of the state's bias of direction d; only with a bias.
  Result<ValueId> state_bias(const char* part, std::int64_t d, std::int64_t number) {
    WHET_TRY(const ValueId both, direction(part, *r.bias, d));
    return add(part, SliceOperator{{(gates + number) * r.hidden}, {1}, {r.hidden}}, {both});
  }

 private:
  Result<ValueId> activated(const char* part, ValueId x, const CellActivation& a);
  Result<ValueId> inputs_of(std::int64_t d);
  Result<State> initial(std::int64_t d);
  Result<ValueId> row(ValueId x, std::int64_t t);
  std::int64_t extent_of(std::size_t d) const { return site_.rank(r.x) == 3 ? site_.shape(r.x)[d] : 0; }
  Status check_shapes();

  NodeSite& site_;
  std::int64_t steps_, batch_, features_;
  std::size_t activations_ = usual_activations(r.kind).size();
  std::string prefix_;
  std::vector<ValueId> state_weights_;
};

Status Builder::check_shapes() {
  const std::int64_t g = gates * r.hidden, d = r.directions();
  const auto by_batch = [&](std::int64_t size) {
    return r.batch_first ? Shape{batch_, d, size} : Shape{d, batch_, size};
  };
  struct Wanted {
    const char* what;
    std::optional<ValueId> value;
    Shape shape;
  };
  for (const Wanted& wanted : {Wanted{"the input's weights are ", r.weights, {d, g, features_}},
                               {"the state's weights are ", r.state_weights, {d, g, shown()}},
                               {"the biases are ", r.bias, {d, 2 * g}},
                               {"the lengths are ", r.lengths, {batch_}},
                               {"the first state is ", r.first_state, by_batch(shown())},
                               {"the first cell is ", r.first_cell, by_batch(r.hidden)},
                               {"the projection is ", r.projection, {d, shown(), r.hidden}},
                               {"the peepholes are ", r.peepholes, {d, 3 * r.hidden}}}) {
    if (!wanted.value || site_.shape(*wanted.value) == wanted.shape) continue;
    return site_.error(wanted.what + to_string(site_.type(*wanted.value)) + "; expected " + to_string(wanted.shape));
  }
  return ok_status();
}

Status Builder::check() {
  if (site_.rank(r.x) != 3 || site_.rank(r.state_weights) != 3 || !is_float(dtype())) {
    return site_.error("the input is " + to_string(site_.type(r.x)) + " and the state's weights are " +
                       to_string(site_.type(r.state_weights)) + "; expected floats of three dimensions");
  }
  if (steps_ < 1 || batch_ < 1 || features_ < 1 || r.hidden < 1 || r.hidden > (1 << 20)) {
    return site_.error("the input is " + to_string(site_.type(r.x)) + " with a state of " + std::to_string(r.hidden) +
                       "; expected at least one of each");
  }
  constexpr std::int64_t kMostSteps = 4096;
  if (steps_ > kMostSteps) {
    return site_.error("has " + std::to_string(steps_) + " steps; at most " + std::to_string(kMostSteps) +
                       " are supported");
  }
  if (r.projection && site_.rank(*r.projection) != 3)
    return site_.error("its projection is " + to_string(site_.type(*r.projection)) + "; expected three dimensions");
  WHET_CHECK(r.activations.size() == activations_ * static_cast<std::size_t>(r.directions()));
  return check_shapes();
}

Result<ValueId> Builder::activated(const char* part, ValueId x, const CellActivation& a) {
  const auto alpha = [&](double usual) { return a.alpha == a.alpha ? a.alpha : usual; };
  const auto beta = [&](double usual) { return a.beta == a.beta ? a.beta : usual; };
  const std::string name = in_lower_case(a.name);
  if (name == "sigmoid") return add(part, UnaryOperator{UnaryKind::sigmoid}, {x});
  if (name == "tanh") return add(part, UnaryOperator{UnaryKind::tanh}, {x});
  if (name == "relu") return add(part, UnaryOperator{UnaryKind::relu}, {x});
  if (name == "softsign") return add(part, UnaryOperator{UnaryKind::softsign}, {x});
  if (name == "softplus") return add(part, UnaryOperator{UnaryKind::softplus}, {x});
  if (name == "hardsigmoid") return add(part, HardSigmoidOperator{alpha(0.2), beta(0.5)}, {x});
  if (name == "leakyrelu") return add(part, LeakyReluOperator{alpha(0.01)}, {x});
  if (name == "thresholdedrelu") return thresholded(site_, x, alpha(1), 0);
  if (name == "elu") return elu(site_, x, {.alpha = alpha(1)});
  if (name == "affine") {
    WHET_TRY(const ValueId product, scaled(part, B::mul, x, alpha(1)));
    return scaled(part, B::add, product, beta(0));
  }
  if (name == "scaledtanh") {
    WHET_TRY(const ValueId inner, scaled(part, B::mul, x, beta(1)));
    WHET_TRY(const ValueId bent, add(part, UnaryOperator{UnaryKind::tanh}, {inner}));
    return scaled(part, B::mul, bent, alpha(1));
  }
  return site_.error("its activation \"" + a.name +
                     "\" is not supported; expected Sigmoid, Tanh, Relu, Softsign, Softplus, HardSigmoid, LeakyRelu, "
                     "ThresholdedRelu, Elu, Affine or ScaledTanh");
}

/// [steps, batch, gates * hidden]: what the inputs of all steps and the biases add to the gates.
Result<ValueId> Builder::inputs_of(std::int64_t d) {
  ValueId x = r.x;
  if (r.batch_first) {
    WHET_TRY(x, add("steps_first", TransposeOperator{{1, 0, 2}}, {x}));
  }
  WHET_TRY(const ValueId weights, direction("input_weights", r.weights, d));
  WHET_TRY(x, add("rows", ReshapeOperator{{steps_ * batch_, features_}}, {x}));
  WHET_TRY(x, add("inputs", MatMulOperator{false, true}, {x, weights}));
  if (r.bias) {
    WHET_TRY(const ValueId both, direction("bias", *r.bias, d));
    const std::int64_t g = gates * r.hidden;
    WHET_TRY(ValueId bias, add("input_bias", SliceOperator{{0}, {1}, {g}}, {both}));
    // A reset gate is between the state's bias of the last gate and the rest.
    SliceOperator half{{g}, {1}, {r.linear_before_reset ? g - r.hidden : g}};
    WHET_TRY(ValueId other, add("state_bias", half, {both}));
    if (r.linear_before_reset) {
      WHET_TRY(other, add("state_bias_filled", PadOperator{PadMode::constant, 0, {0}, {r.hidden}}, {other}));
    }
    WHET_TRY(bias, binary("bias_sum", B::add, bias, other));
    WHET_TRY(x, binary("inputs_biased", B::add, x, bias));
  }
  return add("inputs_by_step", ReshapeOperator{{steps_, batch_, gates * r.hidden}}, {x});
}

Result<State> Builder::initial(std::int64_t d) {
  State state;
  for (const auto& [first, to] : {std::pair(r.first_state, &state.h), std::pair(r.first_cell, &state.c)}) {
    ValueId& value = *to;
    const Shape shape = {batch_, to == &state.h ? shown() : r.hidden};
    if (!first) {
      value = site_.add_constant(label("zeros"), Tensor(dtype(), shape));
      continue;
    }
    WHET_TRY(value, add("initial", part_along(site_.shape(*first), r.batch_first ? 1 : 0, d, 1), {*first}));
    WHET_TRY(value, add("initial_row", ReshapeOperator{shape}, {value}));
  }
  return state;
}

Result<ValueId> Builder::row(ValueId x, std::int64_t t) {
  const Shape shape = site_.shape(x);
  WHET_TRY(const ValueId one, add("input", part_along(shape, 0, t, 1), {x}));
  return add("input_row", ReshapeOperator{{batch_, shape[2]}}, {one});
}

Result<RecurrentResult> Builder::build(
    const std::function<Result<State>(Builder&, std::int64_t, ValueId, State)>& step) {
  const bool is_lstm = r.kind == CellKind::lstm;
  const std::int64_t directions = r.directions();
  std::vector<ValueId> rows(static_cast<std::size_t>(steps_ * directions)), last_h, last_c;
  for (std::int64_t d = 0; d < directions; ++d) {
    prefix_ = "direction" + std::to_string(d) + "/";
    WHET_TRY(const ValueId weights, direction("state_weights", r.state_weights, d));
    state_weights_.push_back(weights);
    WHET_TRY(const ValueId inputs, inputs_of(d));
    WHET_TRY(State state, initial(d));
    const bool reversed = d == 1 || r.reversed;
    for (std::int64_t k = 0; k < steps_; ++k) {
      const std::int64_t t = reversed ? steps_ - 1 - k : k;
      prefix_ = "direction" + std::to_string(d) + "/step" + std::to_string(t) + "/";
      WHET_TRY(const ValueId x, row(inputs, t));
      WHET_TRY(State next, step(*this, d, x, state));
      ValueId shown = next.h;
      if (r.lengths) {  // behind its end a sequence keeps its state and shows zeros
        const ValueId now = site_.add_scalar(label("now"), site_.dtype(*r.lengths), static_cast<double>(t));
        WHET_TRY(const ValueId length, add("length", ReshapeOperator{{batch_, 1}}, {*r.lengths}));
        WHET_TRY(const ValueId runs, binary("runs", B::greater, length, now));
        WHET_TRY(shown, add("shown", WhereOperator{}, {runs, next.h, number("zero", 0)}));
        WHET_TRY(next.h, add("kept", WhereOperator{}, {runs, next.h, state.h}));
        if (is_lstm) {
          WHET_TRY(next.c, add("kept_cell", WhereOperator{}, {runs, next.c, state.c}));
        }
      }
      state = next;
      const Shape shape = r.batch_first ? Shape{batch_, 1, 1, this->shown()} : Shape{1, 1, batch_, this->shown()};
      if (r.wants_rows) {
        WHET_TRY(rows[static_cast<std::size_t>(t * directions + d)], add("row", ReshapeOperator{shape}, {shown}));
      }
    }
    Shape shape = r.batch_first ? Shape{batch_, 1, shown()} : Shape{1, batch_, shown()};
    WHET_TRY(const ValueId h, add("last", ReshapeOperator{shape}, {state.h}));
    last_h.push_back(h);
    if (is_lstm) {
      shape.back() = r.hidden;
      WHET_TRY(const ValueId c, add("last_cell", ReshapeOperator{shape}, {state.c}));
      last_c.push_back(c);
    }
  }
  prefix_ = "all/";
  const std::int64_t along = r.batch_first ? 1 : 0;
  RecurrentResult result;
  if (r.wants_rows) {
    // By steps, and in each by directions.
    result.rows = rows[0];
    if (rows.size() > 1) {
      WHET_TRY(const ValueId all, add("rows", ConcatOperator{along}, rows));
      const Shape shape =
          r.batch_first ? Shape{batch_, steps_, directions, shown()} : Shape{steps_, directions, batch_, shown()};
      WHET_TRY(result.rows, add("by_steps", ReshapeOperator{shape}, {all}));
    }
  }
  const auto joined = [&](const char* part, const std::vector<ValueId>& last) -> Result<ValueId> {
    if (last.size() == 1) return last[0];
    return add(part, ConcatOperator{along}, last);
  };
  WHET_TRY(result.state, joined("last", last_h));
  if (is_lstm) {
    WHET_TRY(result.cell, joined("last_cell", last_c));
  }
  return result;
}

Result<ValueId> held(Builder& b, const char* part, ValueId x, const std::optional<HeldState>& form) {
  if (!form) return x;
  WHET_TRY(x, b.binary(part, B::div, x, b.number("scale", form->scale)));
  WHET_TRY(x, b.add(part, UnaryOperator{UnaryKind::round}, {x}));
  WHET_TRY(x, b.add(part, ClipOperator{form->low, form->high}, {x}));
  return b.binary(part, B::mul, x, b.number("scale", form->scale));
}

/// Gates i, o, f, c.
Result<State> lstm_step(Builder& b, std::int64_t d, ValueId x, State before) {
  WHET_TRY(const ValueId recurrent, b.by_state("state", before.h, d, 0, 4));
  WHET_TRY(const ValueId all, b.binary("gates", B::add, recurrent, x));
  const auto peephole = [&](const char* part, ValueId gate, std::int64_t number, ValueId c) -> Result<ValueId> {
    if (!b.r.peepholes) return gate;
    WHET_TRY(const ValueId both, b.direction(part, *b.r.peepholes, d));
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
    const ValueId one = b.number("one", 1);
    WHET_TRY(f, b.binary("coupled", B::sub, one, i));
  }
  WHET_TRY(ValueId c, b.gate("cell", all, 3));
  WHET_TRY(c, b.activate("cell_gate", c, d, 1));
  WHET_TRY(const ValueId kept, b.binary("kept_part", B::mul, f, before.c));
  WHET_TRY(const ValueId fresh, b.binary("new_part", B::mul, i, c));
  State next;
  WHET_TRY(next.c, b.binary("next_cell", B::add, kept, fresh));
  if (b.r.cell_clip > 0) {
    WHET_TRY(next.c, b.add("clipped_cell", ClipOperator{-b.r.cell_clip, b.r.cell_clip}, {next.c}));
  }
  WHET_TRY(next.c, held(b, "held_cell", next.c, b.r.held_cell));
  WHET_TRY(ValueId o, b.gate("out", all, 1));
  WHET_TRY(o, peephole("out_peephole", o, 1, next.c));
  WHET_TRY(o, b.activate("out_gate", o, d, 0));
  // The clip is for what the gates hold, not for the cell.
  const double clip = std::exchange(b.r.clip, 0);
  WHET_TRY(const ValueId bent, b.activate("bent", next.c, d, 2));
  b.r.clip = clip;
  WHET_TRY(next.h, b.binary("next", B::mul, o, bent));
  if (b.r.projection) {
    WHET_TRY(const ValueId weights, b.direction("projection", *b.r.projection, d));
    WHET_TRY(next.h, b.add("projected", MatMulOperator{false, true}, {next.h, weights}));
  }
  WHET_TRY(next.h, held(b, "held_state", next.h, b.r.held_state));
  return next;
}

/// Gates z, r, h.
Result<State> gru_step(Builder& b, std::int64_t d, ValueId x, State before) {
  const std::int64_t hidden = b.r.hidden, batch = b.batch();
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
    if (b.r.bias) {
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
  const ValueId one = b.number("one", 1);
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

std::int64_t gate_count(CellKind kind) { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }

std::vector<std::string> usual_activations(CellKind kind) {
  if (kind == CellKind::rnn) return {"Tanh"};
  if (kind == CellKind::gru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

CellParameters parameters_of(const std::string& activation) {
  const std::string name = in_lower_case(activation);
  const bool both = name == "hardsigmoid" || name == "affine" || name == "scaledtanh";
  return {.alpha = both || name == "leakyrelu" || name == "thresholdedrelu" || name == "elu", .beta = both};
}

Result<RecurrentResult> recurrent(NodeSite& site, const Recurrent& form) {
  Builder builder(site, form);
  WHET_RETURN_IF_ERROR(builder.check());
  return builder.build(form.kind == CellKind::lstm ? lstm_step : form.kind == CellKind::gru ? gru_step : rnn_step);
}

}  // namespace whet
