#pragma once

#include <optional>

#include "base/result.h"
#include "import/site.h"

/// Losses: parts, see arithmetic.h.
namespace whet {

enum class LossReduction : std::uint8_t { none, sum, mean };

struct LikelihoodLoss {
  LossReduction reduction = LossReduction::mean;       ///< a mean is that of the weights
  std::optional<ValueId> weights = std::nullopt;       ///< [classes]
  std::optional<std::int64_t> ignored = std::nullopt;  ///< the target that counts nothing; it may be no class
};
/// -x[n, target, ...] * weight[target] of logarithms x [N, classes, ...] and targets [N, ...].
Result<ValueId> likelihood_loss(NodeSite&, ValueId x, ValueId targets, const LikelihoodLoss&);

}  // namespace whet
