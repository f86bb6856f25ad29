#pragma once

#include <optional>

#include "base/result.h"
#include "import/site.h"

/// Fourier transforms as products with constant matrices: parts, see arithmetic.h. Complex numbers are pairs in the last
/// dimension, whose extent is 2; that of real ones is 1.
namespace whet {

struct Dft {
  std::int64_t axis = -2;
  std::optional<std::int64_t> length = std::nullopt;  ///< longer signals are cut, shorter ones end in zeros
  bool inverse = false;
  bool onesided = false;  ///< half of the spectrum of real signals, as result or (inverse) as input
};
/// Errors: what are no signals; a matrix of more than 2^25 numbers.
Result<ValueId> dft(NodeSite&, ValueId x, const Dft&);

struct Stft {
  std::int64_t step = 1, length = 0;             ///< of frames
  std::optional<ValueId> window = std::nullopt;  ///< [length]
  bool onesided = true;
};
/// The spectra of the frames of a signal [N, samples], [N, samples, 1] or [N, samples, 2]: [N, frames, outputs, 2].
Result<ValueId> stft(NodeSite&, ValueId signal, const Stft&);

}  // namespace whet
