#include "import/parts/recurrent.h"

#include "import/parts/shape.h"
#include "import_mxnet/rows.h"

namespace whet::mxnet {
namespace {

/// The network: layers of one or two directions, whose parameters are in one list.
struct Net {
  CellKind kind = CellKind::lstm;
  std::vector<std::string> activations;
  std::int64_t hidden = 0, layers = 1;
  bool bidirectional = false;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
  std::int64_t rows() const { return gate_count(kind) * hidden; }
};

/// Gates i f c o as i o f c, and r z n as z r n.
std::vector<std::size_t> gate_order(CellKind kind) {
  if (kind == CellKind::lstm) return {0, 3, 1, 2};
  if (kind == CellKind::gru) return {1, 0, 2};
  return {0};
}

/// Takes one piece after the other of the list.
class Pieces {
 public:
  Pieces(MxSite& site, ValueId list) : site_(site), list_(list) {}
  /// [rows, columns] or [rows] (columns 0), gates in the part's order.
  Result<ValueId> take(const Net& net, std::int64_t columns) {
    const std::int64_t each = net.hidden * std::max<std::int64_t>(columns, 1);
    std::vector<ValueId> gates;
    for (const std::size_t gate : gate_order(net.kind)) {
      const std::int64_t begin = at_ + static_cast<std::int64_t>(gate) * each;
      WHET_TRY(ValueId part, sliced(site_, list_, {begin}, {begin + each}, Ints{0}, {1}));
      if (columns > 0) {
        WHET_TRY(part, site_.add("matrix", ReshapeOperator{{net.hidden, columns}}, {part}));
      }
      gates.push_back(part);
    }
    at_ += each * gate_count(net.kind);
    return gates.size() == 1 ? Result<ValueId>(gates[0]) : site_.add("gates", ConcatOperator{0}, gates);
  }

 private:
  MxSite& site_;
  ValueId list_;
  std::int64_t at_ = 0;
};

Status check_net(const MxSite& site, const Net& net) {
  if (net.hidden < 1 || net.hidden > (1 << 20) || net.layers < 1 || net.layers > 256)
    return site.error("has " + std::to_string(net.layers) + " layers of " + std::to_string(net.hidden));
  if (site.has_attribute("projection_size")) return site.error("has a projection, which is not supported");
  if (site.has_attribute("lstm_state_clip_min") || site.has_attribute("lstm_state_clip_max"))
    return site.error("clips its states, which is not supported");
  return site.expect_inputs(net.kind == CellKind::lstm ? 4 : 3);
}

/// How many numbers the list must have.
std::int64_t parameter_count(const Net& net, std::int64_t features) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < net.layers; ++layer) {
    const std::int64_t wide = layer == 0 ? features : net.hidden * net.directions();
    count += net.directions() * net.rows() * (wide + net.hidden + 2);
  }
  return count;
}

Result<ValueId> side_by_side(MxSite& site, std::vector<ValueId> values) {
  for (ValueId& value : values) {
    WHET_TRY(value, unsqueezed(site, value, {0}));
  }
  return values.size() == 1 ? Result<ValueId>(values[0]) : site.add("directions", ConcatOperator{0}, values);
}

/// The parameters of a layer, those of its directions side by side.
struct Layer {
  ValueIds weights, states, biases;
};
/// All weights of all layers are before all biases.
Result<std::vector<Layer>> layers_in(MxSite& site, const Net& net, ValueId list, std::int64_t features) {
  const std::int64_t wanted = parameter_count(net, features);
  if (site.shape(list) != Shape{wanted})
    return site.error("its parameters are " + to_string(site.type(list)) + "; expected " + std::to_string(wanted));
  std::vector<Layer> layers(static_cast<std::size_t>(net.layers));
  Pieces pieces(site, list);
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (std::int64_t d = 0; d < net.directions(); ++d) {
      WHET_TRY(const ValueId w, pieces.take(net, l == 0 ? features : net.hidden * net.directions()));
      WHET_TRY(const ValueId s, pieces.take(net, net.hidden));
      layers[l].weights.push_back(w);
      layers[l].states.push_back(s);
    }
  for (Layer& layer : layers)
    for (std::int64_t d = 0; d < net.directions(); ++d) {
      WHET_TRY(const ValueId of_input, pieces.take(net, 0));
      WHET_TRY(const ValueId of_state, pieces.take(net, 0));
      WHET_TRY(const ValueId both, site.add("biases", ConcatOperator{0}, {of_input, of_state}));
      layer.biases.push_back(both);
    }
  return layers;
}

