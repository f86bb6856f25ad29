#include "import/parts/fourier.h"

#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"
#include "import/tensorflow/rows.h"

// Complex numbers are a pair of values while importing, real and imaginary parts: a known list of two.

namespace whet::tensorflow {
namespace {

using B = BinaryKind;

struct Complex {
  ValueId real, imaginary;
};
Result<Complex> complex_input(TfSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const std::vector<ValueId>* parts = site.graph().sequence(site.in(0));
  if (parts != nullptr && parts->size() == 2) return Complex{(*parts)[0], (*parts)[1]};
  return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected complex numbers of an RFFT");
}

/// Half of the spectrum of each row, which is cut or filled up with zeros to a known length.
Status import_rfft(TfSite& site) {
  const Shape x = site.shape(site.in(0));
  WHET_TRY(const std::vector<std::int64_t> length, site.integers(1, "length"));
  if (length.size() != 1 || x.empty())
    return site.error("transforms " + to_string(site.type(site.in(0))) + " by a list of " +
                      std::to_string(length.size()) + " lengths; expected one");
  Shape apart = x;
  apart.push_back(1);
  WHET_TRY(const ValueId signals, site.add("signals", ReshapeOperator{apart}, {site.in(0)}));
  WHET_TRY(const ValueId spectra, dft(site, signals, {.length = length[0], .onesided = true}));
  std::vector<ValueId> parts;
  for (const std::int64_t part : {0, 1}) {
    const auto last = static_cast<std::int64_t>(x.size());
    WHET_TRY(const ValueId one, sliced(site, spectra, {part}, {part + 1}, std::vector<std::int64_t>{last}, {1}));
    WHET_TRY(const ValueId plane, squeezed(site, one, std::vector<std::int64_t>{last}));
    parts.push_back(plane);
  }
  return site.give_sequence(site.dtype(site.in(0)), parts);
}

Status import_complex_abs(TfSite& site) {
  WHET_TRY(const Complex x, complex_input(site));
  WHET_TRY(const ValueId a, site.add("square", BinaryOperator{B::mul}, {x.real, x.real}));
  WHET_TRY(const ValueId b, site.add("square", BinaryOperator{B::mul}, {x.imaginary, x.imaginary}));
  WHET_TRY(const ValueId sum, site.add("squares", BinaryOperator{B::add}, {a, b}));
  return site.give(UnaryOperator{UnaryKind::sqrt}, {sum});
}
Status import_complex_angle(TfSite& site) {
  WHET_TRY(const Complex x, complex_input(site));
  return site.give(angle_of(site, x.imaginary, x.real));
}
Status import_real_part(TfSite& site) {
  WHET_TRY(const Complex x, complex_input(site));
  return site.pass(x.real);
}
Status import_imaginary_part(TfSite& site) {
  WHET_TRY(const Complex x, complex_input(site));
  return site.pass(x.imaginary);
}

}  // namespace

TfRows fourier_rows() {
  static constexpr TfRow kRows[] = {
      {"Angle", import_complex_angle}, {"ComplexAbs", import_complex_abs}, {"Imag", import_imaginary_part},
      {"RFFT", 2, import_rfft},        {"Real", import_real_part},
  };
  return kRows;
}

}  // namespace whet::tensorflow
