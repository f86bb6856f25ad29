#include <array>

#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import/parts/taps.h"
#include "import_tf/tflite/rows.h"

// Operators of MediaPipe's own for faces: a matrix from landmarks, and images and landmarks moved by it. Each has two versions,
// which differ in their options.

namespace whet::tflite {
namespace {

using B = BinaryKind;
using U = UnaryKind;

constexpr std::int64_t kMostPixels = 1 << 14;

/// Short names for steps on numbers of one type.
struct Steps {
  NodeSite& site;
  Result<ValueId> binary(B kind, ValueId a, ValueId b) { return site.add("step", BinaryOperator{kind}, {a, b}); }
  Result<ValueId> scaled(ValueId x, double factor) { return with_number(site, "scaled", B::mul, x, factor); }
  Result<ValueId> unary(U kind, ValueId x) { return site.add("step", UnaryOperator{kind}, {x}); }
  /// a * b + c * d
  Result<ValueId> products(ValueId a, ValueId b, ValueId c, ValueId d) {
    WHET_TRY(const ValueId first, binary(B::mul, a, b));
    WHET_TRY(const ValueId second, binary(B::mul, c, d));
    return binary(B::add, first, second);
  }
};

/// Element `k` of a list, as one number with `rank` dimensions.
Result<ValueId> element(NodeSite& site, ValueId list, std::int64_t k, std::size_t rank) {
  WHET_TRY(const ValueId one, site.add("element", SliceOperator{{k}, {1}, {1}}, {list}));
  return site.add("number", ReshapeOperator{Shape(rank, 1)}, {one});
}

/// A matrix [..., 4, 4] as a list of 16.
Result<ValueId> cells_of(NodeSite& site, ValueId matrix) {
  if (num_elements(site.shape(matrix)) != 16 || site.dtype(matrix) != DType::f32)
    return site.error("moves by " + to_string(site.type(matrix)) + "; expected a matrix of 4 rows and 4 columns");
  return site.add("matrix", ReshapeOperator{{16}}, {matrix});
}

/// Row `r` of the matrix times (x, y, 0, 1), its last number times `scale`.
Result<ValueId> transformed(NodeSite& site, ValueId matrix, std::int64_t r, ValueId x, ValueId y, double scale) {
  Steps s{site};
  const std::size_t rank = site.rank(x);
  WHET_TRY(const ValueId a, element(site, matrix, 4 * r, rank));
  WHET_TRY(const ValueId b, element(site, matrix, 4 * r + 1, rank));
  WHET_TRY(ValueId c, element(site, matrix, 4 * r + 3, rank));
  if (scale != 1) {
    WHET_TRY(c, s.scaled(c, scale));
  }
  WHET_TRY(const ValueId turned, s.products(a, x, b, y));
  return s.binary(B::add, turned, c);
}

struct ImageSize {
  std::int64_t rows = 0, columns = 0;
  double corner = 0;  ///< pixels are at these parts of a number
};

Result<ImageSize> read_size(const TfliteSite& site) {
  WHET_TRY(const FlexMap options, custom_map(site));
  ImageSize size;
  if (options.has("output_size")) {
    if (options.text("mode").value_or("bilinear") != "bilinear")
      return site.error("its mode is " + *options.text("mode") + "; only bilinear is supported");
    WHET_TRY(const Ints given, custom_integers(site, options, "output_size", kMostPixels));
    if (given.size() != 2) return site.error("has a size of " + std::to_string(given.size()) + " numbers");
    size = {given[0], given[1], 0};
  } else {
    WHET_TRY(size.rows, custom_integer(site, options, "output_height", 1, kMostPixels));
    WHET_TRY(size.columns, custom_integer(site, options, "output_width", 1, kMostPixels));
    size.corner = 0.5;
  }
  if (size.rows >= 1 && size.columns >= 1) return size;
  return site.error("gives an image without pixels");
}

/// Numbers along a dimension of [1, rows, columns].
ValueId pixel_numbers(NodeSite& site, const ImageSize& size, bool rows) {
  const Shape shape = rows ? Shape{1, size.rows, 1} : Shape{1, 1, size.columns};
  return site.add_constant(rows ? "rows" : "columns", numbered(shape, DType::f32, size.corner));
}

/// What a matrix is made of, along x and y: see `landmark_matrix`.
struct MatrixPlan {
  Ints subset;
  std::int64_t left = 0, right = 0;
  bool whole_circle = false;  ///< of the angle
  double target = 0;
  std::array<double, 2> gain = {1, 1};    ///< from the extent of the landmarks to the scale
  std::array<double, 2> factor = {1, 1};  ///< of columns and rows of the result
  std::array<double, 2> offset = {0, 0};  ///< added to them behind the factor
  std::array<double, 2> outer = {1, 1};   ///< of the turned and scaled result
  std::array<double, 2> centre = {1, 1};  ///< of the landmarks' middle
};

Status read_first_version(TfliteSite& site, const FlexMap& options, std::int64_t landmarks, MatrixPlan& plan) {
  WHET_TRY(const Ints in, custom_integers(site, options, "input_hw", kMostPixels));
  WHET_TRY(const Ints out, custom_integers(site, options, "output_hw", kMostPixels));
  WHET_TRY(const std::int64_t range, custom_integer(site, options, "landmarks_range", 1, kMostPixels));
  WHET_TRY(const double multiplier, custom_number(site, options, "bbox_size_multiplier"));
  WHET_TRY(plan.subset, custom_integers(site, options, "subset", landmarks - 1));
  if (in.size() != 2 || out.size() != 2 || in[0] < 1 || in[1] < 1 || out[0] < 2 || out[1] < 2)
    return site.error("has sizes " + to_string(in) + " and " + to_string(out) + "; expected rows and columns");
  for (std::size_t d = 0; d < 2; ++d) {
    const double pixels = static_cast<double>(in[1 - d] - 1), result = static_cast<double>(out[1 - d] - 1);
    plan.gain[d] = multiplier / static_cast<double>(range);
    plan.factor[d] = 2 / result;
    plan.offset[d] = -1;
    plan.outer[d] = pixels / 2;
    plan.centre[d] = pixels / static_cast<double>(range);
  }
  return ok_status();
}

Status read_second_version(TfliteSite& site, const FlexMap& options, std::int64_t landmarks, MatrixPlan& plan) {
  WHET_TRY(plan.subset, custom_integers(site, options, "subset_idxs", landmarks - 1));
  WHET_TRY(plan.target, custom_number(site, options, "target_rotation_radians"));
  plan.whole_circle = true;
  constexpr std::array<const char*, 2> kSizes = {"output_width", "output_height"}, kScales = {"scale_x", "scale_y"};
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(const std::int64_t size, custom_integer(site, options, kSizes[d], 1, kMostPixels));
    WHET_TRY(const double scale, custom_number(site, options, kScales[d]));
    plan.gain[d] = scale / static_cast<double>(size);
    plan.offset[d] = -static_cast<double>(size) / 2;
  }
  return ok_status();
}

Result<MatrixPlan> read_matrix_plan(TfliteSite& site, std::int64_t landmarks) {
  WHET_TRY(const FlexMap options, custom_map(site));
  MatrixPlan plan;
  WHET_TRY(plan.left, custom_integer(site, options, "left_rotation_idx", 0, landmarks - 1));
  WHET_TRY(plan.right, custom_integer(site, options, "right_rotation_idx", 0, landmarks - 1));
  const bool second = options.has("subset_idxs");
  WHET_RETURN_IF_ERROR(second ? read_second_version(site, options, landmarks, plan)
                              : read_first_version(site, options, landmarks, plan));
  return plan;
}

/// Column `d` of the chosen rows of landmarks [n, 3]: a list.
Result<ValueId> coordinates_of(NodeSite& site, ValueId landmarks, const Ints& rows, std::int64_t d) {
  const std::int64_t n = site.shape(landmarks)[0];
  WHET_TRY(ValueId column, site.add("coordinate", SliceOperator{{0, d}, {1, 1}, {n, 1}}, {landmarks}));
  WHET_TRY(column, site.add("coordinates", ReshapeOperator{{n}}, {column}));
  return site.add("chosen", GatherOperator{0}, {column, site.add_constant("rows", integer_list(rows))});
}

/// The angle that makes the line from the left to the right landmark level.
Result<ValueId> turn_of(NodeSite& site, ValueId landmarks, const MatrixPlan& plan) {
  Steps s{site};
  std::array<ValueId, 2> way;
  for (std::size_t d = 0; d < 2; ++d) {
    const auto k = static_cast<std::int64_t>(d);
    WHET_TRY(const ValueId from, coordinates_of(site, landmarks, {plan.left}, k));
    WHET_TRY(const ValueId to, coordinates_of(site, landmarks, {plan.right}, k));
    WHET_TRY(way[d], s.binary(B::sub, to, from));
  }
  ValueId angle;
  if (plan.whole_circle) {
    WHET_TRY(angle, angle_of(site, way[1], way[0]));
  } else {
    WHET_TRY(angle, s.binary(B::div, way[1], way[0]));
    WHET_TRY(angle, s.unary(U::atan, angle));
  }
  WHET_TRY(angle, s.unary(U::neg, angle));
  return plan.target == 0 ? Result<ValueId>(angle) : with_number(site, "turn", B::add, angle, plan.target);
}

/// A matrix that leads from pixels of the result to those of the image: the box around some landmarks, turned level.
Status landmark_matrix(TfliteSite& site, ValueId landmarks) {
  const std::int64_t count = num_elements(site.shape(landmarks)) / 3;
  if (count < 1 || num_elements(site.shape(landmarks)) % 3 != 0 || site.dtype(landmarks) != DType::f32)
    return site.error("takes landmarks " + to_string(site.type(landmarks)) + "; expected three numbers each");
  WHET_TRY(const MatrixPlan plan, read_matrix_plan(site, count));
  WHET_TRY(landmarks, site.add("landmarks", ReshapeOperator{{count, 3}}, {landmarks}));
  Steps s{site};
  WHET_TRY(const ValueId turn, turn_of(site, landmarks, plan));
  WHET_TRY(const ValueId cosine, s.unary(U::cos, turn));
  WHET_TRY(const ValueId sine, s.unary(U::sin, turn));
  WHET_TRY(const ValueId minus_sine, s.unary(U::neg, sine));
  WHET_TRY(const ValueId x, coordinates_of(site, landmarks, plan.subset, 0));
  WHET_TRY(const ValueId y, coordinates_of(site, landmarks, plan.subset, 1));
  std::array<ValueId, 2> level, extent, middle;
  WHET_TRY(level[0], s.products(x, cosine, y, minus_sine));
  WHET_TRY(level[1], s.products(x, sine, y, cosine));
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(const ValueId high, site.add("high", ReduceOperator{ReduceKind::max, {0}, true}, {level[d]}));
    WHET_TRY(const ValueId low, site.add("low", ReduceOperator{ReduceKind::min, {0}, true}, {level[d]}));
    WHET_TRY(extent[d], s.binary(B::sub, high, low));
    WHET_TRY(extent[d], s.scaled(extent[d], plan.gain[d]));
    WHET_TRY(middle[d], s.binary(B::add, high, low));
    WHET_TRY(middle[d], s.scaled(middle[d], 0.5));
  }
  // Row by row: turned back, (cos, sin) and (-sin, cos), times the scales, and the middle turned back.
  const ValueId zero = site.add_constant("zero", Tensor(DType::f32, {1}));
  const ValueId one = site.add_constant("one", Tensor::of<double>(DType::f32, {1}, {1}));
  std::vector<ValueId> cells;
  for (std::size_t row = 0; row < 2; ++row) {
    const ValueId a = row == 0 ? cosine : minus_sine, b = row == 0 ? sine : cosine;
    WHET_TRY(ValueId first, s.binary(B::mul, a, extent[0]));
    WHET_TRY(ValueId second, s.binary(B::mul, b, extent[1]));
    WHET_TRY(const ValueId moved_first, s.scaled(first, plan.outer[row] * plan.offset[0]));
    WHET_TRY(const ValueId moved_second, s.scaled(second, plan.outer[row] * plan.offset[1]));
    WHET_TRY(ValueId last, s.products(a, middle[0], b, middle[1]));
    WHET_TRY(last, s.scaled(last, plan.centre[row]));
    WHET_TRY(const ValueId moved, s.binary(B::add, moved_first, moved_second));
    WHET_TRY(last, s.binary(B::add, last, moved));
    WHET_TRY(first, s.scaled(first, plan.outer[row] * plan.factor[0]));
    WHET_TRY(second, s.scaled(second, plan.outer[row] * plan.factor[1]));
    cells.insert(cells.end(), {first, second, zero, last});
  }
  cells.insert(cells.end(), {zero, zero, one, zero, zero, zero, zero, one});
  WHET_TRY(const ValueId list, site.add("cells", ConcatOperator{0}, cells));
  return site.give(ReshapeOperator{{1, 4, 4}}, {list});
}

