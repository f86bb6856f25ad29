#include "import/parts/deform_conv.h"

#include <vector>

#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import/parts/taps.h"

// DeformConv: each tap of a window reads the image at a place of its own, as GridSample does. The values that a window's
// taps read are one row of a matrix, which is multiplied by the weights.

namespace whet {
namespace {

/// Extents; `parts`: groups of channels that share their offsets.
struct DeformedPlan {
  ConvOperator conv;
  std::int64_t images, channels, parts;
  Shape kernel;  ///< rows and columns
  TensorType y;  ///< [images, channels out, rows, columns]
  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t windows() const { return y.shape[2] * y.shape[3]; }
};

Result<DeformedPlan> make_plan(NodeSite& site, const DeformInputs& in, const ConvOperator& conv, std::int64_t parts) {
  DeformedPlan plan;
  plan.conv = conv;
  plan.parts = parts;
  std::vector<TensorType> types = {site.type(in.x), site.type(in.weights)};
  if (in.bias) types.push_back(site.type(*in.bias));
  WHET_TRY(plan.y, infer_type(site.name(), plan.conv, types));
  const Shape &x = site.shape(in.x), &w = site.shape(in.weights), &y = plan.y.shape;
  plan.images = x[0];
  plan.channels = x[1];
  plan.kernel = Shape(w.begin() + 2, w.end());
  const auto per_tap = [&](ValueId given, std::int64_t numbers) {
    return parts >= 1 && parts <= plan.channels && is_float(site.dtype(given)) &&
           site.shape(given) == Shape{x[0], parts * plan.taps() * numbers, y[2], y[3]};
  };
  const bool fits = x.size() == 4 && is_float(plan.y.dtype) && num_elements(y) > 0 && per_tap(in.offsets, 2) &&
                    plan.channels % parts == 0 && (!in.mask || per_tap(*in.mask, 1));
  if (fits) return plan;
  return site.error("convolves " + to_string(site.type(in.x)) + " by " + to_string(site.type(in.weights)) +
                    " with offsets " + to_string(site.type(in.offsets)) +
                    (in.mask ? " and a mask " + to_string(site.type(*in.mask)) : "") + " in " + std::to_string(parts) +
                    " offset groups; expected images [N, C, H, W], two offsets for each tap of each window of each "
                    "offset group, and one number of a mask");
}

/// first, first + step, ... as dimension `d` of `rank`.
Tensor steps(std::int64_t count, std::int64_t first, std::int64_t step, std::size_t d, std::size_t rank) {
  return numbered(shape_along(d, rank, count), DType::f32, static_cast<double>(first), static_cast<double>(step));
}

/// Where the taps read dimension `d` (0: rows): [images parts, kernel rows, kernel columns, rows, columns].
Result<ValueId> places(NodeSite& site, const DeformedPlan& plan, ValueId offsets, std::size_t d) {
  Shape shape = {plan.images * plan.parts, plan.kernel[0], plan.kernel[1], 2, plan.y.shape[2], plan.y.shape[3]};
  WHET_TRY(ValueId at, site.add("own_offsets", part_along(shape, 3, static_cast<std::int64_t>(d), 1), {offsets}));
  shape.erase(shape.begin() + 3);
  WHET_TRY(at, site.add("offsets", ReshapeOperator{shape}, {at}));
  const auto moved_by = [&](const char* part, const Tensor& by) {
    return site.add(part, BinaryOperator{BinaryKind::add}, {at, site.add_constant(std::string(part) + "_by", by)});
  };
  WHET_TRY(at,
           moved_by("windows", steps(plan.y.shape[2 + d], -plan.conv.pads_begin[d], plan.conv.strides[d], 3 + d, 5)));
  return moved_by("taps", steps(plan.kernel[d], 0, plan.conv.dilations[d], 1 + d, 5));
}

/// What all taps read: [images parts, taps windows, channels of a part].
Result<ValueId> image_samples(NodeSite& site, const DeformInputs& in, const DeformedPlan& plan) {
  const Shape x = site.shape(in.x);
  const std::int64_t images = plan.images * plan.parts;
  WHET_TRY(const ValueId parts,
           site.add("parts", ReshapeOperator{{images, plan.channels / plan.parts, x[2], x[3]}}, {in.x}));
  WHET_TRY(const Pixels pixels, channels_last_pixels(site, parts));
  WHET_TRY(ValueId offsets, site.cast("offsets_float", in.offsets, DType::f32));
  const Shape apart = {images, plan.kernel[0], plan.kernel[1], 2, plan.y.shape[2], plan.y.shape[3]};
  WHET_TRY(offsets, site.add("offsets_apart", ReshapeOperator{apart}, {offsets}));
  std::vector<std::vector<Tap>> taps;
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(const ValueId at, places(site, plan, offsets, d));
    WHET_TRY(std::vector<Tap> of_dimension, taps_of(site, Sampling{}, at, static_cast<double>(x[d + 2])));
    taps.push_back(std::move(of_dimension));
  }
  WHET_TRY(const ValueId read, sampled(site, pixels, taps));
  if (!in.mask) return read;
  WHET_TRY(const ValueId mask,
           site.add("mask", ReshapeOperator{{images, plan.taps() * plan.windows(), 1}}, {*in.mask}));
  return site.add("masked", BinaryOperator{BinaryKind::mul}, {read, mask});
}

/// One row a window: [images, groups, windows, taps channels of a group].
Result<ValueId> rows(NodeSite& site, const DeformedPlan& plan, ValueId x) {
  const std::int64_t n = plan.images, g = plan.conv.groups, t = plan.taps(), p = plan.windows();
  const std::int64_t c = plan.channels;
  if (plan.parts > 1) {
    WHET_TRY(x, site.add("parts_apart", ReshapeOperator{{n, plan.parts, t, p, c / plan.parts}}, {x}));
    WHET_TRY(x, site.add("parts_inside", TransposeOperator{{0, 2, 3, 1, 4}}, {x}));
  }
  WHET_TRY(x, site.add("groups_apart", ReshapeOperator{{n, t, p, g, c / g}}, {x}));
  WHET_TRY(x, site.add("groups_outside", TransposeOperator{{0, 3, 2, 1, 4}}, {x}));
  return site.add("rows", ReshapeOperator{{n, g, p, t * (c / g)}}, {x});
}

/// The weights as [groups, taps channels of a group, channels out of a group].
Result<ValueId> columns(NodeSite& site, ValueId weights, const DeformedPlan& plan) {
  const std::int64_t g = plan.conv.groups, c = plan.channels / g, out = plan.y.shape[1] / g;
  WHET_TRY(ValueId w, site.add("weights_apart", ReshapeOperator{{g, out, c, plan.taps()}}, {weights}));
  WHET_TRY(w, site.add("weights_turned", TransposeOperator{{0, 3, 2, 1}}, {w}));
  return site.add("weights", ReshapeOperator{{g, plan.taps() * c, out}}, {w});
}

}  // namespace

Result<ValueId> deform_convolved(NodeSite& site, const DeformInputs& in, const ConvOperator& conv, std::int64_t parts) {
  WHET_TRY(const DeformedPlan plan, make_plan(site, in, conv, parts));
  const std::int64_t g = plan.conv.groups, out = plan.y.shape[1] / g;
  WHET_TRY(const ValueId read, image_samples(site, in, plan));
  WHET_TRY(const ValueId a, rows(site, plan, read));
  WHET_TRY(const ValueId b, columns(site, in.weights, plan));
  WHET_TRY(ValueId y, site.add("matmul", MatMulOperator{}, {a, b}));
  if (in.bias) {
    WHET_TRY(const ValueId bias, site.add("bias", ReshapeOperator{{g, 1, out}}, {*in.bias}));
    WHET_TRY(y, site.add("biased", BinaryOperator{BinaryKind::add}, {y, bias}));
  }
  WHET_TRY(y, site.add("channels_first", TransposeOperator{{0, 1, 3, 2}}, {y}));
  return site.add("convolved", ReshapeOperator{plan.y.shape}, {y});
}

}  // namespace whet
