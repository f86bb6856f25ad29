#include "import/parts/fourier.h"

#include "import/onnx/importers.h"

namespace whet {
namespace {

/// The length of a frame: as given, or that of the window.
Result<std::int64_t> frame_length(OnnxSite& site) {
  const bool lists = !site.has(2) || site.rank(2) == 1;
  if (!site.has(2) && !site.has(3)) return site.error("has neither a window nor a frame length");
  std::int64_t length = site.has(2) && lists ? site.shape(2)[0] : 0;
  if (site.has(3)) {
    WHET_TRY(length, site.known_integer(3, "frame length"));
  }
  if (!site.has(2) || (lists && site.shape(2)[0] == length)) return length;
  return site.error("the window is " + to_string(site.type(site.in(2))) + "; expected one number for each of the " +
                    std::to_string(length) + " of a frame");
}

/// `axis` may be an input (2) or was an attribute.
Status give_dft(OnnxSite& site, std::int64_t axis) {
  Dft form{.axis = axis};
  WHET_TRY(form.inverse, site.flag("inverse", false));
  WHET_TRY(form.onesided, site.flag("onesided", false));
  if (site.has(1)) {
    WHET_TRY(form.length, site.known_integer(1, "length"));
  }
  return site.give(dft(site, site.in(0), form));
}

}  // namespace

Status import_dft_17(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 2));
  WHET_TRY(const std::int64_t axis, site.integer("axis", 1));
  return give_dft(site, axis);
}

Status import_dft(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 3));
  std::int64_t axis = -2;
  if (site.has(2)) {
    WHET_TRY(axis, site.known_integer(2, "axis"));
  }
  return give_dft(site, axis);
}

Status import_stft(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 4));
  Stft form{.window = site.if_given(2)};
  WHET_TRY(form.onesided, site.flag("onesided", true));
  WHET_TRY(form.step, site.known_integer(1, "frame step"));
  WHET_TRY(form.length, frame_length(site));
  return site.give(stft(site, site.in(0), form));
}

}  // namespace whet
