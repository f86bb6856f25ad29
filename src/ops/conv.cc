#include "graph/border.h"
#include "ops/site.h"

namespace whet {
namespace {

/// The extents and places that follow from the layout.
struct ConvPlan {
  Layout layout;
  bool depthwise;
  std::size_t dims;   ///< spatial dimensions
  std::size_t first;  ///< the first of them in the activations
  std::int64_t channels, out_channels;
  std::int64_t in_block = 0, out_block = 0;  ///< channels in a block, where they are blocked
  Shape kernel;

  bool file_order() const { return layout == Layout::channels_first; }
  bool blocked() const { return layout == Layout::channels_blocked; }
};

ConvPlan plan_of(const Site& site, const ConvOperator& op) {
  const Shape &x = site.shape(0), &w = site.shape(1), &y = site.output.shape;
  ConvPlan plan{.layout = op.layout};
  const bool last = op.layout == Layout::channels_last;
  plan.dims = op.strides.size();
  plan.first = last ? 1 : 2;
  plan.channels = last ? x.back() : x[1];
  plan.out_channels = last ? y.back() : y[1];
  if (plan.blocked()) {
    plan.in_block = x.back(), plan.out_block = y.back();
    plan.channels *= plan.in_block, plan.out_channels *= plan.out_block;
  }
  plan.depthwise = op.groups > 1 && op.groups == plan.channels && op.groups == plan.out_channels;
  const auto taps = w.begin() + (plan.file_order() ? 2 : 0);
  plan.kernel = Shape(taps, taps + static_cast<std::ptrdiff_t>(plan.dims));
  return plan;
}

std::vector<Axis> output_axes(const Site& site, const ConvPlan& plan) {
  const Shape& y = site.output.shape;
  const auto extents = y.begin() + static_cast<std::ptrdiff_t>(plan.first);
  std::vector<Axis> spatial = spatial_axes(Shape(extents, extents + static_cast<std::ptrdiff_t>(plan.dims)));
  const AxisRole role = plan.depthwise ? AxisRole::channel : AxisRole::out_channel;
  const char* name = plan.depthwise ? "c" : "oc";
  std::vector<Axis> axes = {{"n", y[0], AxisRole::batch}};
  if (plan.layout != Layout::channels_last) axes.push_back({name, y[1], role});
  axes.insert(axes.end(), spatial.begin(), spatial.end());
  if (!plan.file_order()) axes.push_back({plan.blocked() ? std::string(name) + "b" : name, y.back(), role});
  return axes;
}

std::vector<Axis> reduced_axes(const ConvOperator& op, const ConvPlan& plan) {
  std::vector<Axis> axes = tap_axes(plan.kernel);
  if (plan.depthwise) return axes;
  const std::int64_t inner = plan.blocked() ? plan.in_block : plan.channels / op.groups;
  const Axis channel{plan.blocked() ? "rcb" : "rc", inner, AxisRole::in_channel};
  axes.insert(plan.file_order() ? axes.begin() : axes.end(), channel);
  if (plan.blocked()) axes.insert(axes.begin(), {"rc", plan.channels / inner, AxisRole::in_channel});
  return axes;
}

/// The channel that the spatial axes `i` of the result name.
Expr channel_at(const ConvPlan& plan, const Exprs& i) {
  if (plan.blocked()) return i[1] * plan.out_block + i.back();
  return plan.file_order() ? i[1] : i.back();
}

/// The channel of the group that the reduce axes `r` name.
Expr reduced_channel(const ConvPlan& plan, const Exprs& r) {
  if (plan.depthwise) return int_const(0);
  if (plan.blocked()) return r[0] * plan.in_block + r.back();
  return plan.file_order() ? r[0] : r.back();
}

/// x and s of an input x * s that is computed here alone, where s is alike for all pixels.
struct ScaledInput {
  Expr x, scale;
};
std::optional<ScaledInput> scaled_input(const Site& site, const ConvPlan& plan) {
  const Op& input = site.dag.op(site.inputs[0]);
  // The terms of a reduction (a depthwise convolution before this one) are products too, but no input is one of them.
  if (input.is_placeholder() || input.element().reducer || num_elements(plan.kernel) != 1) return std::nullopt;
  const auto* product = std::get_if<Binary>(&input.element().body->kind);
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  const auto is_alike = [&](const Expr& factor) {
    if (!std::holds_alternative<Load>(factor->kind)) return false;
    for (std::size_t d = 0; d < plan.dims; ++d)
      if (uses(factor, VarId(static_cast<std::int64_t>(plan.first + d)))) return false;
    return true;
  };
  if (is_alike(product->a) == is_alike(product->b)) return std::nullopt;
  if (is_alike(product->a)) return ScaledInput{product->b, product->a};
  return ScaledInput{product->a, product->b};
}

/// A factor in the type of the sums.
Expr in_sum(const Site& site, const Expr& factor) { return cast(wide_type(site.output.dtype), factor); }

/// The product of one step of the reduction. A scale goes with the weights, of which a tile of many pixels reads fewer.
Expr product(const Site& site, const ConvPlan& plan, OpId padded, const Exprs& x, const Exprs& w) {
  const std::optional<ScaledInput> scaled = scaled_input(site, plan);
  if (!scaled) return in_sum(site, site.read(padded, x)) * in_sum(site, site.read(1, w));
  const auto at = [&](const Expr& factor) {
    return in_sum(site, substitute(factor, [&](VarId v) { return x[v.index()]; }));
  };
  return at(scaled->x) * (at(scaled->scale) * in_sum(site, site.read(1, w)));
}

Expr body(const Site& site, const ConvOperator& op, const ConvPlan& plan, OpId padded, const Exprs& i, const Exprs& r) {
  const Expr channel = channel_at(plan, i), rc = reduced_channel(plan, r);
  const std::size_t tap0 = plan.layout == Layout::channels_last || plan.depthwise ? 0 : 1;
  const std::int64_t per_group = plan.channels / op.groups, out_per_group = plan.out_channels / op.groups;
  const Expr from = plan.depthwise ? channel : op.groups == 1 ? rc : floordiv(channel, out_per_group) * per_group + rc;
  Exprs x = i, taps;
  for (std::size_t d = 0; d < plan.dims; ++d) {
    taps.push_back(r[tap0 + d]);
    x[plan.first + d] = i[plan.first + d] * op.strides[d] + taps[d] * op.dilations[d];
  }
  if (!plan.blocked())
    x[plan.file_order() ? 1 : x.size() - 1] = from;
  else if (!plan.depthwise)
    x[1] = r[0], x.back() = r.back();
  Exprs w;
  if (plan.file_order()) w = {channel, rc};
  w.insert(w.end(), taps.begin(), taps.end());
  if (!plan.file_order() && !plan.depthwise) w.push_back(rc);
  if (!plan.file_order()) w.push_back(channel);
  return product(site, plan, padded, x, w);
}

/// Where the bias of the position `i` of the result lies.
Exprs bias_at(const Site& site, const ConvOperator& op, const ConvPlan& plan, const Exprs& i) {
  Exprs index;
  for (std::size_t d = 0; site.shape(2).size() > 1 && d < plan.dims; ++d) {
    const BorderPlaces places = border_places(op, site.shape(0), site.shape(1), site.output.shape, d);
    const Expr& at = i[plan.first + d];
    Expr place = places.begin > 0 ? min(at, int_const(places.begin)) : int_const(0);
    if (places.end > 0) place = place + max(at - (places.positions - 1 - places.end), int_const(0));
    index.push_back(place);
  }
  index.push_back(channel_at(plan, i));
  return index;
}

}  // namespace

OpId define_at(const Site& site, const ConvOperator& op) {
  const ConvPlan plan = plan_of(site, op);
  const OpId padded =
      padded_input(site, plan.first, op.pads_begin, op.pads_end, identity_of(Reducer::sum, site.types[0].dtype));
  const DType dtype = site.output.dtype;
  const bool has_bias = site.inputs.size() > 2, rounds = wide_type(dtype) != dtype;
  const OpId conv =
      site.reduce(rounds && !has_bias ? site.part("sum") : site.name, output_axes(site, plan), reduced_axes(op, plan),
                  Reducer::sum, plan.depthwise ? OpFamily::depthwise : OpFamily::conv,
                  [&](const Exprs& i, const Exprs& r) { return body(site, op, plan, padded, i, r); });
  if (!has_bias) return rounds ? rounded_sum(site, conv) : conv;
  return site.map(site.part("bias"), axes_of(site.output.shape), OpFamily::elementwise, [&](const Exprs& i) {
    return cast(dtype, site.read(conv, i) + in_sum(site, site.read(2, bias_at(site, op, plan, i))));
  });
}

}  // namespace whet
