#include "import/parts/unfold.h"

#include <algorithm>

// Blocks that overlap are added up, one dimension after the other. Tap t = stride * m + r of block q is pixel r of the
// `stride` pixels number q + m; so the taps are cut into rows m of `stride`, each row is moved by m, and the rows are
// added. Rows are moved by reading them with a length that is shorter by one than the length they were padded to.

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;

/// One dimension: `blocks` blocks of `taps`; the image has `extent` pixels behind the first `begin`.
struct Fold {
  std::int64_t taps, blocks, stride, dilation, begin, extent;
  std::int64_t reach() const { return dilation * (taps - 1) + 1; }
};

/// `begin` and `end` zeros around dimension `d`; negative ones crop.
Result<ValueId> with_zeros(NodeSite& site, const char* part, ValueId x, std::size_t d, std::int64_t begin,
                           std::int64_t end) {
  if (begin == 0 && end == 0) return x;
  const std::size_t rank = site.type(x).shape.size();
  PadOperator op{PadMode::constant, 0, Ints(rank, 0), Ints(rank, 0)};
  op.begin[d] = begin;
  op.end[d] = end;
  return site.add(part, op, {x});
}

/// [a, taps, b, blocks, c] -> [a, b, extent, c]
Result<ValueId> folded(NodeSite& site, ValueId x, std::int64_t a, std::int64_t b, std::int64_t c, const Fold& f) {
  const std::int64_t rows = (f.reach() + f.stride - 1) / f.stride, dense = f.taps * f.dilation;
  WHET_TRY(x, site.add("taps", ReshapeOperator{{a, f.taps, 1, b, f.blocks, c}}, {x}));
  WHET_TRY(x, with_zeros(site, "dilated", x, 2, 0, f.dilation - 1));
  WHET_TRY(x, site.add("dense", ReshapeOperator{{a, dense, b, f.blocks, c}}, {x}));
  WHET_TRY(x, with_zeros(site, "whole", x, 1, 0, rows * f.stride - dense));
  WHET_TRY(x, site.add("rows", ReshapeOperator{{a, rows, f.stride, b, f.blocks, c}}, {x}));
  WHET_TRY(x, site.add("turned", TransposeOperator{{0, 3, 5, 2, 1, 4}}, {x}));
  const std::int64_t places = f.blocks + rows - 1;
  if (rows > 1) {
    WHET_TRY(x, with_zeros(site, "long", x, 5, 0, rows));
    WHET_TRY(x, site.add("flat", ReshapeOperator{{a, b, c, f.stride, rows * (places + 1)}}, {x}));
    WHET_TRY(x, with_zeros(site, "short", x, 4, 0, -rows));
    WHET_TRY(x, site.add("moved", ReshapeOperator{{a, b, c, f.stride, rows, places}}, {x}));
    WHET_TRY(x, site.add("added", ReduceOperator{ReduceKind::sum, {4}, false}, {x}));
  } else {
    WHET_TRY(x, site.add("row", ReshapeOperator{{a, b, c, f.stride, places}}, {x}));
  }
  WHET_TRY(x, site.add("placed", TransposeOperator{{0, 1, 4, 3, 2}}, {x}));
  const std::int64_t pixels = places * f.stride;
  WHET_TRY(x, site.add("pixels", ReshapeOperator{{a, b, pixels, c}}, {x}));
  return with_zeros(site, "image", x, 2, -f.begin, f.extent - (pixels - f.begin));
}

Error unfit(NodeSite& site, ValueId x, const Ints& image, const Ints& block) {
  return site.error("adds up " + to_string(site.type(x)) + " as blocks " + to_string(block) + " in an image " +
                    to_string(image) + "; expected [N, C * taps, blocks]");
}

