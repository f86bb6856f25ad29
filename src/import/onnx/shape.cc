#include <algorithm>
#include <numeric>

#include "import/onnx/importers.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

/// Axes that are an attribute until operator set 12 and an input from 13 on.
Result<std::optional<std::vector<std::int64_t>>> read_axes(OnnxSite& site) {
  std::vector<std::int64_t> axes;
  if (site.opset() >= 13) {
    if (!site.has(1)) return std::optional<std::vector<std::int64_t>>();
    WHET_TRY(axes, site.known_integers(1, "list of axes"));
  } else {
    if (!site.has_attribute("axes")) return std::optional<std::vector<std::int64_t>>();
    WHET_TRY(axes, site.integers("axes", {}));
  }
  return std::optional(axes);
}

Result<std::int64_t> read_block(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("blocksize"));
  WHET_TRY(const std::int64_t block, site.integer("blocksize", 1));
  if (site.rank(0) != 4)
    return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected 4 dimensions");
  if (block >= 1 && block <= 1024) return block;
  return site.error("attribute \"blocksize\" is " + std::to_string(block) + "; expected 1 to 1024");
}

}  // namespace

Status import_reshape(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool allow_zero, site.flag("allowzero", false));
  WHET_TRY(const std::vector<Size> wanted, site.known_sizes(site.in(1), "shape"));
  WHET_TRY(const ValueId y, reshaped(site, site.in(0), wanted, allow_zero));
  return y == site.in(0) ? site.give(ReshapeOperator{site.shape(0)}, {y}) : site.give(y);
}

Status import_flatten(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t axis, site.integer("axis", 1));
  return site.give(flattened(site, site.in(0), axis));
}

Status import_squeeze(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 13 ? 2 : 1));
  WHET_TRY(const auto axes, read_axes(site));
  return site.give(squeezed(site, site.in(0), axes));
}

Status import_unsqueeze(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(site.opset() >= 13 ? 2 : 1));
  WHET_TRY(const auto axes, read_axes(site));
  if (!axes) return site.error("attribute \"axes\" is missing");
  return site.give(unsqueezed(site, site.in(0), *axes));
}

Status import_expand(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<Size> wanted, site.known_sizes(site.in(1), "shape"));
  return site.give(expanded(site, site.in(0), wanted));
}

Status import_tile(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<std::int64_t> repeats, site.known_integers(1, "list of repeats"));
  return site.give(tiled(site, site.in(0), repeats));
}

Status import_transpose(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  std::vector<std::int64_t> reversed(site.rank(0));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  WHET_TRY(const std::vector<std::int64_t> perm, site.integers("perm", reversed));
  return site.give(TransposeOperator{perm}, {site.in(0)});
}

/// [N, C, H, W]: blocks of channels become blocks of pixels. "DCR" and "CRD" are two orders of the channels.
Status import_depth_to_space(OnnxSite& site) {
  WHET_TRY(const std::int64_t b, read_block(site));
  WHET_TRY(const std::size_t mode, site.choice("mode", "DCR", {"DCR", "CRD"}));
  const Shape x = site.shape(0);
  if (x[1] % (b * b) != 0) {
    return site.error("attribute \"blocksize\" is " + std::to_string(b) + "; its square must divide the " +
                      std::to_string(x[1]) + " channels");
  }
  return site.give(depth_to_space(site, site.in(0), b, static_cast<DepthOrder>(mode)));
}

/// The way back, in the order "DCR".
Status import_space_to_depth(OnnxSite& site) {
  WHET_TRY(const std::int64_t b, read_block(site));
  const Shape x = site.shape(0);
  if (x[2] % b != 0 || x[3] % b != 0) {
    return site.error("attribute \"blocksize\" is " + std::to_string(b) + "; it must divide the extents " +
                      std::to_string(x[2]) + " and " + std::to_string(x[3]));
  }
  return site.give(space_to_depth(site, site.in(0), b));
}

Status import_identity(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.pass(site.in(0));
}

/// Does nothing in inference, nor in training with a ratio of 0, as exporters leave it in attention.
Status import_dropout(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 12 ? 3 : 1));
  site.ignore({"ratio", "seed"});
  if (site.has(2)) {
    WHET_TRY(const double training, site.known_number(2, "training mode"));
    WHET_TRY(const double ratio, site.has(1) ? site.known_number(1, "ratio") : 0.5);
    if (training != 0 && ratio != 0) return site.error("is in training mode; only inference is supported");
  }
  if (site.wants_output(1)) {  // nothing was dropped
    const ValueId kept = site.add_scalar("kept", DType::boolean, 1);
    WHET_RETURN_IF_ERROR(site.give(ExpandOperator{site.shape(0)}, {kept}, 1));
  }
  return site.pass(site.in(0));
}

Status import_shape(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const std::vector<Size> x = site.sizes(site.in(0));
  const auto rank = static_cast<std::int64_t>(x.size());
  WHET_TRY(std::int64_t start, site.integer("start", 0));
  WHET_TRY(std::int64_t end, site.integer("end", rank));
  start = std::clamp<std::int64_t>(start < 0 && start >= -rank ? start + rank : start, 0, rank);
  end = std::clamp<std::int64_t>(end < 0 && end >= -rank ? end + rank : end, start, rank);
  return site.give(site.size_list({x.begin() + start, x.begin() + end}));
}

Status import_size(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(site.size_product(site.sizes(site.in(0))));
}

}  // namespace whet
