#include "import/parts/recurrent.h"

#include <algorithm>

#include "import/parts/shape.h"
#include "import_torch/rows.h"

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
                      std::to_string(gates * form.hidden) + " rows");
  if (gates == 1) return x;
  WHET_TRY(const ValueIds parts, split(site, x, 0, Ints(order.size(), form.hidden)));
  ValueIds ordered;
  for (const std::size_t gate : order) ordered.push_back(parts[gate]);
  return site.add("gates", ConcatOperator{0}, ordered);
}

/// One for each direction, side by side in a new first dimension.
Result<ValueId> by_directions(TorchSite& site, ValueIds values) {
  for (ValueId& x : values) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
  }
  return values.size() == 1 ? Result<ValueId>(values[0]) : site.add("directions", ConcatOperator{0}, values);
}

struct Layers {
  CellKind kind;
  Texts activations;  ///< of one direction; empty: the usual
  ValueIds parameters;
  bool has_biases, bidirectional;
  std::int64_t count, hidden = 0;
  OptionalId states, cells = std::nullopt;  ///< [layers * directions, N, H]

  std::size_t directions() const { return bidirectional ? 2 : 1; }
  /// Behind the others a layer may have one that projects its state.
  bool projects() const {
    return kind == CellKind::lstm &&
           parameters.size() == static_cast<std::size_t>(count) * directions() * (has_biases ? 5 : 3);
  }
  std::size_t each() const { return (has_biases ? 4 : 2) + (projects() ? 1 : 0); }
};

/// The states of one layer: [directions, N, H].
Result<ValueId> of_layer(TorchSite& site, ValueId states, const Layers& layers, std::int64_t layer) {
  const auto directions = static_cast<std::int64_t>(layers.directions());
  return sliced(site, states, {layer * directions}, {(layer + 1) * directions}, Ints{0}, {1});
}

/// What the steps of one layer give, [steps, N, directions * H], and its last states.
struct LayerResult {
  ValueId rows, state;
  OptionalId cell;
};
Result<LayerResult> one_layer(TorchSite& site, ValueId x, const Layers& layers, std::int64_t layer) {
  Recurrent form{.kind = layers.kind, .x = x, .weights = x, .state_weights = x};
  form.hidden = layers.hidden;
  form.bidirectional = layers.bidirectional;
  form.linear_before_reset = layers.kind == CellKind::gru;
  ValueIds weights, state_weights, biases, projections;
  for (std::size_t d = 0; d < layers.directions(); ++d) {
    const std::size_t first = (static_cast<std::size_t>(layer) * layers.directions() + d) * layers.each();
    ValueIds own;
    for (std::size_t k = 0; k < (layers.has_biases ? 4 : 2); ++k) {
      WHET_TRY(const ValueId parameter, by_gates(site, layers.parameters[first + k], form));
      own.push_back(parameter);
    }
    if (layers.projects()) projections.push_back(layers.parameters[first + layers.each() - 1]);
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
  if (!projections.empty()) {
    WHET_TRY(form.projection, by_directions(site, projections));
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

Status expect_parameters(TorchSite& site, const Layers& layers) {
  const auto wanted =
      static_cast<std::size_t>(std::clamp<std::int64_t>(layers.count, 0, 1024)) * layers.directions() * layers.each();
  if (layers.count >= 1 && layers.parameters.size() == wanted) return ok_status();
  return site.error("has " + std::to_string(layers.parameters.size()) + " parameters for " +
                    std::to_string(layers.count) + " layers; expected " + std::to_string(wanted));
}

/// Unbatched sequences get a batch of 1.
Status give_layers(TorchSite& site, ValueId x, Layers layers, double dropout, bool train, bool batch_first) {
  WHET_RETURN_IF_ERROR(site.expect_no_dropout(dropout, train));
  WHET_RETURN_IF_ERROR(expect_parameters(site, layers));
  const bool single = site.rank(x) == 2;
  if (single) {
    WHET_TRY(x, unsqueezed(site, x, {batch_first ? 0 : 1}));
    for (OptionalId* states : {&layers.states, &layers.cells}) {
      if (!*states) continue;
      WHET_TRY(*states, unsqueezed(site, **states, {1}));
    }
  }
  for (const OptionalId& states : {layers.states, layers.cells}) {
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
  ValueIds states, cells;
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
    WHET_TRY(x, squeezed(site, x, Ints{batch_first ? 0 : 1}));
  }
  WHET_RETURN_IF_ERROR(site.give(x));
  std::size_t place = 1;
  for (ValueIds* list : {&states, &cells}) {
    if (list->empty() || !site.wants_output(place)) continue;
    ValueId all = list->front();
    if (list->size() > 1) {
      WHET_TRY(all, site.add("states", ConcatOperator{0}, *list));
    }
    if (single) {
      WHET_TRY(all, squeezed(site, all, Ints{1}));
    }
    WHET_RETURN_IF_ERROR(site.give(all, place));
    ++place;
  }
  return ok_status();
}

Status import_lstm(TorchSite& site, ValueId x, const ValueIds& states, const ValueIds& parameters, bool has_biases,
                   std::int64_t count, double dropout, bool train, bool bidirectional, bool batch_first) {
  if (states.size() != 2) return site.error("has " + std::to_string(states.size()) + " first states; expected 2");
  const Layers layers{CellKind::lstm, {}, parameters, has_biases, bidirectional, count, 0, states[0], states[1]};
  return give_layers(site, x, layers, dropout, train, batch_first);
}
enum class Cell : std::uint8_t { gru, tanh, relu };
template <Cell cell>
Status import_cells(TorchSite& site, ValueId x, ValueId states, const ValueIds& parameters, bool has_biases,
                    std::int64_t count, double dropout, bool train, bool bidirectional, bool batch_first) {
  const CellKind kind = cell == Cell::gru ? CellKind::gru : CellKind::rnn;
  const Texts activations = cell == Cell::gru ? Texts{} : Texts{cell == Cell::tanh ? "Tanh" : "Relu"};
  const Layers layers{kind, activations, parameters, has_biases, bidirectional, count, 0, states};
  return give_layers(site, x, layers, dropout, train, batch_first);
}

constexpr std::string_view kRecurrent = "input hx params has_biases num_layers dropout train bidirectional batch_first";

}  // namespace

TorchRows recurrent_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.gru", "input", kRecurrent, calls<import_cells<Cell::gru>>},
      {"aten.lstm", "input", kRecurrent, calls<import_lstm>},
      {"aten.rnn_relu", "input", kRecurrent, calls<import_cells<Cell::relu>>},
      {"aten.rnn_tanh", "input", kRecurrent, calls<import_cells<Cell::tanh>>},
  };
  return kRows;
}

}  // namespace whet::torch
