#include "import/parts/index.h"
#include "import_tf/tflite/rows.h"

// Operators of MediaPipe's own: pools that say where each maximum was, and the way back. Images are [N, H, W, C].

namespace whet::tflite {
namespace {

/// A window of as many pixels as its stride.
struct Blocks {
  std::int64_t rows = 1, columns = 1;
  int activation = 0;
};

/// The options of a pool: padding, columns and rows of the stride, columns and rows of the window, activation.
Result<Blocks> read_blocks(const TfliteSite& site) {
  WHET_TRY(const Ints n, custom_fields(site, 6));
  constexpr std::int64_t kMost = 64;
  const bool fits = n[3] >= 1 && n[3] <= kMost && n[4] >= 1 && n[4] <= kMost && n[1] == n[3] && n[2] == n[4];
  if (fits) return Blocks{n[4], n[3], static_cast<int>(n[5])};
  return site.error("has windows of " + std::to_string(n[4]) + " rows and " + std::to_string(n[3]) +
                    " columns by steps of " + std::to_string(n[2]) + " and " + std::to_string(n[1]) +
                    "; windows of 1 to 64 pixels beside each other are supported");
}

/// "The place in the window, row by row, and a tenth, so that it is rounded down to itself."
constexpr double kTenth = 0.1F;

Status max_pool_argmax(TfliteSite& site, ValueId image) {
  WHET_TRY(const Blocks b, read_blocks(site));
  const Shape x = site.shape(image);
  if (x.size() != 4 || num_elements(x) == 0 || x[1] % b.rows != 0 || x[2] % b.columns != 0)
    return site.error("takes windows of " + std::to_string(b.rows) + " rows and " + std::to_string(b.columns) +
                      " columns of " + to_string(x) + "; expected an image that they divide");
  const Shape y = {x[0], x[1] / b.rows, x[2] / b.columns, x[3]};
  const Shape apart = {y[0], y[1], b.rows, y[2], b.columns, y[3]};
  WHET_TRY(ValueId blocks, site.add("apart", ReshapeOperator{apart}, {image}));
  WHET_TRY(blocks, site.add("blocks", TransposeOperator{{0, 1, 3, 5, 2, 4}}, {blocks}));
  WHET_TRY(blocks, site.add("windows", ReshapeOperator{{y[0], y[1], y[2], y[3], b.rows * b.columns}}, {blocks}));
  WHET_TRY(ValueId top, site.add("top", ReduceOperator{ReduceKind::max, {4}, false}, {blocks}));
  WHET_TRY(top, site.activated(top, b.activation));
  WHET_RETURN_IF_ERROR(site.give(top, 0));
  if (!site.wants_output(1)) return ok_status();
  WHET_TRY(const ValueId place, site.add("place", ArgReduceOperator{true, 4, false, false}, {blocks}));
  WHET_TRY(const ValueId number, site.cast("number", place, DType::f32));
  const ValueId tenth = site.add_scalar("tenth", DType::f32, kTenth);
  return site.give(BinaryOperator{BinaryKind::add}, {number, tenth}, 1);
}

/// Each pixel goes to its place among those of its window; the others are 0.
Status max_unpooled(TfliteSite& site, ValueId image, ValueId places) {
  WHET_TRY(const Blocks b, read_blocks(site));
  const Shape x = site.shape(image);
  if (x.size() != 4 || num_elements(x) == 0 || site.shape(places) != x)
    return site.error("puts " + to_string(site.type(image)) + " at places " + to_string(site.type(places)) +
                      "; expected images of equal shapes");
  const Shape wide = {x[0], x[1], 1, x[2], 1, x[3]}, y = {x[0], x[1] * b.rows, x[2] * b.columns, x[3]};
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", y));
  const Tensor numbers = numbered({1, 1, b.rows, 1, b.columns, 1}, DType::f32);
  WHET_TRY(const ValueId pixels, site.add("pixels", ReshapeOperator{wide}, {image}));
  WHET_TRY(places, site.add("floor", UnaryOperator{UnaryKind::floor}, {places}));
  WHET_TRY(places, site.add("places", ReshapeOperator{wide}, {places}));
  WHET_TRY(const ValueId here,
           site.add("here", BinaryOperator{BinaryKind::equal}, {places, site.add_constant("numbers", numbers)}));
  WHET_TRY(const ValueId put,
           site.add("put", WhereOperator{}, {here, pixels, site.add_scalar("zero", site.dtype(image), 0)}));
  return site.give(ReshapeOperator{y}, {put});
}

}  // namespace

TfliteRows media_pipe_rows() {
  static constexpr TfliteRow kRows[] = {
      {"MaxPoolingWithArgmax2D", as_plain, "image", calls<max_pool_argmax>},
      {"MaxUnpooling2D", as_plain, "image places", calls<max_unpooled>},
  };
  return kRows;
}

}  // namespace whet::tflite
