#include "import/parts/recurrent.h"

#include "import/parts/arithmetic.h"
#include "import/parts/quantize.h"
#include "import/parts/shape.h"
#include "import_tf/tflite/rows.h"

// States of variables begin as zeros, and their end is dropped.

namespace whet::tflite {
namespace {

using B = BinaryKind;
using U = UnaryKind;

/// Floats, perhaps with weights of 8 bits; not the forms whose biases and states are integers.
Status expect_float_form(const TfliteSite& site) {
  if (!TfliteSite::is_quantized(site.info(0))) return ok_status();
  return site.error("computes with integers, which is not supported; its float form is");
}

Status refuse(const TfliteSite& site, const std::vector<std::size_t>& inputs, const std::string& what) {
  for (const std::size_t i : inputs)
    if (site.has(i)) return site.error("has a " + what + ", which is not supported");
  return ok_status();
}

/// Input `i` in floats: biases of cells that compute with integers have a scale of their own.
Result<ValueId> gate_in_floats(TfliteSite& site, std::size_t i) {
  if (is_float(site.dtype(i))) return site.in(i);
  const std::vector<float>& scales = site.info(i).quantization.scales;
  if (scales.size() != 1) return site.error("has integers without a scale as its input " + std::to_string(i));
  WHET_TRY(const ValueId steps, site.cast("steps", site.in(i), DType::f32));
  return with_number(site, "scaled", B::mul, steps, scales[0]);
}

/// What a state is held in: input `i`, a variable of integers; none: of floats.
Result<std::optional<HeldState>> held_in(const TfliteSite& site, std::size_t i) {
  if (!site.has(i) || !TfliteSite::is_quantized(site.info(i))) return std::optional<HeldState>();
  const TensorInfo& state = site.info(i);
  const QuantizedRange range = range_of(*dtype_of_tflite(state.type));
  const std::vector<std::int64_t>& zeros = state.quantization.zeros;
  if (state.quantization.scales.size() != 1) return site.error("has a state of several scales");
  const double zero = zeros.empty() ? 0 : static_cast<double>(zeros[0]);
  return std::optional(HeldState{state.quantization.scales[0], range.low - zero, range.high - zero});
}

/// Inputs from `first` on, in the order of `gates`, in a new first dimension. Where the first one is left out (coupled gates), it is
/// 1 less the second: sigmoid(-x) is 1 - sigmoid(x).
Result<ValueId> joined_gates(TfliteSite& site, std::size_t first, const std::vector<std::size_t>& gates) {
  ValueIds values;
  for (const std::size_t gate : gates) {
    const bool coupled = gate == 0 && !site.has(first);
    const std::size_t i = first + (coupled ? 1 : gate);
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out, which is not supported");
    WHET_TRY(ValueId each, gate_in_floats(site, i));
    WHET_TRY(each, coupled ? site.add("coupled", UnaryOperator{U::neg}, {each}) : Result<ValueId>(each));
    values.push_back(each);
  }
  WHET_TRY(const ValueId all, site.add("gates", ConcatOperator{0}, values));
  return unsqueezed(site, all, {0});
}

/// The states of all steps, by one bias.
Result<ValueId> rows_of(NodeSite& site, Recurrent form, ValueId bias) {
  WHET_TRY(form.bias, site.add("biases", ConcatOperator{1},
                               {bias, site.add_constant("no_bias", Tensor(DType::f32, site.shape(bias)))}));
  form.hidden = site.rank(form.state_weights) == 3 ? site.shape(form.state_weights)[2] : 0;
  WHET_TRY(const RecurrentResult result, recurrent(site, form));
  return squeezed(site, *result.rows, Ints{form.batch_first ? 2 : 1});
}

/// The states of all steps. Inputs behind x and `before` others, which are those of the way from the last step to the first: weights of
/// the input and of the state for each gate, peepholes, biases, and a projection.
Result<ValueId> lstm_rows(TfliteSite& site, ValueId x, bool batch_first, double cell_clip, std::size_t before = 0) {
  WHET_RETURN_IF_ERROR(refuse(site, {before + 16, before + 17}, "projection"));
  Recurrent form{.kind = CellKind::lstm, .x = x, .weights = x, .state_weights = x};
  form.batch_first = batch_first;
  form.cell_clip = cell_clip;
  form.reversed = before > 0;
  const std::size_t state = before == 0 && site.input_count() <= 24 ? 18 : site.input_count();  // of one way
  WHET_TRY(form.held_state, held_in(site, state));
  WHET_TRY(form.held_cell, held_in(site, state + 1));
  // The file has gates i f c o, and peepholes i f o.
  WHET_TRY(form.weights, joined_gates(site, before + 1, {0, 3, 1, 2}));
  WHET_TRY(form.state_weights, joined_gates(site, before + 5, {0, 3, 1, 2}));
  WHET_TRY(const ValueId bias, joined_gates(site, before + 12, {0, 3, 1, 2}));
  if (site.has(before + 10) || site.has(before + 11)) {
    WHET_TRY(form.peepholes, joined_gates(site, before + 9, {0, 2, 1}));
  }
  for (const std::string& name : usual_activations(form.kind)) form.activations.push_back({name});
  return rows_of(site, form, bias);
}

/// Results of both ways: two, or (`merged`) their numbers behind each other in one.
Status give_both_ways(TfliteSite& site, ValueId forth, ValueId back, bool merged) {
  if (merged) return site.give(ConcatOperator{2}, {forth, back});
  WHET_RETURN_IF_ERROR(site.give(forth, 0));
  return site.give(back, 1);
}

/// Gates i c f o of one product: (x, the last output, weights [4 H, features + H], biases, the last cell).
Status give_basic_cell(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  const ValueId x = site.in(0), before = site.in(1), weights = site.in(2), bias = site.in(3), cell = site.in(4);
  if (site.rank(x) != 2 || site.rank(cell) != 2) return site.error("the input is " + to_string(site.type(x)));
  const std::int64_t hidden = site.shape(cell)[1];
  WHET_TRY(const ValueId both, site.add("both", ConcatOperator{1}, {x, before}));
  WHET_TRY(ValueId gates, site.add("product", MatMulOperator{.transpose_b = true}, {both, weights}));
  WHET_TRY(gates, site.add("gates", BinaryOperator{B::add}, {gates, bias}));
  if (site.shape(gates).back() != 4 * hidden)
    return site.error("its gates are " + to_string(site.type(gates)) + "; expected " + std::to_string(4 * hidden) +
                      " columns");
  WHET_TRY(std::vector<ValueId> each, split(site, gates, 1, Ints(4, hidden)));
  for (std::size_t i = 0; i < 4; ++i) {
    WHET_TRY(each[i], site.add("gate", UnaryOperator{i == 1 ? U::tanh : U::sigmoid}, {each[i]}));
  }
  WHET_TRY(const ValueId fresh, site.add("new_part", BinaryOperator{B::mul}, {each[0], each[1]}));
  WHET_TRY(const ValueId kept, site.add("kept_part", BinaryOperator{B::mul}, {each[2], cell}));
  WHET_TRY(const ValueId next, site.add("cell", BinaryOperator{B::add}, {fresh, kept}));
  WHET_TRY(const ValueId bent, site.add("bent", UnaryOperator{U::tanh}, {next}));
  WHET_TRY(const ValueId y, site.add("y", BinaryOperator{B::mul}, {each[3], bent}));
  const ValueId results[] = {y, next, both, gates};
  for (std::size_t i = 0; i < 4; ++i) WHET_RETURN_IF_ERROR(site.give(results[i], i));
  return ok_status();
}

Status expect_tanh(const TfliteSite& site, std::int64_t activation, double projection_clip) {
  if (activation == 4 && projection_clip == 0) return ok_status();
  return site.error("has an activation that is not tanh, or clips its projection; this is not supported");
}

/// With integers, the state (input 18) and the cell (19) are held in them between steps.
Result<ValueId> sequence_lstm(TfliteSite& site, ValueId x, std::int64_t activation, double cell_clip,
                              double projection_clip, bool time_major) {
  WHET_RETURN_IF_ERROR(expect_tanh(site, activation, projection_clip));
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 24));
  WHET_RETURN_IF_ERROR(refuse(site, {20, 21, 22, 23}, "normalization"));
  return lstm_rows(site, x, !time_major, cell_clip);
}

