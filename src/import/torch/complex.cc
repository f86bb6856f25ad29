#include <cmath>

#include "import/parts/arithmetic.h"
#include "import/parts/fourier.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import/torch/rows.h"

// Complex numbers are a pair of values while importing, real and imaginary parts: a known list of two.

namespace whet::torch {
namespace {

using Ints = std::vector<std::int64_t>;

/// Real and imaginary parts side by side in the last dimension become a pair.
Status give_pair(TorchSite& site, ValueId x) {
  const DType dtype = site.dtype(x);
  const auto last = static_cast<std::int64_t>(site.rank(x)) - 1;
  std::vector<ValueId> parts;
  for (const std::int64_t part : {0, 1}) {
    WHET_TRY(const ValueId one, sliced(site, x, {part}, {part + 1}, Ints{last}, {1}));
    WHET_TRY(const ValueId plane, squeezed(site, one, Ints{last}));
    parts.push_back(plane);
  }
  return site.give_sequence(dtype, parts);
}

Result<ComplexParts> expect_complex(TorchSite& site) {
  WHET_TRY(const auto parts, site.complex("self"));
  if (parts) return *parts;
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.error("the input is " + to_string(site.type(x)) + "; expected complex numbers");
}

/// [n_fft] with the window in its middle; none where each number counts as it is.
Result<std::optional<ValueId>> frame_window(TorchSite& site, std::int64_t length, DType dtype) {
  std::int64_t own = length;
  if (site.has("win_length")) {
    WHET_TRY(own, site.integer("win_length"));
  }
  WHET_TRY(std::optional<ValueId> window, site.optional_tensor("window"));
  if (own < 1 || own > length || (window && site.shape(*window) != Shape{own}))
    return site.error("has a window of " + std::to_string(own) + " numbers" +
                      (window ? ", " + to_string(site.type(*window)) + "," : "") + " for frames of " +
                      std::to_string(length));
  if (!window && own == length) return window;
  if (!window) {
    WHET_RETURN_IF_ERROR(expect_small(site, {own}, "the window"));
    Tensor ones(dtype, {own});
    for (std::int64_t i = 0; i < own; ++i) ones.set(i, 1);
    window = site.add_constant("ones", ones);
  }
  const std::int64_t before = (length - own) / 2;
  WHET_TRY(window, site.cast("window", *window, dtype));
  WHET_TRY(window, padded(site, *window, {before, length - own - before}, {0}, PadMode::constant, 0));
  return window;
}

/// The spectra of frames of [samples] or [N, samples]: [(N,) frequencies, frames].
Status import_stft(TorchSite& site) {
  WHET_TRY(ValueId signal, site.tensor("self"));
  Stft form;
  WHET_TRY(form.length, site.integer("n_fft"));
  form.step = form.length / 4;
  if (site.has("hop_length")) {
    WHET_TRY(form.step, site.integer("hop_length"));
  }
  if (site.has("onesided")) {
    WHET_TRY(form.onesided, site.flag("onesided"));
  }
  const bool lone = site.rank(signal) == 1;
  const bool fits = (lone || site.rank(signal) == 2) && form.length >= 1 && form.length <= site.shape(signal).back();
  if (!fits)
    return site.error("takes frames of " + std::to_string(form.length) + " of " + to_string(site.type(signal)) +
                      "; expected [samples] or [N, samples], and as many");
  if (site.has("align_to_window")) {
    WHET_TRY(const bool aligned, site.flag("align_to_window"));
    if (aligned) return site.error("argument \"align_to_window\" is true; only false is supported");
  }
  WHET_TRY(form.window, frame_window(site, form.length, site.dtype(signal)));
  if (lone) {
    WHET_TRY(signal, unsqueezed(site, signal, {0}));
  }
  WHET_TRY(ValueId y, stft(site, signal, form));
  WHET_TRY(const bool normalized, site.flag("normalized"));
  if (normalized) {
    WHET_TRY(y, with_number(site, "scale", BinaryKind::mul, y, 1 / std::sqrt(static_cast<double>(form.length))));
  }
  WHET_TRY(y, site.add("frequencies_first", TransposeOperator{{0, 2, 1, 3}}, {y}));
  if (lone) {
    WHET_TRY(y, squeezed(site, y, Ints{0}));
  }
  WHET_TRY(const bool complex, site.flag("return_complex"));
  return complex ? give_pair(site, y) : site.give(y);
}

Status import_view_as_complex(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  if (site.rank(x) > 0 && site.shape(x).back() == 2) return give_pair(site, x);
  return site.error("the input is " + to_string(site.type(x)) + "; expected pairs in the last dimension");
}
Status import_view_as_real(TorchSite& site) {
  WHET_TRY(const ComplexParts x, expect_complex(site));
  WHET_TRY(const ValueId real, unsqueezed(site, x.real, {-1}));
  WHET_TRY(const ValueId imaginary, unsqueezed(site, x.imaginary, {-1}));
  return site.give(ConcatOperator{static_cast<std::int64_t>(site.rank(x.real))}, {real, imaginary});
}
Status import_real(TorchSite& site) {
  WHET_TRY(const auto parts, site.complex("self"));
  return parts ? site.pass(parts->real) : site.pass(site.tensor("self"));
}
Status import_imag(TorchSite& site) {
  WHET_TRY(const ComplexParts x, expect_complex(site));
  return site.pass(x.imaginary);
}
Status import_angle(TorchSite& site) {
  WHET_TRY(const ComplexParts x, expect_complex(site));
  return site.give(angle_of(site, x.imaginary, x.real));
}
/// Of complex numbers their distance from 0.
Status import_abs(TorchSite& site) {
  WHET_TRY(const auto parts, site.complex("self"));
  if (!parts) {
    WHET_TRY(const ValueId x, site.tensor("self"));
    return site.give(UnaryOperator{UnaryKind::abs}, {x});
  }
  WHET_TRY(const ValueId a, site.add("square", BinaryOperator{BinaryKind::mul}, {parts->real, parts->real}));
  WHET_TRY(const ValueId b, site.add("square", BinaryOperator{BinaryKind::mul}, {parts->imaginary, parts->imaginary}));
  WHET_TRY(const ValueId sum, site.add("squares", BinaryOperator{BinaryKind::add}, {a, b}));
  return site.give(UnaryOperator{UnaryKind::sqrt}, {sum});
}

}  // namespace

TorchRows complex_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.abs", "default", "self", import_abs},
      {"aten.absolute", "default", "self", import_abs},
      {"aten.angle", "default", "self", import_angle},
      {"aten.imag", "default", "self", import_imag},
      {"aten.real", "default", "self", import_real},
      {"aten.stft", "default",
       "self n_fft hop_length=none win_length=none window=none normalized=false onesided=none return_complex=false "
       "align_to_window=none",
       import_stft},
      {"aten.view_as_complex", "default", "self", import_view_as_complex},
      {"aten.view_as_real", "default", "self", import_view_as_real},
  };
  return kRows;
}

}  // namespace whet::torch
