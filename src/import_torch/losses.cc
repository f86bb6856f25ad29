#include "import/parts/loss.h"

#include "import/parts/arithmetic.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;
using U = UnaryKind;

/// torch's numbers of them.
Result<LossReduction> reduction_of(TorchSite& site, std::int64_t number) {
  if (number == 0) return LossReduction::none;
  if (number == 1 || number == 2) return number == 1 ? LossReduction::mean : LossReduction::sum;
  return site.error("argument \"reduction\" is " + std::to_string(number) + "; expected 0 to 2");
}
Result<ValueId> reduced_loss(TorchSite& site, ValueId loss, std::int64_t number) {
  WHET_TRY(const LossReduction reduction, reduction_of(site, number));
  if (reduction == LossReduction::none || site.rank(loss) == 0) return loss;
  const ReduceKind kind = reduction == LossReduction::mean ? ReduceKind::mean : ReduceKind::sum;
  return reduced(site, loss, ReduceOperator{kind, every_axis(site.rank(loss)), false});
}

Result<ValueId> distance(TorchSite& site, ValueId x, ValueId y) {
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {x, y}));
  return site.add("distance", UnaryOperator{U::abs}, {rest});
}
Result<ValueId> import_mse(TorchSite& site, ValueId x, ValueId y, std::int64_t reduction) {
  WHET_TRY(const ValueId far, distance(site, x, y));
  WHET_TRY(const ValueId loss, square(site, far));
  return reduced_loss(site, loss, reduction);
}
Result<ValueId> import_l1(TorchSite& site, ValueId x, ValueId y, std::int64_t reduction) {
  WHET_TRY(const ValueId loss, distance(site, x, y));
  return reduced_loss(site, loss, reduction);
}
/// Below `edge` d^2 / 2, above it edge (d - edge / 2); smooth ones are divided by the edge.
template <bool smooth>
Result<ValueId> import_huber(TorchSite& site, ValueId x, ValueId y, std::int64_t reduction, double edge) {
  if (edge == 0) return import_l1(site, x, y, reduction);
  WHET_TRY(const ValueId far, distance(site, x, y));
  WHET_TRY(ValueId near, square(site, far));
  WHET_TRY(near, with_number(site, "near", B::mul, near, smooth ? 0.5 / edge : 0.5));
  WHET_TRY(ValueId line, with_number(site, "line", B::sub, far, edge / 2));
  if (!smooth) {
    WHET_TRY(line, with_number(site, "line", B::mul, line, edge));
  }
  WHET_TRY(const ValueId inside, with_number(site, "inside", B::less, far, edge));
  WHET_TRY(const ValueId loss, chosen(site, inside, near, line));
  return reduced_loss(site, loss, reduction);
}

/// Logarithms [N, classes, ...] or [classes], and targets; what is ignored may be no class at all.
Result<ValueId> import_nll(TorchSite& site, ValueId x, ValueId targets, OptionalId weights, std::int64_t reduction,
                           std::int64_t ignored) {
  LikelihoodLoss form{.weights = weights, .ignored = ignored};
  WHET_TRY(form.reduction, reduction_of(site, reduction));
  const bool lone = site.rank(x) == 1;
  if (lone) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
    WHET_TRY(targets, unsqueezed(site, targets, {0}));
  }
  WHET_TRY(const ValueId loss, likelihood_loss(site, x, targets, form));
  return lone && form.reduction == LossReduction::none ? squeezed(site, loss, Ints{0}) : loss;
}
/// Targets of the input's own type are probabilities. Smoothed ones are partly of all classes alike.
Result<ValueId> import_cross_entropy(TorchSite& site, ValueId x, ValueId targets, OptionalId weights,
                                     std::int64_t reduction, std::int64_t ignored, double smoothing) {
  if (smoothing != 0 && weights)
    return site.error("argument \"label_smoothing\" is not 0 beside weights of classes, which is not supported");
  if (site.rank(x) == 0) return site.error("the input is a scalar; expected classes");
  const std::int64_t d = site.rank(x) == 1 ? 0 : 1;
  WHET_TRY(ValueId logs, site.add("logs", SoftmaxOperator{d, true}, {x}));
  const bool has_shares = is_float(site.dtype(targets));
  if (smoothing != 0 && has_shares) {
    const auto classes = static_cast<double>(site.extent(x, d));
    WHET_TRY(targets, with_number(site, "own_share", B::mul, targets, 1 - smoothing));
    WHET_TRY(targets, with_number(site, "smoothed", B::add, targets, smoothing / classes));
  } else if (smoothing != 0) {
    WHET_TRY(ValueId all, reduced(site, logs, ReduceOperator{ReduceKind::mean, {d}, true}));
    WHET_TRY(all, with_number(site, "all_share", B::mul, all, smoothing));
    WHET_TRY(logs, with_number(site, "own_share", B::mul, logs, 1 - smoothing));
    WHET_TRY(logs, site.add("smoothed", BinaryOperator{B::add}, {logs, all}));
  }
  if (!has_shares) return import_nll(site, logs, targets, weights, reduction, ignored);
  WHET_TRY(ValueId loss, site.add("products", BinaryOperator{B::mul}, {logs, targets}));
  if (weights) {
    Shape column(site.rank(x), 1);
    column[static_cast<std::size_t>(d)] = site.extent(x, d);
    WHET_TRY(const ValueId factor, site.add("weight", ReshapeOperator{column}, {*weights}));
    WHET_TRY(loss, site.add("weighted", BinaryOperator{B::mul}, {loss, factor}));
  }
  WHET_TRY(loss, reduced(site, loss, ReduceOperator{ReduceKind::sum, {d}, false}));
  WHET_TRY(loss, site.add("loss", UnaryOperator{U::neg}, {loss}));
  return reduced_loss(site, loss, reduction);
}

