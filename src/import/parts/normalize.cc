#include "import/parts/normalize.h"

#include <algorithm>

#include "import/parts/shape.h"

namespace whet {
namespace {

/// Squares and sums of floats of 16 bits have no room in them: f32, as the standard's "stash_type" says.
Result<ValueId> widened(NodeSite& site, ValueId x) {
  return site.cast("wide", x, is_half(site.dtype(x)) ? DType::f32 : site.dtype(x));
}

/// One row for each channel: [C] as [C, 1, ...] beside x of `rank`.
Shape column_of(std::int64_t channels, std::size_t rank) {
  Shape shape(rank - 1, 1);
  shape[0] = channels;
  return shape;
}

// LRN: a few channels are summed as slices, which fuse into one kernel whatever the layout; more of them would take minutes
// to compile.

constexpr std::int64_t kMostSlices = 16, kMostChannels = 4096;

/// The channels that channel c sums: c - before .. c + behind.
struct Channels {
  std::int64_t before, behind;
  std::int64_t size() const { return before + 1 + behind; }
};

/// One slice for each channel of the window.
Result<ValueId> sum_of_slices(NodeSite& site, ValueId x, const Channels& window) {
  const Shape shape = site.type(x).shape;
  PadOperator pad{PadMode::constant, 0, Shape(shape.size(), 0), Shape(shape.size(), 0)};
  pad.begin[1] = window.before;
  pad.end[1] = window.behind;
  WHET_TRY(const ValueId padded, site.add("padded", pad, {x}));
  ValueId sum;
  for (std::int64_t k = 0; k < window.size(); ++k) {
    WHET_TRY(const ValueId part, site.add("channel", part_along(shape, 1, k, shape[1]), {padded}));
    if (k == 0) {
      sum = part;
    } else {
      WHET_TRY(sum, site.add("sum", BinaryOperator{BinaryKind::add}, {sum, part}));
    }
  }
  return sum;
}

/// Ones where a row's channel sums a column's.
Tensor band(std::int64_t channels, const Channels& window, DType dtype) {
  Tensor matrix(dtype, {channels, channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = std::max<std::int64_t>(c - window.before, 0);
    const std::int64_t last = std::min(c + window.behind, channels - 1);
    for (std::int64_t k = first; k <= last; ++k) matrix.set(c * channels + k, 1);
  }
  return matrix;
}

/// The sums of `x` over the window around each channel.
Result<ValueId> window_sums(NodeSite& site, ValueId x, const Channels& window) {
  if (window.size() <= kMostSlices) return sum_of_slices(site, x, window);
  const Shape shape = site.type(x).shape;
  const std::int64_t channels = shape[1];
  if (window.before >= channels - 1) return site.add("sum", ReduceOperator{ReduceKind::sum, {1}, true}, {x});
  if (channels > kMostChannels) {
    return site.error("sums " + std::to_string(window.size()) + " of " + std::to_string(channels) +
                      " channels; more than " + std::to_string(kMostSlices) + " are supported of at most " +
                      std::to_string(kMostChannels));
  }
  const Shape rows = {shape[0], channels, num_elements(Shape(shape.begin() + 2, shape.end()))};
  const ValueId matrix = site.add_constant("band", band(channels, window, site.type(x).dtype));
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{rows}, {x}));
  WHET_TRY(const ValueId sums, site.add("sums", MatMulOperator{}, {matrix, flat}));
  return site.add("sum", ReshapeOperator{shape}, {sums});
}

}  // namespace

std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (auto axis = first; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
  return axes;
}

Result<Normalized> normalized(NodeSite& site, ValueId x, const std::vector<std::int64_t>& axes, double epsilon) {
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

Result<ValueId> scaled_and_shifted(NodeSite& site, ValueId y, std::optional<ValueId> scale,
                                   std::optional<ValueId> bias) {
  if (scale) {
    WHET_TRY(y, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, *scale}));
  }
  if (!bias) return y;
  return site.add("shifted", BinaryOperator{BinaryKind::add}, {y, *bias});
}

Result<ValueId> layer_norm(NodeSite& site, ValueId x, const LayerNorm& form) {
  WHET_TRY(const Normalized n, normalized(site, x, form.axes, form.epsilon));
  return scaled_and_shifted(site, n.y, form.scale, form.bias);
}

