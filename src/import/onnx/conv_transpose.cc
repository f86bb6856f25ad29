#include <algorithm>

#include "import/onnx/importers.h"

// A transposed convolution is a convolution whose every output pixel stands for a block of `stride` pixels: pixel
// u = stride * q + r of the unpadded result is the sum over m of x[q - m] * w[r + stride * m]. So all r of all
// dimensions are output channels of one plain convolution of ceil(kernel / stride) taps, and a rearrangement of depth
// to space puts them where they belong; what was multiplied by nothing is never computed, and every schedule of a
// convolution serves.

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;

struct Plan {
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

/// Padding and the extents of the result, by the standard's formula or the wanted shape.
Status read_extents(OnnxSite& site, Plan& plan) {
  const std::size_t dims = plan.dims;
  const Shape& x = site.shape(0);
  WHET_TRY(const std::size_t mode, site.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
  WHET_TRY(const Ints pads, site.entries("pads", 2 * dims, 0, 0));
  WHET_TRY(const Ints more, site.entries("output_padding", dims, 0, 0));
  WHET_TRY(Ints wanted, site.integers("output_shape", {}));
  if (wanted.size() == dims + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != dims) {
    return site.error("attribute \"output_shape\" is " + to_string(wanted) + "; expected " + std::to_string(dims) +
                      " extents");
  }
  const bool same = mode == 1 || mode == 2;
  for (std::size_t d = 0; d < dims; ++d) {
    if (more[d] >= std::max(plan.strides[d], plan.dilations[d])) {
      return site.error("attribute \"output_padding\" holds " + std::to_string(more[d]) +
                        "; expected less than the stride or the dilation, " + std::to_string(plan.strides[d]) +
                        " and " + std::to_string(plan.dilations[d]));
    }
    const std::int64_t whole = plan.strides[d] * (x[d + 2] - 1) + more[d] + plan.reach(d);
    std::int64_t begin = mode == 0 ? pads[d] : 0, end = mode == 0 ? pads[d + dims] : 0;
    if (same || !wanted.empty()) {
      const std::int64_t extent = wanted.empty() ? x[d + 2] * plan.strides[d] : wanted[d];
      const std::int64_t total = std::max<std::int64_t>(whole - extent, 0);
      begin = mode == 1 ? total / 2 : total - total / 2;
      end = whole - extent - begin;
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

Result<Plan> read_plan(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  const Shape &x = site.shape(0), &w = site.shape(1);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + " and the weights are " +
                      to_string(site.type(site.in(1))) + "; expected one to three spatial dimensions in both");
  }
  Plan plan{.dims = x.size() - 2, .kernel = Ints(w.begin() + 2, w.end())};
  WHET_TRY(plan.groups, site.integer("group", 1));
  WHET_TRY(const Ints said, site.integers("kernel_shape", plan.kernel));
  const bool empty = std::any_of(w.begin(), w.end(), [](std::int64_t extent) { return extent < 1; });
  if (said != plan.kernel || empty || plan.groups < 1 || w[0] != x[1] || x[1] % plan.groups != 0) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + ", the weights are " +
                      to_string(site.type(site.in(1))) + ", in " + std::to_string(plan.groups) +
                      " groups, with \"kernel_shape\" " + to_string(said) + ": these do not fit together");
  }
  WHET_TRY(plan.strides, site.entries("strides", plan.dims, 1, 1));
  WHET_TRY(plan.dilations, site.entries("dilations", plan.dims, 1, 1));
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
  WHET_RETURN_IF_ERROR(read_extents(site, plan));
  whole.insert(whole.end(), plan.extents.begin(), plan.extents.end());
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", whole));
  return plan;
}

/// The weights of the plain convolution: [groups * phases * out, in, taps...].
Shape plain_shape(const Plan& plan) {
  Shape shape = {plan.groups * plan.phases() * plan.out, plan.in};
  for (std::size_t d = 0; d < plan.dims; ++d) shape.push_back(plan.taps(d));
  return shape;
}

/// Constant weights are put in order here.
Tensor turned_weights(const Tensor& w, const Plan& plan) {
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
Result<ValueId> computed_weights(OnnxSite& site, const Plan& plan) {
  ValueId w = site.in(1);
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
Result<ValueId> repeated_bias(OnnxSite& site, const Plan& plan) {
  const Shape own = {plan.groups, 1, plan.out}, wide = {plan.groups, plan.phases(), plan.out};
  if (site.shape(2) != Shape{plan.groups * plan.out}) {
    return site.error("the bias is " + to_string(site.type(site.in(2))) + "; expected one value for each of the " +
                      std::to_string(plan.groups * plan.out) + " output channels");
  }
  if (plan.phases() == 1) return site.in(2);
  WHET_TRY(const ValueId apart, site.add("bias_apart", ReshapeOperator{own}, {site.in(2)}));
  WHET_TRY(const ValueId copies, site.add("bias_copies", ExpandOperator{wide}, {apart}));
  return site.add("bias", ReshapeOperator{{num_elements(wide)}}, {copies});
}

}  // namespace

Status import_conv_transpose(OnnxSite& site) {
  WHET_TRY(const Plan plan, read_plan(site));
  const std::size_t dims = plan.dims;
  const Shape x = site.shape(0);
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
  std::vector<ValueId> inputs = {site.in(0)};
  if (crop.begin != Ints(dims + 2, 0) || crop.end != Ints(dims + 2, 0)) {
    WHET_TRY(inputs[0], site.add("cropped", crop, {site.in(0)}));
  }
  if (const Tensor* w = site.constant(1)) {
    inputs.push_back(site.add_constant("weights", turned_weights(*w, plan)));
  } else {
    WHET_TRY(const ValueId weights, computed_weights(site, plan));
    inputs.push_back(weights);
  }
  if (site.has(2)) {
    WHET_TRY(const ValueId bias, repeated_bias(site, plan));
    inputs.push_back(bias);
  }
  if (plan.phases() == 1) return site.give(conv, inputs);
  WHET_TRY(const ValueId blocks, site.add("blocks", conv, inputs));
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
  if (whole == wanted) return site.give(ReshapeOperator{whole}, {turned});
  WHET_TRY(const ValueId pixels, site.add("pixels", ReshapeOperator{whole}, {turned}));
  return site.give(cut, {pixels});
}

}  // namespace whet
