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

/// Squares and sums of f16 lie beyond its numbers: f32, as the standard's "stash_type" says.
Result<ValueId> widened(OnnxSite& site, ValueId x) {
  return site.cast("wide", x, site.type(x).dtype == DType::f16 ? DType::f32 : site.type(x).dtype);
}

/// What normalization gives: mean, variance and deviation are values a row, of f16 as f32.
struct Normalized {
  ValueId y, mean, variance, deviation;
};

/// (x - mean) / sqrt(variance + epsilon) over `axes` of `x`.
Result<Normalized> normalized(OnnxSite& site, ValueId x, const std::vector<std::int64_t>& axes, double epsilon) {
  const DType dtype = site.type(x).dtype;
  if (!is_float(dtype)) return site.error("the input is " + to_string(site.type(x)) + "; expected floats");
  WHET_TRY(x, widened(site, x));
  const ValueId offset = site.add_scalar("epsilon", site.type(x).dtype, epsilon);
  WHET_TRY(const ValueId mean, site.add("mean", ReduceOperator{ReduceKind::mean, axes, true}, {x}));
  WHET_TRY(const ValueId centred, site.add("centred", BinaryOperator{BinaryKind::sub}, {x, mean}));
  WHET_TRY(const ValueId square, site.add("square", BinaryOperator{BinaryKind::mul}, {centred, centred}));
  WHET_TRY(const ValueId variance, site.add("variance", ReduceOperator{ReduceKind::mean, axes, true}, {square}));
  WHET_TRY(ValueId deviation, site.add("variance_epsilon", BinaryOperator{BinaryKind::add}, {variance, offset}));
  WHET_TRY(deviation, site.add("deviation", UnaryOperator{UnaryKind::sqrt}, {deviation}));
  WHET_TRY(ValueId y, site.add("normalized", BinaryOperator{BinaryKind::div}, {centred, deviation}));
  WHET_TRY(y, site.cast("narrow", y, dtype));
  return Normalized{y, mean, variance, deviation};
}

/// The same of input 0 with the file's epsilon.
Result<Normalized> normalized(OnnxSite& site, const std::vector<std::int64_t>& axes) {
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  return normalized(site, site.in(0), axes, epsilon);
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (auto axis = first; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
  return axes;
}

/// What layer normalization goes over: the dimensions from `axis` on.
struct Rows {
  std::vector<std::int64_t> axes;
  double epsilon;
};
Result<Rows> read_rows(OnnxSite& site) {
  site.ignore({"stash_type"});
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  return Rows{axes_from(axis, site.rank(0)), epsilon};
}
/// The last dimension of x, as the fused forms have it.
Result<Rows> last_axis(OnnxSite& site, ValueId x) {
  const std::size_t rank = site.type(x).shape.size();
  if (rank == 0) return site.error("normalizes " + to_string(site.type(x)));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-12));
  return Rows{axes_from(static_cast<std::int64_t>(rank) - 1, rank), epsilon};
}

/// y * scale + bias, of which the latter may be left out.
Status give_scaled(OnnxSite& site, ValueId y, std::size_t scale, std::size_t bias) {
  if (!site.has(bias)) return site.give(BinaryOperator{BinaryKind::mul}, {y, site.in(scale)});
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, site.in(scale)}));
  return site.give(BinaryOperator{BinaryKind::add}, {scaled, site.in(bias)});
}

/// Scale and bias are inputs; outputs 1 and 2 are the mean and 1 / deviation.
Status give_layer_norm(OnnxSite& site, ValueId x, const Rows& rows, std::size_t scale, std::size_t bias) {
  WHET_TRY(const Normalized n, normalized(site, x, rows.axes, rows.epsilon));
  if (site.wants_output(1)) {
    WHET_TRY(const ValueId mean, site.cast("mean_f32", n.mean, DType::f32));
    WHET_RETURN_IF_ERROR(site.pass(mean, 1));
  }
  if (site.wants_output(2)) {
    WHET_TRY(const ValueId deviation, site.cast("deviation_f32", n.deviation, DType::f32));
    WHET_RETURN_IF_ERROR(site.give(UnaryOperator{UnaryKind::reciprocal}, {deviation}, 2));
  }
  return give_scaled(site, n.y, scale, bias);
}

