#include "import/parts/normalize.h"

#include <limits>

#include "import/parts/activation.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

ValueId list_of(TorchSite& site, const char* part, std::int64_t count, DType dtype, double value) {
  return site.add_constant(
      part, Tensor::of<double>(dtype, {count}, std::vector<double>(static_cast<std::size_t>(count), value)));
}

Result<std::int64_t> channels_of(TorchSite& site, ValueId x) {
  if (site.rank(x) >= 2 && site.shape(x)[1] <= (std::int64_t{1} << 24)) return site.shape(x)[1];
  return site.error("the input is " + to_string(site.type(x)) + "; expected a batch and channels");
}

/// "weight" and "bias", or ones and zeros.
struct Affine {
  ValueId scale, bias;
};
Result<Affine> affine_of(TorchSite& site, std::int64_t count, DType dtype) {
  WHET_TRY(const auto scale, site.optional_tensor("weight"));
  WHET_TRY(const auto bias, site.optional_tensor("bias"));
  return Affine{scale ? *scale : list_of(site, "ones", count, dtype, 1),
                bias ? *bias : list_of(site, "zeros", count, dtype, 0)};
}

Status give_batch_norm(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const std::int64_t channels, channels_of(site, x));
  if (!site.has("running_mean") || !site.has("running_var"))
    return site.error(
        "has no statistics of its own, as in training; in Python: track_running_stats=True, and model.eval() "
        "before torch.export.export");
  WHET_TRY(const Affine affine, affine_of(site, channels, site.dtype(x)));
  WHET_TRY(const ValueId mean, site.tensor("running_mean"));
  WHET_TRY(const ValueId variance, site.tensor("running_var"));
  BatchNormOperator op;
  WHET_TRY(op.epsilon, site.number("eps"));
  return site.give(batch_norm(site, x, {affine.scale, affine.bias, mean, variance}, op));
}

/// Layer and RMS normalization go over the last dimensions.
Result<LayerNorm> layer_form(TorchSite& site, ValueId x) {
  WHET_TRY(const std::vector<std::int64_t> shape, site.integers("normalized_shape"));
  if (shape.empty() || shape.size() > site.rank(x))
    return site.error("normalizes " + to_string(site.type(x)) + " over " + to_string(shape));
  LayerNorm form;
  form.axes = axes_from(static_cast<std::int64_t>(site.rank(x) - shape.size()), site.rank(x));
  WHET_TRY(form.scale, site.optional_tensor("weight"));
  return form;
}

Result<ValueId> layer_normed(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(LayerNorm form, layer_form(site, x));
  WHET_TRY(form.bias, site.optional_tensor("bias"));
  WHET_TRY(form.epsilon, site.number("eps"));
  return layer_norm(site, x, form);
}

Status give_group_norm(TorchSite& site, std::string_view groups_name) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const std::int64_t channels, channels_of(site, x));
  WHET_TRY(const std::int64_t groups, site.integer(groups_name));
  WHET_TRY(const double epsilon, site.number("eps"));
  if (groups < 1 || channels % groups != 0)
    return site.error("has " + std::to_string(groups) + " groups of " + std::to_string(channels) + " channels");
  WHET_TRY(const Affine affine, affine_of(site, channels, site.dtype(x)));
  return site.give(group_norm(site, x, groups, affine.scale, affine.bias, epsilon));
}

Status import_batch_norm(TorchSite& site) {
  WHET_TRY(const bool training, site.flag("training"));
  if (training) return site.error("is in training mode; in Python: model.eval() before torch.export.export");
  return give_batch_norm(site);
}
Status import_batch_norm_no_training(TorchSite& site) { return give_batch_norm(site); }

/// By the mean and the variance of the batch itself: what instance normalization decomposes to.
Status import_batch_norm_no_stats(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const std::int64_t channels, channels_of(site, x));
  WHET_TRY(const double epsilon, site.number("eps"));
  if (site.rank(x) < 3) return site.error("the input is " + to_string(site.type(x)) + "; expected spatial dimensions");
  std::vector<std::int64_t> axes = axes_from(2, site.rank(x));
  axes.insert(axes.begin(), 0);
  WHET_TRY(const Normalized normal, normalized(site, x, axes, epsilon));
  Shape column(site.rank(x), 1);
  column[1] = channels;
  WHET_TRY(std::optional<ValueId> scale, site.optional_tensor("weight"));
  WHET_TRY(std::optional<ValueId> bias, site.optional_tensor("bias"));
  for (std::optional<ValueId>* each : {&scale, &bias}) {
    if (!*each) continue;
    WHET_TRY(*each, site.add("column", ReshapeOperator{column}, {**each}));
  }
  return site.give(scaled_and_shifted(site, normal.y, scale, bias));
}

