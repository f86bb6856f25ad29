#include <cmath>
#include <numbers>

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

/// a0 - a1 cos(t) + a2 cos(2t), t from 0 to 2 pi: to the next window's first number, or to this one's last.
Status give_window(OnnxSite& site, double a0, double a1, double a2) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const DType dtype, read_dtype(site));
  WHET_TRY(const bool periodic, site.flag("periodic", true));
  WHET_TRY(const std::vector<std::int64_t> size, site.known_integers(0, "size"));
  if (size.size() != 1 || size[0] < 0 || size[0] > kMaxFoldedElements) {
    return site.error("its size is " + to_string(size) + "; expected one number, up to " +
                      std::to_string(kMaxFoldedElements));
  }
  const auto steps = static_cast<double>(std::max<std::int64_t>(periodic ? size[0] : size[0] - 1, 1));
  Tensor window(dtype, {size[0]});
  for (std::int64_t i = 0; i < size[0]; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / steps;
    window.set(i, a0 - a1 * std::cos(t) + a2 * std::cos(2 * t));
  }
  return site.give_constant(window);
}

/// The corners of triangles that are equally far from each other on the mel scale, as bins of a spectrum.
std::vector<double> corners(double count, double length, double rate, double low, double high) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<double> bins;
  for (double i = 0; i < count; ++i) {
    const double at = mel(low) + i * (mel(high) - mel(low)) / count;
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    bins.push_back(std::floor((length + 1) * hertz / rate));
  }
  return bins;
}

}  // namespace

Status import_hann_window(OnnxSite& site) { return give_window(site, 0.5, 0.5, 0); }
Status import_hamming_window(OnnxSite& site) { return give_window(site, 25.0 / 46, 21.0 / 46, 0); }
Status import_blackman_window(OnnxSite& site) { return give_window(site, 0.42, 0.5, 0.08); }

/// One column a triangle: from 0 at its first corner to 1 at its second and back to 0 at its third.
Status import_mel_weight_matrix(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(5));
  WHET_TRY(const DType dtype, read_dtype(site));
  WHET_TRY(const double count, site.known_number(0, "number of bands"));
  WHET_TRY(const double length, site.known_number(1, "length of a transform"));
  WHET_TRY(const double rate, site.known_number(2, "sample rate"));
  WHET_TRY(const double low, site.known_number(3, "lower edge"));
  WHET_TRY(const double high, site.known_number(4, "upper edge"));
  const double bins = std::floor(length / 2) + 1;
  if (!(count >= 1 && length >= 1 && count * bins <= static_cast<double>(kMaxFoldedElements))) {
    return site.error("makes " + std::to_string(count) + " bands from a transform of length " + std::to_string(length) +
                      "; expected 1 or more of each, and no more than fit into a matrix");
  }
  const std::vector<double> bounds = corners(count + 2, length, rate, low, high);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i] >= (i > 0 ? bounds[i - 1] : 0) && bounds[i] < bins) continue;
    return site.error("bands from " + std::to_string(low) + " to " + std::to_string(high) + " hertz at a rate of " +
                      std::to_string(rate) + " do not lie in a spectrum of " + std::to_string(bins) + " bins");
  }
  const auto rows = static_cast<std::int64_t>(bins), columns = static_cast<std::int64_t>(count);
  Tensor matrix(dtype, {rows, columns});
  for (std::int64_t band = 0; band < columns; ++band) {
    const double* corner = &bounds[static_cast<std::size_t>(band)];
    const auto at = [&](double bin) { return static_cast<std::int64_t>(bin) * columns + band; };
    for (double bin = corner[0]; bin < corner[1]; ++bin) {
      matrix.set(at(bin), (bin - corner[0]) / (corner[1] - corner[0]));
    }
    matrix.set(at(corner[1]), 1);
    for (double bin = corner[1] + 1; bin < corner[2]; ++bin) {
      matrix.set(at(bin), (corner[2] - bin) / (corner[2] - corner[1]));
    }
  }
  return site.give_constant(matrix);
}

}  // namespace whet