/// x / sqrt(mean of x² + epsilon) * scale
Status give_rms_norm(OnnxSite& site, ValueId given, const Rows& rows, std::size_t scale) {
  WHET_TRY(const ValueId x, widened(site, given));
  const ValueId offset = site.add_scalar("epsilon", site.type(x).dtype, rows.epsilon);
  WHET_TRY(ValueId norm, site.add("square", BinaryOperator{BinaryKind::mul}, {x, x}));
  WHET_TRY(norm, site.add("mean", ReduceOperator{ReduceKind::mean, rows.axes, true}, {norm}));
  WHET_TRY(norm, site.add("mean_epsilon", BinaryOperator{BinaryKind::add}, {norm, offset}));
  WHET_TRY(norm, site.add("root", UnaryOperator{UnaryKind::sqrt}, {norm}));
  WHET_TRY(ValueId y, site.add("normalized", BinaryOperator{BinaryKind::div}, {x, norm}));
  WHET_TRY(y, site.cast("narrow", y, site.type(given).dtype));
  return site.give(BinaryOperator{BinaryKind::mul}, {y, site.in(scale)});
}

/// Inputs 0 and 1 and, where there is one, the bias; the sum is output 3.
Result<ValueId> sum_with_skip(OnnxSite& site, std::size_t bias) {
  WHET_TRY(ValueId sum, site.add("sum", BinaryOperator{BinaryKind::add}, {site.in(0), site.in(1)}));
  if (site.has(bias)) {
    WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, site.in(bias)}));
  }
  if (site.wants_output(3)) WHET_RETURN_IF_ERROR(site.pass(sum, 3));
  return sum;
}

/// Mean and variance are those of the input itself; what was learned moves towards them by 1 - momentum.
Status give_trained_batch_norm(OnnxSite& site, double momentum, double epsilon) {
  const std::size_t rank = site.rank(0);
  if (rank < 2) return site.error("normalizes " + to_string(site.type(site.in(0))) + "; expected channels");
  std::vector<std::int64_t> axes = axes_from(2, rank);
  axes.insert(axes.begin(), 0);
  WHET_TRY(const Normalized n, normalized(site, site.in(0), axes, epsilon));
  const Shape list = {site.shape(0)[1]};
  Shape column(rank - 1, 1);
  column[0] = list[0];
  WHET_TRY(const ValueId scale, site.add("scale", ReshapeOperator{column}, {site.in(1)}));
  WHET_TRY(const ValueId bias, site.add("bias", ReshapeOperator{column}, {site.in(2)}));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {n.y, scale}));
  WHET_RETURN_IF_ERROR(site.give(BinaryOperator{BinaryKind::add}, {scaled, bias}));
  for (std::size_t i = 1; i < 5 && i < site.output_count(); ++i) {
    WHET_TRY(ValueId now, site.add("now", ReshapeOperator{list}, {i % 2 == 1 ? n.mean : n.variance}));
    const DType dtype = i >= 3 ? site.dtype(0) : site.dtype(2 + i);
    WHET_TRY(now, site.cast("now_cast", now, dtype));
    if (i >= 3) {  // older operator sets give what was seen, too
      WHET_RETURN_IF_ERROR(site.pass(now, i));
      continue;
    }
    const ValueId kept = site.add_scalar("momentum", dtype, momentum),
                  moved = site.add_scalar("step", dtype, 1 - momentum);
    WHET_TRY(const ValueId before, site.add("before", BinaryOperator{BinaryKind::mul}, {site.in(2 + i), kept}));
    WHET_TRY(const ValueId step, site.add("moved", BinaryOperator{BinaryKind::mul}, {now, moved}));
    WHET_RETURN_IF_ERROR(site.give(BinaryOperator{BinaryKind::add}, {before, step}, i));
  }
  return ok_status();
}

/// Computed in the widest type among the inputs; the result has that of the first.
Status give_batch_norm(OnnxSite& site, const BatchNormOperator& op) {
  std::vector<ValueId> inputs;
  DType widest = site.dtype(0);
  for (std::size_t i = 0; i < 5; ++i) {
    inputs.push_back(site.in(i));
    if (!is_float(site.dtype(i))) {
      return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))) + "; expected floats");
    }
    if (size_of(site.dtype(i)) > size_of(widest)) widest = site.dtype(i);
  }
  for (ValueId& x : inputs) {
    WHET_TRY(x, site.cast("wide", x, widest));
  }
  if (widest == site.dtype(0)) return site.give(op, inputs);
  WHET_TRY(const ValueId y, site.add("normalized", op, inputs));
  return site.give(CastOperator{site.dtype(0)}, {y});
}

}  // namespace

