#include "import/parts/fourier.h"

#include "import_onnx/rows.h"

namespace whet {
namespace {

/// The length of a frame: as given, or that of the window.
Result<std::int64_t> frame_length(OnnxSite& site, std::optional<ValueId> window, std::optional<std::int64_t> given) {
  if (!window && !given) return site.error("has neither a window nor a frame length");
  const bool listed = window && site.rank(*window) == 1;
  const std::int64_t own = listed ? site.shape(*window)[0] : 0, length = given.value_or(own);
  if (!window || (listed && own == length)) return length;
  return site.error("the window is " + to_string(site.type(*window)) + "; expected one number for each of the " +
                    std::to_string(length) + " of a frame");
}

Result<ValueId> import_dft(OnnxSite& site, ValueId x, std::optional<std::int64_t> length, std::int64_t axis,
                           bool inverse, bool onesided) {
  return dft(site, x, {axis, length, inverse, onesided});
}

Result<ValueId> import_stft(OnnxSite& site, ValueId x, std::int64_t step, std::optional<ValueId> window,
                            std::optional<std::int64_t> given, bool onesided) {
  WHET_TRY(const std::int64_t length, frame_length(site, window, given));
  return stft(site, x, {step, length, window, onesided});
}

}  // namespace

OnnxRows onnx_fourier() {
  static constexpr OnnxRow kRows[] = {
      {"DFT", 17, "x length? @axis=1 @inverse=0 @onesided=0", calls<import_dft>},
      {"DFT", 20, "x length? axis=-2 @inverse=0 @onesided=0", calls<import_dft>},
      {"STFT", 17, "x frame_step window? frame_length? @onesided=1", calls<import_stft>},
  };
  return kRows;
}

}  // namespace whet
