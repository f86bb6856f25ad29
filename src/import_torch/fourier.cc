#include "import/parts/fourier.h"

#include <algorithm>
#include <cmath>

#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import/parts/unfold.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

/// What a transform of N numbers is divided by: nothing, the root of N, or N.
enum class Scale : std::uint8_t { none, root, whole };

struct Transforms {
  Ints dims;                                   ///< in the order in which torch names them
  std::optional<Ints> lengths = std::nullopt;  ///< of the signals
  bool inverse = false, half = false;          ///< `half`: of real signals, along the last one of the dimensions
  Scale scale = Scale::none;
};

/// [..., 2] of complex numbers, [..., 1] of real ones.
Result<ValueId> numbers_of(TorchSite& site) {
  if (const auto parts = site.complex("self")) return side_by_side(site, *parts);
  WHET_TRY(ValueId x, site.tensor("self"));
  if (!is_float(site.dtype(x))) {
    WHET_TRY(x, site.cast("float", x, DType::f32));
  }
  return unsqueezed(site, x, {-1});
}

/// What the parts of "self" become, [..., 2], or [..., 1] where the inverse gives real signals.
Result<ValueId> transformed(TorchSite& site, const Transforms& form) {
  WHET_TRY(ValueId x, numbers_of(site));
  const std::size_t rank = site.rank(x) - 1, count = form.dims.size();
  if (count == 0 || (form.lengths && form.lengths->size() != count))
    return site.error("transforms " + std::to_string(count) + " dimensions of " + to_string(site.type(x)));
  double all = 1;
  for (std::size_t i = 0; i < count; ++i) {
    // Half of a spectrum is made first, and taken back last.
    const std::size_t k = form.inverse ? i : count - 1 - i;
    WHET_TRY(const std::int64_t d, site.resolve_axis(form.dims[k], rank));
    const bool half = form.half && k == count - 1;
    Dft dft{.axis = d, .inverse = form.inverse, .onesided = half};
    if (form.lengths && (*form.lengths)[k] >= 0) dft.length = (*form.lengths)[k];
    const std::int64_t before = site.extent(x, d);
    WHET_TRY(x, whet::dft(site, x, dft));
    all *= static_cast<double>(dft.length.value_or(half && form.inverse ? 2 * (before - 1) : before));
  }
  // The part divides inverses by their number.
  const double factor = (form.scale == Scale::none   ? 1
                         : form.scale == Scale::root ? 1 / std::sqrt(all)
                                                     : 1 / all) *
                        (form.inverse ? all : 1);
  return std::abs(factor - 1) < 1e-12 ? Result<ValueId>(x) : with_number(site, "scaled", BinaryKind::mul, x, factor);
}

Status give_transformed(TorchSite& site, const Transforms& form) {
  WHET_TRY(const ValueId x, transformed(site, form));
  return site.shape(x).back() == 2 ? give_pair(site, x) : site.give(squeezed(site, x, Ints{-1}));
}

/// By the name of a norm: which of both ways is divided.
enum class Norm : std::uint8_t { backward, ortho, forward };
template <bool inverse, bool half>
Status import_fft(TorchSite& site, const std::optional<Ints>& lengths, const std::optional<Ints>& dims, Norm norm) {
  Transforms form{dims.value_or(Ints{}), lengths, inverse, half};
  if (!dims) {
    WHET_TRY(const ValueId x, numbers_of(site));
    const std::size_t rank = site.rank(x) - 1, count = lengths ? std::min(lengths->size(), rank) : rank;
    for (std::size_t d = rank - count; d < rank; ++d) form.dims.push_back(static_cast<std::int64_t>(d));
  }
  const bool divides = norm == (inverse ? Norm::backward : Norm::forward);
  form.scale = norm == Norm::ortho ? Scale::root : divides ? Scale::whole : Scale::none;
  return give_transformed(site, form);
}
template <bool inverse, bool half>
Status import_fft2(TorchSite& site, const std::optional<Ints>& lengths, const std::optional<Ints>& dims, Norm norm) {
  return import_fft<inverse, half>(site, lengths, dims.value_or(Ints{-2, -1}), norm);
}

