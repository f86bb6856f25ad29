#include "import/parts/recurrent.h"

#include "import/parts/shape.h"
#include "import/tflite/rows.h"

// States of variables begin as zeros, and their end is dropped.

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;
using U = UnaryKind;

/// Floats, perhaps with weights of 8 bits; not the forms whose biases and states are integers.
Status expect_float_form(const TfliteSite& site) {
  if (!TfliteSite::is_quantized(site.info(0))) return ok_status();
  return site.error("computes with integers, which is not supported; its float form is");
}

/// Gates i f c o of the file from input `first` on, as i o f c in a new first dimension. Without an input gate (coupled
/// gates) it is 1 less the forget gate: sigmoid(-x) is 1 - sigmoid(x).
Result<ValueId> joined_gates(TfliteSite& site, std::size_t first) {
  std::vector<ValueId> gates;
  for (const std::size_t gate : {0, 3, 1, 2}) {
    const bool coupled = gate == 0 && !site.has(first);
    WHET_TRY(ValueId each, site.real(first + (coupled ? 1 : gate)));
    if (coupled) {
      WHET_TRY(each, site.add("coupled", UnaryOperator{U::neg}, {each}));
    }
    gates.push_back(each);
  }
  WHET_TRY(const ValueId all, site.add("gates", ConcatOperator{0}, gates));
  return unsqueezed(site, all, {0});
}

/// Peepholes i f o of the file, from input `first` on, as i o f.
Result<std::optional<ValueId>> read_peepholes(TfliteSite& site, std::size_t first) {
  if (!site.has(first + 1) && !site.has(first + 2)) return std::optional<ValueId>();
  std::vector<ValueId> gates;
  for (const std::size_t i : {first, first + 2, first + 1}) {
    const bool coupled = i == first && !site.has(first);
    if (!site.has(coupled ? first + 1 : i)) return site.error("input " + std::to_string(i) + " is left out");
    WHET_TRY(ValueId each, site.real(coupled ? first + 1 : i));
    if (coupled) {
      WHET_TRY(each, site.add("coupled", UnaryOperator{U::neg}, {each}));
    }
    gates.push_back(each);
  }
  WHET_TRY(const ValueId all, site.add("peepholes", ConcatOperator{0}, gates));
  WHET_TRY(const ValueId row, unsqueezed(site, all, {0}));
  return std::optional(row);
}

/// Inputs, `before` of them behind x (those of the way from the last step to the first): weights of the input for each gate, weights of the state, peepholes, biases and projection.
/// Gives the states of all steps.
Result<ValueId> lstm_rows(TfliteSite& site, ValueId x, bool batch_first, double cell_clip, std::size_t before = 0) {
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  for (const std::size_t left_out : {16, 17})
    if (site.has(before + left_out)) return site.error("has a projection, which is not supported");
  for (const std::size_t needed : {2, 3, 4, 6, 7, 8, 13, 14, 15})
    if (!site.has(before + needed))
      return site.error("input " + std::to_string(before + needed) + " is left out, which is not supported");
  Recurrent form{.kind = CellKind::lstm, .x = x, .weights = x, .state_weights = x};
  form.batch_first = batch_first;
  form.cell_clip = cell_clip;
  form.reversed = before > 0;
  WHET_TRY(form.weights, joined_gates(site, before + 1));
  WHET_TRY(form.state_weights, joined_gates(site, before + 5));
  WHET_TRY(const ValueId bias, joined_gates(site, before + 12));
  WHET_TRY(form.bias, site.add("biases", ConcatOperator{1},
                               {bias, site.add_constant("no_bias", Tensor(DType::f32, site.shape(bias)))}));
  WHET_TRY(form.peepholes, read_peepholes(site, before + 9));
  form.hidden = site.rank(form.state_weights) == 3 ? site.shape(form.state_weights)[2] : 0;
  for (const std::string& name : usual_activations(form.kind)) form.activations.push_back({name});
  WHET_TRY(const RecurrentResult result, recurrent(site, form));
  return squeezed(site, *result.rows, Ints{batch_first ? 2 : 1});
}

Status expect_no_normalization(const TfliteSite& site) {
  for (const std::size_t left_out : {20, 21, 22, 23})
    if (site.has(left_out)) return site.error("has a normalization, which is not supported");
  return ok_status();
}

/// Results of both ways: two, or (`merged`) their numbers behind each other in one.
Status give_both_ways(TfliteSite& site, ValueId forth, ValueId back, bool merged) {
  if (merged) return site.give_real(site.add("both", ConcatOperator{2}, {forth, back}));
  WHET_RETURN_IF_ERROR(site.give_real(forth, 0));
  return site.give_real(back, 1);
}

/// Gates i c f o of one product: (x, the last output, weights [4 H, features + H], biases, the last cell).
Status give_basic_cell(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId before, site.real(1));
  WHET_TRY(const ValueId weights, site.real(2));
  WHET_TRY(const ValueId bias, site.real(3));
  WHET_TRY(const ValueId cell, site.real(4));
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
  WHET_RETURN_IF_ERROR(site.give_real(y));
  if (site.wants_output(1)) WHET_RETURN_IF_ERROR(site.give_real(next, 1));
  if (site.wants_output(2)) WHET_RETURN_IF_ERROR(site.give_real(both, 2));
  return site.wants_output(3) ? site.give_real(gates, 3) : ok_status();
}

Status expect_tanh(const TfliteSite& site) {
  if (site.options().number<std::int8_t>(0) == 4 && site.options().number<float>(2) == 0) return ok_status();
  return site.error("has an activation that is not tanh, or clips its projection; this is not supported");
}

