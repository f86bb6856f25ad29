#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Normalizations: parts, see arithmetic.h. Channels are dimension 1. Sums of f16 are computed in f32.
namespace whet {

/// The dimensions from `first` to the last.
std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank);

/// (x - mean) / sqrt(variance + epsilon) over axes of x; mean, variance and deviation are values a row, of f16 as f32.
struct Normalized {
  ValueId y, mean, variance, deviation;
};
Result<Normalized> normalized(NodeSite&, ValueId x, const std::vector<std::int64_t>& axes, double epsilon);

/// What layer normalization goes over, and its parameters, which broadcast to x; either may be left out.
struct LayerNorm {
  std::vector<std::int64_t> axes;
  double epsilon = 1e-5;
  std::optional<ValueId> scale = std::nullopt, bias = std::nullopt;
};
/// y * scale + bias
Result<ValueId> scaled_and_shifted(NodeSite&, ValueId y, std::optional<ValueId> scale, std::optional<ValueId> bias);
/// The result alone; `normalized` and `scaled_and_shifted` where mean and deviation are results too.
Result<ValueId> layer_norm(NodeSite&, ValueId x, const LayerNorm&);
/// x / sqrt(mean of x² + epsilon) * scale
Result<ValueId> rms_norm(NodeSite&, ValueId x, const LayerNorm&);
/// Over the spatial dimensions of each channel of each image; scale and bias [C].
Result<ValueId> instance_norm(NodeSite&, ValueId x, ValueId scale, ValueId bias, double epsilon);
/// Over the channels of a group and all that is behind them; scale and bias are one a group or one a channel.
Result<ValueId> group_norm(NodeSite&, ValueId x, std::int64_t groups, ValueId scale, ValueId bias, double epsilon);

/// Scale, bias, mean and variance [C]. Computed in the widest type among the inputs; the result has that of x.
struct BatchNorm {
  ValueId scale, bias, mean, variance;
};
Result<ValueId> batch_norm(NodeSite&, ValueId x, const BatchNorm&, const BatchNormOperator&);

/// By the mean and the variance of x itself, which are given beside the result as [1, C, 1, ...]: training.
struct Trained {
  ValueId y, mean, variance;
};
Result<Trained> batch_norm_of_batch(NodeSite&, ValueId x, const BatchNorm& learned, double epsilon);
/// A value for each channel as the list [C] of `dtype`.
Result<ValueId> channel_list(NodeSite&, ValueId values, DType dtype);
/// learned * momentum + seen * (1 - momentum)
Result<ValueId> running_average(NodeSite&, ValueId learned, ValueId seen, double momentum);

/// x / norm along an axis, p of 1 or 2; a norm of 0 leaves zeros.
Result<ValueId> lp_normalized(NodeSite&, ValueId x, std::int64_t axis, std::int64_t p);

/// x / (bias + alpha / size * (sum of the squares of `size` channels around each))^beta. Needs: floats, channels, size of 1
/// or more. Errors: more than 16 of more than 4096 channels.
Result<ValueId> lrn(NodeSite&, ValueId x, std::int64_t size, double alpha, double beta, double bias);

/// Over everything from `axis` on as one dimension.
Result<ValueId> softmax_flattened(NodeSite&, ValueId x, std::int64_t axis, bool log);

}  // namespace whet
