#include "import/fold_shape.h"
#include "import/parts/constant.h"
#include "import_onnx/rows.h"

// Windows and filters of signals are constants.

namespace whet {
namespace {

Result<DType> read_dtype(OnnxSite& site) {
  WHET_TRY(const DType dtype, site.dtype_attribute("output_datatype", DType::f32));
  if (dtype != DType::boolean) return dtype;
  return site.error("attribute \"output_datatype\" is BOOL, which is not supported");
}

constexpr CosineWindow kHann = {0.5, 0.5, 0}, kHamming = {25.0 / 46, 21.0 / 46, 0}, kBlackman = {0.42, 0.5, 0.08};

template <const CosineWindow& usual>
Status import_window(OnnxSite& site, const Ints& size, bool periodic) {
  WHET_TRY(const DType dtype, read_dtype(site));
  CosineWindow form = usual;
  form.periodic = periodic;
  if (size.size() == 1 && size[0] >= 0 && size[0] <= kMaxFoldedElements)
    return site.give_constant(cosine_window(dtype, size[0], form));
  return site.error("its size is " + to_string(size) + "; expected one number, up to " +
                    std::to_string(kMaxFoldedElements));
}

Status import_mel_weight_matrix(OnnxSite& site, double count, double length, double rate, double low, double high) {
  WHET_TRY(const DType dtype, read_dtype(site));
  WHET_TRY(const Tensor matrix, mel_matrix(site, dtype, {count, length, rate, low, high}));
  return site.give_constant(matrix);
}

}  // namespace

OnnxRows onnx_signal() {
  static constexpr std::string_view kWindow = "size @periodic=1 @output_datatype?";
  static constexpr OnnxRow kRows[] = {
      {"BlackmanWindow", 17, kWindow, calls<import_window<kBlackman>>},
      {"HammingWindow", 17, kWindow, calls<import_window<kHamming>>},
      {"HannWindow", 17, kWindow, calls<import_window<kHann>>},
      {"MelWeightMatrix", 17,
       "number_of_bands length_of_a_transform sample_rate lower_edge upper_edge @output_datatype?",
       calls<import_mel_weight_matrix>},
  };
  return kRows;
}

}  // namespace whet