/// One step of a cell.
Status lstm(TfliteSite& site, ValueId x, std::int64_t activation, double cell_clip, double projection_clip,
            std::int64_t is_basic) {
  if (is_basic == 1) return give_basic_cell(site);
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  WHET_TRY(x, unsqueezed(site, x, {0}));
  WHET_TRY(const ValueId rows, sequence_lstm(site, x, activation, cell_clip, projection_clip, true));
  // Older files have a scratch, a state and a cell before the result.
  return site.give(squeezed(site, rows, Ints{0}), site.output_count() == 4 ? 3 : 0);
}

/// The inputs of the way back are 17 behind those of the way forth.
Status both_ways_lstm(TfliteSite& site, ValueId x, std::int64_t activation, double cell_clip, double projection_clip,
                      bool time_major, bool merged) {
  constexpr std::size_t kBack = 17;
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  WHET_RETURN_IF_ERROR(expect_tanh(site, activation, projection_clip));
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 48));
  WHET_RETURN_IF_ERROR(refuse(site, {39, 40, 41, 42, 43, 44, 45, 46, 47}, "second input"));
  WHET_TRY(const ValueId forth, lstm_rows(site, x, !time_major, cell_clip));
  WHET_TRY(const ValueId back, lstm_rows(site, x, !time_major, cell_clip, kBack));
  return give_both_ways(site, forth, back, merged);
}

