#include "import/parts/recurrent.h"

#include "import/onnx/importers.h"

namespace whet {
namespace {

/// The next of the values, where the activation has such a parameter; the usual one where no value is left.
void take_next(bool has, const std::vector<double>& values, std::size_t& used, double& parameter) {
  if (has && used < values.size()) parameter = values[used++];
}

Status expect_all_used(OnnxSite& site, const std::string& attribute, std::size_t given, std::size_t used) {
  if (given == used) return ok_status();
  return site.error("attribute \"" + attribute + "\" has " + std::to_string(given) + " entries; its activations take " +
                    std::to_string(used));
}

/// "activations" and their parameters. The parameters are in the order of the activations that have them.
Status read_activations(OnnxSite& site, Recurrent& form) {
  const std::vector<std::string> usual = usual_activations(form.kind);
  const std::size_t count = usual.size() * static_cast<std::size_t>(form.directions());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(usual[i % usual.size()]);
  WHET_TRY(names, site.texts("activations", names));
  WHET_TRY(const std::vector<double> alpha, site.numbers("activation_alpha", {}));
  WHET_TRY(const std::vector<double> beta, site.numbers("activation_beta", {}));
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

Status give_recurrent(OnnxSite& site, CellKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, kind == CellKind::lstm ? 8 : 6));
  Recurrent form{.kind = kind, .x = site.in(0), .weights = site.in(1), .state_weights = site.in(2)};
  form.bias = site.if_given(3);
  form.lengths = site.if_given(4);
  form.first_state = site.if_given(5);
  form.first_cell = site.if_given(6);
  form.peepholes = site.if_given(7);
  WHET_TRY(const std::int64_t layout, site.integer("layout", 0));
  form.batch_first = layout != 0;
  WHET_TRY(form.hidden, site.integer("hidden_size", site.rank(2) == 3 ? site.shape(2)[2] : 0));
  WHET_TRY(const std::size_t direction, site.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  form.bidirectional = direction == 2;
  form.reversed = direction == 1;
  WHET_TRY(form.clip, site.number("clip", 0));
  if (kind == CellKind::lstm) {
    WHET_TRY(form.input_forget, site.flag("input_forget", false));
  }
  if (kind == CellKind::gru) {
    WHET_TRY(form.linear_before_reset, site.flag("linear_before_reset", false));
  }
  WHET_RETURN_IF_ERROR(read_activations(site, form));
  form.wants_rows = site.wants_output(0);
  WHET_TRY(const RecurrentResult result, recurrent(site, form));
  // What one step or one direction gives keeps the names of that.
  const bool one_direction = form.directions() == 1;
  const bool one_row = one_direction && site.shape(0)[form.batch_first ? 1 : 0] == 1;
  if (result.rows) WHET_RETURN_IF_ERROR(one_row ? site.pass(*result.rows) : site.give(*result.rows));
  WHET_RETURN_IF_ERROR(one_direction ? site.pass(result.state, 1) : site.give(result.state, 1));
  if (!result.cell) return ok_status();
  return one_direction ? site.pass(*result.cell, 2) : site.give(*result.cell, 2);
}

}  // namespace

Status import_lstm(OnnxSite& site) { return give_recurrent(site, CellKind::lstm); }
Status import_gru(OnnxSite& site) { return give_recurrent(site, CellKind::gru); }
Status import_rnn(OnnxSite& site) { return give_recurrent(site, CellKind::rnn); }

}  // namespace whet
