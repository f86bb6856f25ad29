#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// LSTM, GRU and RNN, one step after the other: parts, see arithmetic.h. The input's part of all gates of all steps is one
/// product of matrices, the state's part one for each step.
namespace whet {

enum class CellKind : std::uint8_t { lstm, gru, rnn };
/// Gates of a cell: i, o, f, c of an LSTM; z, r, h of a GRU; one of an RNN.
std::int64_t gate_count(CellKind);
/// Activations of a cell in one direction, by their usual names: gates, cell and output; gates and candidate; the state.
std::vector<std::string> usual_activations(CellKind);

/// By name, whatever its case: Sigmoid, Tanh, Relu, Softsign, Softplus, HardSigmoid, LeakyRelu, ThresholdedRelu, Elu, Affine,
/// ScaledTanh. A parameter that is not a number is the usual one.
struct CellActivation {
  std::string name;
  double alpha = std::numeric_limits<double>::quiet_NaN(), beta = std::numeric_limits<double>::quiet_NaN();
};
/// Which parameters the activation of this name has; none where there is no such activation.
struct CellParameters {
  bool alpha = false, beta = false;
};
CellParameters parameters_of(const std::string& activation);

/// What a state is held in between steps, where it is no float: whole steps of `scale`, `low` to `high` of them.
struct HeldState {
  double scale = 1, low = 0, high = 0;
};

/// D directions, G gates, state of H numbers. Steps come first, or (`batch_first`) the batch does.
struct Recurrent {
  CellKind kind = CellKind::lstm;
  ValueId x;                                      ///< [steps, N, features] or [N, steps, features]
  ValueId weights;                                ///< [D, G * H, features]
  ValueId state_weights;                          ///< [D, G * H, H]
  std::optional<ValueId> bias = std::nullopt;     ///< [D, 2 * G * H]: of the input, and of the state
  std::optional<ValueId> lengths = std::nullopt;  ///< [N]: steps of each sequence; behind its end the state stays
  std::optional<ValueId> first_state = std::nullopt, first_cell = std::nullopt;  ///< [D, N, H] or [N, D, H]; else zeros
  std::optional<ValueId> projection =
      std::nullopt;  ///< LSTM: [D, P, H]; the state then has P numbers, and what is shown
  std::optional<ValueId> peepholes = std::nullopt;  ///< [D, 3 * H]: i, o, f
  std::int64_t hidden = 0;                          ///< H
  bool bidirectional = false, reversed = false;     ///< `reversed`: the one direction runs from the last step
  bool batch_first = false;
  double clip = 0;                   ///< of what the gates hold before they are activated; 0: none
  double cell_clip = 0;              ///< LSTM: of the cell; 0: none
  bool input_forget = false;         ///< LSTM: the forget gate is 1 - the input gate
  bool linear_before_reset = false;  ///< GRU alone: the reset gate multiplies the product and not the state
  std::optional<HeldState> held_state = std::nullopt, held_cell = std::nullopt;  ///< LSTM
  std::vector<CellActivation> activations = {};                                  ///< of all directions
  bool wants_rows = true;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
};

/// `rows`: the states of all steps, [steps, D, N, H] or [N, steps, D, H], where wanted. `state` and `cell` (LSTM): the last
/// ones, [D, N, H] or [N, D, H].
struct RecurrentResult {
  std::optional<ValueId> rows;
  ValueId state;
  std::optional<ValueId> cell;
};

/// Errors: shapes that do not fit, an unknown activation, more than 4096 steps.
Result<RecurrentResult> recurrent(NodeSite&, const Recurrent&);

}  // namespace whet
