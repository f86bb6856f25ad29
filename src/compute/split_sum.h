#pragma once

#include "compute/dag.h"

namespace whet {

/// The fewest steps that a part of a sum may have.
constexpr std::int64_t kLeastPart = 4;

/// A reduction in two: of each of `parts` parts of one of its axes, then of the parts' results.
///   c[m, n] = Σ_k a[m, k] b[k, n]   =>
///   c_parts[p, m, n] = Σ_k a[m, p·len + k] b[p·len + k, n], k < len = ⌈K/parts⌉;  c[m, n] = Σ_p c_parts[p, m, n]
/// Steps beyond the axis have the reducer's identity. The parts get the id of `op`, which moves up by one with all ops behind
/// it; axes keep their order behind p. Results are those of another order of the same sum, whatever runs them.
///   axis    a reduce axis of `op`, counted from its first spatial axis
///   parts   2 .. extent / kLeastPart
///   errors  no reduction; no reduce axis; too few or too many parts
Result<ComputeDag> split_sum(const ComputeDag&, OpId op, std::int64_t axis, std::int64_t parts);

}  // namespace whet
