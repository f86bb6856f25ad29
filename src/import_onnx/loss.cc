#include "import/parts/loss.h"

#include "import_onnx/rows.h"

namespace whet {
namespace {

/// The loss of logarithms x.
Status import_likelihood_loss(OnnxSite& site, ValueId x, ValueId targets, std::optional<ValueId> weights,
                              LossReduction reduction, std::optional<std::int64_t> ignored) {
  const Result<ValueId> loss = likelihood_loss(site, x, targets, {reduction, weights, ignored});
  return reduction == LossReduction::none ? site.pass(loss) : site.give(loss);
}

Status import_softmax_loss(OnnxSite& site, ValueId x, ValueId targets, std::optional<ValueId> weights,
                           LossReduction reduction, std::optional<std::int64_t> ignored) {
  if (site.rank(x) < 2) return site.error("the scores are " + to_string(site.type(x)));
  WHET_TRY(const ValueId logs, site.add("log_softmax", SoftmaxOperator{1, true}, {x}));
  WHET_RETURN_IF_ERROR(site.pass(logs, 1));
  return import_likelihood_loss(site, logs, targets, weights, reduction, ignored);
}

}  // namespace

OnnxRows onnx_loss() {
  static constexpr std::string_view kLoss = "x targets weights? @reduction:none|sum|mean=mean @ignore_index?";
  static constexpr OnnxRow kRows[] = {
      {"NegativeLogLikelihoodLoss", 12, kLoss, calls<import_likelihood_loss>},
      {"SoftmaxCrossEntropyLoss", 12, kLoss, calls<import_softmax_loss>},
  };
  return kRows;
}

}  // namespace whet