/// The dimensions of the image, which fit the blocks of x.
Result<std::vector<Fold>> make_folds(NodeSite& site, ValueId given, const FoldForm& form) {
  const Ints &image = form.image, &block = form.block;
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the image", image));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the block", block));
  const std::size_t dims = image.size();
  const Window& window = form.window;
  const Shape& x = site.shape(given);
  const bool empty = num_elements(image) == 0 || num_elements(block) == 0 || num_elements(x) == 0;
  if (dims < 1 || block.size() != dims || x.size() != 3 || empty) return unfit(site, given, image, block);
  std::vector<Fold> folds;
  std::int64_t blocks = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    Fold fold{block[d], 0, window.strides[d], window.dilations[d], window.pads_begin[d], image[d]};
    const std::int64_t span = image[d] + window.pads_begin[d] + window.pads_end[d] - fold.reach();
    constexpr std::int64_t kFarthest = std::int64_t{1} << 20;  // no later product overflows
    if (span < 0 || fold.reach() > kFarthest) return unfit(site, given, image, block);
    fold.blocks = span / fold.stride + 1;
    if (fold.blocks > x[2] / blocks) return unfit(site, given, image, block);
    blocks *= fold.blocks;
    folds.push_back(fold);
  }
  if (blocks != x[2] || x[1] % num_elements(block) != 0) return unfit(site, given, image, block);
  return folds;
}

}  // namespace

Result<ValueId> fold(NodeSite& site, ValueId x, const FoldForm& form) {
  WHET_TRY(const std::vector<Fold> folds, make_folds(site, x, form));
  const Shape blocks = site.shape(x);
  std::int64_t taps = 1, behind = blocks[2];
  for (const Fold& fold : folds) taps *= fold.taps;
  // [n c, taps..., pixels that are done..., blocks...]
  const std::int64_t images = blocks[0] * (blocks[1] / taps);
  Shape y = {blocks[0], blocks[1] / taps};
  std::int64_t between = taps;
  for (const Fold& fold : folds) {
    between /= fold.taps;
    behind /= fold.blocks;
    WHET_TRY(x, folded(site, x, images, between, behind, fold));
    between *= fold.extent;
    y.push_back(fold.extent);
  }
  return site.add("added_up", ReshapeOperator{y}, {x});
}

/// One slice for each tap of a block.
Result<ValueId> unfold(NodeSite& site, ValueId x, const UnfoldForm& form) {
  constexpr std::int64_t kMostTaps = 1024;
  const Window& window = form.window;
  WHET_RETURN_IF_ERROR(expect_window(site, x, form.block));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the block", form.block));
  PadOperator pad{PadMode::constant, 0, {0, 0}, {0, 0}};
  pad.begin.insert(pad.begin.end(), window.pads_begin.begin(), window.pads_begin.end());
  pad.end.insert(pad.end.end(), window.pads_end.begin(), window.pads_end.end());
  WHET_TRY(x, site.add("padded", pad, {x}));
  const Shape image = site.shape(x);
  const std::int64_t taps = num_elements(form.block);
  Shape blocks = {image[0], image[1]}, rows = {image[0], image[1], 1, 1};
  for (std::size_t d = 0; d < form.block.size(); ++d) {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 31;
    const bool near = window.dilations[d] <= kFarthest / std::max<std::int64_t>(form.block[d], 1);
    const std::int64_t span = near ? image[d + 2] - window.dilations[d] * (form.block[d] - 1) - 1 : -1;
    if (span < 0 || taps > kMostTaps)
      return site.error("takes blocks of " + to_string(form.block) + " pixels out of " + to_string(image) +
                        "; expected blocks that fit, of at most " + std::to_string(kMostTaps) + " pixels");
    blocks.push_back(span / window.strides[d] + 1);
    rows[3] *= blocks.back();
  }
  std::vector<ValueId> columns;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    SliceOperator op{Shape(image.size(), 0), Shape(image.size(), 1), blocks};
    std::int64_t rest = tap;
    for (std::size_t d = form.block.size(); d-- > 0; rest /= form.block[d]) {
      op.starts[d + 2] = rest % form.block[d] * window.dilations[d];
      op.steps[d + 2] = window.strides[d];
    }
    WHET_TRY(const ValueId pixels, site.add("tap", op, {x}));
    WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{rows}, {pixels}));
    columns.push_back(column);
  }
  if (columns.size() > 1) {
    WHET_TRY(columns[0], site.add("columns", ConcatOperator{2}, columns));
  }
  return site.add("unfolded", ReshapeOperator{{image[0], image[1] * taps, rows[3]}}, {columns[0]});
}

}  // namespace whet