Result<Scale> scale_of(TorchSite& site, std::int64_t scale) {
  if (scale >= 0 && scale <= 2) return static_cast<Scale>(scale);
  return site.error("argument \"normalization\" is " + std::to_string(scale) + "; expected 0 to 2");
}
Status import_r2c(TorchSite& site, const Ints& dims, std::int64_t normalization, bool half) {
  WHET_TRY(const Scale scale, scale_of(site, normalization));
  return give_transformed(site, {dims, std::nullopt, false, half, scale});
}
Status import_c2r(TorchSite& site, const Ints& dims, std::int64_t normalization, std::int64_t last) {
  WHET_TRY(const Scale scale, scale_of(site, normalization));
  Ints lengths(dims.size(), -1);
  if (!lengths.empty()) lengths.back() = last;
  return give_transformed(site, {dims, lengths, true, true, scale});
}
Status import_c2c(TorchSite& site, const Ints& dims, std::int64_t normalization, bool forward) {
  WHET_TRY(const Scale scale, scale_of(site, normalization));
  return give_transformed(site, {dims, std::nullopt, !forward, false, scale});
}

/// The spectrum's middle comes to its front, or goes back.
template <bool back>
Result<ValueId> import_shift(TorchSite& site, ValueId x, const Ints& dims) {
  for (const std::int64_t d : dims) {
    const std::int64_t extent = site.extent(x, d), first = back ? extent / 2 : extent - extent / 2;
    if (extent < 2) continue;
    WHET_TRY(const ValueIds parts, split(site, x, d, {first, extent - first}));
    WHET_TRY(x, site.add("shifted", ConcatOperator{d}, {parts[1], parts[0]}));
  }
  return x;
}
template <bool half>
Status import_frequencies(TorchSite& site, std::int64_t n, double step, std::optional<DType> dtype) {
  WHET_RETURN_IF_ERROR(expect_small(site, {n}, "the result"));
  Tensor numbers(dtype.value_or(DType::f32), {half ? n / 2 + 1 : n});
  for (std::int64_t i = 0; i < numbers.size(); ++i)
    numbers.set(i, static_cast<double>(half || i < (n + 1) / 2 ? i : i - n) / (static_cast<double>(n) * step));
  return site.give_constant(numbers);
}

/// alpha - beta cos(t)
Status give_window(TorchSite& site, std::int64_t n, bool periodic, double alpha, double beta,
                   std::optional<DType> dtype) {
  WHET_RETURN_IF_ERROR(expect_small(site, {n}, "the window"));
  return site.give_constant(cosine_window(dtype.value_or(DType::f32), n, {alpha, beta, 0, periodic}));
}
Status import_blackman(TorchSite& site, std::int64_t n, bool periodic, std::optional<DType> dtype) {
  WHET_RETURN_IF_ERROR(expect_small(site, {n}, "the window"));
  return site.give_constant(cosine_window(dtype.value_or(DType::f32), n, {0.42, 0.5, 0.08, periodic}));
}

