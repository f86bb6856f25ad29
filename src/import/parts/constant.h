#pragma once

#include "base/result.h"
#include "import/site.h"

/// Constants that operators make: parts, see arithmetic.h.
namespace whet {

/// A tensor of one value, which is a tensor of one element. A large one is a broadcast.
Result<ValueId> filled(NodeSite&, const Shape&, const Tensor& value);
/// The same in a shape of sizes that values may decide.
Result<ValueId> filled(NodeSite&, const std::vector<Size>&, const Tensor& value);
/// start, start + delta, ... before limit. Needs: one number each, of one type. Errors: more than 2^24 numbers.
Result<Tensor> range(NodeSite&, const Tensor& start, const Tensor& limit, const Tensor& delta);

/// The same of values; the limit may be a number of results, which the numbers are counted by.
Result<ValueId> range(NodeSite&, ValueId start, ValueId limit, ValueId delta);

/// a0 - a1 cos(t) + a2 cos(2t), t from 0 to 2 pi: to the next window's first number (`periodic`), or to this one's last. Hann,
/// Hamming and Blackman windows.
struct CosineWindow {
  double a0 = 0.5, a1 = 0.5, a2 = 0;
  bool periodic = true;
};
Tensor cosine_window(DType, std::int64_t size, const CosineWindow&);

/// One column a band, a triangle from 0 to 1 and back over the bins of a spectrum; bands are equally far from each other on
/// the mel scale. Errors: bands outside of the spectrum; a matrix of more than 2^24 numbers.
struct MelBands {
  double count = 1, length = 1, rate = 1, low = 0, high = 1;  ///< length: of the transform; rate and edges [Hz]
};
Result<Tensor> mel_matrix(NodeSite&, DType, const MelBands&);

}  // namespace whet
