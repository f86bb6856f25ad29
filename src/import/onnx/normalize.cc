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

/// (x - mean) / sqrt(variance + epsilon) over `axes`.
Result<ValueId> normalized(OnnxSite& site, const std::vector<std::int64_t>& axes) {
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  const ValueId x = site.in(0);
  if (!is_float(site.dtype(0))) return site.error("the input is " + to_string(site.type(x)) + "; expected floats");
  const ValueId offset = site.add_scalar("epsilon", site.dtype(0), epsilon);
  WHET_TRY(const ValueId mean, site.add("mean", ReduceOperator{ReduceKind::mean, axes, true}, {x}));
  WHET_TRY(const ValueId centred, site.add("centred", BinaryOperator{BinaryKind::sub}, {x, mean}));
  WHET_TRY(const ValueId square, site.add("square", BinaryOperator{BinaryKind::mul}, {centred, centred}));
  WHET_TRY(ValueId deviation, site.add("variance", ReduceOperator{ReduceKind::mean, axes, true}, {square}));
  WHET_TRY(deviation, site.add("variance_epsilon", BinaryOperator{BinaryKind::add}, {deviation, offset}));
  WHET_TRY(deviation, site.add("deviation", UnaryOperator{UnaryKind::sqrt}, {deviation}));
  return site.add("normalized", BinaryOperator{BinaryKind::div}, {centred, deviation});
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (auto axis = first; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

Status import_layer_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  site.ignore({"stash_type"});
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  WHET_TRY(const ValueId y, normalized(site, axes_from(axis, site.rank(0))));
  if (!site.has(2)) return site.give(BinaryOperator{BinaryKind::mul}, {y, site.in(1)});
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, site.in(1)}));
  return site.give(BinaryOperator{BinaryKind::add}, {scaled, site.in(2)});
}

/// Over the spatial dimensions of each channel of each image.
Status import_instance_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  const std::size_t rank = site.rank(0);
  if (rank < 3 || site.rank(1) != 1 || site.rank(2) != 1) {
    return site.error("normalizes " + to_string(site.type(site.in(0))) + " with " + to_string(site.type(site.in(1))) +
                      " and " + to_string(site.type(site.in(2))) + "; expected spatial dimensions and two lists");
  }
  Shape shape(rank - 1, 1);
  shape[0] = site.shape(0)[1];
  WHET_TRY(const ValueId scale, site.add("scale", ReshapeOperator{shape}, {site.in(1)}));
  WHET_TRY(const ValueId bias, site.add("bias", ReshapeOperator{shape}, {site.in(2)}));
  WHET_TRY(const ValueId y, normalized(site, axes_from(2, rank)));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  return site.give(BinaryOperator{BinaryKind::add}, {scaled, bias});
}

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