Result<ValueId> rms_norm(NodeSite& site, ValueId given, const LayerNorm& form) {
  WHET_TRY(const ValueId x, widened(site, given));
  const ValueId offset = site.add_scalar("epsilon", site.dtype(x), form.epsilon);
  WHET_TRY(ValueId norm, site.add("square", BinaryOperator{BinaryKind::mul}, {x, x}));
  WHET_TRY(norm, site.add("mean", ReduceOperator{ReduceKind::mean, form.axes, true}, {norm}));
  WHET_TRY(norm, site.add("mean_epsilon", BinaryOperator{BinaryKind::add}, {norm, offset}));
  WHET_TRY(norm, site.add("root", UnaryOperator{UnaryKind::sqrt}, {norm}));
  WHET_TRY(ValueId y, site.add("normalized", BinaryOperator{BinaryKind::div}, {x, norm}));
  WHET_TRY(y, site.cast("narrow", y, site.dtype(given)));
  return scaled_and_shifted(site, y, form.scale, form.bias);
}

Result<ValueId> instance_norm(NodeSite& site, ValueId x, ValueId scale, ValueId bias, double epsilon) {
  const std::size_t rank = site.rank(x);
  if (rank < 3 || site.rank(scale) != 1 || site.rank(bias) != 1) {
    return site.error("normalizes " + to_string(site.type(x)) + " with " + to_string(site.type(scale)) + " and " +
                      to_string(site.type(bias)) + "; expected spatial dimensions and two lists");
  }
  const Shape column = column_of(site.shape(x)[1], rank);
  WHET_TRY(scale, site.add("scale", ReshapeOperator{column}, {scale}));
  WHET_TRY(bias, site.add("bias", ReshapeOperator{column}, {bias}));
  WHET_TRY(const Normalized n, normalized(site, x, axes_from(2, rank), epsilon));
  return scaled_and_shifted(site, n.y, scale, bias);
}

Result<ValueId> group_norm(NodeSite& site, ValueId input, std::int64_t groups, ValueId scale, ValueId bias,
                           double epsilon) {
  const Shape x = site.shape(input), list = site.shape(scale);
  const bool fits = x.size() >= 2 && groups >= 1 && x[1] % groups == 0 && list == site.shape(bias) &&
                    (list == Shape{groups} || list == Shape{x[1]});
  if (!fits) {
    return site.error("normalizes " + to_string(site.type(input)) + " in " + std::to_string(groups) + " groups with " +
                      to_string(site.type(scale)) + " and " + to_string(site.type(bias)) +
                      "; expected a number of groups that divides the channels, and two lists");
  }
  const Shape rows = {x[0], groups, num_elements(x) / std::max<std::int64_t>(x[0] * groups, 1)};
  WHET_TRY(const ValueId grouped, site.add("grouped", ReshapeOperator{rows}, {input}));
  WHET_TRY(const Normalized n, normalized(site, grouped, {2}, epsilon));
  const bool by_group = list == Shape{groups} && groups != x[1];
  Shape parameter(by_group ? 2 : x.size() - 1, 1);
  parameter[0] = list[0];
  ValueId y = n.y;
  if (!by_group) {
    WHET_TRY(y, site.add("whole", ReshapeOperator{x}, {y}));
  }
  WHET_TRY(scale, site.add("scale", ReshapeOperator{parameter}, {scale}));
  WHET_TRY(bias, site.add("bias", ReshapeOperator{parameter}, {bias}));
  WHET_TRY(y, scaled_and_shifted(site, y, scale, bias));
  if (!by_group) return y;
  return site.add("whole", ReshapeOperator{x}, {y});
}

Result<ValueId> batch_norm(NodeSite& site, ValueId x, const BatchNorm& parameters, const BatchNormOperator& op) {
  std::vector<ValueId> inputs = {x, parameters.scale, parameters.bias, parameters.mean, parameters.variance};
  const DType dtype = site.dtype(x);
  DType widest = dtype;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DType own = site.dtype(inputs[i]);
    if (!is_float(own)) {
      constexpr const char* kNames[] = {"input", "scale", "bias", "mean", "variance"};
      return site.error("the " + std::string(kNames[i]) + " is " + to_string(site.type(inputs[i])) +
                        "; expected floats");
    }
    if (size_of(own) > size_of(widest)) widest = own;
  }
  for (ValueId& input : inputs) {
    WHET_TRY(input, site.cast("wide", input, widest));
  }
  WHET_TRY(const ValueId y, site.add("normalized", op, inputs));
  return site.cast("narrow", y, dtype);
}

