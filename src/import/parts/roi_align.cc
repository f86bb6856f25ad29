#include "import/parts/roi_align.h"

#include <limits>

#include "import/parts/arithmetic.h"
#include "import/parts/move_axis.h"
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
  const auto first = static_cast<std::int64_t>(1 - d);  // the column's is before the row's
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

namespace {

/// Whether a pixel belongs to a cell along dimension `d` (0: rows): booleans [regions, cells, pixels].
Result<ValueId> cell_pixels(NodeSite& site, const RoiInputs& in, const RoiAlign& plan, std::size_t d) {
  const std::int64_t regions = site.shape(in.regions)[0], pixels = site.shape(in.x)[d + 2], cells = plan.cells[d];
  const auto first = static_cast<std::int64_t>(1 - d);
  const auto corner = [&](std::int64_t k) -> Result<ValueId> {
    WHET_TRY(ValueId x, site.add("corner", SliceOperator{{0, k}, {1, 1}, {regions, 1}}, {in.regions}));
    WHET_TRY(x, site.add("edge", ReshapeOperator{{regions, 1, 1}}, {x}));
    WHET_TRY(x, site.cast("corner", x, DType::f32));
    WHET_TRY(x, step(site, B::mul, x, plan.scale));
    return rounded_away(site, x);
  };
  WHET_TRY(const ValueId begin, corner(first));
  WHET_TRY(const ValueId end, corner(first + 2));
  WHET_TRY(ValueId length, site.add("length", BinaryOperator{B::sub}, {end, begin}));
  WHET_TRY(length, step(site, B::add, length, 1));
  WHET_TRY(length, step(site, B::max, length, 1));
  WHET_TRY(const ValueId size, step(site, B::div, length, static_cast<double>(cells)));
  const auto numbers = [&](std::int64_t count, double from, const Shape& shape) {
    Tensor list(DType::f32, shape);
    for (std::int64_t i = 0; i < count; ++i) list.set(i, static_cast<double>(i) + from);
    return site.add_constant("numbers", list);
  };
  WHET_TRY(ValueId low, site.add("low", BinaryOperator{B::mul}, {size, numbers(cells, 0, {1, cells, 1})}));
  WHET_TRY(low, site.add("low", UnaryOperator{UnaryKind::floor}, {low}));
  WHET_TRY(low, site.add("low", BinaryOperator{B::add}, {low, begin}));
  WHET_TRY(ValueId high, site.add("high", BinaryOperator{B::mul}, {size, numbers(cells, 1, {1, cells, 1})}));
  WHET_TRY(high, site.add("high", UnaryOperator{UnaryKind::ceil}, {high}));
  WHET_TRY(high, site.add("high", BinaryOperator{B::add}, {high, begin}));
  const ValueId at = numbers(pixels, 0, {1, 1, pixels});
  WHET_TRY(const ValueId from, site.add("from", BinaryOperator{B::greater_equal}, {at, low}));
  WHET_TRY(const ValueId to, site.add("to", BinaryOperator{B::less}, {at, high}));
  return site.add("inside", BinaryOperator{B::logical_and}, {from, to});
}

/// The largest of the chosen pixels along `axis`, of x [regions or 1, cells of rows or 1, C, ..., pixels].
Result<ValueId> largest_inside(NodeSite& site, ValueId x, ValueId inside, std::int64_t axis) {
  const ValueId never = site.add_scalar("never", site.dtype(x), -std::numeric_limits<double>::infinity());
  WHET_TRY(const ValueId chosen, site.add("chosen", WhereOperator{}, {inside, x, never}));
  return site.add("largest", ReduceOperator{ReduceKind::max, {axis}, false}, {chosen});
}

/// Whether cells have pixels along a dimension, of `inside` [regions, cells, pixels]: booleans of `shape`.
Result<ValueId> any_inside(NodeSite& site, ValueId inside, const Shape& shape) {
  WHET_TRY(const ValueId numbers, site.cast("inside_numbers", inside, DType::u8));
  WHET_TRY(ValueId any, site.add("any", ReduceOperator{ReduceKind::max, {2}, false}, {numbers}));
  WHET_TRY(any, site.cast("is_filled", any, DType::boolean));
  return site.add("cells", ReshapeOperator{shape}, {any});
}

}  // namespace

