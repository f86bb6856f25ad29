#include "import/onnx/importers.h"

namespace whet {
namespace {

Status softmax(OnnxSite& site, bool log) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  return site.give(SoftmaxOperator{axis, log}, {site.in(0)});
}

/// Before operator set 13, everything from `axis` on is one dimension.
Status softmax_flattened(OnnxSite& site, bool log) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t given, site.integer("axis", 1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  const Shape& x = site.shape(0);
  const std::int64_t rows = num_elements(Shape(x.begin(), x.begin() + axis));
  const std::int64_t columns = num_elements(Shape(x.begin() + axis, x.end()));
  if (columns == x[static_cast<std::size_t>(axis)]) return site.give(SoftmaxOperator{axis, log}, {site.in(0)});
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{{rows, columns}}, {site.in(0)}));
  WHET_TRY(const ValueId result, site.add("softmax", SoftmaxOperator{1, log}, {flat}));
  return site.give(ReshapeOperator{site.shape(0)}, {result});
}

}  // namespace

Status import_batch_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  site.ignore({"momentum"});
  BatchNormOperator op;
  WHET_TRY(op.epsilon, site.number("epsilon", 1e-5));
  WHET_TRY(const bool training, site.flag("training_mode", false));
  WHET_TRY(const bool spatial, site.flag("spatial", true));
  if (training) return site.error("attribute \"training_mode\" is 1; only inference is supported");
  if (!spatial) return site.error("attribute \"spatial\" is 0; only one scale a channel is supported");
  return site.give(op, {site.in(0), site.in(1), site.in(2), site.in(3), site.in(4)});
}

Status import_softmax(OnnxSite& site) { return softmax(site, false); }
Status import_log_softmax(OnnxSite& site) { return softmax(site, true); }
Status import_softmax_flattened(OnnxSite& site) { return softmax_flattened(site, false); }
Status import_log_softmax_flattened(OnnxSite& site) { return softmax_flattened(site, true); }

}  // namespace whet
