#include "import/onnx/importers.h"

namespace whet {
namespace {

Result<ValueId> binary(OnnxSite& site, const char* part, BinaryKind kind, ValueId a, ValueId b) {
  return site.add(part, BinaryOperator{kind}, {a, b});
}

/// -x[n, target, ...] * weight[target], where the target is not to be ignored; then its sum or mean.
Status give_loss(OnnxSite& site, ValueId x) {
  WHET_TRY(const std::size_t reduction, site.choice("reduction", "mean", {"none", "sum", "mean"}));
  const bool ignores = site.has_attribute("ignore_index");
  WHET_TRY(const std::int64_t ignored, site.integer("ignore_index", 0));
  const Shape classes = site.type(x).shape, target = site.shape(1);
  const DType dtype = site.type(x).dtype, index = site.dtype(1);
  if (classes.size() < 2 || classes.size() != target.size() + 1) {
    return site.error("compares " + to_string(site.type(x)) + " with targets " + to_string(site.type(site.in(1))) +
                      "; expected one target for the classes of the second dimension");
  }
  Shape column = target;
  column.insert(column.begin() + 1, 1);
  WHET_TRY(const ValueId places, site.add("column", ReshapeOperator{column}, {site.in(1)}));
  WHET_TRY(const ValueId taken, site.add("taken", GatherElementsOperator{1}, {x, places}));
  WHET_TRY(const ValueId picked, site.add("picked", ReshapeOperator{target}, {taken}));
  WHET_TRY(ValueId loss, site.add("loss", UnaryOperator{UnaryKind::neg}, {picked}));
  ValueId weight = site.add_scalar("one", dtype, 1);
  if (site.has(2)) {
    WHET_TRY(weight, site.add("weight", GatherOperator{0}, {site.in(2), site.in(1)}));
  }
  if (ignores) {
    const ValueId never = site.add_scalar("ignored", index, static_cast<double>(ignored));
    WHET_TRY(const ValueId skip, binary(site, "skip", BinaryKind::equal, site.in(1), never));
    WHET_TRY(weight, site.add("kept", WhereOperator{}, {skip, site.add_scalar("zero", dtype, 0), weight}));
  }
  WHET_TRY(loss, binary(site, "weighted", BinaryKind::mul, loss, weight));
  if (reduction == 0) return site.pass(loss);
  ReduceOperator all{ReduceKind::sum, {}, false};
  for (std::size_t d = 0; d < target.size(); ++d) all.axes.push_back(static_cast<std::int64_t>(d));
  if (reduction == 1) return site.give(all, {loss});
  if (!site.has(2) && !ignores) {
    all.kind = ReduceKind::mean;
    return site.give(all, {loss});
  }
  WHET_TRY(const ValueId weights, site.add("weights", ExpandOperator{target}, {weight}));
  WHET_TRY(const ValueId sum, site.add("sum", all, {loss}));
  WHET_TRY(const ValueId total, site.add("total", all, {weights}));
  return site.give(BinaryOperator{BinaryKind::div}, {sum, total});
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