Result<Trained> batch_norm_of_batch(NodeSite& site, ValueId x, const BatchNorm& learned, double epsilon) {
  const std::size_t rank = site.rank(x);
  if (rank < 2) return site.error("normalizes " + to_string(site.type(x)) + "; expected channels");
  std::vector<std::int64_t> axes = axes_from(2, rank);
  axes.insert(axes.begin(), 0);
  WHET_TRY(const Normalized n, normalized(site, x, axes, epsilon));
  const Shape column = column_of(site.shape(x)[1], rank);
  WHET_TRY(const ValueId scale, site.add("scale", ReshapeOperator{column}, {learned.scale}));
  WHET_TRY(const ValueId bias, site.add("bias", ReshapeOperator{column}, {learned.bias}));
  WHET_TRY(const ValueId y, scaled_and_shifted(site, n.y, scale, bias));
  return Trained{y, n.mean, n.variance};
}

Result<ValueId> channel_list(NodeSite& site, ValueId values, DType dtype) {
  WHET_TRY(const ValueId list, site.add("now", ReshapeOperator{{num_elements(site.shape(values))}}, {values}));
  return site.cast("now_cast", list, dtype);
}

Result<ValueId> running_average(NodeSite& site, ValueId learned, ValueId seen, double momentum) {
  const DType dtype = site.dtype(learned);
  WHET_TRY(const ValueId now, channel_list(site, seen, dtype));
  const ValueId kept = site.add_scalar("momentum", dtype, momentum),
                moved = site.add_scalar("step", dtype, 1 - momentum);
  WHET_TRY(const ValueId before, site.add("before", BinaryOperator{BinaryKind::mul}, {learned, kept}));
  WHET_TRY(const ValueId step, site.add("moved", BinaryOperator{BinaryKind::mul}, {now, moved}));
  return site.add("learned", BinaryOperator{BinaryKind::add}, {before, step});
}

Result<ValueId> lp_normalized(NodeSite& site, ValueId x, std::int64_t axis, std::int64_t p) {
  const DType dtype = site.dtype(x);
  const ReduceKind kind = p == 1 ? ReduceKind::l1 : ReduceKind::l2;
  WHET_TRY(ValueId norm, site.add("norm", ReduceOperator{kind, {axis}, true}, {x}));
  const ValueId zero = site.add_scalar("zero", dtype, 0), one = site.add_scalar("one", dtype, 1);
  WHET_TRY(const ValueId nothing, site.add("nothing", BinaryOperator{BinaryKind::equal}, {norm, zero}));
  WHET_TRY(norm, site.add("divisor", WhereOperator{}, {nothing, one, norm}));
  return site.add("normalized", BinaryOperator{BinaryKind::div}, {x, norm});
}

Result<ValueId> lrn(NodeSite& site, ValueId input, std::int64_t size, double alpha, double beta, double bias) {
  if (site.rank(input) < 2 || size < 1 || size > kMaxElements || !is_float(site.dtype(input))) {
    return site.error("sums " + std::to_string(size) + " channels of " + to_string(site.type(input)) +
                      "; expected floats, and 1 or more channels in the second dimension");
  }
  // Sums of many squares overflow in f16.
  const DType result = site.dtype(input);
  WHET_TRY(const ValueId x, widened(site, input));
  const DType dtype = site.dtype(x);
  WHET_TRY(ValueId y, site.add("square", BinaryOperator{BinaryKind::mul}, {x, x}));
  WHET_TRY(y, window_sums(site, y, {(size - 1) / 2, size / 2}));
  const ValueId factor = site.add_scalar("alpha", dtype, alpha / static_cast<double>(size));
  WHET_TRY(y, site.add("scaled", BinaryOperator{BinaryKind::mul}, {y, factor}));
  WHET_TRY(y, site.add("biased", BinaryOperator{BinaryKind::add}, {y, site.add_scalar("bias", dtype, bias)}));
  WHET_TRY(y, site.add("power", BinaryOperator{BinaryKind::pow}, {y, site.add_scalar("beta", dtype, beta)}));
  WHET_TRY(y, site.add("divided", BinaryOperator{BinaryKind::div}, {x, y}));
  return site.cast("narrow", y, result);
}

Result<ValueId> softmax_flattened(NodeSite& site, ValueId x, std::int64_t axis, bool log) {
  const Shape shape = site.shape(x);
  const std::int64_t rows = num_elements(Shape(shape.begin(), shape.begin() + axis));
  const std::int64_t columns = num_elements(Shape(shape.begin() + axis, shape.end()));
  if (columns == shape[static_cast<std::size_t>(axis)]) return site.add("softmax", SoftmaxOperator{axis, log}, {x});
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{{rows, columns}}, {x}));
  WHET_TRY(const ValueId result, site.add("softmax", SoftmaxOperator{1, log}, {flat}));
  return site.add("shaped", ReshapeOperator{shape}, {result});
}

}  // namespace whet
