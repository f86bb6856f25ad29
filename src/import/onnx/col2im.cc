#include "import/onnx/importers.h"

// Col2Im adds up blocks that overlap, one dimension after the other. Tap t = stride * m + r of block q is pixel r of the
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
Result<ValueId> padded(OnnxSite& site, const char* part, ValueId x, std::size_t d, std::int64_t begin,
                       std::int64_t end) {
  if (begin == 0 && end == 0) return x;
  const std::size_t rank = site.type(x).shape.size();
  PadOperator op{PadMode::constant, 0, Ints(rank, 0), Ints(rank, 0)};
  op.begin[d] = begin;
  op.end[d] = end;
  return site.add(part, op, {x});
}

/// [a, taps, b, blocks, c] -> [a, b, extent, c]
Result<ValueId> folded(OnnxSite& site, ValueId x, std::int64_t a, std::int64_t b, std::int64_t c, const Fold& f) {
  const std::int64_t rows = (f.reach() + f.stride - 1) / f.stride, dense = f.taps * f.dilation;
  WHET_TRY(x, site.add("taps", ReshapeOperator{{a, f.taps, 1, b, f.blocks, c}}, {x}));
  WHET_TRY(x, padded(site, "dilated", x, 2, 0, f.dilation - 1));
  WHET_TRY(x, site.add("dense", ReshapeOperator{{a, dense, b, f.blocks, c}}, {x}));
  WHET_TRY(x, padded(site, "whole", x, 1, 0, rows * f.stride - dense));
  WHET_TRY(x, site.add("rows", ReshapeOperator{{a, rows, f.stride, b, f.blocks, c}}, {x}));
  WHET_TRY(x, site.add("turned", TransposeOperator{{0, 3, 5, 2, 1, 4}}, {x}));
  const std::int64_t places = f.blocks + rows - 1;
  if (rows > 1) {
    WHET_TRY(x, padded(site, "long", x, 5, 0, rows));
    WHET_TRY(x, site.add("flat", ReshapeOperator{{a, b, c, f.stride, rows * (places + 1)}}, {x}));
    WHET_TRY(x, padded(site, "short", x, 4, 0, -rows));
    WHET_TRY(x, site.add("moved", ReshapeOperator{{a, b, c, f.stride, rows, places}}, {x}));
    WHET_TRY(x, site.add("added", ReduceOperator{ReduceKind::sum, {4}, false}, {x}));
  } else {
    WHET_TRY(x, site.add("row", ReshapeOperator{{a, b, c, f.stride, places}}, {x}));
  }
  WHET_TRY(x, site.add("placed", TransposeOperator{{0, 1, 4, 3, 2}}, {x}));
  const std::int64_t pixels = places * f.stride;
  WHET_TRY(x, site.add("pixels", ReshapeOperator{{a, b, pixels, c}}, {x}));
  return padded(site, "image", x, 2, -f.begin, f.extent - (pixels - f.begin));
}

Error unfit(OnnxSite& site, const Ints& image, const Ints& block) {
  return site.error("adds up " + to_string(site.type(site.in(0))) + " as blocks " + to_string(block) + " in an image " +
                    to_string(image) + "; expected [N, C * taps, blocks]");
}

/// The dimensions of the image, which fit the blocks of input 0.
Result<std::vector<Fold>> read_folds(OnnxSite& site) {
  WHET_TRY(const Ints image, site.known_integers(1, "shape of the image"));
  WHET_TRY(const Ints block, site.known_integers(2, "shape of a block"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the image", image));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the block", block));
  const std::size_t dims = image.size();
  WHET_TRY(const Ints strides, site.entries("strides", dims, 1, 1));
  WHET_TRY(const Ints dilations, site.entries("dilations", dims, 1, 1));
  WHET_TRY(const Ints pads, site.entries("pads", 2 * dims, 0, 0));
  const Shape& x = site.shape(0);
  const bool empty = num_elements(image) == 0 || num_elements(block) == 0 || num_elements(x) == 0;
  if (dims < 1 || block.size() != dims || x.size() != 3 || empty) return unfit(site, image, block);
  std::vector<Fold> folds;
  std::int64_t blocks = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    Fold fold{block[d], 0, strides[d], dilations[d], pads[d], image[d]};
    const std::int64_t span = image[d] + pads[d] + pads[d + dims] - fold.reach();
    constexpr std::int64_t kFarthest = std::int64_t{1} << 20;  // no later product overflows
    if (span < 0 || fold.reach() > kFarthest) return unfit(site, image, block);
    fold.blocks = span / fold.stride + 1;
    if (fold.blocks > x[2] / blocks) return unfit(site, image, block);
    blocks *= fold.blocks;
    folds.push_back(fold);
  }
  if (blocks != x[2] || x[1] % num_elements(block) != 0) return unfit(site, image, block);
  return folds;
}

}  // namespace

Status import_col2im(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const std::vector<Fold> folds, read_folds(site));
  const Shape blocks = site.shape(0);
  std::int64_t taps = 1, behind = blocks[2];
  for (const Fold& fold : folds) taps *= fold.taps;
  // [n c, taps..., pixels that are done..., blocks...]
  const std::int64_t images = blocks[0] * (blocks[1] / taps);
  Shape y = {blocks[0], blocks[1] / taps};
  std::int64_t between = taps;
  ValueId x = site.in(0);
  for (const Fold& fold : folds) {
    between /= fold.taps;
    behind /= fold.blocks;
    WHET_TRY(x, folded(site, x, images, between, behind, fold));
    between *= fold.extent;
    y.push_back(fold.extent);
  }
  return site.give(ReshapeOperator{y}, {x});
}

}  // namespace whet
