#include "import/parts/conv_transpose.h"

#include <algorithm>

#include "import/parts/move_axis.h"

// A transposed convolution is a convolution whose every output pixel stands for a block of `stride` pixels: pixel
// u = stride * q + r of the unpadded result is the sum over m of x[q - m] * w[r + stride * m]. So all r of all
// dimensions are output channels of one plain convolution of ceil(kernel / stride) taps, and a rearrangement of depth
// to space puts them where they belong; what was multiplied by nothing is never computed, and every schedule of a
// convolution serves.

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;

/// Of the plain convolution: strides alone can ask for far more than a file holds.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 28;

struct TransposedPlan {
  std::size_t dims;
  std::int64_t groups, in, out;                          ///< channels in, and out, of one group
  Ints kernel, strides, dilations, pads_begin, extents;  ///< extents: of the result
  std::int64_t taps(std::size_t d) const { return (reach(d) + strides[d] - 1) / strides[d]; }
  std::int64_t reach(std::size_t d) const { return dilations[d] * (kernel[d] - 1) + 1; }
  std::int64_t phases() const {
    std::int64_t product = 1;
    for (std::int64_t s : strides) product *= s;
    return product;
  }
};

/// The weights of the plain convolution fit into memory; so do the products that lead to their number.
Status expect_weights(NodeSite& site, const TransposedPlan& plan) {
  Shape spread = {plan.groups};
  spread.insert(spread.end(), plan.strides.begin(), plan.strides.end());
  spread.insert(spread.end(), {plan.out, plan.in});
  for (std::size_t d = 0; d < plan.dims; ++d) spread.push_back(plan.taps(d));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the tensor of weights", spread));
  if (num_elements(spread) <= kMostWeights) return ok_status();
  return site.error("the tensor of weights has shape " + to_string(spread) + "; at most " +
                    std::to_string(kMostWeights) + " elements are supported");
}

/// Padding and the extents of the result.
Status decide_extents(NodeSite& site, const Shape& x, const ConvTranspose& form, TransposedPlan& plan) {
  for (std::size_t d = 0; d < plan.dims; ++d) {
    const std::int64_t whole = plan.strides[d] * (x[d + 2] - 1) + form.output_padding[d] + plan.reach(d);
    std::int64_t begin = form.window.pads_begin[d], end = form.window.pads_end[d];
    if (!form.output_extents.empty()) {
      const std::int64_t total = std::max<std::int64_t>(whole - form.output_extents[d], 0);
      begin = form.odd == SamePadding::upper ? total / 2 : total - total / 2;
      end = whole - form.output_extents[d] - begin;
    }
    plan.pads_begin.push_back(begin);
    plan.extents.push_back(whole - begin - end);
    if (plan.extents[d] < 1) {
      return site.error("the result has the extent " + std::to_string(plan.extents[d]) + " in spatial dimension " +
                        std::to_string(d) + "; expected at least 1");
    }
  }
  return ok_status();
}

Result<TransposedPlan> make_plan(NodeSite& site, ValueId input, ValueId weights, const ConvTranspose& form) {
  const Shape &x = site.shape(input), &w = site.shape(weights);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    return site.error("the input is " + to_string(site.type(input)) + " and the weights are " +
                      to_string(site.type(weights)) + "; expected one to three spatial dimensions in both");
  }
  TransposedPlan plan{.dims = x.size() - 2, .groups = form.groups, .kernel = Ints(w.begin() + 2, w.end())};
  const bool empty = std::any_of(w.begin(), w.end(), [](std::int64_t extent) { return extent < 1; });
  if (empty || plan.groups < 1 || w[0] != x[1] || x[1] % plan.groups != 0) {
    return site.error("the input is " + to_string(site.type(input)) + ", the weights are " +
                      to_string(site.type(weights)) + ", in " + std::to_string(plan.groups) +
                      " groups: these do not fit together");
  }
  plan.strides = form.window.strides;
  plan.dilations = form.window.dilations;
  plan.in = w[0] / plan.groups;
  plan.out = w[1];
  Shape whole = {x[0], plan.out};
  whole.push_back(plan.groups);
  for (std::size_t d = 0; d < plan.dims; ++d) {
    // Bounded here, so that no later product overflows.
    if (plan.strides[d] > 4096 || plan.dilations[d] > 4096) {
      return site.error("a stride or dilation is above 4096");
    }
    WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {x[d + 2], plan.strides[d], plan.reach(d)}));
  }
  WHET_RETURN_IF_ERROR(decide_extents(site, x, form, plan));
  whole.insert(whole.end(), plan.extents.begin(), plan.extents.end());
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", whole));
  WHET_RETURN_IF_ERROR(expect_weights(site, plan));
  return plan;
}

