#include <algorithm>

#include "import/onnx/importers.h"
#include "import/parts/conv_transpose.h"

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;

/// Less than the stride or the dilation.
Status check_output_padding(OnnxSite& site, const ConvTranspose& form) {
  const Window& w = form.window;
  for (std::size_t d = 0; d < form.output_padding.size(); ++d) {
    if (form.output_padding[d] < std::max(w.strides[d], w.dilations[d])) continue;
    return site.error("attribute \"output_padding\" holds " + std::to_string(form.output_padding[d]) +
                      "; expected less than the stride or the dilation, " + std::to_string(w.strides[d]) + " and " +
                      std::to_string(w.dilations[d]));
  }
  return ok_status();
}

/// What decides the result's extents: "output_shape", or "auto_pad" by the strides.
Status read_extents(OnnxSite& site, std::size_t mode, ConvTranspose& form) {
  const Shape& x = site.shape(0);
  const std::size_t dims = x.size() - 2;
  WHET_TRY(Ints wanted, site.integers("output_shape", {}));
  if (wanted.size() == dims + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != dims) {
    return site.error("attribute \"output_shape\" is " + to_string(wanted) + "; expected " + std::to_string(dims) +
                      " extents");
  }
  for (std::size_t d = 0; wanted.size() < dims && (mode == 1 || mode == 2) && d < dims; ++d) {
    WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {x[d + 2], form.window.strides[d]}));
    wanted.push_back(x[d + 2] * form.window.strides[d]);
  }
  form.output_extents = wanted;
  form.odd = mode == 1 ? SamePadding::upper : SamePadding::lower;
  return ok_status();
}

}  // namespace

Status import_conv_transpose(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  const Shape &x = site.shape(0), &w = site.shape(1);
  if (x.size() < 3 || w.size() != x.size()) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + " and the weights are " +
                      to_string(site.type(site.in(1))) + "; expected one to three spatial dimensions in both");
  }
  const std::size_t dims = x.size() - 2;
  const Ints kernel(w.begin() + 2, w.end());
  ConvTranspose form;
  WHET_TRY(form.groups, site.integer("group", 1));
  WHET_TRY(const Ints said, site.integers("kernel_shape", kernel));
  if (said != kernel) {
    return site.error("attribute \"kernel_shape\" is " + to_string(said) + "; the weights are " +
                      to_string(site.type(site.in(1))));
  }
  WHET_TRY(form.window.strides, site.entries("strides", dims, 1, 1));
  WHET_TRY(form.window.dilations, site.entries("dilations", dims, 1, 1));
  WHET_TRY(const std::size_t mode, site.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
  WHET_TRY(Ints pads, site.entries("pads", 2 * dims, 0, 0));
  if (mode != 0) std::fill(pads.begin(), pads.end(), 0);
  form.window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
  form.window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  WHET_TRY(form.output_padding, site.entries("output_padding", dims, 0, 0));
  WHET_RETURN_IF_ERROR(check_output_padding(site, form));
  WHET_RETURN_IF_ERROR(read_extents(site, mode, form));
  return site.give(conv_transposed(site, site.in(0), site.in(1), site.if_given(2), form));
}

}  // namespace whet