enum class Mode : std::uint8_t { lstm, gru, rnn_tanh, rnn_relu };
/// Data [steps, N, features], state and cell [layers * directions, N, H].
Status import_rnn(MxSite& site, ValueId x, ValueId parameters, ValueId state, std::optional<ValueId> cell, Mode mode,
                  std::int64_t hidden, std::int64_t count, bool bidirectional) {
  constexpr CellKind kKinds[] = {CellKind::lstm, CellKind::gru, CellKind::rnn, CellKind::rnn};
  Net net{kKinds[static_cast<std::size_t>(mode)], {}, hidden, count, bidirectional};
  net.activations = usual_activations(net.kind);
  if (net.kind == CellKind::rnn) net.activations = {mode == Mode::rnn_tanh ? "Tanh" : "Relu"};
  WHET_RETURN_IF_ERROR(check_net(site, net));
  const Shape shape = site.shape(x);
  if (shape.size() != 3)
    return site.error("the input is " + to_string(site.type(x)) + "; expected steps, a batch and features");
  WHET_TRY(const std::vector<Layer> layers, layers_in(site, net, parameters, shape[2]));
  ValueIds states, cells;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Recurrent form{.kind = net.kind, .x = x, .weights = x, .state_weights = x};
    form.hidden = net.hidden;
    form.bidirectional = net.bidirectional;
    form.linear_before_reset = net.kind == CellKind::gru;
    WHET_TRY(form.weights, side_by_side(site, layers[l].weights));
    WHET_TRY(form.state_weights, side_by_side(site, layers[l].states));
    WHET_TRY(form.bias, side_by_side(site, layers[l].biases));
    for (std::int64_t d = 0; d < net.directions(); ++d)
      for (const std::string& name : net.activations) form.activations.push_back({name});
    const std::int64_t first = static_cast<std::int64_t>(l) * net.directions();
    const auto of_layer = [&](ValueId all) {
      return sliced(site, all, {first}, {first + net.directions()}, Ints{0}, {1});
    };
    // Gluon's zeros at the start have a batch of 0, which means: that of the data.
    if (num_elements(site.shape(state)) > 0) {
      WHET_TRY(form.first_state, of_layer(state));
    }
    if (cell && num_elements(site.shape(*cell)) > 0) {
      WHET_TRY(form.first_cell, of_layer(*cell));
    }
    WHET_TRY(const RecurrentResult result, recurrent(site, form));
    const Shape rows = site.shape(*result.rows);
    WHET_TRY(const ValueId turned, site.add("turned", TransposeOperator{{0, 2, 1, 3}}, {*result.rows}));
    WHET_TRY(x, site.add("rows", ReshapeOperator{{rows[0], rows[2], rows[1] * rows[3]}}, {turned}));
    states.push_back(result.state);
    if (result.cell) cells.push_back(*result.cell);
  }
  WHET_RETURN_IF_ERROR(site.give(x));
  std::size_t place = 1;
  for (const ValueIds& list : {states, cells}) {
    if (list.empty() || !site.wants_output(place)) continue;
    WHET_RETURN_IF_ERROR(list.size() == 1 ? site.give(list[0], place) : site.give(ConcatOperator{0}, list, place));
    ++place;
  }
  return ok_status();
}

}  // namespace

MxRows recurrent_rows() {
  static constexpr MxRow kRows[] = {
      {"RNN",
       "x parameters state cell? @mode:lstm|gru|rnn_tanh|rnn_relu @state_size @num_layers=1 @bidirectional=0 "
       "@projection_size? @lstm_state_clip_min? @lstm_state_clip_max?",
       calls<import_rnn>},
  };
  return kRows;
}

}  // namespace whet::mxnet