/// The weights of the plain convolution: [groups * phases * out, in, taps...].
Shape plain_shape(const TransposedPlan& plan) {
  Shape shape = {plan.groups * plan.phases() * plan.out, plan.in};
  for (std::size_t d = 0; d < plan.dims; ++d) shape.push_back(plan.taps(d));
  return shape;
}

/// Constant weights are put in order here.
Tensor turned_weights(const Tensor& w, const TransposedPlan& plan) {
  Tensor result(w.dtype(), plain_shape(plan));
  const std::vector<std::int64_t> to = row_major_strides(result.shape());
  const std::int64_t kernel = num_elements(plan.kernel);
  for (std::int64_t i = 0; i < w.size(); ++i) {
    std::int64_t rest = i % kernel, phase = 0, below = 1, at = 0;
    const std::int64_t o = i / kernel % plan.out, c = i / kernel / plan.out;
    for (std::size_t d = plan.dims; d-- > 0; rest /= plan.kernel[d]) {
      const std::int64_t tap = rest % plan.kernel[d] * plan.dilations[d], s = plan.strides[d];
      phase += tap % s * below;
      below *= s;
      at += (plan.taps(d) - 1 - tap / s) * to[d + 2];
    }
    const std::int64_t channel = (c / plan.in * plan.phases() + phase) * plan.out + o;
    result.set(channel * to[0] + c % plan.in * to[1] + at, w.get(i));
  }
  return result;
}

/// The same by operators, for weights that are computed.
Result<ValueId> computed_weights(NodeSite& site, ValueId w, const TransposedPlan& plan) {
  // Zeros between the taps, and behind them to whole phases.
  Shape apart = {plan.groups * plan.in, plan.out};
  PadOperator spread{PadMode::constant, 0, {0, 0}, {0, 0}}, fill = spread;
  Shape dense = apart;
  for (std::size_t d = 0; d < plan.dims; ++d) {
    apart.insert(apart.end(), {plan.kernel[d], 1});
    spread.begin.insert(spread.begin.end(), {0, 0});
    spread.end.insert(spread.end.end(), {0, plan.dilations[d] - 1});
    dense.push_back(plan.kernel[d] * plan.dilations[d]);
    fill.begin.push_back(0);
    fill.end.push_back(plan.taps(d) * plan.strides[d] - dense.back());
  }
  WHET_TRY(w, site.add("taps", ReshapeOperator{apart}, {w}));
  WHET_TRY(w, site.add("dilated", spread, {w}));
  WHET_TRY(w, site.add("dense", ReshapeOperator{dense}, {w}));
  WHET_TRY(w, site.add("filled", fill, {w}));
  // [g, in, out, taps, stride, ...] -> [g, stride..., out, in, taps...]
  Shape split = {plan.groups, plan.in, plan.out};
  TransposeOperator turn{{0}};
  for (std::size_t d = 0; d < plan.dims; ++d) {
    split.insert(split.end(), {plan.taps(d), plan.strides[d]});
    turn.perm.push_back(static_cast<std::int64_t>(4 + 2 * d));
  }
  turn.perm.insert(turn.perm.end(), {2, 1});
  for (std::size_t d = 0; d < plan.dims; ++d) turn.perm.push_back(static_cast<std::int64_t>(3 + 2 * d));
  WHET_TRY(w, site.add("split", ReshapeOperator{split}, {w}));
  WHET_TRY(w, site.add("turned", turn, {w}));
  WHET_TRY(w, site.add("plain", ReshapeOperator{plain_shape(plan)}, {w}));
  SliceOperator flip{Shape(plan.dims + 2, 0), Shape(plan.dims + 2, 1), plain_shape(plan)};
  for (std::size_t d = 0; d < plan.dims; ++d) {
    flip.starts[d + 2] = plan.taps(d) - 1;
    if (plan.taps(d) > 1) flip.steps[d + 2] = -1;
  }
  return site.add("flipped", flip, {w});
}