/// Landmarks of two or three numbers each, of which the first two are moved.
Status transform_landmarks(TfliteSite& site, ValueId x, ValueId matrix) {
  const Shape shape = site.shape(x);
  if (shape.size() < 3 || shape.size() > 4 || site.dtype(x) != DType::f32)
    return site.error("moves landmarks " + to_string(site.type(x)) + "; expected three or four dimensions of f32");
  std::int64_t numbers = shape.back();
  double scale = 1;
  if (shape.size() == 4) {
    WHET_TRY(const FlexMap options, custom_map(site));
    WHET_TRY(numbers, custom_integer(site, options, "dimensions", 2, 3));
    WHET_TRY(scale, custom_number(site, options, "scale"));
  }
  const std::int64_t count = num_elements(shape);
  if (numbers < 2 || numbers > 3 || count == 0 || shape.back() % numbers != 0)
    return site.error("moves landmarks " + to_string(site.type(x)) + " of " + std::to_string(numbers) +
                      " numbers each");
  WHET_TRY(matrix, cells_of(site, matrix));
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{{count / numbers, numbers}}, {x}));
  WHET_TRY(std::vector<ValueId> columns, split(site, rows, 1, Ints(static_cast<std::size_t>(numbers), 1)));
  const ValueId first = columns[0], second = columns[1];
  WHET_TRY(columns[0], transformed(site, matrix, 0, first, second, scale));
  WHET_TRY(columns[1], transformed(site, matrix, 1, first, second, scale));
  WHET_TRY(const ValueId y, site.add("columns", ConcatOperator{1}, columns));
  return site.give(ReshapeOperator{shape}, {y});
}