/// The states of all steps; weights, weights of the state and bias from input `first` on, which is 1 of the way forth.
Result<ValueId> rnn_rows(TfliteSite& site, ValueId x, std::int64_t activation, bool time_major, std::size_t first) {
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  if (activation != 1 && activation != 4)
    return site.error("its activation " + std::to_string(activation) + " is not supported");
  Recurrent form{.kind = CellKind::rnn, .x = x, .weights = x, .state_weights = x};
  form.batch_first = !time_major;
  form.reversed = first > 1;
  WHET_TRY(form.weights, unsqueezed(site, site.in(first), {0}));
  WHET_TRY(form.state_weights, unsqueezed(site, site.in(first + 1), {0}));
  WHET_TRY(const ValueId bias, unsqueezed(site, site.in(first + 2), {0}));
  form.activations.push_back({activation == 1 ? "Relu" : "Tanh"});
  return rows_of(site, form, bias);
}

Result<ValueId> sequence_rnn(TfliteSite& site, ValueId x, ValueId, ValueId, ValueId, ValueId, std::int64_t activation,
                             bool time_major) {
  return rnn_rows(site, x, activation, time_major, 1);
}
/// (x, weights, weights of the state, bias and state of each way)
Status both_ways_rnn(TfliteSite& site, ValueId x, std::int64_t activation, bool time_major, bool merged) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(9, 12));
  WHET_RETURN_IF_ERROR(refuse(site, {9, 10, 11}, "second input"));
  WHET_TRY(const ValueId forth, rnn_rows(site, x, activation, time_major, 1));
  WHET_TRY(const ValueId back, rnn_rows(site, x, activation, time_major, 5));
  return give_both_ways(site, forth, back, merged);
}

/// x by each filter's weights of features, behind what the filter's memory has of the steps before; the memory by its weights
/// of time, added up; `rank` filters are a unit. (x [N, features], [F, features], [F, steps], bias [F / rank], memory [N, F * steps])
Result<ValueId> svdf(TfliteSite& site, ValueId x, ValueId features, ValueId times, std::optional<ValueId> bias,
                     ValueId memory, std::int64_t rank) {
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  if (site.rank(x) != 2 || site.rank(features) != 2 || site.rank(times) != 2)
    return site.error("the input is " + to_string(site.type(x)) + "; expected a batch and features");
  const std::int64_t batch = site.shape(x)[0], filters = site.shape(times)[0], steps = site.shape(times)[1];
  if (rank < 1 || filters % rank != 0 || num_elements(site.shape(memory)) != batch * filters * steps || steps < 1)
    return site.error("has " + std::to_string(filters) + " filters of rank " + std::to_string(rank) +
                      " and a memory of " + to_string(site.type(memory)));
  WHET_TRY(ValueId now, site.add("filtered", MatMulOperator{.transpose_b = true}, {x, features}));
  WHET_TRY(now, site.add("now", ReshapeOperator{{batch, filters, 1}}, {now}));
  if (steps > 1) {
    WHET_TRY(ValueId old, site.add("memory", ReshapeOperator{{batch, filters, steps}}, {memory}));
    WHET_TRY(old, sliced(site, old, {1}, {steps}, Ints{2}, {1}));
    WHET_TRY(now, site.add("steps", ConcatOperator{2}, {old, now}));
  }
  WHET_TRY(ValueId y, site.add("weighted", BinaryOperator{B::mul}, {now, times}));
  WHET_TRY(y, site.add("apart", ReshapeOperator{{batch, filters / rank, rank * steps}}, {y}));
  WHET_TRY(y, site.add("units", ReduceOperator{ReduceKind::sum, {2}, false}, {y}));
  return bias ? site.add("biased", BinaryOperator{B::add}, {y, *bias}) : Result<ValueId>(y);
}

}  // namespace

TfliteRows recurrent_rows() {
  static constexpr TfliteRow kRows[] = {
      {"BIDIRECTIONAL_SEQUENCE_LSTM", as_real,
       "x @activation @cell_clip @projection_clip @time_major @merged others...?", calls<both_ways_lstm>,
       "activation=byte#0 cell_clip=float#1 projection_clip=float#2 time_major=yes#4 merged=bool#3"},
      {"BIDIRECTIONAL_SEQUENCE_RNN", as_real, "x @activation @time_major @merged others...?", calls<both_ways_rnn>,
       "activation=byte#1 time_major=bool#0 merged=bool#2"},
      {"LSTM", as_real, "x @activation @cell_clip @projection_clip @is_basic others...?", calls<lstm>,
       "activation=byte#0 cell_clip=float#1 projection_clip=float#2 is_basic=byte#3"},
      {"SVDF", as_real, "x features times bias_of_units? memory @rank", calls<svdf>, "rank=int#0 activation#1"},
      {"UNIDIRECTIONAL_SEQUENCE_LSTM", as_real, "x @activation @cell_clip @projection_clip @time_major others...?",
       calls<sequence_lstm>, "activation=byte#0 cell_clip=float#1 projection_clip=float#2 time_major=bool#3"},
      {"UNIDIRECTIONAL_SEQUENCE_RNN", as_real, "x w state_weights bias_of_gates state @activation @time_major",
       calls<sequence_rnn>, "activation=byte#1 time_major=bool#0"},
  };
  return kRows;
}

}  // namespace whet::tflite