/// [n_fft] with the window in its middle; none where each number counts as it is.
Result<OptionalId> frame_window(TorchSite& site, std::int64_t length, std::int64_t own, OptionalId window,
                                DType dtype) {
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
Status import_stft(TorchSite& site, ValueId signal, std::int64_t length, std::optional<std::int64_t> step,
                   std::optional<std::int64_t> window_length, OptionalId window, bool is_normalized,
                   std::optional<bool> onesided, bool is_complex, std::optional<bool> aligned) {
  Stft form{.step = step.value_or(length / 4), .length = length, .onesided = onesided.value_or(true)};
  const bool lone = site.rank(signal) == 1;
  if ((!lone && site.rank(signal) != 2) || length < 1 || length > site.shape(signal).back())
    return site.error("takes frames of " + std::to_string(length) + " of " + to_string(site.type(signal)) +
                      "; expected [samples] or [N, samples], and as many");
  if (aligned == true) return site.error("argument \"align_to_window\" is true; only false is supported");
  WHET_TRY(form.window, frame_window(site, length, window_length.value_or(length), window, site.dtype(signal)));
  if (lone) {
    WHET_TRY(signal, unsqueezed(site, signal, {0}));
  }
  WHET_TRY(ValueId y, stft(site, signal, form));
  if (is_normalized) {
    WHET_TRY(y, with_number(site, "scale", BinaryKind::mul, y, 1 / std::sqrt(static_cast<double>(length))));
  }
  WHET_TRY(y, site.add("frequencies_first", TransposeOperator{{0, 2, 1, 3}}, {y}));
  if (lone) {
    WHET_TRY(y, squeezed(site, y, Ints{0}));
  }
  return is_complex ? give_pair(site, y) : site.give(y);
}

/// Frames [N, frames, length] by steps, added up where they overlap: [N, samples].
Result<ValueId> added_up(TorchSite& site, ValueId frames, std::int64_t step) {
  const Shape shape = site.shape(frames);
  if (step > kMaxElements) return site.error("has a step of " + std::to_string(step));
  const std::int64_t samples = (shape[1] - 1) * step + shape[2];
  WHET_TRY(const ValueId columns, site.add("columns", TransposeOperator{{0, 2, 1}}, {frames}));
  WHET_TRY(const ValueId y, fold(site, columns, {{samples}, {shape[2]}, {{step}, {1}, {0}, {0}}}));
  return site.add("samples", ReshapeOperator{{shape[0], samples}}, {y});
}

/// The signals of half spectra [(N,) frequencies, frames]: what `import_stft` gives of them, divided by how much of the window each
/// sample was under.
Result<ValueId> import_istft(TorchSite& site, ComplexParts spectra, std::int64_t n, std::optional<std::int64_t> hop,
                             std::optional<std::int64_t> own, OptionalId window, bool centre, bool is_normalized,
                             std::optional<bool> onesided, std::optional<std::int64_t> length, bool is_complex) {
  const bool lone = site.rank(spectra.real) == 2;
  const std::int64_t step = hop.value_or(n / 4);
  if (is_complex || onesided == false)
    return site.error("gives complex signals, or takes whole spectra, which is not supported");
  if ((!lone && site.rank(spectra.real) != 3) || n < 1 || step < 1)
    return site.error("takes spectra " + to_string(site.type(spectra.real)) + "; expected frequencies and frames");
  WHET_TRY(window, frame_window(site, n, own.value_or(n), window, site.dtype(spectra.real)));
  WHET_TRY(ValueId x, side_by_side(site, spectra));
  if (lone) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
  }
  WHET_TRY(x, dft(site, x, {.axis = 1, .length = n, .inverse = true, .onesided = true}));
  const Shape shape = site.shape(x);
  WHET_TRY(x, site.add("real", ReshapeOperator{{shape[0], n, shape[2]}}, {x}));
  WHET_TRY(x, site.add("frames", TransposeOperator{{0, 2, 1}}, {x}));
  if (is_normalized) {
    WHET_TRY(x, with_number(site, "scale", BinaryKind::mul, x, std::sqrt(static_cast<double>(n))));
  }
  if (!window) window = site.add_scalar("ones", site.dtype(x), 1);
  WHET_TRY(x, site.add("windowed", BinaryOperator{BinaryKind::mul}, {x, *window}));
  WHET_TRY(const ValueId squares, square(site, *window));
  WHET_TRY(ValueId under, expanded(site, squares, Shape{1, shape[2], n}));
  WHET_TRY(x, added_up(site, x, step));
  WHET_TRY(under, added_up(site, under, step));
  if (length && *length > kMaxElements) return site.error("argument \"length\" is " + std::to_string(*length));
  const std::int64_t edge = centre ? n / 2 : 0, all = site.shape(x)[1], last = length ? edge + *length : all - edge;
  if (last > all || last <= edge)
    return site.error("gives samples " + std::to_string(edge) + " to " + std::to_string(last) + " of " +
                      std::to_string(all));
  for (ValueId* each : {&x, &under}) {
    WHET_TRY(*each, sliced(site, *each, {edge}, {last}, Ints{1}, {1}));
  }
  WHET_TRY(x, site.add("signals", BinaryOperator{BinaryKind::div}, {x, under}));
  return lone ? squeezed(site, x, Ints{0}) : x;
}

