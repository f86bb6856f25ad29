#include "import/parts/normalize.h"

#include "import_onnx/rows.h"

namespace whet {
namespace {

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

/// Over the last dimension of x, as the fused forms have it.
Result<LayerNorm> over_last_axis(OnnxSite& site, ValueId x, double epsilon, std::optional<ValueId> scale,
                                 std::optional<ValueId> bias) {
  const std::size_t rank = site.rank(x);
  if (rank == 0) return site.error("normalizes " + to_string(site.type(x)));
  return LayerNorm{axes_from(static_cast<std::int64_t>(rank) - 1, rank), epsilon, scale, bias};
}

/// x and what went around it and, where there is one, a bias; the sum is output 3.
Result<ValueId> sum_with_skip(OnnxSite& site, ValueId x, ValueId skip, std::optional<ValueId> bias) {
  WHET_TRY(ValueId sum, site.add("sum", BinaryOperator{BinaryKind::add}, {x, skip}));
  if (bias) {
    WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, *bias}));
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

Status import_layer_norm(OnnxSite& site, ValueId x, ValueId scale, std::optional<ValueId> bias, std::int64_t axis,
                         double epsilon) {
  return give_layer_norm(site, x, {axes_from(axis, site.rank(x)), epsilon, scale, bias});
}

Result<ValueId> import_rms_norm(OnnxSite& site, ValueId x, ValueId scale, std::int64_t axis, double epsilon) {
  return rms_norm(site, x, {axes_from(axis, site.rank(x)), epsilon, scale});
}

/// Layer norm of the sum of the input, the skip connection and a bias.
Status import_skip_layer_norm(OnnxSite& site, ValueId x, ValueId skip, ValueId scale, std::optional<ValueId> shift,
                              std::optional<ValueId> bias, double epsilon) {
  WHET_TRY(const ValueId sum, sum_with_skip(site, x, skip, bias));
  WHET_TRY(const LayerNorm form, over_last_axis(site, sum, epsilon, scale, shift));
  return give_layer_norm(site, sum, form);
}

Result<ValueId> import_skip_rms_norm(OnnxSite& site, ValueId x, ValueId skip, ValueId scale,
                                     std::optional<ValueId> bias, double epsilon) {
  WHET_TRY(const ValueId sum, sum_with_skip(site, x, skip, bias));
  WHET_TRY(const LayerNorm form, over_last_axis(site, sum, epsilon, scale, std::nullopt));
  return rms_norm(site, sum, form);
}

/// Words, places and segments looked up in their tables, their sum normalized; and how many words the mask leaves.
Result<ValueId> import_embed_layer_norm(OnnxSite& site, ValueId words, double epsilon) {
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
  WHET_TRY(ValueId sum, site.add("words", GatherOperator{0}, {site.in(2), words}));
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
  WHET_TRY(const LayerNorm form, over_last_axis(site, sum, epsilon, site.if_given(5), site.if_given(6)));
  return layer_norm(site, sum, form);
}

/// Over the axes given: all except the channels.
Status import_mean_variance_norm(OnnxSite& site, ValueId x, const Ints& axes) {
  WHET_TRY(const Normalized n, normalized(site, x, axes, 1e-18));
  return site.pass(n.y);
}

Result<ValueId> import_lp_norm(OnnxSite& site, ValueId x, std::int64_t axis, std::int64_t p) {
  if (p != 1 && p != 2) return site.error("attribute \"p\" is " + std::to_string(p) + "; expected 1 or 2");
  return lp_normalized(site, x, axis, p);
}

Status import_batch_norm(OnnxSite& site, ValueId x, ValueId scale, ValueId bias, ValueId mean, ValueId variance,
                         double momentum, double epsilon, bool training, bool spatial) {
  if (!spatial) return site.error("attribute \"spatial\" is 0; only one scale a channel is supported");
  // Before operator set 14 the results of training say that it is meant.
  training = training || (site.opset() < 14 && site.output_count() > 1);
  if (training) return give_trained_batch_norm(site, momentum, epsilon);
  return site.give(batch_norm(site, x, {scale, bias, mean, variance}, BatchNormOperator{epsilon}));
}

}  // namespace

OnnxRows onnx_normalize() {
  constexpr auto softmax = calls<one_operand<SoftmaxOperator, std::int64_t, bool>>;
  static constexpr std::string_view kRms = "x scale @axis(x)=-1 @epsilon=1e-5 ~stash_type";
  static constexpr OnnxRow kRows[] = {
      {"BatchNormalization", 1,
       "x scale bias mean variance @momentum=0.9 @epsilon=1e-5 @training_mode=0 @spatial=1 ~is_test ~consumed_inputs",
       calls<import_batch_norm>},
      {"BatchNormalization", 7, "x scale bias mean variance @momentum=0.9 @epsilon=1e-5 @training_mode=0 @spatial=1",
       calls<import_batch_norm>},
      // Scale and bias are one a group, or (from operator set 21 on) one a channel; either is taken.
      {"GroupNormalization", 18, "x @num_groups scale bias @epsilon=1e-5 ~stash_type", calls<group_norm>},
      {"InstanceNormalization", 1, "x scale bias @epsilon=1e-5", calls<instance_norm>},
      {"LRN", 1, "x @size @alpha=0.0001 @beta=0.75 @bias=1", calls<lrn>},
      {"LayerNormalization", 1, "x scale bias? @axis(x)=-1 @epsilon=1e-5 ~stash_type", calls<import_layer_norm>},
      {"LogSoftmax", 1, "x @axis(x)=1 =1", calls<softmax_flattened>},
      {"LogSoftmax", 13, "x @axis(x)=-1 =1", softmax},
      {"LpNormalization", 1, "x @axis(x)=-1 @p=2", calls<import_lp_norm>},
      {"MeanVarianceNormalization", 9, "x @axes(x)=0,2,3", calls<import_mean_variance_norm>},
      {"RMSNormalization", 23, kRms, calls<import_rms_norm>},
      {"SimplifiedLayerNormalization", 1, kRms, calls<import_rms_norm>},
      {"Softmax", 1, "x @axis(x)=1 =0", calls<softmax_flattened>},
      {"Softmax", 13, "x @axis(x)=-1 =0", softmax},
      {"EmbedLayerNormalization", 1,
       "words @epsilon=1e-12 segments? word_table place_table segment_table? scale shift mask? places? "
       "~mask_index_type",
       calls<import_embed_layer_norm>, kMicrosoft},
      {"SkipLayerNormalization", 1, "x skip scale shift? bias? @epsilon=1e-12", calls<import_skip_layer_norm>,
       kMicrosoft},
      {"SkipSimplifiedLayerNormalization", 1, "x skip scale bias? @epsilon=1e-12", calls<import_skip_rms_norm>,
       kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
