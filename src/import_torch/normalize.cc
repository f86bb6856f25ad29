#include "import/parts/normalize.h"

#include <limits>

#include "import/parts/shape.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

Status expect_channels(TorchSite& site, ValueId x) {
  if (site.rank(x) >= 2 && site.shape(x)[1] <= (std::int64_t{1} << 24)) return ok_status();
  return site.error("the input is " + to_string(site.type(x)) + "; expected a batch and channels");
}

/// What is given, or ones and zeros.
struct Affine {
  ValueId scale, bias;
};
Result<Affine> affine_of(TorchSite& site, ValueId x, OptionalId scale, OptionalId bias) {
  WHET_RETURN_IF_ERROR(expect_channels(site, x));
  const auto list_of = [&](const char* part, double value) {
    const std::int64_t count = site.shape(x)[1];
    const Numbers values(static_cast<std::size_t>(count), value);
    return site.add_constant(part, Tensor::of<double>(site.dtype(x), {count}, values));
  };
  return Affine{scale ? *scale : list_of("ones", 1), bias ? *bias : list_of("zeros", 0)};
}

Result<ValueId> import_learned(TorchSite& site, ValueId x, OptionalId scale, OptionalId bias, OptionalId mean,
                               OptionalId variance, double epsilon) {
  if (!mean || !variance)
    return site.error(
        "has no statistics of its own, as in training; in Python: track_running_stats=True, and model.eval() "
        "before torch.export.export");
  WHET_TRY(const Affine affine, affine_of(site, x, scale, bias));
  return batch_norm(site, x, {affine.scale, affine.bias, *mean, *variance}, {.epsilon = epsilon});
}
Result<ValueId> import_batch_norm(TorchSite& site, ValueId x, OptionalId scale, OptionalId bias, OptionalId mean,
                                  OptionalId variance, bool training, double epsilon) {
  if (training) return site.error("is in training mode; in Python: model.eval() before torch.export.export");
  return import_learned(site, x, scale, bias, mean, variance, epsilon);
}
Result<ValueId> import_instance_norm(TorchSite& site, ValueId x, OptionalId scale, OptionalId bias, OptionalId mean,
                                     OptionalId variance, bool is_own, double epsilon) {
  if (!is_own) return import_learned(site, x, scale, bias, mean, variance, epsilon);
  WHET_TRY(const Affine affine, affine_of(site, x, scale, bias));
  return instance_norm(site, x, affine.scale, affine.bias, epsilon);
}

/// Layer and RMS normalization go over the last dimensions.
Result<Ints> last_axes(TorchSite& site, ValueId x, const Ints& shape) {
  if (!shape.empty() && shape.size() <= site.rank(x))
    return axes_from(static_cast<std::int64_t>(site.rank(x) - shape.size()), site.rank(x));
  return site.error("normalizes " + to_string(site.type(x)) + " over " + to_string(shape));
}
Result<ValueId> import_layer_norm(TorchSite& site, ValueId x, const Ints& shape, OptionalId scale, OptionalId bias,
                                  double epsilon) {
  WHET_TRY(const Ints axes, last_axes(site, x, shape));
  return layer_norm(site, x, {axes, epsilon, scale, bias});
}
Result<ValueId> import_rms_norm(TorchSite& site, ValueId x, const Ints& shape, OptionalId scale,
                                std::optional<double> epsilon) {
  const DType dtype = site.dtype(x);
  WHET_TRY(const Ints axes, last_axes(site, x, shape));
  const double least = dtype == DType::f64   ? std::numeric_limits<double>::epsilon()
                       : dtype == DType::f16 ? 0x1p-10
                       : is_half(dtype)      ? 0x1p-7
                                             : static_cast<double>(std::numeric_limits<float>::epsilon());
  if (!scale) scale = site.add_scalar("one", dtype, 1);
  return rms_norm(site, x, {axes, epsilon.value_or(least), scale});
}

