#include "compiler/even_shares.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/arithmetic.h"
#include "compute/affine.h"
#include "space/space.h"

namespace whet {
namespace {

/// Tiles a worker from which on one more or less does not count.
constexpr std::int64_t kManyTiles = 16;
/// Of the decision "order" (space/cpu/tile.cc).
constexpr std::int64_t kPixelsThenChannels = 0, kChannelsThenPixels = 2;

/// The rows that a task has at the least: of all its axes but the last.
std::int64_t least_rows(const ComputeDag& dag) {
  const Op& output = dag.op(dag.outputs.front());
  const RangeOf ranges = size_ranges(dag.sizes);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < output.shape.size(); ++d) {
    const bool changes = !output.sizes.empty() && output.sizes[d].defined();
    rows *= changes ? std::max<std::int64_t>(bounds(output.sizes[d], ranges).min.value_or(1), 1) : output.shape[d];
  }
  return rows;
}

class EvenShares {
 public:
  EvenShares(const Task& sized, Candidate candidate, std::int64_t threads)
      : sized_(sized), candidate_(std::move(candidate)), threads_(threads) {}

  /// Nothing where the candidate stays as it is.
  std::optional<Candidate> changed() {
    const Candidate before = candidate_;
    if (!has("blocks") || !has("ow") || !has("oc") || !has("order") || !has("parallel")) return std::nullopt;
    if (of("blocks") > 0) set("blocks", 0), set("order", kChannelsThenPixels);
    const std::int64_t columns = sized_.dag.op(sized_.dag.outputs.front()).shape.back();
    const std::int64_t channels = ceil_div(columns, of("oc")), rows = ceil_div(least_rows(sized_.dag), of("ow"));
    const std::int64_t order = of("order"), many = kManyTiles * threads_;
    const bool even = order == kChannelsThenPixels ? channels % threads_ == 0 || channels >= many : rows >= many;
    if (!even) set("parallel", order == kPixelsThenChannels ? 3 : 2);  // a list has no columns besides its rows
    return candidate_ == before ? std::nullopt : std::optional(candidate_);
  }

 private:
  bool has(const char* decision) const { return candidate_.choices.contains(decision); }
  std::int64_t of(const char* decision) const { return candidate_.choices.at(decision).front(); }
  void set(const char* decision, std::int64_t choice) { candidate_.choices[decision] = {choice}; }

  const Task& sized_;
  Candidate candidate_;
  const std::int64_t threads_;
};

}  // namespace

std::optional<Attempt> with_even_shares(const Task& sized, const Task& exact, const Attempt& attempt,
                                        const ScheduleSource& source, const Target& target) {
  if (target.threads < 2 || !source.space || !attempt.steps.ok() || sized.dag.outputs.size() != 1) return std::nullopt;
  const Op& output = sized.dag.op(sized.dag.outputs.front());
  if (output.sizes.empty() || output.sizes.back().defined()) return std::nullopt;
  const DesignSpace space = source.space(exact.dag);
  const std::optional<Candidate> changed =
      EvenShares(sized, attempt.candidate.sketch.empty() ? space.default_candidate() : attempt.candidate,
                 target.threads)
          .changed();
  if (!changed) return std::nullopt;
  Result<Scheduled> scheduled = space.schedule(*changed);
  if (!scheduled.ok()) return std::nullopt;
  Attempt even = attempt;
  even.steps = std::move(scheduled->steps);
  even.candidate = *changed;
  return even;
}

}  // namespace whet
