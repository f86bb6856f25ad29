#include "import/onnx/importers.h"
#include "import/parts/unfold.h"

namespace whet {

Status import_col2im(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  FoldForm form;
  WHET_TRY(form.image, site.known_integers(1, "shape of the image"));
  WHET_TRY(form.block, site.known_integers(2, "shape of a block"));
  const std::size_t dims = form.image.size();
  WHET_TRY(form.window.strides, site.entries("strides", dims, 1, 1));
  WHET_TRY(form.window.dilations, site.entries("dilations", dims, 1, 1));
  WHET_TRY(const std::vector<std::int64_t> pads, site.entries("pads", 2 * dims, 0, 0));
  form.window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
  form.window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  return site.give(fold(site, site.in(0), form));
}

}  // namespace whet
