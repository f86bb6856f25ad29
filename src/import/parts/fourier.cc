#include "import/parts/fourier.h"

#include <complex>
#include <numbers>

#include "import/parts/move_axis.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

/// Of a matrix: frames of 4096 real numbers have one of 4096 x 4098.
constexpr std::int64_t kMostFactors = std::int64_t{1} << 25;

/// `inputs` numbers to `outputs`, the others of a period of `length` being 0 or left out.
struct Transform {
  std::int64_t length, inputs, outputs;
  bool complex_in, complex_out = true;
  bool inverse = false;
  bool mirrored = false;  ///< the inputs are half of a spectrum, whose other half is its mirror image

  std::int64_t parts_in() const { return complex_in ? 2 : 1; }
  std::int64_t parts_out() const { return complex_out ? 2 : 1; }
  std::vector<std::complex<double>> roots() const {
    std::vector<std::complex<double>> roots;
    const double side = inverse ? 1 : -1, circle = 2 * side * std::numbers::pi;
    // Quarters of the circle are exact, and their zeros positive: the angle of a negative number is pi, not -pi.
    const std::complex<double> quarters[] = {{1, 0}, {0, side}, {-1, 0}, {0, -side}};
    for (std::int64_t i = 0; i < length; ++i) {
      roots.push_back(4 * i % length == 0
                          ? quarters[4 * i / length]
                          : std::polar(1.0, circle * static_cast<double>(i) / static_cast<double>(length)));
    }
    return roots;
  }
  /// What part `a` of input `n` counts in part `b` of output `k`.
  double factor(const std::vector<std::complex<double>>& roots, std::int64_t n, std::int64_t a, std::int64_t k,
                std::int64_t b) const {
    const std::complex<double> root = roots[static_cast<std::size_t>(n * k % length)];
    const bool has_mirror = mirrored && n > 0 && 2 * n != length;
    const double scale = (has_mirror ? 2 : 1) / (inverse ? static_cast<double>(length) : 1);
    return scale * (a == b ? root.real() : b == 1 ? root.imag() : -root.imag());
  }
};

/// A matrix of the transform fits into memory; so do all numbers that lead to it.
Status expect_matrix(NodeSite& site, const Transform& t) {
  const bool fits = t.length >= 1 && t.length <= kMostFactors && t.inputs >= 1 &&
                    t.inputs * t.parts_in() <= kMostFactors / (t.outputs * t.parts_out());
  if (fits) return ok_status();
  return site.error("transforms " + std::to_string(t.inputs) + " numbers of a period of " + std::to_string(t.length) +
                    "; expected 1 or more, and a matrix of at most " + std::to_string(kMostFactors) + " numbers");
}

Error not_signals(NodeSite& site, ValueId x, const char* expected) {
  return site.error("transforms " + to_string(site.type(x)) + "; expected " + expected);
}

/// The transform of the dimension `axis` of x.
Result<Transform> make_transform(NodeSite& site, ValueId signals, std::size_t axis, const Dft& form) {
  const bool inverse = form.inverse, onesided = form.onesided;
  const Shape& x = site.shape(signals);
  Transform t{.length = x[axis], .inputs = 0, .outputs = 0, .complex_in = x.back() == 2, .inverse = inverse};
  t.mirrored = inverse && onesided;
  t.complex_out = !t.mirrored;
  if (onesided && t.complex_in != inverse) {
    return not_signals(
        site, signals,
        inverse ? "complex numbers for the inverse of half a spectrum" : "real numbers for half a spectrum");
  }
  if (t.mirrored) t.length = 2 * (x[axis] - 1);
  if (form.length) t.length = *form.length;
  t.inputs = std::min(x[axis], t.mirrored ? t.length / 2 + 1 : t.length);
  t.outputs = onesided && !inverse ? t.length / 2 + 1 : t.length;
  WHET_RETURN_IF_ERROR(expect_matrix(site, t));
  return t;
}

/// The weights of a convolution that transforms frames: [outputs parts, parts in, length].
Tensor frame_weights(DType dtype, const Transform& t) {
  Tensor weights(dtype, {t.outputs * t.parts_out(), t.parts_in(), t.length});
  const std::vector<std::complex<double>> roots = t.roots();
  for (std::int64_t i = 0, k = 0; k < t.outputs; ++k) {
    for (std::int64_t b = 0; b < t.parts_out(); ++b) {
      for (std::int64_t a = 0; a < t.parts_in(); ++a) {
        for (std::int64_t n = 0; n < t.length; ++n) weights.set(i++, t.factor(roots, n, a, k, b));
      }
    }
  }
  return weights;
}

}  // namespace

