#pragma once

#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "tensor/tensor.h"

namespace whet {

/// What `evaluate` gives, quickly where an output only moves elements (packed weights): rows of its last axis are
/// gathered with a stride. `constants`: one tensor a placeholder, in order.
Result<std::vector<Tensor>> run_packing(const ComputeDag& packing, const std::vector<Tensor>& constants);

}  // namespace whet
