#include "import/parts/normalize.h"

#include "import/onnx/importers.h"

namespace whet {
namespace {

Status give_softmax(OnnxSite& site, bool log) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  return site.give(SoftmaxOperator{axis, log}, {site.in(0)});
}

/// Before operator set 13, everything from `axis` on is one dimension.
Status give_softmax_flattened(OnnxSite& site, bool log) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t given, site.integer("axis", 1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  return site.give(softmax_flattened(site, site.in(0), axis, log));
}

/// Over the dimensions from "axis" on; scale and bias are inputs 1 and 2.
Result<LayerNorm> read_layer_norm(OnnxSite& site) {
  site.ignore({"stash_type"});
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  return LayerNorm{axes_from(axis, site.rank(0)), epsilon, site.if_given(1), site.if_given(2)};
}
/// Over the last dimension of x, as the fused forms have it.
Result<LayerNorm> read_last_axis(OnnxSite& site, ValueId x, std::size_t scale, std::size_t bias) {
  const std::size_t rank = site.rank(x);
  if (rank == 0) return site.error("normalizes " + to_string(site.type(x)));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-12));
  return LayerNorm{axes_from(static_cast<std::int64_t>(rank) - 1, rank), epsilon, site.if_given(scale),
                   site.if_given(bias)};
}

/// Outputs 1 and 2 are the mean and 1 / deviation.
Status give_layer_norm(OnnxSite& site, ValueId x, const LayerNorm& form) {
  WHET_TRY(const Normalized n, normalized(site, x, form.axes, form.epsilon));
  if (site.wants_output(1)) {
    WHET_TRY(const ValueId mean, site.cast("mean_f32", n.mean, DType::f32));
    WHET_RETURN_IF_ERROR(site.pass(mean, 1));
  }
  if (site.wants_output(2)) {
    WHET_TRY(const ValueId deviation, site.cast("deviation_f32", n.deviation, DType::f32));
    WHET_RETURN_IF_ERROR(site.give(UnaryOperator{UnaryKind::reciprocal}, {deviation}, 2));
  }
  return site.give(scaled_and_shifted(site, n.y, form.scale, form.bias));
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

/// Outputs 1 and 2 are what was learned, moved towards what was seen; older operator sets give what was seen, too.
Status give_trained_batch_norm(OnnxSite& site, double momentum, double epsilon) {
  const BatchNorm learned{site.in(1), site.in(2), site.in(3), site.in(4)};
  WHET_TRY(const Trained result, batch_norm_of_batch(site, site.in(0), learned, epsilon));
  WHET_RETURN_IF_ERROR(site.give(result.y));
  for (std::size_t i = 1; i < 5 && i < site.output_count(); ++i) {
    const ValueId seen = i % 2 == 1 ? result.mean : result.variance;
    if (i >= 3) {
      WHET_RETURN_IF_ERROR(site.pass(channel_list(site, seen, site.dtype(0)), i));
    } else {
      WHET_RETURN_IF_ERROR(site.give(running_average(site, site.in(2 + i), seen, momentum), i));
    }
  }
  return ok_status();
}

}  // namespace

Status import_layer_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  WHET_TRY(const LayerNorm form, read_layer_norm(site));
  return give_layer_norm(site, site.in(0), form);
}
Status import_rms_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const LayerNorm form, read_layer_norm(site));
  return site.give(rms_norm(site, site.in(0), form));
}

/// Layer norm of the sum of the input, the skip connection and a bias. The sum is a result, too.
Status import_skip_layer_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 5));
  WHET_TRY(const ValueId sum, sum_with_skip(site, 4));
  WHET_TRY(const LayerNorm form, read_last_axis(site, sum, 2, 3));
  return give_layer_norm(site, sum, form);
}
Status import_skip_rms_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 4));
  WHET_TRY(const ValueId sum, sum_with_skip(site, 3));
  WHET_TRY(LayerNorm form, read_last_axis(site, sum, 2, 3));
  form.bias.reset();  // input 3 is the sum's
  return site.give(rms_norm(site, sum, form));
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
  WHET_TRY(const LayerNorm form, read_last_axis(site, sum, 5, 6));
  return site.give(layer_norm(site, sum, form));
}

Status import_instance_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  return site.give(instance_norm(site, site.in(0), site.in(1), site.in(2), epsilon));
}

/// Scale and bias are one a group, or (from operator set 21 on) one a channel; either is taken, whatever the set says.
Status import_group_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_RETURN_IF_ERROR(site.expect_attribute("num_groups"));
  site.ignore({"stash_type"});
  WHET_TRY(const std::int64_t groups, site.integer("num_groups", 1));
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-5));
  return site.give(group_norm(site, site.in(0), groups, site.in(1), site.in(2), epsilon));
}

/// Over the axes given: all except the channels.
Status import_mean_variance_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(std::vector<std::int64_t> axes, site.integers("axes", {0, 2, 3}));
  WHET_TRY(axes, site.resolve_axes(axes, site.rank(0)));
  WHET_TRY(const Normalized n, normalized(site, site.in(0), axes, 1e-18));
  return site.pass(n.y);
}

Status import_lp_norm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  WHET_TRY(const std::int64_t p, site.integer("p", 2));
  if (p != 1 && p != 2) return site.error("attribute \"p\" is " + std::to_string(p) + "; expected 1 or 2");
  return site.give(lp_normalized(site, site.in(0), axis, p));
}

Status import_lrn(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("size"));
  Lrn form;
  WHET_TRY(form.size, site.integer("size", 1));
  WHET_TRY(form.alpha, site.number("alpha", 0.0001));
  WHET_TRY(form.beta, site.number("beta", 0.75));
  WHET_TRY(form.bias, site.number("bias", 1));
  return site.give(lrn(site, site.in(0), form));
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
  return site.give(batch_norm(site, site.in(0), {site.in(1), site.in(2), site.in(3), site.in(4)}, op));
}

Status import_softmax(OnnxSite& site) { return give_softmax(site, false); }
Status import_log_softmax(OnnxSite& site) { return give_softmax(site, true); }
Status import_softmax_flattened(OnnxSite& site) { return give_softmax_flattened(site, false); }
Status import_log_softmax_flattened(OnnxSite& site) { return give_softmax_flattened(site, true); }

}  // namespace whet