namespace {

/// The places of `count` rows or columns in dimension `d` (0: rows) of `extent` pixels: [regions, count, 1] or [regions, 1, count].
/// They are computed in TensorFlow's order: their rounding decides what lies outside.
Result<ValueId> crop_places(NodeSite& site, ValueId boxes, std::size_t d, std::int64_t count, std::int64_t extent) {
  const std::int64_t regions = site.shape(boxes)[0];
  const auto corner = [&](std::int64_t k) -> Result<ValueId> {
    WHET_TRY(const ValueId x, site.add("corner", SliceOperator{{0, k}, {1, 1}, {regions, 1}}, {boxes}));
    return site.add("edge", ReshapeOperator{{regions, 1, 1}}, {x});
  };
  const auto first = static_cast<std::int64_t>(d);
  WHET_TRY(const ValueId begin, corner(first));
  WHET_TRY(const ValueId end, corner(first + 2));
  const auto last = static_cast<double>(extent - 1);
  if (count == 1) {
    WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{B::add}, {begin, end}));
    WHET_TRY(const ValueId middle, step(site, B::mul, sum, 0.5));
    return step(site, B::mul, middle, last);
  }
  Tensor numbers(DType::f32, d == 0 ? Shape{1, count, 1} : Shape{1, 1, count});
  for (std::int64_t i = 0; i < count; ++i) numbers.set_integer(i, i);
  WHET_TRY(ValueId distance, site.add("length", BinaryOperator{B::sub}, {end, begin}));
  WHET_TRY(distance, step(site, B::mul, distance, last));
  WHET_TRY(distance, step(site, B::div, distance, static_cast<double>(count - 1)));
  WHET_TRY(const ValueId inside,
           site.add("inside", BinaryOperator{B::mul}, {distance, site.add_constant("numbers", numbers)}));
  WHET_TRY(const ValueId start, step(site, B::mul, begin, last));
  return site.add("places", BinaryOperator{B::add}, {start, inside});
}

}  // namespace

Result<ValueId> cropped_and_resized(NodeSite& site, const RoiInputs& in, const CropSize& size) {
  const Shape x = site.shape(in.x), boxes = site.shape(in.regions);
  const bool fits = x.size() == 4 && num_elements(x) > 0 && boxes.size() == 2 && boxes[1] == 4 && boxes[0] > 0 &&
                    site.shape(in.images) == Shape{boxes[0]} && size.rows >= 1 && size.columns >= 1 &&
                    size.rows <= 4096 && size.columns <= 4096;
  if (!fits)
    return site.error("takes boxes " + to_string(site.type(in.regions)) + " of images " +
                      to_string(site.type(in.images)) + " in " + to_string(site.type(in.x)) + " as " +
                      std::to_string(size.rows) + "x" + std::to_string(size.columns) +
                      "; expected images [N, H, W, C], four corners a box, and the number of its image");
  WHET_TRY(ValueId rows, site.cast("float", in.x, DType::f32));
  WHET_TRY(rows, site.add("all_pixels", ReshapeOperator{{1, x[0] * x[1] * x[2], x[3]}}, {rows}));
  const Pixels pixels{rows, {x[0], x[1], x[2]}};
  WHET_TRY(const ValueId corners, site.cast("boxes", in.regions, DType::f32));
  WHET_TRY(const ValueId image, images(site, in));
  std::vector<std::vector<Tap>> taps = {{Tap{image, std::nullopt}}};
  std::vector<ValueId> inside;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t extent = x[d + 1];
    WHET_TRY(const ValueId at, crop_places(site, corners, d, d == 0 ? size.rows : size.columns, extent));
    WHET_TRY(const ValueId low, step(site, B::greater_equal, at, 0));
    WHET_TRY(const ValueId high, step(site, B::less_equal, at, static_cast<double>(extent - 1)));
    WHET_TRY(const ValueId both, site.add("within", BinaryOperator{B::logical_and}, {low, high}));
    inside.push_back(both);
    WHET_TRY(std::vector<Tap> own, taps_of(site, {.outside = Outside::border}, at, static_cast<double>(extent)));
    taps.push_back(std::move(own));
  }
  WHET_TRY(ValueId y, sampled(site, pixels, taps));
  WHET_TRY(y, site.add("crops", ReshapeOperator{{boxes[0], size.rows, size.columns, x[3]}}, {y}));
  WHET_TRY(ValueId counts, site.add("counts", BinaryOperator{B::logical_and}, {inside[0], inside[1]}));
  WHET_TRY(counts, site.add("mask", ReshapeOperator{{boxes[0], size.rows, size.columns, 1}}, {counts}));
  return site.add("cropped", WhereOperator{}, {counts, y, site.add_scalar("outside", DType::f32, size.outside)});
}