Status import_sequence_lstm(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(expect_tanh(site));
  WHET_RETURN_IF_ERROR(expect_no_normalization(site));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(
      lstm_rows(site, x, !site.options().flag(3), static_cast<double>(site.options().number<float>(1))));
}

/// One step of a cell; kernel type 1 is the basic one.
Status import_lstm(TfliteSite& site) {
  if (site.options().number<std::int8_t>(3) == 1) return give_basic_cell(site);
  WHET_RETURN_IF_ERROR(expect_tanh(site));
  WHET_RETURN_IF_ERROR(expect_no_normalization(site));
  WHET_TRY(ValueId x, site.real(0));
  WHET_TRY(x, unsqueezed(site, x, {0}));
  WHET_TRY(const ValueId rows, lstm_rows(site, x, false, static_cast<double>(site.options().number<float>(1))));
  // Older files have a scratch, a state and a cell before the result.
  return site.give_real(squeezed(site, rows, Ints{0}), site.output_count() == 4 ? 3 : 0);
}

/// The inputs of the way back are 17 behind those of the way forth.
Status import_bidirectional_lstm(TfliteSite& site) {
  constexpr std::size_t kBack = 17, kSecondInput = 39;
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 48));
  WHET_RETURN_IF_ERROR(expect_tanh(site));
  for (std::size_t i = kSecondInput; i < site.input_count(); ++i)
    if (site.has(i)) return site.error("has a second input, which is not supported");
  const FlatTable& o = site.options();
  const bool batch_first = o.number<std::uint8_t>(4, 1) == 0;
  const double clip = static_cast<double>(o.number<float>(1));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId forth, lstm_rows(site, x, batch_first, clip));
  WHET_TRY(const ValueId back, lstm_rows(site, x, batch_first, clip, kBack));
  return give_both_ways(site, forth, back, o.flag(3));
}

/// The states of all steps; weights, weights of the state and bias from input `first` on, which is 1 of the way forth.
Result<ValueId> rnn_rows(TfliteSite& site, ValueId x, bool batch_first, int activation, std::size_t first) {
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  constexpr const char* kNames[] = {"", "Relu", "", "", "Tanh"};
  if (activation != 1 && activation != 4)
    return site.error("its activation " + std::to_string(activation) + " is not supported");
  Recurrent form{.kind = CellKind::rnn, .x = x, .weights = x, .state_weights = x};
  form.batch_first = batch_first;
  form.reversed = first > 1;
  WHET_TRY(form.weights, site.real(first));
  WHET_TRY(form.weights, unsqueezed(site, form.weights, {0}));
  WHET_TRY(form.state_weights, site.real(first + 1));
  WHET_TRY(form.state_weights, unsqueezed(site, form.state_weights, {0}));
  WHET_TRY(ValueId bias, site.real(first + 2));
  WHET_TRY(bias, unsqueezed(site, bias, {0}));
  WHET_TRY(form.bias, site.add("biases", ConcatOperator{1},
                               {bias, site.add_constant("no_bias", Tensor(DType::f32, site.shape(bias)))}));
  form.hidden = site.rank(form.state_weights) == 3 ? site.shape(form.state_weights)[2] : 0;
  form.activations.push_back({kNames[activation]});
  WHET_TRY(const RecurrentResult result, recurrent(site, form));
  return squeezed(site, *result.rows, Ints{batch_first ? 2 : 1});
}

/// (x, weights, weights of the state, bias, state)
Status import_sequence_rnn(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(rnn_rows(site, x, !site.options().flag(0), site.options().number<std::uint8_t>(1), 1));
}

/// (x, weights, weights of the state, bias and state of each way)
Status import_bidirectional_rnn(TfliteSite& site) {
  for (std::size_t i = 9; i < site.input_count(); ++i)
    if (site.has(i)) return site.error("has a second input, which is not supported");
  const bool batch_first = !site.options().flag(0);
  const int activation = site.options().number<std::uint8_t>(1);
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId forth, rnn_rows(site, x, batch_first, activation, 1));
  WHET_TRY(const ValueId back, rnn_rows(site, x, batch_first, activation, 5));
  return give_both_ways(site, forth, back, site.options().flag(2));
}

/// x by each filter's weights of features, behind what the filter's memory has of the steps before; the memory by its weights
/// of time, added up; `rank` filters are a unit. (x [N, features], [F, features], [F, steps], bias [F / rank], memory [N, F * steps])
Status import_svdf(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(expect_float_form(site));
  const std::int64_t rank = site.options().number<std::int32_t>(0);
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId features, site.real(1));
  WHET_TRY(const ValueId times, site.real(2));
  if (!site.has(4)) return site.error("its memory is left out");
  WHET_TRY(const ValueId memory, site.real(4));
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
  if (site.has(3)) {
    WHET_TRY(const ValueId bias, site.real(3));
    WHET_TRY(y, site.add("biased", BinaryOperator{B::add}, {y, bias}));
  }
  return site.give_real(site.activated(y, site.options().number<std::int8_t>(1)));
}

}  // namespace

TfliteRows recurrent_rows() {
  static constexpr TfliteRow kRows[] = {
      {"BIDIRECTIONAL_SEQUENCE_LSTM", import_bidirectional_lstm},
      {"BIDIRECTIONAL_SEQUENCE_RNN", {9, 12}, import_bidirectional_rnn},
      {"LSTM", {1, 24}, import_lstm},
      {"SVDF", 5, import_svdf},
      {"UNIDIRECTIONAL_SEQUENCE_LSTM", {1, 24}, import_sequence_lstm},
      {"UNIDIRECTIONAL_SEQUENCE_RNN", 5, import_sequence_rnn},
  };
  return kRows;
}

}  // namespace whet::tflite
