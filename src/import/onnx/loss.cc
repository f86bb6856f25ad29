#include "import/parts/loss.h"

#include "import/onnx/importers.h"

namespace whet {
namespace {

/// The loss of logarithms x; targets are input 1, weights input 2.
Status give_loss(OnnxSite& site, ValueId x) {
  LikelihoodLoss form{.weights = site.if_given(2)};
  WHET_TRY(const std::size_t reduction, site.choice("reduction", "mean", {"none", "sum", "mean"}));
  form.reduction = static_cast<LossReduction>(reduction);
  if (site.has_attribute("ignore_index")) {
    WHET_TRY(form.ignored, site.integer("ignore_index", 0));
  }
  const Result<ValueId> loss = likelihood_loss(site, x, site.in(1), form);
  return form.reduction == LossReduction::none ? site.pass(loss) : site.give(loss);
}

}  // namespace

Status import_negative_log_likelihood(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  return give_loss(site, site.in(0));
}

Status import_softmax_cross_entropy(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  if (site.rank(0) < 2) return site.error("the scores are " + to_string(site.type(site.in(0))));
  WHET_TRY(const ValueId logs, site.add("log_softmax", SoftmaxOperator{1, true}, {site.in(0)}));
  WHET_RETURN_IF_ERROR(site.pass(logs, 1));
  return give_loss(site, logs);
}

}  // namespace whet