Result<ValueId> roi_pooled(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  WHET_RETURN_IF_ERROR(check(site, in, plan));
  const Shape x = site.shape(in.x);
  const std::int64_t regions = site.shape(in.regions)[0], rows = plan.cells[0], columns = plan.cells[1];
  WHET_TRY(const ValueId in_rows, cell_pixels(site, in, plan, 0));
  WHET_TRY(const ValueId in_columns, cell_pixels(site, in, plan, 1));
  ValueId image = in.x;
  WHET_TRY(const ValueId number, images(site, in));
  if (x[0] > 1) {
    WHET_TRY(const ValueId list, site.add("list", ReshapeOperator{{regions}}, {number}));
    WHET_TRY(image, site.add("own", GatherOperator{0}, {in.x, list}));
  }
  WHET_TRY(image, site.add("image_apart", ReshapeOperator{{x[0] > 1 ? regions : 1, 1, x[1], x[2], x[3]}}, {image}));
  WHET_TRY(const ValueId row_mask, site.add("row_mask", ReshapeOperator{{regions, rows, 1, x[2], 1}}, {in_rows}));
  WHET_TRY(ValueId y, largest_inside(site, image, row_mask, 3));  // [regions, rows, C, W]
  WHET_TRY(y, site.add("rows_apart", ReshapeOperator{{regions, rows, 1, x[1], x[3]}}, {y}));
  WHET_TRY(const ValueId column_mask,
           site.add("column_mask", ReshapeOperator{{regions, 1, columns, 1, x[3]}}, {in_columns}));
  WHET_TRY(y, largest_inside(site, y, column_mask, 4));  // [regions, rows, columns, C]
  WHET_TRY(const ValueId row_filled, any_inside(site, in_rows, {regions, rows, 1, 1}));
  WHET_TRY(const ValueId column_filled, any_inside(site, in_columns, {regions, 1, columns, 1}));
  WHET_TRY(const ValueId filled, site.add("filled", BinaryOperator{B::logical_and}, {row_filled, column_filled}));
  WHET_TRY(y, site.add("pooled", WhereOperator{}, {filled, y, site.add_scalar("zero", site.dtype(y), 0)}));
  return site.add("channels_first", move_axis(4, 3, 1), {y});
}

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
  WHET_TRY(ValueId y, sampled(site, pixels, taps, plan.largest ? B::max : B::add));
  const Shape apart = {site.shape(in.regions)[0], plan.cells[0], plan.samples, plan.cells[1], plan.samples, x[1]};
  WHET_TRY(y, site.add("samples", ReshapeOperator{apart}, {y}));
  const ReduceKind kind = plan.largest ? ReduceKind::max : ReduceKind::mean;
  WHET_TRY(y, site.add("cells", ReduceOperator{kind, {2, 4}, false}, {y}));
  return site.add("channels_first", move_axis(4, 3, 1), {y});
}

}  // namespace whet