Status import_layer_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  WHET_TRY(const Rows rows, read_rows(site));
  return give_layer_norm(site, site.in(0), rows, 1, 2);
}
Status import_rms_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Rows rows, read_rows(site));
  return give_rms_norm(site, site.in(0), rows, 1);
}

/// Of the sum of what is computed, what went around it and a bias; the sum is a result, too.
Status import_skip_layer_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 5));
  WHET_TRY(const ValueId sum, sum_with_skip(site, 4));
  WHET_TRY(const Rows rows, last_axis(site, sum));
  return give_layer_norm(site, sum, rows, 2, 3);
}
Status import_skip_rms_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 4));
  WHET_TRY(const ValueId sum, sum_with_skip(site, 3));
  WHET_TRY(const Rows rows, last_axis(site, sum));
  return give_rms_norm(site, sum, rows, 2);
}

/// Words, places and segments looked up in their tables, their sum normalized; and how many words the mask leaves.
Status import_embed_layer_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 9));
  site.ignore({"mask_index_type"});
  for (std::size_t i : {2, 3, 5, 6})
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
  if (site.rank(0) != 2 || site.rank(2) != 2 || site.rank(3) != 2 || !is_float(site.dtype(2))) {
    return site.error("looks up " + to_string(site.type(site.in(0))) + " in tables " +
                      to_string(site.type(site.in(2))) + " and " + to_string(site.type(site.in(3))) +
                      "; expected the words of each batch, and two tables of floats");
  }
  const std::int64_t batch = site.shape(0)[0], places = site.shape(0)[1], width = site.shape(3)[1];
  if (!site.has(8) && places > site.shape(3)[0]) {
    return site.error("has " + std::to_string(places) + " words a batch and " + to_string(site.type(site.in(3))) +
                      " for their places");
  }
  WHET_TRY(ValueId sum, site.add("words", GatherOperator{0}, {site.in(2), site.in(0)}));
  const auto add = [&](const Result<ValueId>& part) -> Status {
    WHET_RETURN_IF_ERROR(part);
    WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, *part}));
    return ok_status();
  };
  const auto looked_up = [&](std::size_t table, std::size_t places_of) {
    return site.add("looked_up", GatherOperator{0}, {site.in(table), site.in(places_of)});
  };
  WHET_RETURN_IF_ERROR(add(site.has(8)
                               ? looked_up(3, 8)
                               : site.add("places", SliceOperator{{0, 0}, {1, 1}, {places, width}}, {site.in(3)})));
  if (site.has(1) && site.has(4)) WHET_RETURN_IF_ERROR(add(looked_up(4, 1)));
  if (site.wants_output(1)) {
    if (site.has(7))
      WHET_RETURN_IF_ERROR(site.give(ReduceOperator{ReduceKind::sum, {1}, false}, {site.in(7)}, 1));
    else
      WHET_RETURN_IF_ERROR(site.give_constant(Tensor(DType::i32, {batch}), 1));
  }
  if (site.wants_output(2)) WHET_RETURN_IF_ERROR(site.pass(sum, 2));
  WHET_TRY(const Rows rows, last_axis(site, sum));
  WHET_TRY(const Normalized n, normalized(site, sum, rows.axes, rows.epsilon));
  return give_scaled(site, n.y, 5, 6);
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
  WHET_TRY(const Normalized n, normalized(site, axes_from(2, rank)));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {n.y, scale}));
  return site.give(BinaryOperator{BinaryKind::add}, {scaled, bias});
}

