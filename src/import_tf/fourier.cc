#include "import/parts/fourier.h"

#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"
#include "import_tf/rows.h"

// Complex numbers are a pair of values while importing, real and imaginary parts: a known list of two.

namespace whet::tensorflow {
namespace {

using B = BinaryKind;

struct Complex {
  ValueId real, imaginary;
};
Result<Complex> complex(const CallSite& site, ValueId x) {
  const ValueIds* parts = site.graph().sequence(x);
  if (parts != nullptr && parts->size() == 2) return Complex{(*parts)[0], (*parts)[1]};
  return site.error("the input is " + to_string(site.type(x)) + "; expected complex numbers of an RFFT");
}

/// Half of the spectrum of the last dimensions, which are cut or filled up with zeros to known lengths.
template <std::size_t dimensions>
Status rfft(NodeSite& site, ValueId x, const Ints& lengths) {
  const Shape shape = site.shape(x);
  if (lengths.size() != dimensions || shape.size() < dimensions || !is_float(site.dtype(x)))
    return site.error("transforms " + to_string(site.type(x)) + " by a list of " + std::to_string(lengths.size()) +
                      " lengths; expected one for each of " + std::to_string(dimensions) + " dimensions");
  Shape apart = shape;
  apart.push_back(1);
  WHET_TRY(const ValueId signals, site.add("signals", ReshapeOperator{apart}, {x}));
  WHET_TRY(ValueId spectra, dft(site, signals, {.axis = -2, .length = lengths.back(), .onesided = true}));
  if (dimensions == 2 && (shape[shape.size() - 2] != 1 || lengths[0] != 1)) {
    WHET_TRY(spectra, dft(site, spectra, {.axis = -3, .length = lengths[0]}));
  }
  WHET_TRY(const ValueIds parts, unstacked(site, spectra, static_cast<std::int64_t>(shape.size())));
  return site.give_sequence(site.dtype(x), parts);
}

Status complex_abs(CallSite& site, ValueId pair) {
  WHET_TRY(const Complex x, complex(site, pair));
  WHET_TRY(const ValueId a, site.add("square", BinaryOperator{B::mul}, {x.real, x.real}));
  WHET_TRY(const ValueId b, site.add("square", BinaryOperator{B::mul}, {x.imaginary, x.imaginary}));
  WHET_TRY(const ValueId sum, site.add("squares", BinaryOperator{B::add}, {a, b}));
  return site.give(UnaryOperator{UnaryKind::sqrt}, {sum});
}
Result<ValueId> complex_angle(CallSite& site, ValueId pair) {
  WHET_TRY(const Complex x, complex(site, pair));
  return angle_of(site, x.imaginary, x.real);
}
template <ValueId Complex::* part>
Status part_of(CallSite& site, ValueId pair) {
  WHET_TRY(const Complex x, complex(site, pair));
  return site.pass(x.*part);
}

}  // namespace

TfRows fourier_rows() {
  static constexpr TfRow kRows[] = {
      {"Angle", "x[]", calls<complex_angle>},
      {"ComplexAbs", "x[]", calls<complex_abs>},
      {"Imag", "x[]", calls<part_of<&Complex::imaginary>>},
      {"RFFT", "x length", calls<rfft<1>>},
      {"RFFT2D", "x list_of_lengths", calls<rfft<2>>},
      {"Real", "x[]", calls<part_of<&Complex::real>>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
