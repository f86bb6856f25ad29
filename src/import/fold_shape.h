#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// No folded tensor has more elements (memory of a damaged or absurd file stays bounded).
constexpr std::int64_t kMaxFoldedElements = std::int64_t{1} << 24;
/// Floats are folded only when this small: those that compute shapes. Weights are folded by `passes`; quantized ones, which
/// become floats as tensors of two and more dimensions, are left to it in any case.
constexpr std::int64_t kMaxFoldedFloats = 4096;

/// The work of all folded nodes of a network together; beyond it nodes stay nodes.
constexpr std::int64_t kMaxFoldingWork = std::int64_t{1} << 25;

/// What folding a node costs, in elements that are read; a node costs something however small it is.
std::int64_t folding_work(const Operator&, const std::vector<const Tensor*>& inputs, const TensorType& result);

/// Evaluates a node whose inputs are all constant by its definition in `ops`, so that arithmetic on shapes vanishes
/// while importing. Nothing is given when the operator is none that shape arithmetic uses, or the tensors are larger
/// than that. `result` is as inferred. Errors name `node`: division by zero, an index outside.
Result<std::optional<Tensor>> fold_shape(const std::string& node, const Operator&,
                                         const std::vector<const Tensor*>& inputs, const TensorType& result);

}  // namespace whet
