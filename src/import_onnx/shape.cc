#include "import/parts/shape.h"

#include <algorithm>
#include <numeric>

#include "import_onnx/rows.h"

namespace whet {
namespace {

Status import_reshape(OnnxSite& site, ValueId x, const std::vector<Size>& wanted, bool allow_zero) {
  WHET_TRY(const ValueId y, reshaped(site, x, wanted, allow_zero));
  return y == x ? site.give(ReshapeOperator{site.shape(x)}, {y}) : site.give(y);
}

Result<ValueId> import_expand(OnnxSite& site, ValueId x, const std::vector<Size>& shape) {
  return expanded(site, x, shape);
}

Status import_transpose(OnnxSite& site, ValueId x, std::optional<Ints> perm) {
  if (!perm) {
    perm.emplace(site.rank(x));
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  return site.give(TransposeOperator{*perm}, {x});
}

Status import_identity(OnnxSite& site, ValueId x) { return site.pass(x); }

/// Does nothing in inference, nor in training with a ratio of 0, as exporters leave it in attention.
Status import_dropout(OnnxSite& site, ValueId x) {
  if (site.has(2)) {
    WHET_TRY(const double training, site.known_number(2, "training mode"));
    WHET_TRY(const double ratio, site.has(1) ? site.known_number(1, "ratio") : 0.5);
    if (training != 0 && ratio != 0) return site.error("is in training mode; only inference is supported");
  }
  if (site.wants_output(1)) {  // nothing was dropped
    const ValueId kept = site.add_scalar("kept", DType::boolean, 1);
    WHET_RETURN_IF_ERROR(site.give(ExpandOperator{site.shape(x)}, {kept}, 1));
  }
  return site.pass(x);
}

Result<ValueId> import_shape(OnnxSite& site, ValueId x, std::int64_t start, std::optional<std::int64_t> given_end) {
  const std::vector<Size> sizes = site.sizes(x);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  std::int64_t end = given_end.value_or(rank);
  start = std::clamp<std::int64_t>(start < 0 && start >= -rank ? start + rank : start, 0, rank);
  end = std::clamp<std::int64_t>(end < 0 && end >= -rank ? end + rank : end, start, rank);
  return site.size_list({sizes.begin() + start, sizes.begin() + end});
}

Result<ValueId> import_size(OnnxSite& site, ValueId x) { return site.size_product(site.sizes(x)); }

}  // namespace

OnnxRows onnx_shape() {
  static constexpr OnnxRow kRows[] = {
      {"DepthToSpace", 1, "x @blocksize @mode:DCR|CRD=DCR", calls<depth_to_space>},
      {"Dropout", 7, "x ~ratio ~seed", calls<import_dropout>},
      {"Dropout", 12, "x ratio? training_mode? ~ratio ~seed", calls<import_dropout>},
      {"Expand", 8, "x shape", calls<import_expand>},
      {"Flatten", 1, "x @axis=1", calls<flattened>},
      {"Identity", 1, "x[]", calls<import_identity>},
      {"Reshape", 5, "x shape @allowzero=0", calls<import_reshape>},
      {"Shape", 1, "x @start=0 @end?", calls<import_shape>},
      {"Size", 1, "x", calls<import_size>},
      {"SpaceToDepth", 1, "x @blocksize =0", calls<space_to_depth>},
      {"Squeeze", 1, "x @axes?", calls<squeezed>},
      {"Squeeze", 13, "x list_of_axes?", calls<squeezed>},
      {"Tile", 6, "x list_of_repeats", calls<tiled>},
      {"Transpose", 1, "x @perm?", calls<import_transpose>},
      {"Unsqueeze", 1, "x @axes", calls<unsqueezed>},
      {"Unsqueeze", 13, "x list_of_axes", calls<unsqueezed>},
  };
  return kRows;
}

}  // namespace whet
