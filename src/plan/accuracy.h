#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace whet {

/// How answers are compared.
enum class Measure : std::uint8_t {
  relative,  ///< relative L2: the root of the squared differences over that of the answers, of each sample
  largest,   ///< the largest difference as a part of the largest magnitude, of each sample
  absolute,  ///< the largest difference, of each sample
  cosine,    ///< of each sample
  psnr,      ///< peak over noise [dB], of each sample
  top1,      ///< the part of rows, of all samples together, whose largest element is at the same place
};
/// "relative L2", "top1"
std::string_view name_of(Measure);

/// A limit on the answers of one output, or of each.
struct Allowed {
  std::string output;  ///< its name; "": each
  Measure measure = Measure::relative;
  double limit = 0;  ///< the most of relative, largest and absolute, the least of cosine, psnr and top1
  friend bool operator==(const Allowed&, const Allowed&) = default;
};
/// "1%", "max<=2e-05", "boxes:abs<=2", "scores:top1>=99%", "cos>=0.999", "psnr>=40"
std::string to_text(const Allowed&);
/// Reads these. A name may have colons itself. Errors: no such measure or number; a limit that nothing or everything keeps.
Result<Allowed> parse_allowed(const std::string& text);

/// What a user allows: each of the limits must hold.
struct Accuracy {
  std::vector<Allowed> allowed;
};
Result<Accuracy> parse_accuracy(const std::vector<std::string>& limits);

/// One limit, as the answers of some samples keep it.
struct JudgedLimit {
  std::string output;
  Allowed allowed;
  double measured = 0;  ///< of the worst sample
  double share =
      0;  ///< measured / allowed: above 1 where the limit is broken. Errors of cosine and top1 count from 1, those of psnr as L2
  std::size_t sample = 0;  ///< the worst; of top1, which has none, 0
};

/// "scores errs by 1.6% (relative L2), 1% is allowed"
std::string to_text(const JudgedLimit&);

/// All limits on all outputs that they name.
struct Judged {
  std::vector<JudgedLimit> limits;
  double share = 0;  ///< the largest of their shares
  bool kept() const { return share <= 1; }
  const JudgedLimit& worst() const;  ///< that of the largest share; there is one
};

/// Compares answers: one list of outputs a sample, in the order of `outputs`, their names.
/// Errors: a limit names no output; an output of a relative limit is all zeros in a sample that errs; there is no sample.
Result<Judged> judge(const Accuracy&, const std::vector<std::string>& outputs,
                     const std::vector<std::vector<Tensor>>& got, const std::vector<std::vector<Tensor>>& want);

/// What each sample uses of what is allowed: the largest of its shares, by all limits but top1, of which one sample says nothing. Empty
/// where there is no other limit. Errors: as judge has them.
Result<std::vector<double>> shares_by_sample(const Accuracy&, const std::vector<std::string>& outputs,
                                             const std::vector<std::vector<Tensor>>& got,
                                             const std::vector<std::vector<Tensor>>& want);

/// Whether answers of the f32 network can be compared with at all. Errors: a number that is not finite, in an output that some limit is
/// about; an output that is all zeros in every sample, and has a relative limit.
Status check_reference(const Accuracy&, const std::vector<std::string>& outputs,
                       const std::vector<std::vector<Tensor>>& want);

}  // namespace whet
