#include <cmath>

#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

// Complex numbers are a pair of values while importing, real and imaginary parts: a known list of two.

namespace whet::torch {

Status give_pair(TorchSite& site, ValueId x) {
  const DType dtype = site.dtype(x);
  const auto last = static_cast<std::int64_t>(site.rank(x)) - 1;
  ValueIds parts;
  for (const std::int64_t part : {0, 1}) {
    WHET_TRY(const ValueId one, sliced(site, x, {part}, {part + 1}, Ints{last}, {1}));
    WHET_TRY(const ValueId plane, squeezed(site, one, Ints{last}));
    parts.push_back(plane);
  }
  return site.give_sequence(dtype, parts);
}
Result<ValueId> side_by_side(TorchSite& site, ComplexParts x) {
  WHET_TRY(const ValueId real, unsqueezed(site, x.real, {-1}));
  WHET_TRY(ValueId imaginary, expanded(site, x.imaginary, Shape(site.shape(x.real))));
  WHET_TRY(imaginary, unsqueezed(site, imaginary, {-1}));
  return site.add("pairs", ConcatOperator{static_cast<std::int64_t>(site.rank(x.real))}, {real, imaginary});
}

namespace {

using B = BinaryKind;
using U = UnaryKind;

Status import_view_as_complex(TorchSite& site, ValueId x) {
  if (site.rank(x) > 0 && site.shape(x).back() == 2) return give_pair(site, x);
  return site.error("the input is " + to_string(site.type(x)) + "; expected pairs in the last dimension");
}
Result<ValueId> import_view_as_real(TorchSite& site, ComplexParts x) { return side_by_side(site, x); }
Result<ValueId> import_real(TorchSite& site) {
  const auto parts = site.complex("self");
  return parts ? parts->real : site.tensor("self");
}
Result<ValueId> import_imag(TorchSite&, ComplexParts x) { return x.imaginary; }
Result<ValueId> import_angle(TorchSite& site, ComplexParts x) { return angle_of(site, x.imaginary, x.real); }
/// |x|^2
Result<ValueId> squares(TorchSite& site, ComplexParts x) {
  WHET_TRY(const ValueId a, site.add("square", BinaryOperator{B::mul}, {x.real, x.real}));
  WHET_TRY(const ValueId b, site.add("square", BinaryOperator{B::mul}, {x.imaginary, x.imaginary}));
  return site.add("squares", BinaryOperator{B::add}, {a, b});
}
/// Of complex numbers their distance from 0.
Status import_abs(TorchSite& site) {
  const auto parts = site.complex("self");
  if (!parts) {
    WHET_TRY(const ValueId x, site.tensor("self"));
    return site.give(UnaryOperator{UnaryKind::abs}, {x});
  }
  WHET_TRY(const ValueId sum, squares(site, *parts));
  return site.give(UnaryOperator{U::sqrt}, {sum});
}

Status import_complex(TorchSite& site, ValueId real, ValueId imaginary) {
  const auto shape = broadcast(site.shape(real), site.shape(imaginary));
  if (!shape)
    return site.error("its parts are " + to_string(site.type(real)) + " and " + to_string(site.type(imaginary)));
  WHET_TRY(real, expanded(site, real, *shape));
  WHET_TRY(imaginary, expanded(site, imaginary, *shape));
  return site.give_complex(real, imaginary);
}
/// size * (cos(angle) + i sin(angle))
Status give_polar(TorchSite& site, ValueId size, ValueId angle) {
  WHET_TRY(const ValueId cosine, site.add("cosine", UnaryOperator{U::cos}, {angle}));
  WHET_TRY(const ValueId sine, site.add("sine", UnaryOperator{U::sin}, {angle}));
  WHET_TRY(const ValueId real, site.add("real", BinaryOperator{B::mul}, {size, cosine}));
  WHET_TRY(const ValueId imaginary, site.add("imaginary", BinaryOperator{B::mul}, {size, sine}));
  return site.give_complex(real, imaginary);
}
Status import_exp(TorchSite& site, ComplexParts x) {
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::exp}, {x.real}));
  return give_polar(site, size, x.imaginary);
}
/// Of real numbers themselves.
Status import_conj(TorchSite& site) {
  const auto parts = site.complex("self");
  if (!parts) return site.give(site.tensor("self"));
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::neg}, {parts->imaginary}));
  return site.give_complex(parts->real, turned);
}
/// x conj(y) / |y|^2
Result<ComplexParts> quotient(TorchSite& site, ComplexParts x, ComplexParts y) {
  const auto binary = [&](B kind, ValueId a, ValueId b) { return site.add("part", BinaryOperator{kind}, {a, b}); };
  WHET_TRY(const ValueId size, squares(site, y));
  WHET_TRY(const ValueId ac, binary(B::mul, x.real, y.real));
  WHET_TRY(const ValueId bd, binary(B::mul, x.imaginary, y.imaginary));
  WHET_TRY(const ValueId bc, binary(B::mul, x.imaginary, y.real));
  WHET_TRY(const ValueId ad, binary(B::mul, x.real, y.imaginary));
  WHET_TRY(const ValueId sum, binary(B::add, ac, bd));
  WHET_TRY(const ValueId rest, binary(B::sub, bc, ad));
  WHET_TRY(const ValueId real, binary(B::div, sum, size));
  WHET_TRY(const ValueId imaginary, binary(B::div, rest, size));
  return ComplexParts{real, imaginary};
}
Status import_div(TorchSite& site) {
  WHET_TRY(const ComplexParts x, site.as_complex("self"));
  WHET_TRY(const ComplexParts y, site.as_complex("other"));
  WHET_TRY(const ComplexParts both, quotient(site, x, y));
  return site.give_complex(both.real, both.imaginary);
}
Status import_reciprocal(TorchSite& site, ComplexParts x) {
  const ValueId one = site.add_scalar("one", site.dtype(x.real), 1),
                zero = site.add_scalar("zero", site.dtype(x.real), 0);
  WHET_TRY(const ComplexParts y, quotient(site, {one, zero}, x));
  return site.give_complex(y.real, y.imaginary);
}
/// By products: whole exponents from 1 to 8.
Status import_power(TorchSite& site, ComplexParts x, double exponent) {
  if (exponent != std::floor(exponent) || exponent < 1 || exponent > 8)
    return site.error("raises complex numbers to " + std::to_string(exponent) +
                      "; whole numbers from 1 to 8 are supported");
  ComplexParts y = x;
  for (int i = 1; i < static_cast<int>(exponent); ++i) {
    WHET_TRY(const ValueId ac, site.add("ac", BinaryOperator{B::mul}, {y.real, x.real}));
    WHET_TRY(const ValueId bd, site.add("bd", BinaryOperator{B::mul}, {y.imaginary, x.imaginary}));
    WHET_TRY(const ValueId ad, site.add("ad", BinaryOperator{B::mul}, {y.real, x.imaginary}));
    WHET_TRY(const ValueId bc, site.add("bc", BinaryOperator{B::mul}, {y.imaginary, x.real}));
    WHET_TRY(y.real, site.add("real", BinaryOperator{B::sub}, {ac, bd}));
    WHET_TRY(y.imaginary, site.add("imaginary", BinaryOperator{B::add}, {ad, bc}));
  }
  return site.give_complex(y.real, y.imaginary);
}

}  // namespace

TorchRows complex_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.abs aten.absolute", "default", "self", calls<import_abs>},
      {"aten.angle", "default", "self", calls<import_angle>},
      {"aten._conj aten._conj_physical aten.conj aten.conj_physical", "default", "self", calls<import_conj>},
      {"aten.complex", "default", "real imag", calls<import_complex>},
      {"aten.imag", "default", "self", calls<import_imag>},
      {"aten.polar", "default", "abs angle", calls<give_polar>},
      {"aten.real", "default", "self", calls<import_real>},
      {"aten.view_as_complex", "default", "self:floats", calls<import_view_as_complex>},
      {"aten.view_as_real", "default", "self", calls<import_view_as_real>},
  };
  return kRows;
}

TorchRows rows_of_complex() {
  static constexpr TorchRow kRows[] = {
      {"aten.div aten.divide aten.true_divide", "Tensor Scalar", "self other", calls<import_div>},
      {"aten.exp", "default", "self", calls<import_exp>},
      {"aten.pow", "Tensor_Scalar", "self exponent", calls<import_power>},
      {"aten.reciprocal", "default", "self", calls<import_reciprocal>},
      {"aten.square", "default", "self =2", calls<import_power>},
  };
  return kRows;
}

}  // namespace whet::torch