Result<ValueId> dft(NodeSite& site, ValueId y, const Dft& form) {
  const Shape x = site.shape(y);
  const std::size_t rank = x.size();
  const bool fits = rank >= 2 && is_float(site.dtype(y)) && (x.back() == 1 || x.back() == 2) && num_elements(x) > 0;
  if (!fits) return not_signals(site, y, "floats, and one or two of them for each number in the last dimension");
  WHET_TRY(const std::int64_t resolved, site.resolve_axis(form.axis, rank));
  const auto axis = static_cast<std::size_t>(resolved);
  if (axis + 1 == rank) return site.error("axis " + std::to_string(axis) + " is that of the parts of a number");
  WHET_TRY(const Transform t, make_transform(site, y, axis, form));
  Tensor matrix(site.dtype(y), {t.inputs * t.parts_in(), t.outputs * t.parts_out()});
  const std::vector<std::complex<double>> roots = t.roots();
  for (std::int64_t i = 0, n = 0; n < t.inputs; ++n) {
    for (std::int64_t a = 0; a < t.parts_in(); ++a) {
      for (std::int64_t k = 0; k < t.outputs; ++k) {
        for (std::int64_t b = 0; b < t.parts_out(); ++b) matrix.set(i++, t.factor(roots, n, a, k, b));
      }
    }
  }
  if (t.inputs < x[axis]) {
    WHET_TRY(y, site.add("first", part_along(x, axis, 0, t.inputs), {y}));
  }
  WHET_TRY(y, site.add("moved", move_axis(rank, axis, rank - 2), {y}));
  Shape shape = site.type(y).shape;
  const std::int64_t signals = num_elements(shape) / matrix.shape()[0];
  WHET_TRY(y, site.add("signals", ReshapeOperator{{signals, matrix.shape()[0]}}, {y}));
  WHET_TRY(y, site.add("matmul", MatMulOperator{}, {y, site.add_constant("matrix", matrix)}));
  shape[rank - 2] = t.outputs;
  shape[rank - 1] = t.parts_out();
  WHET_TRY(y, site.add("spectra", ReshapeOperator{shape}, {y}));
  return site.add("back", move_axis(rank, rank - 2, axis), {y});
}

/// The frames of a signal are what a convolution sees; its weights transform them.
Result<ValueId> stft(NodeSite& site, ValueId signal, const Stft& form) {
  Shape x = site.shape(signal);
  if (x.size() == 2) x.push_back(1);
  const bool fits = x.size() == 3 && (x[2] == 1 || x[2] == 2) && is_float(site.dtype(signal)) && num_elements(x) > 0;
  if (!fits) return not_signals(site, signal, "floats [N, samples, 1] or [N, samples, 2]");
  const std::int64_t step = form.step, length = form.length;
  Transform t{.length = length, .inputs = length, .outputs = length, .complex_in = x[2] == 2};
  if (form.onesided) {
    if (t.complex_in) return not_signals(site, signal, "real numbers for half a spectrum");
    t.outputs = length / 2 + 1;
  }
  WHET_RETURN_IF_ERROR(expect_matrix(site, t));
  if (step < 1 || step > kMaxElements) return site.error("its frame step is " + std::to_string(step));
  ValueId weights = site.add_constant("transform", frame_weights(site.dtype(signal), t));
  if (form.window) {
    WHET_TRY(weights, site.add("windowed", BinaryOperator{BinaryKind::mul}, {weights, *form.window}));
  }
  WHET_TRY(ValueId y, site.add("signal", ReshapeOperator{x}, {signal}));
  WHET_TRY(y, site.add("channels_first", move_axis(3, 2, 1), {y}));
  WHET_TRY(y, site.add("frames", ConvOperator{{step}, {1}, {0}, {0}}, {y, weights}));
  const std::int64_t frames = site.type(y).shape[2];
  WHET_TRY(y, site.add("spectra", move_axis(3, 1, 2), {y}));
  return site.add("frames_first", ReshapeOperator{{x[0], frames, t.outputs, t.parts_out()}}, {y});
}

}  // namespace whet
