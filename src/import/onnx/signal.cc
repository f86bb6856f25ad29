#include "import/parts/constant.h"

#include "import/fold_shape.h"
#include "import/onnx/importers.h"

// Windows and filters of signals are constants.

namespace whet {
namespace {

Result<DType> read_dtype(OnnxSite& site) {
  WHET_TRY(const std::int64_t number, site.integer("output_datatype", onnx_type(DType::f32)));
  const auto dtype = dtype_of_onnx(number);
  if (dtype && *dtype != DType::boolean) return *dtype;
  return site.error("attribute \"output_datatype\" is " + onnx_type_name(number) + ", which is not supported");
}

Status give_window(OnnxSite& site, CosineWindow form) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const DType dtype, read_dtype(site));
  WHET_TRY(form.periodic, site.flag("periodic", true));
  WHET_TRY(const std::vector<std::int64_t> size, site.known_integers(0, "size"));
  if (size.size() != 1 || size[0] < 0 || size[0] > kMaxFoldedElements) {
    return site.error("its size is " + to_string(size) + "; expected one number, up to " +
                      std::to_string(kMaxFoldedElements));
  }
  return site.give_constant(cosine_window(dtype, size[0], form));
}

}  // namespace

Status import_hann_window(OnnxSite& site) { return give_window(site, {0.5, 0.5, 0}); }
Status import_hamming_window(OnnxSite& site) { return give_window(site, {25.0 / 46, 21.0 / 46, 0}); }
Status import_blackman_window(OnnxSite& site) { return give_window(site, {0.42, 0.5, 0.08}); }

Status import_mel_weight_matrix(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  WHET_TRY(const DType dtype, read_dtype(site));
  MelBands bands;
  WHET_TRY(bands.count, site.known_number(0, "number of bands"));
  WHET_TRY(bands.length, site.known_number(1, "length of a transform"));
  WHET_TRY(bands.rate, site.known_number(2, "sample rate"));
  WHET_TRY(bands.low, site.known_number(3, "lower edge"));
  WHET_TRY(bands.high, site.known_number(4, "upper edge"));
  WHET_TRY(const Tensor matrix, mel_matrix(site, dtype, bands));
  return site.give_constant(matrix);
}

}  // namespace whet
