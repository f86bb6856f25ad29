#include "import/parts/loss.h"

namespace whet {
namespace {

Result<ValueId> binary(NodeSite& site, const char* part, BinaryKind kind, ValueId a, ValueId b) {
  return site.add(part, BinaryOperator{kind}, {a, b});
}

}  // namespace

Result<ValueId> likelihood_loss(NodeSite& site, ValueId x, ValueId targets, const LikelihoodLoss& form) {
  const Shape classes = site.shape(x), target = site.shape(targets);
  const DType dtype = site.dtype(x);
  if (classes.size() < 2 || classes.size() != target.size() + 1) {
    return site.error("compares " + to_string(site.type(x)) + " with targets " + to_string(site.type(targets)) +
                      "; expected one target for the classes of the second dimension");
  }
  std::optional<ValueId> skip;
  const auto or_zero = [&](ValueId y) {
    return site.add("kept", WhereOperator{}, {*skip, site.add_scalar("zero", site.dtype(y), 0), y});
  };
  // Bytes index nothing, and what is ignored may be no number of the targets' type.
  WHET_TRY(targets, site.cast("wide", targets, DType::i64));
  if (form.ignored) {
    const ValueId never = site.add_constant("ignored", Tensor::of<std::int64_t>(DType::i64, {}, {*form.ignored}));
    WHET_TRY(skip, binary(site, "skip", BinaryKind::equal, targets, never));
    WHET_TRY(targets, or_zero(targets));  // it may be no class
  }
  Shape column = target;
  column.insert(column.begin() + 1, 1);
  WHET_TRY(const ValueId places, site.add("column", ReshapeOperator{column}, {targets}));
  WHET_TRY(const ValueId taken, site.add("taken", GatherElementsOperator{1}, {x, places}));
  WHET_TRY(const ValueId picked, site.add("picked", ReshapeOperator{target}, {taken}));
  WHET_TRY(ValueId loss, site.add("loss", UnaryOperator{UnaryKind::neg}, {picked}));
  ValueId weight = site.add_scalar("one", dtype, 1);
  if (form.weights) {
    WHET_TRY(weight, site.add("weight", GatherOperator{0}, {*form.weights, targets}));
  }
  if (skip) {
    WHET_TRY(loss, or_zero(loss));  // which has no number where that of the class has none
    WHET_TRY(weight, or_zero(weight));
  }
  WHET_TRY(loss, binary(site, "weighted", BinaryKind::mul, loss, weight));
  if (form.reduction == LossReduction::none) return loss;
  ReduceOperator all{ReduceKind::sum, {}, false};
  for (std::size_t d = 0; d < target.size(); ++d) all.axes.push_back(static_cast<std::int64_t>(d));
  if (form.reduction == LossReduction::sum) return site.add("reduced", all, {loss});
  if (!form.weights && !form.ignored) {
    all.kind = ReduceKind::mean;
    return site.add("reduced", all, {loss});
  }
  WHET_TRY(const ValueId weights, site.add("weights", ExpandOperator{target}, {weight}));
  WHET_TRY(const ValueId sum, site.add("sum", all, {loss}));
  WHET_TRY(const ValueId total, site.add("total", all, {weights}));
  return site.add("mean", BinaryOperator{BinaryKind::div}, {sum, total});
}

}  // namespace whet
