#include "import/parts/roi_align.h"

#include "import/parts/moved.h"
#include "import/parts/taps.h"

// The samples of all cells of a region are a grid, so that their rows and columns are found apart; each sample takes four
// pixels of the region's image.

namespace whet {
namespace {

using B = BinaryKind;

Status check(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  for (std::int64_t count : {plan.samples, plan.cells[0], plan.cells[1]}) {
    if (count >= 1 && count <= 4096) continue;
    return site.error("has " + std::to_string(plan.cells[0]) + " by " + std::to_string(plan.cells[1]) + " cells of " +
                      std::to_string(plan.samples) + " samples in each dimension; expected 1 to 4096 of each");
  }
  const Shape &x = site.shape(in.x), &rois = site.shape(in.regions);
  const bool fits = x.size() == 4 && rois.size() == 2 && rois[1] == 4 && site.shape(in.images) == Shape{rois[0]} &&
                    is_float(site.dtype(in.x)) && is_float(site.dtype(in.regions)) &&
                    !is_float(site.dtype(in.images)) && num_elements(x) > 0 && rois[0] > 0;
  if (fits) return ok_status();
  return site.error("aligns regions " + to_string(site.type(in.regions)) + " of images " +
                    to_string(site.type(in.images)) + " in " + to_string(site.type(in.x)) +
                    "; expected images [N, C, H, W], four corners a region, and the number of its image");
}

Result<ValueId> step(NodeSite& site, B kind, ValueId a, double b) {
  return site.add("step", BinaryOperator{kind}, {a, site.add_scalar("number", DType::f32, b)});
}

/// Column `k` of the regions' corners in pixels: [regions, 1, 1].
Result<ValueId> edge(NodeSite& site, const RoiAlign& plan, ValueId corners, std::int64_t k) {
  const std::int64_t regions = site.shape(corners)[0];
  WHET_TRY(ValueId x, site.add("corner", SliceOperator{{0, k}, {1, 1}, {regions, 1}}, {corners}));
  WHET_TRY(x, site.add("edge", ReshapeOperator{{regions, 1, 1}}, {x}));
  if (plan.scale != 1) {
    WHET_TRY(x, step(site, B::mul, x, plan.scale));
  }
  return plan.half_pixel ? step(site, B::sub, x, 0.5) : x;
}

/// The samples' places in dimension `d` (0: rows): [regions, rows, 1] or [regions, 1, columns].
Result<ValueId> places(NodeSite& site, const RoiAlign& plan, ValueId corners, std::size_t d) {
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
Result<std::vector<Tap>> taps_inside(NodeSite& site, ValueId at, double extent) {
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
Result<ValueId> images(NodeSite& site, const RoiInputs& in) {
  const std::int64_t regions = site.shape(in.regions)[0];
  if (const Tensor* known = site.constant(in.images)) {
    for (std::int64_t i = 0; i < known->size(); ++i) {
      if (known->integer(i) >= 0 && known->integer(i) < site.shape(in.x)[0]) continue;
      return site.error("a region is of image " + std::to_string(known->integer(i)) + " of " +
                        std::to_string(site.shape(in.x)[0]));
    }
  }
  WHET_TRY(const ValueId number, site.add("image", CastOperator{DType::i32}, {in.images}));
  return site.add("images", ReshapeOperator{{regions, 1, 1}}, {number});
}

}  // namespace

Result<ValueId> roi_aligned(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  WHET_RETURN_IF_ERROR(check(site, in, plan));
  const Shape x = site.shape(in.x);
  WHET_TRY(Pixels pixels, channels_last_pixels(site, in.x));
  WHET_TRY(pixels.rows, site.add("all_pixels", ReshapeOperator{{1, x[0] * x[2] * x[3], x[1]}}, {pixels.rows}));
  pixels.extents.insert(pixels.extents.begin(), x[0]);
  WHET_TRY(const ValueId corners, site.cast("corners", in.regions, DType::f32));
  WHET_TRY(const ValueId image, images(site, in));
  std::vector<std::vector<Tap>> taps = {{Tap{image, std::nullopt}}};
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(const ValueId at, places(site, plan, corners, d));
    WHET_TRY(std::vector<Tap> of_dimension, taps_inside(site, at, static_cast<double>(x[d + 2])));
    taps.push_back(std::move(of_dimension));
  }
  WHET_TRY(ValueId y, gathered(site, pixels, taps, plan.largest ? B::max : B::add));
  const Shape apart = {site.shape(in.regions)[0], plan.cells[0], plan.samples, plan.cells[1], plan.samples, x[1]};
  WHET_TRY(y, site.add("samples", ReshapeOperator{apart}, {y}));
  const ReduceKind kind = plan.largest ? ReduceKind::max : ReduceKind::mean;
  WHET_TRY(y, site.add("cells", ReduceOperator{kind, {2, 4}, false}, {y}));
  return site.add("channels_first", moved(4, 3, 1), {y});
}

}  // namespace whet
