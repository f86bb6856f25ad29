#include "import/parts/recurrent.h"

#include <algorithm>

#include "import/parts/shape.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

/// The gates of torch by the order of the part: i f g o as i o f g, and r z n as z r n.
std::vector<std::size_t> gate_order(CellKind kind) {
  if (kind == CellKind::lstm) return {0, 3, 1, 2};
  if (kind == CellKind::gru) return {1, 0, 2};
  return {0};
}

/// Rows of gates in the part's order.
Result<ValueId> by_gates(TorchSite& site, ValueId x, const Recurrent& form) {
  const std::vector<std::size_t> order = gate_order(form.kind);
  const auto gates = static_cast<std::int64_t>(order.size());
  if (site.rank(x) == 0 || site.shape(x)[0] != gates * form.hidden)
    return site.error("a parameter is " + to_string(site.type(x)) + "; expected " +
                      std::to_string(gates * form.hidden) + " rows (projections of the state are not supported)");
  if (gates == 1) return x;
  WHET_TRY(const std::vector<ValueId> parts, split(site, x, 0, std::vector<std::int64_t>(order.size(), form.hidden)));
  std::vector<ValueId> ordered;
  for (const std::size_t gate : order) ordered.push_back(parts[gate]);
  return site.add("gates", ConcatOperator{0}, ordered);
}

/// One for each direction, side by side in a new first dimension.
Result<ValueId> by_directions(TorchSite& site, std::vector<ValueId> values) {
  for (ValueId& x : values) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
  }
  return values.size() == 1 ? Result<ValueId>(values[0]) : site.add("directions", ConcatOperator{0}, values);
}

struct Layers {
  CellKind kind;
  std::vector<std::string> activations;  ///< of one direction; empty: the usual
  std::vector<ValueId> parameters;
  bool has_biases = true, bidirectional = false;
  std::int64_t count = 1, hidden = 0;
  std::optional<ValueId> states, cells;  ///< [layers * directions, N, H]

  std::size_t directions() const { return bidirectional ? 2 : 1; }
  std::size_t each() const { return has_biases ? 4 : 2; }
};

/// The states of one layer: [directions, N, H].
Result<ValueId> of_layer(TorchSite& site, ValueId states, const Layers& layers, std::int64_t layer) {
  const auto directions = static_cast<std::int64_t>(layers.directions());
  return sliced(site, states, {layer * directions}, {(layer + 1) * directions}, std::vector<std::int64_t>{0}, {1});
}

/// What the steps of one layer give, [steps, N, directions * H], and its last states.
struct LayerResult {
  ValueId rows, state;
  std::optional<ValueId> cell;
};
Result<LayerResult> one_layer(TorchSite& site, ValueId x, const Layers& layers, std::int64_t layer) {
  Recurrent form{.kind = layers.kind, .x = x, .weights = x, .state_weights = x};
  form.hidden = layers.hidden;
  form.bidirectional = layers.bidirectional;
  form.linear_before_reset = layers.kind == CellKind::gru;
  std::vector<ValueId> weights, state_weights, biases;
  for (std::size_t d = 0; d < layers.directions(); ++d) {
    const std::size_t first = (static_cast<std::size_t>(layer) * layers.directions() + d) * layers.each();
    std::vector<ValueId> own;
    for (std::size_t k = 0; k < layers.each(); ++k) {
      WHET_TRY(const ValueId parameter, by_gates(site, layers.parameters[first + k], form));
      own.push_back(parameter);
    }
    weights.push_back(own[0]);
    state_weights.push_back(own[1]);
    if (layers.has_biases) {
      WHET_TRY(const ValueId both, site.add("biases", ConcatOperator{0}, {own[2], own[3]}));
      biases.push_back(both);
    }
    for (const std::string& name : layers.activations.empty() ? usual_activations(layers.kind) : layers.activations)
      form.activations.push_back({name});
  }
  WHET_TRY(form.weights, by_directions(site, weights));
  WHET_TRY(form.state_weights, by_directions(site, state_weights));
  if (layers.has_biases) {
    WHET_TRY(form.bias, by_directions(site, biases));
  }
  WHET_TRY(form.first_state, of_layer(site, *layers.states, layers, layer));
  if (layers.cells) {
    WHET_TRY(form.first_cell, of_layer(site, *layers.cells, layers, layer));
  }
  WHET_TRY(const RecurrentResult result, recurrent(site, form));
  const Shape shape = site.shape(*result.rows);
  WHET_TRY(const ValueId turned, site.add("turned", TransposeOperator{{0, 2, 1, 3}}, {*result.rows}));
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{{shape[0], shape[2], shape[1] * shape[3]}}, {turned}));
  return LayerResult{rows, result.state, result.cell};
}

