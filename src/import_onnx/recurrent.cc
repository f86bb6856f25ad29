#include "import/parts/recurrent.h"

#include "import_onnx/rows.h"

namespace whet {
namespace {

/// The next of the values, where the activation has such a parameter; the usual one where no value is left.
void take_next(bool has, const Numbers& values, std::size_t& used, double& parameter) {
  if (has && used < values.size()) parameter = values[used++];
}

Status expect_all_used(OnnxSite& site, const std::string& attribute, std::size_t given, std::size_t used) {
  if (given == used) return ok_status();
  return site.error("attribute \"" + attribute + "\" has " + std::to_string(given) + " entries; its activations take " +
                    std::to_string(used));
}

/// "activations" and their parameters. The parameters are in the order of the activations that have them.
Status name_activations(OnnxSite& site, Recurrent& form, Texts names, const Numbers& alpha, const Numbers& beta) {
  const Texts usual = usual_activations(form.kind);
  const std::size_t count = usual.size() * static_cast<std::size_t>(form.directions());
  for (std::size_t i = 0; !site.has_attribute("activations") && i < count; ++i)
    names.push_back(usual[i % usual.size()]);
  if (names.size() != count) {
    return site.error("attribute \"activations\" has " + std::to_string(names.size()) + " entries; expected " +
                      std::to_string(count));
  }
  std::size_t alphas = 0, betas = 0;
  for (const std::string& name : names) {
    CellActivation& activation = form.activations.emplace_back(CellActivation{name});
    const CellParameters has = parameters_of(name);
    take_next(has.alpha, alpha, alphas, activation.alpha);
    take_next(has.beta, beta, betas, activation.beta);
  }
  WHET_RETURN_IF_ERROR(expect_all_used(site, "activation_alpha", alpha.size(), alphas));
  return expect_all_used(site, "activation_beta", beta.size(), betas);
}

enum class Direction : std::uint8_t { forward, reverse, both };

template <CellKind kind>
Status import_recurrent(OnnxSite& site, ValueId x, ValueId weights, ValueId state_weights, Direction direction,
                        double clip, std::int64_t layout, const Texts& names, const Numbers& alpha,
                        const Numbers& beta) {
  Recurrent form{.kind = kind, .x = x, .weights = weights, .state_weights = state_weights};
  form.bias = site.if_given(3);
  form.lengths = site.if_given(4);
  form.first_state = site.if_given(5);
  form.first_cell = site.if_given(6);
  form.peepholes = site.if_given(7);
  form.batch_first = layout != 0;
  form.bidirectional = direction == Direction::both;
  form.reversed = direction == Direction::reverse;
  form.clip = clip;
  WHET_TRY(form.hidden, site.integer("hidden_size", site.rank(state_weights) == 3 ? site.shape(state_weights)[2] : 0));
  WHET_TRY(form.input_forget, site.flag("input_forget", false));
  WHET_TRY(form.linear_before_reset, site.flag("linear_before_reset", false));
  WHET_RETURN_IF_ERROR(name_activations(site, form, names, alpha, beta));
  form.wants_rows = site.wants_output(0);
  WHET_TRY(const RecurrentResult result, recurrent(site, form));
  // What one step or one direction gives keeps the names of that.
  const bool one_direction = form.directions() == 1;
  const bool one_row = one_direction && site.shape(x)[form.batch_first ? 1 : 0] == 1;
  if (result.rows) WHET_RETURN_IF_ERROR(one_row ? site.pass(*result.rows) : site.give(*result.rows));
  WHET_RETURN_IF_ERROR(one_direction ? site.pass(result.state, 1) : site.give(result.state, 1));
  if (!result.cell) return ok_status();
  return one_direction ? site.pass(*result.cell, 2) : site.give(*result.cell, 2);
}

}  // namespace

OnnxRows onnx_recurrent() {
  // The words behind the parameters are read by their places and names.
  static constexpr OnnxRow kRows[] = {
      {"GRU", 7,
       "x weights state_weights @direction:forward|reverse|bidirectional=forward @clip=0 @layout=0 @activations? "
       "@activation_alpha? "
       "@activation_beta? bias? lengths? first_state? @hidden_size? @linear_before_reset?",
       calls<import_recurrent<CellKind::gru>>},
      {"LSTM", 7,
       "x weights state_weights @direction:forward|reverse|bidirectional=forward @clip=0 @layout=0 @activations? "
       "@activation_alpha? "
       "@activation_beta? bias? lengths? first_state? first_cell? peepholes? @hidden_size? @input_forget?",
       calls<import_recurrent<CellKind::lstm>>},
      {"RNN", 7,
       "x weights state_weights @direction:forward|reverse|bidirectional=forward @clip=0 @layout=0 @activations? "
       "@activation_alpha? "
       "@activation_beta? bias? lengths? first_state? @hidden_size?",
       calls<import_recurrent<CellKind::rnn>>},
  };
  return kRows;
}

}  // namespace whet