Status import_layer_norm(TorchSite& site) { return site.give(layer_normed(site)); }
Status import_native_layer_norm(TorchSite& site) { return site.give(layer_normed(site)); }

Status import_rms_norm(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(LayerNorm form, layer_form(site, x));
  form.epsilon = site.dtype(x) == DType::f64   ? std::numeric_limits<double>::epsilon()
                 : site.dtype(x) == DType::f16 ? 0.0009765625
                                               : static_cast<double>(std::numeric_limits<float>::epsilon());
  if (site.has("eps")) {
    WHET_TRY(form.epsilon, site.number("eps"));
  }
  if (!form.scale) {
    Shape shape;
    for (const std::int64_t axis : form.axes) shape.push_back(site.shape(x)[static_cast<std::size_t>(axis)]);
    form.scale = site.add_scalar("one", site.dtype(x), 1);
  }
  return site.give(rms_norm(site, x, form));
}

Status import_group_norm(TorchSite& site) { return give_group_norm(site, "num_groups"); }
Status import_native_group_norm(TorchSite& site) { return give_group_norm(site, "group"); }

Status import_instance_norm(TorchSite& site) {
  WHET_TRY(const bool own, site.flag("use_input_stats"));
  if (!own) return give_batch_norm(site);
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const std::int64_t channels, channels_of(site, x));
  WHET_TRY(const double epsilon, site.number("eps"));
  WHET_TRY(const Affine affine, affine_of(site, channels, site.dtype(x)));
  return site.give(instance_norm(site, x, affine.scale, affine.bias, epsilon));
}

/// The first half along an axis times the sigmoid of the second.
Status import_glu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  const Shape own = site.shape(x);
  const auto at = static_cast<std::size_t>(d);
  if (own[at] % 2 != 0) return site.error("halves an extent of " + std::to_string(own[at]));
  SliceOperator op{Shape(own.size(), 0), Shape(own.size(), 1), own};
  op.shape[at] = own[at] / 2;
  WHET_TRY(const ValueId first, site.add("first", op, {x}));
  op.starts[at] = own[at] / 2;
  WHET_TRY(ValueId gate, site.add("second", op, {x}));
  WHET_TRY(gate, site.add("gate", UnaryOperator{UnaryKind::sigmoid}, {gate}));
  return site.give(BinaryOperator{BinaryKind::mul}, {first, gate});
}

}  // namespace

TorchRows normalize_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._fused_rms_norm", "default", "input normalized_shape weight=none eps=none", import_rms_norm},
      {"aten._native_batch_norm_legit", "no_stats", "input weight bias training momentum eps",
       import_batch_norm_no_stats},
      {"aten._native_batch_norm_legit_no_training", "default",
       "input weight bias running_mean running_var momentum eps", import_batch_norm_no_training},
      {"aten.batch_norm", "default",
       "input weight bias running_mean running_var training momentum eps cudnn_enabled=none", import_batch_norm},
      {"aten.glu", "default", "self dim=-1", import_glu},
      {"aten.group_norm", "default", "input num_groups weight=none bias=none eps=1e-5 cudnn_enabled=none",
       import_group_norm},
      {"aten.instance_norm", "default",
       "input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled=none",
       import_instance_norm},
      {"aten.layer_norm", "default", "input normalized_shape weight=none bias=none eps=1e-5 cudnn_enable=none",
       import_layer_norm},
      {"aten.native_batch_norm", "default", "input weight bias running_mean running_var training momentum eps",
       import_batch_norm},
      {"aten.native_group_norm", "default", "input weight bias N C HxW group eps", import_native_group_norm},
      {"aten.native_layer_norm", "default", "input normalized_shape weight bias eps", import_native_layer_norm},
      {"aten.rms_norm", "default", "input normalized_shape weight=none eps=none", import_rms_norm},
  };
  return kRows;
}

}  // namespace whet::torch
