#include "import/parts/fourier.h"
#include "import/parts/shape.h"
#include "import/tflite/rows.h"

// Complex numbers are a pair of values while importing, real and imaginary parts: a known list of two.

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;

/// Half of the spectrum of each image [..., rows, columns], which is cut or filled up with zeros to known sizes.
Status import_rfft2d(TfliteSite& site) {
  const Shape x = site.shape(site.in(0));
  WHET_TRY(const Ints sizes, site.integers(1, "list of sizes"));
  if (sizes.size() != 2 || x.size() < 2 || !is_float(site.dtype(site.in(0))))
    return site.error("transforms " + to_string(site.type(site.in(0))) + " by a list of " +
                      std::to_string(sizes.size()) + " sizes; expected images and two sizes");
  Shape apart = x;
  apart.push_back(1);
  WHET_TRY(const ValueId signals, site.add("signals", ReshapeOperator{apart}, {site.in(0)}));
  WHET_TRY(ValueId spectra, dft(site, signals, {.axis = -2, .length = sizes[1], .onesided = true}));
  if (x[x.size() - 2] != 1 || sizes[0] != 1) {
    WHET_TRY(spectra, dft(site, spectra, {.axis = -3, .length = sizes[0]}));
  }
  std::vector<ValueId> parts;
  for (const std::int64_t part : {0, 1}) {
    const auto last = static_cast<std::int64_t>(x.size());
    WHET_TRY(const ValueId one, sliced(site, spectra, {part}, {part + 1}, Ints{last}, {1}));
    WHET_TRY(const ValueId plane, squeezed(site, one, Ints{last}));
    parts.push_back(plane);
  }
  return site.give_sequence(site.dtype(site.in(0)), parts);
}

}  // namespace

TfliteRows spectrum_rows() {
  static constexpr TfliteRow kRows[] = {
      {"COMPLEX_ABS", as_plain, "ComplexAbs"},
      {"IMAG", as_plain, "Imag"},
      {"REAL", as_plain, "Real"},
      {"RFFT2D", 2, import_rfft2d},
  };
  return kRows;
}

}  // namespace whet::tflite