Result<Layers> read_layers(TorchSite& site, CellKind kind) {
  Layers layers{kind, {}, {}};
  WHET_TRY(layers.parameters, site.tensors("params"));
  WHET_TRY(layers.has_biases, site.flag("has_biases"));
  WHET_TRY(layers.count, site.integer("num_layers"));
  WHET_TRY(layers.bidirectional, site.flag("bidirectional"));
  WHET_TRY(const bool train, site.flag("train"));
  WHET_TRY(const double dropout, site.number("dropout"));
  if (train && dropout != 0)
    return site.error("drops numbers at random, as in training; in Python: model.eval() before torch.export.export");
  if (kind == CellKind::lstm) {
    WHET_TRY(const std::vector<ValueId> both, site.tensors("hx"));
    if (both.size() != 2) return site.error("has " + std::to_string(both.size()) + " first states; expected 2");
    layers.states = both[0];
    layers.cells = both[1];
  } else {
    WHET_TRY(layers.states, site.optional_tensor("hx"));
  }
  const auto wanted =
      static_cast<std::size_t>(std::clamp<std::int64_t>(layers.count, 0, 1024)) * layers.directions() * layers.each();
  if (layers.count < 1 || layers.parameters.size() != wanted)
    return site.error("has " + std::to_string(layers.parameters.size()) + " parameters for " +
                      std::to_string(layers.count) + " layers; expected " + std::to_string(wanted) +
                      " (projections of the state are not supported)");
  return layers;
}

/// Unbatched sequences get a batch of 1.
Status give_layers(TorchSite& site, CellKind kind, std::vector<std::string> activations) {
  WHET_TRY(ValueId x, site.tensor("input"));
  WHET_TRY(Layers layers, read_layers(site, kind));
  layers.activations = std::move(activations);
  WHET_TRY(const bool batch_first, site.flag("batch_first"));
  const bool single = site.rank(x) == 2;
  if (single) {
    WHET_TRY(x, unsqueezed(site, x, {batch_first ? 0 : 1}));
    for (std::optional<ValueId>* states : {&layers.states, &layers.cells}) {
      if (!*states) continue;
      WHET_TRY(*states, unsqueezed(site, **states, {1}));
    }
  }
  for (const std::optional<ValueId>& states : {layers.states, layers.cells}) {
    if (!states) continue;
    const std::int64_t rows = layers.count * static_cast<std::int64_t>(layers.directions());
    if (site.rank(*states) != 3 || site.shape(*states)[0] != rows)
      return site.error("its first states are " + to_string(site.type(*states)) + "; expected " + std::to_string(rows) +
                        " rows");
    layers.hidden = site.shape(*states)[2];
  }
  if (site.rank(x) != 3)
    return site.error("the input is " + to_string(site.type(x)) + "; expected steps, a batch and features");
  if (batch_first) {
    WHET_TRY(x, site.add("steps_first", TransposeOperator{{1, 0, 2}}, {x}));
  }
  std::vector<ValueId> states, cells;
  for (std::int64_t layer = 0; layer < layers.count; ++layer) {
    WHET_TRY(const LayerResult result, one_layer(site, x, layers, layer));
    x = result.rows;
    states.push_back(result.state);
    if (result.cell) cells.push_back(*result.cell);
  }
  if (batch_first) {
    WHET_TRY(x, site.add("batch_first", TransposeOperator{{1, 0, 2}}, {x}));
  }
  if (single) {
    WHET_TRY(x, squeezed(site, x, std::vector<std::int64_t>{batch_first ? 0 : 1}));
  }
  WHET_RETURN_IF_ERROR(site.give(x));
  std::size_t place = 1;
  for (std::vector<ValueId>* list : {&states, &cells}) {
    if (list->empty() || !site.wants_output(place)) continue;
    ValueId all = list->front();
    if (list->size() > 1) {
      WHET_TRY(all, site.add("states", ConcatOperator{0}, *list));
    }
    if (single) {
      WHET_TRY(all, squeezed(site, all, std::vector<std::int64_t>{1}));
    }
    WHET_RETURN_IF_ERROR(site.give(all, place));
    ++place;
  }
  return ok_status();
}

Status import_lstm(TorchSite& site) { return give_layers(site, CellKind::lstm, {}); }
Status import_gru(TorchSite& site) { return give_layers(site, CellKind::gru, {}); }
Status import_rnn_tanh(TorchSite& site) { return give_layers(site, CellKind::rnn, {"Tanh"}); }
Status import_rnn_relu(TorchSite& site) { return give_layers(site, CellKind::rnn, {"Relu"}); }

constexpr std::string_view kRecurrent = "input hx params has_biases num_layers dropout train bidirectional batch_first";

}  // namespace

TorchRows recurrent_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.gru", "input", kRecurrent, import_gru},
      {"aten.lstm", "input", kRecurrent, import_lstm},
      {"aten.rnn_relu", "input", kRecurrent, import_rnn_relu},
      {"aten.rnn_tanh", "input", kRecurrent, import_rnn_tanh},
  };
  return kRows;
}

}  // namespace whet::torch