/// An image [1, H, W, C] at the places to which the matrix leads, between its pixels; 0 outside.
Status transform_image(TfliteSite& site, ValueId image, ValueId matrix) {
  WHET_TRY(const ImageSize size, read_size(site));
  const Shape x = site.shape(image);
  if (x.size() != 4 || x[0] != 1 || num_elements(x) == 0 || site.dtype(image) != DType::f32)
    return site.error("moves the image " + to_string(site.type(image)) + "; expected one of [1, H, W, C], f32");
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {size.rows, size.columns, x[3]}));
  WHET_TRY(matrix, cells_of(site, matrix));
  const ValueId columns = pixel_numbers(site, size, false), rows = pixel_numbers(site, size, true);
  std::vector<std::vector<Tap>> taps;
  std::vector<ValueId> inside;
  for (const std::int64_t d : {1, 0}) {  // rows first
    WHET_TRY(ValueId at, transformed(site, matrix, d, columns, rows, 1));
    if (size.corner != 0) {
      WHET_TRY(at, with_number(site, "centre", B::sub, at, size.corner));
    }
    const auto extent = static_cast<double>(x[d == 1 ? 1 : 2]);
    WHET_TRY(inside.emplace_back(), is_between(site, at, 0, extent - 1));
    WHET_TRY(std::vector<Tap> of_dimension, taps_of(site, {.outside = Outside::border}, at, extent));
    taps.push_back(std::move(of_dimension));
  }
  Pixels pixels{image, {x[1], x[2]}};
  WHET_TRY(pixels.rows, site.add("pixels", ReshapeOperator{{1, x[1] * x[2], x[3]}}, {image}));
  WHET_TRY(ValueId y, sampled(site, pixels, taps));
  WHET_TRY(y, site.add("image", ReshapeOperator{{1, size.rows, size.columns, x[3]}}, {y}));
  WHET_TRY(ValueId both, site.add("inside", BinaryOperator{B::logical_and}, {inside[0], inside[1]}));
  WHET_TRY(both, site.add("counts", ReshapeOperator{{1, size.rows, size.columns, 1}}, {both}));
  return site.give(WhereOperator{}, {both, y, site.add_scalar("outside", DType::f32, 0)});
}

}  // namespace

TfliteRows landmarks_rows() {
  static constexpr TfliteRow kRows[] = {
      {"Landmarks2TransformMatrix", as_real, "landmarks", calls<landmark_matrix>},
      {"TransformLandmarks", as_real, "landmarks matrix", calls<transform_landmarks>},
      {"TransformTensor TransformTensorBilinear", as_real, "image matrix", calls<transform_image>},
  };
  return kRows;
}

}  // namespace whet::tflite
