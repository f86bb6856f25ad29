#include "import/parts/roi_align.h"

#include <tuple>

#include "base/arithmetic.h"
#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/move_axis.h"
#include "import/parts/shape.h"
#include "import/parts/taps.h"

// The samples of all cells of a region are a grid, so that their rows and columns are found apart; each sample takes four
// pixels of the region's image.

namespace whet {
namespace {

using B = BinaryKind;
using ValueIds = std::vector<ValueId>;

Status check(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  for (std::int64_t count : {plan.samples, plan.cells[0], plan.cells[1]}) {
    const bool decided_by_regions = count == 0 && plan.samples == 0;
    if ((count >= 1 && count <= 4096) || decided_by_regions) continue;
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

Result<ValueId> step(NodeSite& site, B kind, ValueId a, ValueId b) {
  return site.add("step", BinaryOperator{kind}, {a, b});
}
Result<ValueId> step(NodeSite& site, B kind, ValueId a, double b) { return with_number(site, "step", kind, a, b); }

/// Column `k` of corners [regions, 4]: [regions, 1, 1].
Result<ValueId> corner(NodeSite& site, ValueId corners, std::int64_t k) {
  WHET_TRY(const ValueId column, sliced(site, corners, {k}, {k + 1}, Shape{1}, {1}));
  return unsqueezed(site, column, {2});
}

/// The first and the last corner in dimension `d` (0: rows), in pixels.
struct Edges {
  ValueId begin, end;
};
Result<Edges> edges_of(NodeSite& site, const RoiAlign& plan, ValueId corners, std::size_t d) {
  const auto first = static_cast<std::int64_t>(1 - d);  // the column's is before the row's
  Edges edges;
  for (const auto& [edge, k] : {std::pair(&edges.begin, first), {&edges.end, first + 2}}) {
    WHET_TRY(*edge, corner(site, corners, k));
    if (plan.scale != 1) {
      WHET_TRY(*edge, step(site, B::mul, *edge, plan.scale));
    }
    if (plan.half_pixel) {
      WHET_TRY(*edge, step(site, B::sub, *edge, 0.5));
    }
  }
  return edges;
}
/// Between them; regions are a pixel large at least where pixels are not at half numbers.
Result<ValueId> length_of(NodeSite& site, const RoiAlign& plan, const Edges& edges) {
  WHET_TRY(const ValueId length, step(site, B::sub, edges.end, edges.begin));
  return plan.half_pixel ? length : step(site, B::max, length, 1);
}

/// The samples' places in dimension `d` (0: rows): [regions, rows, 1] or [regions, 1, columns].
Result<ValueId> places(NodeSite& site, const RoiAlign& plan, ValueId corners, std::size_t d) {
  WHET_TRY(const Edges at, edges_of(site, plan, corners, d));
  WHET_TRY(const ValueId length, length_of(site, plan, at));
  const std::int64_t count = plan.cells[d] * plan.samples;
  const double part = 1 / static_cast<double>(count);
  const ValueId parts =
      site.add_constant("centres", numbered(shape_along(d + 1, 3, count), DType::f32, part / 2, part));
  WHET_TRY(const ValueId inside, step(site, B::mul, length, parts));
  return site.add("places", BinaryOperator{B::add}, {at.begin, inside});
}

/// What lies more than a pixel outside counts nothing; what lies less outside is moved to the edge.
Result<std::vector<Tap>> taps_inside(NodeSite& site, ValueId at, double extent) {
  WHET_TRY(const ValueId is_near, is_between(site, at, -1, extent));
  WHET_TRY(const ValueId counts, site.add("counts", CastOperator{DType::f32}, {is_near}));
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
/// Each region's own, or the only one: [regions or 1, 1, C, H, W].
Result<ValueId> own_images(NodeSite& site, const RoiInputs& in) {
  WHET_TRY(ValueId number, images(site, in));
  if (site.shape(in.x)[0] == 1) return unsqueezed(site, in.x, {1});
  WHET_TRY(number, squeezed(site, number, Shape{1, 2}));
  WHET_TRY(const ValueId own, site.add("own", GatherOperator{0}, {in.x, number}));
  return unsqueezed(site, own, {1});
}

/// Whether a pixel belongs to a cell along dimension `d` (0: rows): booleans [regions, cells, pixels].
Result<ValueId> cell_pixels(NodeSite& site, const RoiInputs& in, const RoiAlign& plan, std::size_t d) {
  const std::int64_t pixels = site.shape(in.x)[d + 2], cells = plan.cells[d];
  WHET_TRY(const ValueId corners, site.cast("corners", in.regions, DType::f32));
  WHET_TRY(Edges of, edges_of(site, {.scale = plan.scale, .half_pixel = false}, corners, d));
  WHET_TRY(of.begin, rounded_away(site, of.begin));
  WHET_TRY(of.end, rounded_away(site, of.end));
  WHET_TRY(ValueId length, step(site, B::sub, of.end, of.begin));
  WHET_TRY(length, step(site, B::add, length, 1));
  WHET_TRY(length, step(site, B::max, length, 1));
  WHET_TRY(const ValueId size, step(site, B::div, length, static_cast<double>(cells)));
  const auto bound = [&](UnaryKind rounding, double first) -> Result<ValueId> {
    const ValueId numbers = site.add_constant("numbers", numbered({1, cells, 1}, DType::f32, first));
    WHET_TRY(ValueId y, step(site, B::mul, size, numbers));
    WHET_TRY(y, site.add("whole", UnaryOperator{rounding}, {y}));
    return step(site, B::add, y, of.begin);
  };
  WHET_TRY(const ValueId low, bound(UnaryKind::floor, 0));
  WHET_TRY(const ValueId high, bound(UnaryKind::ceil, 1));
  const ValueId at = site.add_constant("numbers", numbered({1, 1, pixels}, DType::f32));
  WHET_TRY(const ValueId from, site.add("from", BinaryOperator{B::greater_equal}, {at, low}));
  WHET_TRY(const ValueId to, site.add("to", BinaryOperator{B::less}, {at, high}));
  return site.add("inside", BinaryOperator{B::logical_and}, {from, to});
}

/// The largest of the chosen pixels along `axis`, of x [regions or 1, cells of rows or 1, C, ..., pixels].
Result<ValueId> largest_inside(NodeSite& site, ValueId x, ValueId inside, std::int64_t axis) {
  const ValueId never = site.add_scalar("never", site.dtype(x), -kInfinity);
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

/// The places of `count` rows or columns in dimension `d` (0: rows) of `extent` pixels: [regions, count, 1] or [regions, 1, count].
/// They are computed in TensorFlow's order: their rounding decides what lies outside.
Result<ValueId> crop_places(NodeSite& site, ValueId boxes, std::size_t d, std::int64_t count, std::int64_t extent) {
  const auto first = static_cast<std::int64_t>(d);
  WHET_TRY(const ValueId begin, corner(site, boxes, first));
  WHET_TRY(const ValueId end, corner(site, boxes, first + 2));
  const auto last = static_cast<double>(extent - 1);
  if (count == 1) {
    WHET_TRY(ValueId middle, step(site, B::add, begin, end));
    WHET_TRY(middle, step(site, B::mul, middle, 0.5));
    return step(site, B::mul, middle, last);
  }
  const ValueId numbers = site.add_constant("numbers", numbered(shape_along(d + 1, 3, count), DType::f32));
  WHET_TRY(ValueId distance, step(site, B::sub, end, begin));
  WHET_TRY(distance, step(site, B::mul, distance, last));
  WHET_TRY(distance, step(site, B::div, distance, static_cast<double>(count - 1)));
  WHET_TRY(const ValueId inside, step(site, B::mul, distance, numbers));
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
    WHET_TRY(inside.emplace_back(), is_between(site, at, 0, static_cast<double>(extent - 1)));
    WHET_TRY(std::vector<Tap> own, taps_of(site, {.outside = Outside::border}, at, static_cast<double>(extent)));
    taps.push_back(std::move(own));
  }
  WHET_TRY(ValueId y, sampled(site, pixels, taps));
  WHET_TRY(y, site.add("crops", ReshapeOperator{{boxes[0], size.rows, size.columns, x[3]}}, {y}));
  WHET_TRY(ValueId counts, site.add("counts", BinaryOperator{B::logical_and}, {inside[0], inside[1]}));
  WHET_TRY(counts, site.add("mask", ReshapeOperator{{boxes[0], size.rows, size.columns, 1}}, {counts}));
  return site.add("cropped", WhereOperator{}, {counts, y, site.add_scalar("outside", DType::f32, size.outside)});
}

Result<RoiInputs> regions_of_rows(NodeSite& site, ValueId x, ValueId rows) {
  const Shape shape = site.shape(rows);
  if (shape.size() != 2 || shape[1] != 5)
    return site.error("its regions are " + to_string(site.type(rows)) + "; expected five numbers each");
  WHET_TRY(const ValueIds parts, split(site, rows, 1, {1, 4}));
  WHET_TRY(const ValueId numbers, site.add("numbers", ReshapeOperator{{shape[0]}}, {parts[0]}));
  WHET_TRY(const ValueId images, site.cast("images", numbers, DType::i32));
  return RoiInputs{x, parts[1], images};
}

Result<ValueId> roi_pooled(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  WHET_RETURN_IF_ERROR(check(site, in, plan));
  const Shape x = site.shape(in.x);
  const std::int64_t regions = site.shape(in.regions)[0], rows = plan.cells[0], columns = plan.cells[1];
  WHET_TRY(const ValueId in_rows, cell_pixels(site, in, plan, 0));
  WHET_TRY(const ValueId in_columns, cell_pixels(site, in, plan, 1));
  WHET_TRY(const ValueId image, own_images(site, in));
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

namespace {

/// The samples around each pixel of dimension `d` (0: rows), where a cell has as many as it has pixels: [regions, cells, pixels].
struct Around {
  ValueIds weights;  ///< how much the pixel counts to each; below 0: nothing
  ValueIds exists;   ///< whether each is a sample of the cell, and near the image
  ValueId number;    ///< of a cell's samples: [regions, 1, 1]
  ValueId start, apart;
};
/// The place of a cell's sample.
Result<ValueId> place_of(NodeSite& site, const Around& around, ValueId sample) {
  WHET_TRY(ValueId place, step(site, B::add, sample, 0.5));
  WHET_TRY(place, step(site, B::mul, place, around.apart));
  return step(site, B::add, place, around.start);
}
/// Samples are more than half a pixel apart wherever a cell has several, so that six in a row are all that can lie around a pixel.
Result<Around> samples_around(NodeSite& site, const RoiAlign& plan, ValueId corners, std::size_t d,
                              std::int64_t extent) {
  constexpr std::int64_t kAround = 6;
  const auto last = static_cast<double>(extent);
  const ValueId pixel = site.add_constant("pixels", numbered({1, 1, extent}, DType::f32));
  const ValueId cells = site.add_constant("cells", numbered({1, plan.cells[d], 1}, DType::f32));
  WHET_TRY(const Edges of, edges_of(site, plan, corners, d));
  WHET_TRY(ValueId cell, length_of(site, plan, of));
  WHET_TRY(cell, step(site, B::div, cell, static_cast<double>(plan.cells[d])));
  Around around;
  WHET_TRY(around.number, site.add("count", UnaryOperator{UnaryKind::ceil}, {cell}));
  WHET_TRY(around.apart, step(site, B::max, around.number, 1));
  WHET_TRY(around.apart, step(site, B::div, cell, around.apart));
  WHET_TRY(around.start, step(site, B::mul, cell, cells));
  WHET_TRY(around.start, step(site, B::add, around.start, of.begin));
  // The first sample that may be less than a pixel in front of each pixel.
  WHET_TRY(ValueId sample, step(site, B::sub, pixel, 1));
  WHET_TRY(sample, step(site, B::sub, sample, around.start));
  WHET_TRY(sample, step(site, B::div, sample, around.apart));
  WHET_TRY(sample, step(site, B::sub, sample, 0.5));
  WHET_TRY(sample, site.add("sample", UnaryOperator{UnaryKind::floor}, {sample}));
  // Small cells lie far behind: the samples of each begin at 0.
  WHET_TRY(sample, step(site, B::max, sample, 0));
  for (std::int64_t k = 0; k < kAround; ++k) {
    WHET_TRY(const ValueId own, step(site, B::add, sample, static_cast<double>(k)));
    WHET_TRY(ValueId place, place_of(site, around, own));
    WHET_TRY(ValueId exists, step(site, B::less, own, around.number));
    WHET_TRY(const ValueId is_near, is_between(site, place, -1, last));
    WHET_TRY(exists, step(site, B::logical_and, exists, is_near));
    WHET_TRY(place, site.add("moved", ClipOperator{0, last - 1}, {place}));
    WHET_TRY(ValueId weight, step(site, B::sub, place, pixel));
    WHET_TRY(weight, site.add("distance", UnaryOperator{UnaryKind::abs}, {weight}));
    WHET_TRY(weight, step(site, B::sub, site.add_scalar("one", DType::f32, 1), weight));
    around.weights.push_back(weight);
    around.exists.push_back(exists);
  }
  return around;
}

/// How much each pixel of dimension `d` counts to the mean of each cell's samples.
Result<ValueId> adaptive_weights(NodeSite& site, const RoiAlign& plan, ValueId corners, std::size_t d,
                                 std::int64_t extent) {
  WHET_TRY(Around around, samples_around(site, plan, corners, d, extent));
  const ValueId none = site.add_scalar("none", DType::f32, 0);
  for (std::size_t k = 0; k < around.weights.size(); ++k) {
    ValueId& weight = around.weights[k];
    WHET_TRY(weight, step(site, B::max, weight, none));
    WHET_TRY(weight, site.add("weight", WhereOperator{}, {around.exists[k], weight, none}));
  }
  WHET_TRY(const ValueId sum, chained(site, B::add, around.weights));
  WHET_TRY(const ValueId divisor, step(site, B::max, around.number, 1));
  return step(site, B::div, sum, divisor);
}

/// A mean of samples is a product of the image with what its rows, and what its columns count to the cells. The rows of images that
/// are not the region's count nothing.
Result<ValueId> mean_adaptively(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  const Shape x = site.shape(in.x);
  const std::int64_t regions = site.shape(in.regions)[0], rows = plan.cells[0], columns = plan.cells[1];
  WHET_TRY(const ValueId corners, site.cast("corners", in.regions, DType::f32));
  WHET_TRY(ValueId of_rows, adaptive_weights(site, plan, corners, 0, x[2]));
  WHET_TRY(ValueId of_columns, adaptive_weights(site, plan, corners, 1, x[3]));
  WHET_TRY(ValueId pixels, site.cast("float", in.x, DType::f32));
  WHET_TRY(pixels, site.add("columns_first", TransposeOperator{{3, 0, 2, 1}}, {pixels}));
  WHET_TRY(pixels, site.add("columns", ReshapeOperator{{x[3], x[0] * x[2] * x[1]}}, {pixels}));
  WHET_TRY(of_columns, site.add("cells", ReshapeOperator{{regions * columns, x[3]}}, {of_columns}));
  WHET_TRY(ValueId y, site.add("columns_of_cells", MatMulOperator{}, {of_columns, pixels}));
  WHET_TRY(y, site.add("apart", ReshapeOperator{{regions, columns, x[0] * x[2], x[1]}}, {y}));
  WHET_TRY(y, site.add("rows_first", TransposeOperator{{0, 2, 1, 3}}, {y}));
  WHET_TRY(y, site.add("rows", ReshapeOperator{{regions, x[0] * x[2], columns * x[1]}}, {y}));
  if (x[0] > 1) {
    WHET_TRY(ValueId own, images(site, in));
    WHET_TRY(own, step(site, B::equal, own, site.add_constant("numbers", numbered({1, x[0], 1}, DType::i32))));
    WHET_TRY(own, site.cast("counts", own, DType::f32));
    WHET_TRY(own, site.add("own_rows", ReshapeOperator{{regions, 1, x[0], 1}}, {own}));
    WHET_TRY(of_rows, site.add("of_images", ReshapeOperator{{regions, rows, 1, x[2]}}, {of_rows}));
    WHET_TRY(of_rows, site.add("of_own", BinaryOperator{B::mul}, {of_rows, own}));
    WHET_TRY(of_rows, site.add("all_rows", ReshapeOperator{{regions, rows, x[0] * x[2]}}, {of_rows}));
  }
  WHET_TRY(y, site.add("cells", MatMulOperator{}, {of_rows, y}));
  WHET_TRY(y, site.cast("narrow", y, site.dtype(in.x)));
  WHET_TRY(y, site.add("cells_apart", ReshapeOperator{{regions, rows, columns, x[1]}}, {y}));
  return site.add("channels_first", move_axis(4, 3, 1), {y});
}

/// The largest of what the cells' samples take of x [regions or 1, cells of the other dimension or 1, ..., pixels]. A pixel above 0
/// counts most to the sample that is nearest to it, and one below 0 to the farthest.
Result<ValueId> largest_along(NodeSite& site, const RoiAlign& plan, ValueId corners, std::size_t d, ValueId x) {
  const std::int64_t extent = site.shape(x).back();
  WHET_TRY(const Around around, samples_around(site, plan, corners, d, extent));
  const auto number = [&](double value) { return site.add_scalar("number", DType::f32, value); };
  ValueIds most, least;
  for (std::size_t k = 0; k < around.weights.size(); ++k) {
    WHET_TRY(ValueId takes, step(site, B::greater_equal, around.weights[k], 0));
    WHET_TRY(takes, step(site, B::logical_and, takes, around.exists[k]));
    WHET_TRY(most.emplace_back(), chosen(site, takes, around.weights[k], number(-1)));
    WHET_TRY(least.emplace_back(), chosen(site, takes, around.weights[k], number(2)));
  }
  WHET_TRY(ValueId nearest, chained(site, B::max, most));
  WHET_TRY(nearest, unsqueezed(site, nearest, {2, 3}));
  WHET_TRY(ValueId farthest, chained(site, B::min, least));
  WHET_TRY(farthest, unsqueezed(site, farthest, {2, 3}));
  WHET_TRY(const ValueId above, step(site, B::greater_equal, x, 0));
  WHET_TRY(ValueId y, chosen(site, above, nearest, farthest));
  WHET_TRY(y, step(site, B::mul, x, y));
  WHET_TRY(const ValueId taken, step(site, B::greater_equal, nearest, 0));
  WHET_TRY(y, largest_inside(site, y, taken, 4));
  // What is far outside is 0, and so is a cell without samples.
  WHET_TRY(const ValueId first, place_of(site, around, number(0)));
  WHET_TRY(ValueId last, step(site, B::sub, around.number, 1));
  WHET_TRY(last, place_of(site, around, last));
  WHET_TRY(ValueId has_zero, step(site, B::less, around.number, 1));
  for (const auto& [kind, place, bound] :
       {std::tuple(B::less, first, -1.0), {B::greater, last, static_cast<double>(extent)}}) {
    WHET_TRY(const ValueId is_far, step(site, kind, place, bound));
    WHET_TRY(has_zero, step(site, B::logical_or, has_zero, is_far));
  }
  WHET_TRY(has_zero, unsqueezed(site, has_zero, {3}));
  WHET_TRY(const ValueId at_least_zero, step(site, B::max, y, 0));
  return chosen(site, has_zero, at_least_zero, y);
}

/// The largest of rows of largest ones.
Result<ValueId> largest_adaptively(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  WHET_TRY(const ValueId corners, site.cast("corners", in.regions, DType::f32));
  WHET_TRY(ValueId y, own_images(site, in));
  WHET_TRY(y, site.cast("float", y, DType::f32));
  WHET_TRY(y, largest_along(site, plan, corners, 1, y));  // [regions, columns, C, H]
  WHET_TRY(y, unsqueezed(site, y, {1}));
  WHET_TRY(y, largest_along(site, plan, corners, 0, y));  // [regions, rows, columns, C]
  WHET_TRY(y, site.cast("narrow", y, site.dtype(in.x)));
  return site.add("channels_first", move_axis(4, 3, 1), {y});
}

}  // namespace

Result<ValueId> roi_aligned(NodeSite& site, const RoiInputs& in, const RoiAlign& plan) {
  WHET_RETURN_IF_ERROR(check(site, in, plan));
  if (plan.samples == 0) return plan.largest ? largest_adaptively(site, in, plan) : mean_adaptively(site, in, plan);
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