/// Over the channels of a group and all that is behind them. Scale and bias are one a group, or (from operator set 21
/// on) one a channel; either is taken, whatever the set says.
Status import_group_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_RETURN_IF_ERROR(site.expect_attribute("num_groups"));
  site.ignore({"stash_type"});
  WHET_TRY(const std::int64_t groups, site.integer("num_groups", 1));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  const Shape x = site.shape(0);
  const bool fits = x.size() >= 2 && groups >= 1 && x[1] % groups == 0 && site.shape(1) == site.shape(2) &&
                    (site.shape(1) == Shape{groups} || site.shape(1) == Shape{x[1]});
  if (!fits) {
    return site.error("normalizes " + to_string(site.type(site.in(0))) + " in " + std::to_string(groups) +
                      " groups with " + to_string(site.type(site.in(1))) + " and " + to_string(site.type(site.in(2))) +
                      "; expected a number of groups that divides the channels, and two lists");
  }
  const Shape rows = {x[0], groups, num_elements(x) / std::max<std::int64_t>(x[0] * groups, 1)};
  WHET_TRY(const ValueId grouped, site.add("grouped", ReshapeOperator{rows}, {site.in(0)}));
  WHET_TRY(const Normalized n, normalized(site, grouped, {2}, epsilon));
  const bool by_group = site.shape(1) == Shape{groups} && groups != x[1];
  Shape parameter(by_group ? 2 : x.size() - 1, 1);
  parameter[0] = site.shape(1)[0];
  ValueId y = n.y;
  if (!by_group) {
    WHET_TRY(y, site.add("whole", ReshapeOperator{x}, {y}));
  }
  WHET_TRY(const ValueId scale, site.add("scale", ReshapeOperator{parameter}, {site.in(1)}));
  WHET_TRY(const ValueId bias, site.add("bias", ReshapeOperator{parameter}, {site.in(2)}));
  WHET_TRY(y, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, scale}));
  if (!by_group) return site.give(BinaryOperator{BinaryKind::add}, {y, bias});
  WHET_TRY(y, site.add("shifted", BinaryOperator{BinaryKind::add}, {y, bias}));
  return site.give(ReshapeOperator{x}, {y});
}

/// Over the axes given: all but the channels.
Status import_mean_variance_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(std::vector<std::int64_t> axes, site.integers("axes", {0, 2, 3}));
  WHET_TRY(axes, site.resolve_axes(axes, site.rank(0)));
  WHET_TRY(const Normalized n, normalized(site, site.in(0), axes, 1e-18));
  return site.pass(n.y);
}

/// x / norm; a norm of 0 leaves zeros.
Status import_lp_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  WHET_TRY(const std::int64_t p, site.integer("p", 2));
  if (p != 1 && p != 2) return site.error("attribute \"p\" is " + std::to_string(p) + "; expected 1 or 2");
  const ReduceKind kind = p == 1 ? ReduceKind::l1 : ReduceKind::l2;
  WHET_TRY(ValueId norm, site.add("norm", ReduceOperator{kind, {axis}, true}, {site.in(0)}));
  const ValueId zero = site.add_scalar("zero", site.dtype(0), 0), one = site.add_scalar("one", site.dtype(0), 1);
  WHET_TRY(const ValueId nothing, site.add("nothing", BinaryOperator{BinaryKind::equal}, {norm, zero}));
  WHET_TRY(norm, site.add("divisor", WhereOperator{}, {nothing, one, norm}));
  return site.give(BinaryOperator{BinaryKind::div}, {site.in(0), norm});
}

Status import_batch_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  if (site.opset() < 7) site.ignore({"is_test", "consumed_inputs"});
  BatchNormOperator op;
  WHET_TRY(const double momentum, site.number("momentum", 0.9));
  WHET_TRY(op.epsilon, site.number("epsilon", 1e-5));
  WHET_TRY(bool training, site.flag("training_mode", false));
  WHET_TRY(const bool spatial, site.flag("spatial", true));
  if (!spatial) return site.error("attribute \"spatial\" is 0; only one scale a channel is supported");
  // Before operator set 14 the results of training say that it is meant.
  training = training || (site.opset() < 14 && site.output_count() > 1);
  if (training) return give_trained_batch_norm(site, momentum, op.epsilon);
  return give_batch_norm(site, op);
}

Status import_softmax(OnnxSite& site) { return softmax(site, false); }
Status import_log_softmax(OnnxSite& site) { return softmax(site, true); }
Status import_softmax_flattened(OnnxSite& site) { return softmax_flattened(site, false); }
Status import_log_softmax_flattened(OnnxSite& site) { return softmax_flattened(site, true); }

}  // namespace whet
