#include "import/fold_shape.h"
#include "import/onnx/importers.h"
#include "import/onnx/moved.h"
#include "import/onnx/taps.h"

// RoiAlign: the samples of all cells of a region are a grid, so that their rows and columns are found apart; each sample
// takes four pixels of the region's image.

namespace whet {
namespace {

using B = BinaryKind;

struct Plan {
  std::int64_t regions = 0, samples = 0;  ///< samples: of a cell, in each dimension
  std::int64_t cells[2] = {1, 1};         ///< rows and columns
  double scale = 1;
  bool half_pixel = true, largest = false;
};

Result<Plan> read_plan(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  Plan plan;
  if (site.opset() >= 16) {
    WHET_TRY(const std::size_t mode,
             site.choice("coordinate_transformation_mode", "half_pixel", {"half_pixel", "output_half_pixel"}));
    plan.half_pixel = mode == 0;
  } else {
    plan.half_pixel = false;
  }
  WHET_TRY(const std::size_t mode, site.choice("mode", "avg", {"avg", "max"}));
  plan.largest = mode == 1;
  WHET_TRY(plan.cells[0], site.integer("output_height", 1));
  WHET_TRY(plan.cells[1], site.integer("output_width", 1));
  WHET_TRY(plan.samples, site.integer("sampling_ratio", 0));
  WHET_TRY(plan.scale, site.number("spatial_scale", 1));
  if (plan.samples == 0) {
    return site.error("attribute \"sampling_ratio\" is 0, with which each region decides; expected 1 or more");
  }
  for (std::int64_t count : {plan.samples, plan.cells[0], plan.cells[1]}) {
    if (count >= 1 && count <= 4096) continue;
    return site.error("has " + std::to_string(plan.cells[0]) + " by " + std::to_string(plan.cells[1]) + " cells of " +
                      std::to_string(plan.samples) + " samples in each dimension; expected 1 to 4096 of each");
  }
  const Shape &x = site.shape(0), &rois = site.shape(1);
  const bool fits = x.size() == 4 && rois.size() == 2 && rois[1] == 4 && site.shape(2) == Shape{rois[0]} &&
                    is_float(site.dtype(0)) && is_float(site.dtype(1)) && !is_float(site.dtype(2)) &&
                    num_elements(x) > 0 && rois[0] > 0;
  if (!fits) {
    return site.error("aligns regions " + to_string(site.type(site.in(1))) + " of images " +
                      to_string(site.type(site.in(2))) + " in " + to_string(site.type(site.in(0))) +
                      "; expected images [N, C, H, W], four corners a region, and the number of its image");
  }
  plan.regions = rois[0];
  return plan;
}

Result<ValueId> step(OnnxSite& site, B kind, ValueId a, double b) {
  return site.add("step", BinaryOperator{kind}, {a, site.add_scalar("number", DType::f32, b)});
}

/// Column `k` of the regions' corners in pixels: [regions, 1, 1].
Result<ValueId> edge(OnnxSite& site, const Plan& plan, ValueId corners, std::int64_t k) {
  WHET_TRY(ValueId x, site.add("corner", SliceOperator{{0, k}, {1, 1}, {plan.regions, 1}}, {corners}));
  WHET_TRY(x, site.add("edge", ReshapeOperator{{plan.regions, 1, 1}}, {x}));
  if (plan.scale != 1) {
    WHET_TRY(x, step(site, B::mul, x, plan.scale));
  }
  return plan.half_pixel ? step(site, B::sub, x, 0.5) : x;
}

/// The samples' places in dimension `d` (0: rows): [regions, rows, 1] or [regions, 1, columns].
Result<ValueId> places(OnnxSite& site, const Plan& plan, ValueId corners, std::size_t d) {
  const auto first = static_cast<std::int64_t>(1 - d);  // the column's stands before the row's
  WHET_TRY(const ValueId begin, edge(site, plan, corners, first));
  WHET_TRY(const ValueId end, edge(site, plan, corners, first + 2));
  WHET_TRY(ValueId length, site.add("length", BinaryOperator{B::sub}, {end, begin}));
  if (!plan.half_pixel) {
    WHET_TRY(length, step(site, B::max, length, 1));
  }
  const std::int64_t count = plan.cells[d] * plan.samples;
  Tensor centres(DType::f32, d == 0 ? Shape{1, count, 1} : Shape{1, 1, count});
  for (std::int64_t i = 0; i < count; ++i) centres.set(i, (static_cast<double>(i) + 0.5) / static_cast<double>(count));
  const ValueId parts = site.add_constant("centres", centres);
  WHET_TRY(const ValueId inside, site.add("inside", BinaryOperator{B::mul}, {length, parts}));
  return site.add("places", BinaryOperator{B::add}, {begin, inside});
}

/// What lies more than a pixel outside counts nothing; what lies less outside is moved to the edge.
Result<std::vector<Tap>> taps_inside(OnnxSite& site, ValueId at, double extent) {
  WHET_TRY(const ValueId low, step(site, B::greater_equal, at, -1));
  WHET_TRY(const ValueId high, step(site, B::less_equal, at, extent));
  WHET_TRY(const ValueId both, site.add("near", BinaryOperator{B::logical_and}, {low, high}));
  WHET_TRY(const ValueId counts, site.add("counts", CastOperator{DType::f32}, {both}));
  WHET_TRY(const ValueId moved_in, site.add("moved", ClipOperator{0, extent - 1}, {at}));
  WHET_TRY(std::vector<Tap> taps, taps_of(site, {.outside = Outside::border}, moved_in, extent));
  for (Tap& tap : taps) {
    WHET_TRY(tap.weight, site.add("weight", BinaryOperator{B::mul}, {*tap.weight, counts}));
  }
  return taps;
}

/// The numbers of the regions' images, the first dimension of the pixels: [regions, 1, 1].
Result<ValueId> images(OnnxSite& site, const Plan& plan) {
  if (const Tensor* known = site.constant(2)) {
    for (std::int64_t i = 0; i < known->size(); ++i) {
      if (known->integer(i) >= 0 && known->integer(i) < site.shape(0)[0]) continue;
      return site.error("a region is of image " + std::to_string(known->integer(i)) + " of " +
                        std::to_string(site.shape(0)[0]));
    }
  }
  WHET_TRY(const ValueId number, site.add("image", CastOperator{DType::i32}, {site.in(2)}));
  return site.add("images", ReshapeOperator{{plan.regions, 1, 1}}, {number});
}

}  // namespace

Status import_roi_align(OnnxSite& site) {
  WHET_TRY(const Plan plan, read_plan(site));
  const Shape x = site.shape(0);
  WHET_TRY(Pixels pixels, channels_last_pixels(site, site.in(0)));
  WHET_TRY(pixels.rows, site.add("all_pixels", ReshapeOperator{{1, x[0] * x[2] * x[3], x[1]}}, {pixels.rows}));
  pixels.extents.insert(pixels.extents.begin(), x[0]);
  WHET_TRY(const ValueId corners, site.cast("corners", site.in(1), DType::f32));
  WHET_TRY(const ValueId image, images(site, plan));
  std::vector<std::vector<Tap>> taps = {{Tap{image, std::nullopt}}};
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(const ValueId at, places(site, plan, corners, d));
    WHET_TRY(std::vector<Tap> of_dimension, taps_inside(site, at, static_cast<double>(x[d + 2])));
    taps.push_back(std::move(of_dimension));
  }
  WHET_TRY(ValueId y, gathered(site, pixels, taps, plan.largest ? B::max : B::add));
  const Shape apart = {plan.regions, plan.cells[0], plan.samples, plan.cells[1], plan.samples, x[1]};
  WHET_TRY(y, site.add("samples", ReshapeOperator{apart}, {y}));
  const ReduceKind kind = plan.largest ? ReduceKind::max : ReduceKind::mean;
  WHET_TRY(y, site.add("cells", ReduceOperator{kind, {2, 4}, false}, {y}));
  return site.give(moved(4, 3, 1), {y});
}

}  // namespace whet