/// One bias a channel of the plain convolution.
Result<ValueId> repeated_bias(NodeSite& site, ValueId bias, const TransposedPlan& plan) {
  const Shape own = {plan.groups, 1, plan.out}, wide = {plan.groups, plan.phases(), plan.out};
  if (site.shape(bias) != Shape{plan.groups * plan.out}) {
    return site.error("the bias is " + to_string(site.type(bias)) + "; expected one value for each of the " +
                      std::to_string(plan.groups * plan.out) + " output channels");
  }
  if (plan.phases() == 1) return bias;
  WHET_TRY(const ValueId apart, site.add("bias_apart", ReshapeOperator{own}, {bias}));
  WHET_TRY(const ValueId copies, site.add("bias_copies", ExpandOperator{wide}, {apart}));
  return site.add("bias", ReshapeOperator{{num_elements(wide)}}, {copies});
}

}  // namespace

Result<ValueId> conv_transposed(NodeSite& site, ValueId input, ValueId weights, std::optional<ValueId> bias,
                                const ConvTranspose& form) {
  WHET_TRY(const TransposedPlan plan, make_plan(site, input, weights, form));
  const std::size_t dims = plan.dims;
  const Shape x = site.shape(input);
  ConvOperator conv{Ints(dims, 1), Ints(dims, 1), Ints(dims, 0), Ints(dims, 0), plan.groups};
  // The blocks q0 .. q0 + positions - 1 hold the wanted pixels.
  Ints first, positions;
  PadOperator crop{PadMode::constant, 0, Ints(dims + 2, 0), Ints(dims + 2, 0)};
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t s = plan.strides[d], q0 = plan.pads_begin[d] / s;
    const std::int64_t q1 = (plan.pads_begin[d] + plan.extents[d] - 1) / s;
    const std::int64_t before = plan.taps(d) - 1 - q0, behind = q1 - x[d + 2] + 1;
    first.push_back(plan.pads_begin[d] - q0 * s);
    positions.push_back(q1 - q0 + 1);
    conv.pads_begin[d] = std::max<std::int64_t>(before, 0);
    conv.pads_end[d] = std::max<std::int64_t>(behind, 0);
    crop.begin[d + 2] = std::min<std::int64_t>(before, 0);
    crop.end[d + 2] = std::min<std::int64_t>(behind, 0);
  }
  std::vector<ValueId> inputs = {input};
  if (crop.begin != Ints(dims + 2, 0) || crop.end != Ints(dims + 2, 0)) {
    WHET_TRY(inputs[0], site.add("cropped", crop, {input}));
  }
  if (const Tensor* w = site.constant(weights)) {
    inputs.push_back(site.add_constant("weights", turned_weights(*w, plan)));
  } else {
    WHET_TRY(const ValueId plain, computed_weights(site, weights, plan));
    inputs.push_back(plain);
  }
  if (bias) {
    WHET_TRY(const ValueId repeated, repeated_bias(site, *bias, plan));
    inputs.push_back(repeated);
  }
  WHET_TRY(const ValueId blocks, site.add("blocks", conv, inputs));
  if (plan.phases() == 1) return blocks;
  // [n, g, stride..., out, q...] -> [n, g, out, q, stride, ...], then the pixels that are wanted.
  Shape apart = {x[0], plan.groups}, whole = {x[0], plan.groups * plan.out}, wanted = whole;
  apart.insert(apart.end(), plan.strides.begin(), plan.strides.end());
  apart.push_back(plan.out);
  apart.insert(apart.end(), positions.begin(), positions.end());
  TransposeOperator turn{{0, 1, static_cast<std::int64_t>(2 + dims)}};
  SliceOperator cut{{0, 0}, Ints(dims + 2, 1), {}};
  for (std::size_t d = 0; d < dims; ++d) {
    turn.perm.push_back(static_cast<std::int64_t>(3 + dims + d));
    turn.perm.push_back(static_cast<std::int64_t>(2 + d));
    whole.push_back(positions[d] * plan.strides[d]);
    wanted.push_back(plan.extents[d]);
    cut.starts.push_back(first[d]);
  }
  cut.shape = wanted;
  WHET_TRY(const ValueId split, site.add("apart", ReshapeOperator{apart}, {blocks}));
  WHET_TRY(const ValueId turned, site.add("placed", turn, {split}));
  WHET_TRY(const ValueId pixels, site.add("pixels", ReshapeOperator{whole}, {turned}));
  if (whole == wanted) return pixels;
  return site.add("wanted", cut, {pixels});
}