/// The way back from windows of `size` by steps along a dimension: what overlaps is added.
Result<ValueId> import_unfold_backward(TorchSite& site, ValueId x, const Ints& sizes, std::int64_t dim,
                                       std::int64_t size, std::int64_t step) {
  WHET_TRY(const std::int64_t d, site.resolve_axis(dim, sizes.size()));
  const Shape shape = site.shape(x);
  const std::int64_t extent = sizes[static_cast<std::size_t>(d)];
  const bool fits = shape.size() == sizes.size() + 1 && shape.back() == size && size >= 1 && step >= 1 &&
                    extent >= size && extent <= kMaxElements &&
                    (extent - size) / step + 1 == shape[static_cast<std::size_t>(d)];
  if (!fits)
    return site.error("adds up windows " + to_string(site.type(x)) + " of " + std::to_string(size) + " in " +
                      to_string(sizes));
  Ints perm = every_axis(sizes.size()), back;
  std::erase(perm, d);
  back = perm;
  perm.insert(perm.end(), {d, static_cast<std::int64_t>(sizes.size())});
  back.push_back(d);
  WHET_TRY(x, site.add("turned", TransposeOperator{perm}, {x}));
  Shape rest(site.shape(x).begin(), site.shape(x).end() - 2);
  WHET_TRY(x, site.add("frames", ReshapeOperator{{num_elements(rest), shape[static_cast<std::size_t>(d)], size}}, {x}));
  WHET_TRY(x, added_up(site, x, step));
  WHET_TRY(x, padded(site, x, {0, extent - site.shape(x)[1]}, {1}, PadMode::constant, 0));
  rest.push_back(extent);
  WHET_TRY(x, site.add("whole", ReshapeOperator{rest}, {x}));
  Ints inverse(back.size());
  for (std::size_t i = 0; i < back.size(); ++i)
    inverse[static_cast<std::size_t>(back[i])] = static_cast<std::int64_t>(i);
  return site.add("back", TransposeOperator{inverse}, {x});
}

constexpr std::string_view kOne = "~self n? dim=-1 norm:backward|ortho|forward=backward",
                           kMany = "~self s? dim? norm:backward|ortho|forward=backward";

}  // namespace

TorchRows fourier_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._fft_c2c", "default", "~self dim normalization forward", calls<import_c2c>},
      {"aten._fft_c2r", "default", "~self dim normalization last_dim_size", calls<import_c2r>},
      {"aten._fft_r2c", "default", "~self dim normalization onesided", calls<import_r2c>},
      {"aten.blackman_window", "default periodic", "window_length periodic=true dtype?", calls<import_blackman>},
      {"aten.fft_fft", "default", kOne, calls<import_fft<false, false>>},
      {"aten.fft_fft2", "default", kMany, calls<import_fft2<false, false>>},
      {"aten.fft_fftfreq", "default", "n d=1 dtype?", calls<import_frequencies<false>>},
      {"aten.fft_fftn", "default", kMany, calls<import_fft<false, false>>},
      {"aten.fft_fftshift", "default", "self dim(self)?", calls<import_shift<false>>, kOfParts},
      {"aten.fft_ifft", "default", kOne, calls<import_fft<true, false>>},
      {"aten.fft_ifft2", "default", kMany, calls<import_fft2<true, false>>},
      {"aten.fft_ifftn", "default", kMany, calls<import_fft<true, false>>},
      {"aten.fft_ifftshift", "default", "self dim(self)?", calls<import_shift<true>>, kOfParts},
      {"aten.fft_irfft", "default", kOne, calls<import_fft<true, true>>},
      {"aten.fft_irfft2", "default", kMany, calls<import_fft2<true, true>>},
      {"aten.fft_irfftn", "default", kMany, calls<import_fft<true, true>>},
      {"aten.fft_rfft", "default", kOne, calls<import_fft<false, true>>},
      {"aten.fft_rfft2", "default", kMany, calls<import_fft2<false, true>>},
      {"aten.fft_rfftfreq", "default", "n d=1 dtype?", calls<import_frequencies<true>>},
      {"aten.fft_rfftn", "default", kMany, calls<import_fft<false, true>>},
      {"aten.hamming_window", "default periodic periodic_alpha periodic_alpha_beta",
       "window_length periodic=true alpha=0.54 beta=0.46 dtype?", calls<give_window>},
      {"aten.hann_window", "default periodic", "window_length periodic=true =0.5 =0.5 dtype?", calls<give_window>},
      {"aten.istft", "default",
       "self n_fft hop_length? win_length? window? center=true normalized=false onesided? length? return_complex=false",
       calls<import_istft>},
      {"aten.stft", "default",
       "self n_fft hop_length? win_length? window? normalized=false onesided? return_complex=false "
       "align_to_window?",
       calls<import_stft>},
      {"aten.unfold_backward", "default", "grad_in input_sizes dim size step", calls<import_unfold_backward>},
  };
  return kRows;
}

}  // namespace whet::torch