Result<ValueId> import_group_norm(TorchSite& site, ValueId x, std::int64_t groups, OptionalId scale, OptionalId bias,
                                  double epsilon) {
  WHET_TRY(const Affine affine, affine_of(site, x, scale, bias));
  const std::int64_t channels = site.shape(x)[1];
  if (groups < 1 || channels % groups != 0)
    return site.error("has " + std::to_string(groups) + " groups of " + std::to_string(channels) + " channels");
  return group_norm(site, x, groups, affine.scale, affine.bias, epsilon);
}
Result<ValueId> import_native_group_norm(TorchSite& site, ValueId x, OptionalId scale, OptionalId bias,
                                         std::int64_t groups, double epsilon) {
  return import_group_norm(site, x, groups, scale, bias, epsilon);
}

/// By the mean and the variance of the batch itself: what instance normalization decomposes to.
Result<ValueId> import_batch_norm_no_stats(TorchSite& site, ValueId x, OptionalId scale, OptionalId bias,
                                           double epsilon) {
  WHET_RETURN_IF_ERROR(expect_channels(site, x));
  if (site.rank(x) < 3) return site.error("the input is " + to_string(site.type(x)) + "; expected spatial dimensions");
  Ints axes = axes_from(2, site.rank(x));
  axes.insert(axes.begin(), 0);
  WHET_TRY(const Normalized normal, normalized(site, x, axes, epsilon));
  Shape column(site.rank(x), 1);
  column[1] = site.shape(x)[1];
  for (OptionalId* each : {&scale, &bias}) {
    if (!*each) continue;
    WHET_TRY(*each, site.add("column", ReshapeOperator{column}, {**each}));
  }
  return scaled_and_shifted(site, normal.y, scale, bias);
}

/// The first half along an axis times the sigmoid of the second.
Status import_glu(TorchSite& site, ValueId x, std::int64_t d) {
  const std::int64_t extent = site.extent(x, d), half = extent / 2;
  if (extent % 2 != 0) return site.error("halves an extent of " + std::to_string(extent));
  WHET_TRY(const ValueIds halves, split(site, x, d, {half, half}));
  WHET_TRY(const ValueId gate, site.add("gate", UnaryOperator{UnaryKind::sigmoid}, {halves[1]}));
  return site.give(BinaryOperator{BinaryKind::mul}, {halves[0], gate});
}

constexpr std::string_view kRms = "input normalized_shape weight? eps?",
                           kLayer = "input normalized_shape weight? bias? eps=1e-5 ~cudnn_enable",
                           kBatch =
                               "input weight? bias? running_mean? running_var? training ~momentum eps ~cudnn_enabled";

}  // namespace

TorchRows normalize_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._native_batch_norm_legit", "no_stats", "input weight? bias? ~training ~momentum eps",
       calls<import_batch_norm_no_stats>},
      {"aten._native_batch_norm_legit_no_training", "default",
       "input weight? bias? running_mean? running_var? ~momentum eps", calls<import_learned>},
      {"aten.batch_norm aten.native_batch_norm", "default", kBatch, calls<import_batch_norm>},
      {"aten.glu", "default", "self dim(self!)=-1", calls<import_glu>, kWide},
      {"aten.group_norm", "default", "input num_groups weight? bias? eps=1e-5 ~cudnn_enabled", calls<import_group_norm>,
       kWide},
      {"aten.instance_norm", "default",
       "input weight? bias? running_mean? running_var? use_input_stats ~momentum eps ~cudnn_enabled",
       calls<import_instance_norm>, kWide},
      {"aten.layer_norm aten.native_layer_norm", "default", kLayer, calls<import_layer_norm>, kWide},
      {"aten.native_group_norm", "default", "input weight? bias? ~N ~C ~HxW group eps", calls<import_native_group_norm>,
       kWide},
      {"aten.rms_norm aten._fused_rms_norm", "default", kRms, calls<import_rms_norm>},
  };
  return kRows;
}

}  // namespace whet::torch