/// (1 - y) x + (1 + (w - 1) y) softplus(-x)
Result<ValueId> import_bce_of_logits(TorchSite& site, ValueId x, ValueId y, OptionalId weight, OptionalId positive,
                                     std::int64_t reduction) {
  const ValueId one = site.add_scalar("one", site.dtype(x), 1);
  WHET_TRY(ValueId rest, site.add("rest", BinaryOperator{B::sub}, {one, y}));
  WHET_TRY(rest, site.add("line", BinaryOperator{B::mul}, {rest, x}));
  WHET_TRY(ValueId soft, site.add("turned", UnaryOperator{U::neg}, {x}));
  WHET_TRY(soft, site.add("soft", UnaryOperator{U::softplus}, {soft}));
  if (positive) {
    WHET_TRY(ValueId more, site.add("more", BinaryOperator{B::sub}, {*positive, one}));
    WHET_TRY(more, site.add("share", BinaryOperator{B::mul}, {more, y}));
    WHET_TRY(more, site.add("factor", BinaryOperator{B::add}, {more, one}));
    WHET_TRY(soft, site.add("weighted_soft", BinaryOperator{B::mul}, {soft, more}));
  }
  WHET_TRY(ValueId loss, site.add("loss", BinaryOperator{B::add}, {rest, soft}));
  if (weight) {
    WHET_TRY(loss, site.add("weighted", BinaryOperator{B::mul}, {loss, *weight}));
  }
  return reduced_loss(site, loss, reduction);
}
/// -y log(x) - (1 - y) log(1 - x), where no logarithm is below -100.
Result<ValueId> import_bce(TorchSite& site, ValueId x, ValueId y, OptionalId weight, std::int64_t reduction) {
  const ValueId one = site.add_scalar("one", site.dtype(x), 1);
  ValueIds terms;
  for (ValueId* each : {&x, &y}) {
    WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {one, *each}));
    terms.push_back(rest);
  }
  for (auto [part, share] : {std::pair(x, y), std::pair(terms[0], terms[1])}) {
    WHET_TRY(part, site.add("log", UnaryOperator{U::log}, {part}));
    WHET_TRY(part, with_number(site, "bounded", B::max, part, -100));
    WHET_TRY(part, site.add("term", BinaryOperator{B::mul}, {part, share}));
    terms.push_back(part);
  }
  WHET_TRY(ValueId loss, site.add("sum", BinaryOperator{B::add}, {terms[2], terms[3]}));
  WHET_TRY(loss, site.add("loss", UnaryOperator{U::neg}, {loss}));
  if (weight) {
    WHET_TRY(loss, site.add("weighted", BinaryOperator{B::mul}, {loss, *weight}));
  }
  return reduced_loss(site, loss, reduction);
}
/// y (log(y) - x), which is 0 where y is; or e^y (y - x) of logarithms.
Result<ValueId> import_kl_div(TorchSite& site, ValueId x, ValueId y, std::int64_t reduction, bool is_log) {
  WHET_TRY(const ValueId log, is_log ? Result<ValueId>(y) : site.add("log", UnaryOperator{U::log}, {y}));
  WHET_TRY(const ValueId share, is_log ? site.add("share", UnaryOperator{U::exp}, {y}) : Result<ValueId>(y));
  WHET_TRY(ValueId loss, site.add("way", BinaryOperator{B::sub}, {log, x}));
  WHET_TRY(loss, site.add("loss", BinaryOperator{B::mul}, {share, loss}));
  if (!is_log) {
    WHET_TRY(const ValueId none, with_number(site, "none", B::equal, y, 0));
    WHET_TRY(loss, chosen(site, none, site.add_scalar("zero", site.dtype(loss), 0), loss));
  }
  return reduced_loss(site, loss, reduction);
}
constexpr std::string_view kLoss = "self target reduction=1",
                           kLikelihood = "self target weight? reduction=1 ignore_index=-100";

}  // namespace

TorchRows loss_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.binary_cross_entropy", "default", "self target weight? reduction=1", calls<import_bce>, kWide},
      {"aten.binary_cross_entropy_with_logits", "default", "self target weight? pos_weight? reduction=1",
       calls<import_bce_of_logits>, kWide},
      {"aten.cross_entropy_loss", "default", "self target weight? reduction=1 ignore_index=-100 label_smoothing=0",
       calls<import_cross_entropy>, kWide},
      {"aten.huber_loss", "default", "self target reduction=1 delta=1", calls<import_huber<false>>, kWide},
      {"aten.kl_div", "default", "self target reduction=1 log_target=false", calls<import_kl_div>, kWide},
      {"aten.l1_loss", "default", kLoss, calls<import_l1>, kWide},
      {"aten.mse_loss", "default", kLoss, calls<import_mse>, kWide},
      {"aten.nll_loss aten.nll_loss_nd aten.nll_loss2d aten.nll_loss_forward aten.nll_loss2d_forward", "default",
       kLikelihood, calls<import_nll>, kWide},
      {"aten.smooth_l1_loss", "default", "self target reduction=1 beta=1", calls<import_huber<true>>, kWide},
  };
  return kRows;
}

}  // namespace whet::torch