Result<ValueId> transposed_convolution(NodeSite& site, ValueId x, ValueId w, std::optional<ValueId> bias, ConvForm form,
                                       const Shape& extents) {
  const std::size_t dims = extents.size(), channel = channel_of(form.layout, dims);
  const WeightPlaces at = places_of(form.weights, dims);
  const Shape image = site.shape(x), given = site.shape(w);
  const bool fits = image.size() == dims + 2 && given.size() == dims + 2 && num_elements(image) > 0 &&
                    num_elements(given) > 0 && given[at.channels] == image[channel];
  if (!fits)
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(given) + "; expected " +
                      at.expected);
  for (const std::int64_t extent : extents)
    if (extent < 1 || extent > kMaxElements) return site.error("makes an image of " + to_string(extents));
  const auto first = given.begin() + static_cast<std::ptrdiff_t>(at.kernel);
  const Shape kernel(first, first + static_cast<std::ptrdiff_t>(dims)), own = spatial_extents(image, form.layout);
  if (form.same) pad_to_same(form.window, extents, kernel, SamePadding::upper);
  ConvTranspose plan{.window = form.window, .output_padding = Ints(dims, 0)};
  for (std::size_t d = 0; d < dims; ++d) {
    const Window& window = form.window;
    const std::int64_t reach = window.dilations[d] * (kernel[d] - 1) + 1;
    const std::int64_t made = (own[d] - 1) * window.strides[d] + reach - window.pads_begin[d] - window.pads_end[d];
    plan.output_padding[d] = extents[d] - made;
    if (plan.output_padding[d] < 0 || plan.output_padding[d] >= window.strides[d])
      return site.error("makes " + std::to_string(extents[d]) + " pixels of " + std::to_string(own[d]));
  }
  TransposeOperator turn{{static_cast<std::int64_t>(at.channels), static_cast<std::int64_t>(at.results)}};
  for (std::size_t d = 0; d < dims; ++d) turn.perm.push_back(static_cast<std::int64_t>(at.kernel + d));
  if (channel != 1) {
    WHET_TRY(x, site.add("channels_first", move_axis(dims + 2, channel, 1), {x}));
  }
  WHET_TRY(w, site.add("weights", turn, {w}));  // [I, O, kernel...]
  WHET_TRY(const ValueId y, conv_transposed(site, x, w, bias, plan));
  return channel == 1 ? Result<ValueId>(y) : site.add("channels_last", move_axis(dims + 2, 1, channel), {y});
}

}  // namespace whet
